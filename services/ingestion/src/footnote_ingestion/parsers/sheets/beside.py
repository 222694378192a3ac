"""What stands beside the values of a sheet, whichever format its workbook has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from footnote_ingestion.parsers.sheets.declared import Said
from footnote_ingestion.parsers.sheets.merges import Range


class Shown(Protocol):
    """How one cell's number is shown."""

    def show(self, value: float) -> str | None:
        """Return the number as the sheet shows it; None where its plain form will do."""

    def typed(self, value: object) -> bytes:
        """Return the value as the fields of `Cell`, with what its form says of it."""


@dataclass(slots=True)
class Beside:
    """Of one sheet; rows and columns count from 0."""

    numbers: Mapping[tuple[int, int], Shown] = field(default_factory=dict)
    """How numbers are shown, by the row and column of those that have a form of their own."""
    formulas: list[str] = field(default_factory=list)
    """Cells ("B3") whose formula has no value."""
    hidden: int = 0
    """Rows and columns that are not shown."""
    drawn: int = 0
    """Charts and embedded objects that lie on it."""
    comments: list[tuple[str, str]] = field(default_factory=list)
    """Cells and what is remarked on them."""
    texts: list[tuple[str, str]] = field(default_factory=list)
    """Texts of boxes and shapes, with the cell that they are anchored at, or "" where they are at none."""
    unreadable: int = 0
    """Parts that would tell more, and cannot be read."""
    unseen: bool = False
    """The format is one in which none of it can be looked for."""
    said: Said = field(default_factory=Said)
    """What the file says of its tables."""
    merged: list[Range] = field(default_factory=list)
    """Merged cells, where calamine does not tell them."""


class BesideCells(Protocol):
    """Knows it of all sheets of a workbook."""

    def of_sheet(self, name: str) -> Beside:
        """Return what stands beside the values of a sheet, as far as it can be read."""
