"""The rows of a source's tables for verification and the built-in answerer, as plain, hashable values."""

from __future__ import annotations

from typing import NamedTuple

from footnote_text import tables


class CellSpan(NamedTuple):
    """The place of a cell's text in its source, and the header of its column."""

    header: str
    start: int
    end: int


class TableRow(NamedTuple):
    """A row on a line of its source; rows of one table share its number."""

    table: int
    cells: tuple[CellSpan, ...]

    @property
    def start(self) -> int:
        """Where its first cell begins."""
        return self.cells[0].start

    @property
    def end(self) -> int:
        """Where its last cell ends."""
        return self.cells[-1].end


def rows_of(source: tables.Passage) -> tuple[TableRow, ...]:
    """Return the rows of a source's tables; none if no table was kept with it."""
    return tuple(
        TableRow(row.table.number, tuple(CellSpan(" › ".join(one.headers), one.start, one.end) for one in row.cells))
        for row in tables.rows(source)
    )
