"""The table of timings: collected while the tests run, printed or written when they end."""

from __future__ import annotations

import json
import os
from math import isinf
from pathlib import Path

from support.linear.timing import FLOOR, Growth

_rows: list[tuple[str, Growth, str]] = []


def add(kind: str, grown: Growth, text: str = "") -> None:
    """Keep a measurement; with FOOTNOTE_LINEAR_OUT also as a line of JSON in that file."""
    _rows.append((kind, grown, text))
    if out := os.environ.get("FOOTNOTE_LINEAR_OUT"):
        row = {"kind": kind, **grown.row(), "pattern": text}
        row["ratio"] = "stopped" if isinf(grown.ratio) else round(grown.ratio, 2)
        with Path(out).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=True) + "\n")


def line(grown: Growth) -> str:
    """Return a measurement as one line of the table."""
    mark = " " if grown.seconds > FLOOR else "~"  # so quick that the ratio is noise
    return (
        f"{mark}{grown.ratio:8.2f} × {1000 * grown.seconds:10.3f} ms {grown.size:6d} chars  {grown.operation:9} "
        f"{grown.what}  on {grown.input}"
    )


def table() -> str:
    """Return all measurements, those that grow fastest first; "~" marks those under the floor of 3 ms."""
    rows = sorted(_rows, key=lambda row: (row[1].seconds <= FLOOR, -row[1].ratio, -row[1].seconds))
    return "\n".join(f"{kind:8} {line(grown)}" for kind, grown, _ in rows)
