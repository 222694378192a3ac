"""What was measured, as rows; and the arithmetic of them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

WORSE_THAN_LINEAR = 1.15
"""Exponent of growth from which a cost is called worse than linear: some more than 1, since it is measured."""


@dataclass(frozen=True)
class Row:
    """One line of the page: Footnote's figure, and what stands beside it, if anything can."""

    name: str
    unit: str
    value: float
    beside: float | None = None
    note: str = ""
    """What is left out, or made up, and of how many rounds the figure is."""

    @property
    def ratio(self) -> float | None:
        """Return Footnote's figure as a multiple of the other; None where there is none, or it is 0."""
        return self.value / self.beside if self.beside else None


@dataclass
class Section:
    """A table of the page; `beside` names what Footnote's figures stand beside."""

    title: str
    beside: str
    rows: list[Row] = field(default_factory=list)

    def add(self, name: str, unit: str, value: float, beside: float | None = None, note: str = "") -> None:
        """Add a row."""
        self.rows.append(Row(name, unit, value, beside, note))

    def told(self) -> dict[str, Any]:
        """Return it as JSON has it; a figure that is none is null."""
        rows = [{**asdict(row), "ratio": row.ratio} for row in self.rows]
        for row in rows:
            row |= {key: None for key, value in row.items() if isinstance(value, float) and not math.isfinite(value)}
        return {"title": self.title, "beside": self.beside, "rows": rows}


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of the values does not exceed, the nearest that was measured; nan of none."""
    if not values:
        return math.nan
    return sorted(values)[max(0, math.ceil(len(values) * share) - 1)]


def median(values: Sequence[float]) -> float:
    """Return the median; nan of none."""
    return statistics.median(values) if values else math.nan


def exponents(sizes: Sequence[float], costs: Sequence[float]) -> list[float]:
    """Return from each size to the next the power of the size by which the cost has grown: 1 is linear, 0 not at all.

    nan where a cost is 0, which is below what can be measured.
    """
    steps = zip(zip(sizes, costs, strict=True), list(zip(sizes, costs, strict=True))[1:], strict=False)
    return [
        math.log(after / before) / math.log(larger / smaller) if before > 0 and after > 0 else math.nan
        for (smaller, before), (larger, after) in steps
    ]


def verdict(sizes: Sequence[float], costs: Sequence[float]) -> str:
    """Return in words how a cost grows, by its steepest step."""
    found = [power for power in exponents(sizes, costs) if not math.isnan(power)]
    if not found:
        return "too little to tell"
    steepest = max(found)
    word = "WORSE THAN LINEAR" if steepest > WORSE_THAN_LINEAR else "linear at most" if steepest > 0.15 else "flat"
    return f"{word} (power {steepest:.2f})"
