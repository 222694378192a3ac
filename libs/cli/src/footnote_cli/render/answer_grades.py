"""Renders graded answers to golden questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

_COLUMNS = (
    "questions", "good", "right", "part", "wrong", "wrong though supported", "refused rightly", "refused wrongly",
    "absent refused", "footnote file", "footnote place",
)  # fmt: skip
_GOOD = ("right", "refused rightly")


def show(console: Console, result: Mapping[str, Any], *, answers: bool) -> None:
    """Print runs by tag, times and costs, comparisons and missed thresholds; `answers` adds each bad answer."""
    for run in result["runs"]:
        table = Table(title=f"{result['questions']}, {run['name']}")
        table.add_column("")
        for heading in _COLUMNS:
            table.add_column(heading, justify="right")
        for name, one in run["figures"].items():
            table.add_row(name, *(_number(one[key]) for key in _COLUMNS), style="bold" if name == "all" else None)
        console.print(table)
        everything = run["figures"]["all"]
        times = (
            f"{label} {_number(everything[key]['p50'])} ms, p95 {_number(everything[key]['p95'])} ms"
            for key, label in (("first word ms", "first word"), ("ms", "answer"))
        )
        cost = "" if everything["cost_usd"] is None else f", {everything['cost_usd']} USD"
        console.print(f"{'; '.join(times)}; {everything['tokens']} tokens{cost}")
        for id, one in run["answers"].items():
            if one["error"]:
                console.print(f"{id}: failed: {one['error']}", style="red")
            elif answers and one["outcome"] not in _GOOD:
                console.print(f"{id}: {one['outcome']}: {one['question']}", style="yellow")
                console.print(f"  {' '.join(one['text'].split())}")
                if one["missing"]:
                    console.print(f"  lacks {'; '.join(one['missing'])}")
    for one in result["compared"]:
        console.print(
            f"{one['run']} with {one['with']}: {one['shared']} questions in both, {len(one['better'])} better, "
            f"{len(one['worse'])} worse, p = {one['p']:.3f} (sign test)"
        )
        for kind in ("better", "worse"):
            if one[kind]:
                console.print(f"  {kind}: {' '.join(one[kind][:20])}")
    for line in result["missed"]:
        console.print(line, style="red")


def _number(value: float | int | None) -> str:
    if value is None:
        return "–"
    return str(value) if isinstance(value, int) else f"{value:.3f}" if value <= 1 else f"{value:.0f}"
