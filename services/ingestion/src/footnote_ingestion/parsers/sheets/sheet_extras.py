"""Data of a sheet besides its cell values, independent of the workbook's format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from footnote_ingestion.parsers.sheets.declared import Declarations
from footnote_ingestion.parsers.sheets.merges import Range


class Shown(Protocol):
    """The display format of one cell's number or time."""

    def show(self, value: object) -> str | None:
        """Return the value as the sheet shows it; None if its plain form is enough."""

    def typed(self, value: object) -> bytes:
        """Return the value as the fields of `Cell`, with unit and currency from its format."""


@dataclass(slots=True)
class SheetExtras:
    """Data of one sheet; rows and columns count from 0."""

    numbers: Mapping[tuple[int, int], Shown] = field(default_factory=dict)
    """Display formats by row and column, for numbers and times with a format of their own."""
    formulas: list[str] = field(default_factory=list)
    """Cells ("B3") whose formula has no value."""
    errors: dict[tuple[int, int], str] = field(default_factory=dict)
    """Errors of cells by row and column, such as #N/A, as the sheet shows them; calamine gives empty cells."""
    rich: dict[tuple[int, int], str] = field(default_factory=dict)
    """Texts of cells with superscript or struck runs, by row and column."""
    struck: int = 0
    """Number of struck runs in cells, which are left out."""
    hidden: int = 0
    """Number of hidden rows and columns."""
    drawn: int = 0
    """Number of charts and embedded objects."""
    pictures: list[tuple[str, str]] = field(default_factory=list)
    """Cells of the anchors of pictures, "" for none, and their files in the package, "" where unknown."""
    comments: list[tuple[str, str]] = field(default_factory=list)
    """Cells with their comments."""
    texts: list[tuple[str, str]] = field(default_factory=list)
    """Texts of boxes and shapes, with the cell of their anchor, "" for none."""
    unreadable: int = 0
    """Number of further parts that cannot be read."""
    unseen: bool = False
    """Whether the format does not allow looking for this data."""
    declarations: Declarations = field(default_factory=Declarations)
    """What the file declares about its tables."""
    merged: list[Range] = field(default_factory=list)
    """Merged cells, if calamine does not report them."""
    across: list[Range] = field(default_factory=list)
    """Texts centred across the empty cells beside them."""


class WorkbookExtras(Protocol):
    """Provides this data for all sheets of a workbook."""

    def of_sheet(self, name: str) -> SheetExtras:
        """Return a sheet's data besides its values, as far as it can be read."""
