"""Kinds of things that have a number: which of them a sentence holds besides what its question already says."""

from __future__ import annotations

from footnote_text.tables import Cell, Row

from footnote_generation.extractive.passages import Unit
from footnote_generation.extractive.question import Question
from footnote_generation.language.quantities import Quantity, find

KINDS = ("number", "money", "percent", "date", "duration", "measure")
"""A bare number, an amount of money, a share, a time, a length of time, and any other number with a unit."""
_DIMENSIONS = {
    "": "number", "percent": "percent", "date": "date", "year": "date", "clock": "date", "time": "duration",
    "months": "duration",
}  # fmt: skip
_ANY = frozenset({"number", "money", "percent", "duration", "measure"})
_MAYBE = 0.5


def kind(quantity: Quantity) -> str | None:
    """Return the kind of a quantity, None for an ordinal."""
    if quantity.dimension == "ordinal":
        return None
    if quantity.dimension.startswith("money"):
        return "money"
    return _DIMENSIONS.get(quantity.dimension, "measure")


def held(question: Question, unit: Unit, row: Row | None) -> tuple[float, ...]:
    """Return for each of KINDS whether a sentence or row holds it: 1, 0, or 0.5 for a year, which may be a number.

    What the question says itself does not count. A number in a cell is of the kind that its column is counted in; where
    its table does not say what that is, it may be of any.
    """
    asked = question.analysed.quantities
    fresh = [one for one in unit.analysed.quantities if not any(one.values & other.values for other in asked)]
    found = {kind(one) for one in fresh}
    found.update(*(_of_cell(cell, unit.language) for cell in row.cells if not cell.names_row) if row else ())
    year = any(one.dimension == "year" for one in fresh)
    return tuple(_MAYBE if year and one == "number" and one not in found else float(one in found) for one in KINDS)


def _of_cell(cell: Cell, language: str) -> frozenset[str | None]:
    if cell.number is None:
        return frozenset()
    if cell.measure.currency:
        return frozenset({"money"})
    if cell.measure.unit:
        return frozenset(kind(one) for one in find(f"1 {cell.measure.unit}", language))
    return _ANY
