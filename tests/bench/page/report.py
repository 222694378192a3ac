"""The page: Markdown, and what stands in it besides the tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bench.page.figures import Row, Section


@dataclass(frozen=True)
class Surroundings:
    """Under which a run was made."""

    when: str
    machine: str
    load_before: float
    load_after: float
    texts: str
    kind: str
    """"quick", "full" or "tiny"."""
    seconds: float


def number(value: float | None) -> str:
    """Return a figure with three digits that count; a dash for none."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def line(row: Row) -> str:
    """Return a row as Markdown has it."""
    ratio = "–" if row.ratio is None else f"{number(row.ratio)} ×"
    cells = [row.name, f"{number(row.value)} {row.unit}", number(row.beside), ratio, row.note]
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


def page(sections: Sequence[Section], around: Surroundings, picture: str = "") -> str:
    """Return the whole page; `picture` is the name of a file beside it."""
    parts = [
        "# What a deployment does",
        "",
        f"{around.when}; {around.machine}; load {around.load_before:.1f} before and {around.load_after:.1f} after; "
        f"a {around.kind} run of {around.seconds:.0f} s. Texts: {around.texts}.",
        "",
        "Measured through the public gRPC API of `footnote serve all` as a user starts it, with real stages and the "
        "built-in embedder; the caller runs on the same machine and takes its share. Beside it, in turns in the same "
        "run, stands what each table names. × is Footnote's figure divided by that one.",
        "",
    ]
    if around.load_before > 1:
        parts += [
            f"**The machine had other work to do (load {around.load_before:.1f}): ratios count, rates do not.**",
            "",
        ]
    if picture:
        parts += [f"![The page's figures as a picture]({picture})", ""]
    for section in sections:
        head = f"| | Footnote | {section.beside or 'nothing to compare with'} | × | |"
        parts += [f"## {section.title}", "", head, "|---|---:|---:|---:|---|", *map(line, section.rows), ""]
    return "\n".join(parts)
