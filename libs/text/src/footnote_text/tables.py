"""Table cells in a passage: text, value, headers, place. The only reader of the parsers' table data.

The cells are the passage's anchors with a `cell`; properties shared by a table's cells are in `tables`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from footnote.types.v1.locator_pb2 import Anchor, Locator
from footnote.types.v1.table_pb2 import Cell as CellMessage
from footnote.types.v1.table_pb2 import Measure, Table, TableCell


class Passage(Protocol):
    """A chunk or a source: text with anchors and tables."""

    @property
    def text(self) -> str:
        """Its text."""

    @property
    def anchors(self) -> Sequence[Anchor]:
        """The places of parts of its text."""

    @property
    def tables(self) -> Sequence[Table]:
        """The tables whose cells it contains."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a row; `start:end` is its text in the passage."""

    start: int
    end: int
    text: str
    headers: tuple[str, ...]
    """The headers of its column, from the outermost."""
    names_row: bool
    """The cell is a header of its row, not a value."""
    message: CellMessage
    locator: Locator
    """Its locator; without a place when the format has none finer than table, row and column."""
    measure: Measure

    @property
    def column(self) -> int:
        """Its column, from 1."""
        return self.message.column

    @property
    def header(self) -> str:
        """The innermost header of its column, "" when it has none."""
        return self.headers[-1] if self.headers else ""

    @property
    def number(self) -> float | None:
        """The number that it certainly contains, neither scaled nor divided by a hundred."""
        return self.message.number if self.message.WhichOneof("value") == "number" else None


@dataclass(frozen=True, slots=True)
class Row:
    """A row, or the part of it in the passage."""

    table: Table
    number: int
    sections: tuple[str, ...]
    """The sections that contain it, from the outermost."""
    cells: tuple[Cell, ...]

    @property
    def start(self) -> int:
        """The start of its first cell's text."""
        return self.cells[0].start

    @property
    def end(self) -> int:
        """The end of its last cell's text."""
        return self.cells[-1].end

    @property
    def names(self) -> tuple[Cell, ...]:
        """The cells that name it: those of naming columns, else its first of several if that is no number."""
        named = tuple(cell for cell in self.cells if cell.names_row)
        if named or len(self.cells) < 2:
            return named
        return self.cells[:1] if self.cells[0].number is None else ()

    @property
    def headers(self) -> tuple[str, ...]:
        """The headers of its cells: its sections, then its header cells."""
        return (*self.sections, *(cell.text for cell in self.cells if cell.names_row))


def rows(passage: Passage) -> list[Row]:
    """Return the rows of the tables in a passage, in reading order; none when it has no tables."""
    return list(_rows(passage)) if passage.tables else []


def _rows(passage: Passage) -> Iterator[Row]:
    text, tables = passage.text, passage.tables
    sections = {(at, row.number): tuple(row.headers) for at, table in enumerate(tables) for row in table.rows}
    paths = [[tuple(column.headers) for column in table.columns] for table in tables]
    cells = [one for one in passage.anchors if one.HasField("cell") and one.cell.table < len(tables)]
    for (at, number), group in groupby(cells, key=lambda one: (one.cell.table, one.cell.row)):
        yield Row(
            tables[at],
            number,
            sections.get((at, number), ()),
            tuple(_cell(anchor, text, tables[at], paths[at]) for anchor in group),
        )


def _cell(anchor: Anchor, text: str, table: Table, paths: Sequence[tuple[str, ...]]) -> Cell:
    message, start, end = anchor.cell, anchor.span.start, anchor.span.end
    known = 0 < message.column <= len(paths)
    column = table.columns[message.column - 1] if known else None
    return Cell(
        start, end, text[start:end], paths[message.column - 1] if known else (), bool(column and column.names_rows),
        message, anchor.locator, measure(message, column.measure if column else Measure()),
    )  # fmt: skip


def appended(tables: list[Table], more: Sequence[Table]) -> list[int]:
    """Append tables to those of a passage, merging parts of one table; return the index of each among them."""
    places: list[int] = []
    for table in more:
        last = tables[-1] if tables else None
        if last is None or (last.number, list(last.columns)) != (table.number, list(table.columns)):
            last = Table()
            last.CopyFrom(table)
            tables.append(last)
        else:
            known = {row.number for row in last.rows}
            last.rows.extend(row for row in table.rows if row.number not in known)
        places.append(len(tables) - 1)
    return places


def measure(cell: CellMessage, column: Measure) -> Measure:
    """Return a cell's measure: its own, else its column's."""
    found = Measure()
    found.CopyFrom(column)
    if cell.measure.unit or cell.measure.currency:  # 12 % in a column of millions is neither scaled nor in euros
        found.unit, found.currency = cell.measure.unit, cell.measure.currency or found.currency
        if cell.measure.unit:
            found.scale, found.currency = 0, cell.measure.currency
    if cell.measure.scale:
        found.scale = cell.measure.scale
    return found


def cell_message(row: Row, cell: Cell) -> TableCell:
    """Return a cell as a message of its own, with all that its table knows of it."""
    found = TableCell(
        text=cell.text,
        column_headers=cell.headers,
        row_headers=() if cell.names_row else row.headers,
        cell=cell.message,
    )
    found.cell.table = row.table.number
    if cell.measure.ByteSize():
        found.cell.measure.CopyFrom(cell.measure)
    return found
