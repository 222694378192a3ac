"""Collects the tables of a file from its blocks while it is parsed.

A row holds the text and value of each cell by column number; with the row number that gives the cell's place. A
column's type is that of most of its cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from footnote.stages.v1.parsing_pb2 import Block
from footnote.types.v1.table_pb2 import (
    COLUMN_TYPE_BOOLEAN,
    COLUMN_TYPE_DATE,
    COLUMN_TYPE_NUMBER,
    COLUMN_TYPE_TEXT,
    COLUMN_TYPE_UNSPECIFIED,
    ColumnType,
    Measure,
)
from footnote_text import a1

from footnote_ingestion.parsers.tables import HEADER_SEPARATOR

KINDS = {"number": COLUMN_TYPE_NUMBER, "date": COLUMN_TYPE_DATE, "boolean": COLUMN_TYPE_BOOLEAN, "": COLUMN_TYPE_TEXT}
"""The type of a column by the kind of its cells' values."""
_SAMPLES, _SAMPLE_LENGTH = 5, 60

Value = float | str | bool | None


@dataclass(frozen=True, slots=True)
class CellData:
    """A cell: its text, its value by kind ("number", "date", "boolean", "" for text alone), its own measure if any."""

    text: str
    kind: str = ""
    value: Value = None
    measure: Measure | None = None


@dataclass(frozen=True, slots=True)
class RowData:
    """A row: its number, its sections, its cells by column number, how many columns of its sheet stand left of them."""

    number: int
    sections: tuple[str, ...]
    cells: dict[int, CellData]
    left: int = 0


@dataclass(slots=True)
class ColumnData:
    """A column: its headers, and counts over its cells."""

    headers: tuple[str, ...] = ()
    names_rows: bool = False
    measure: Measure = field(default_factory=Measure)
    kinds: Counter[str] = field(default_factory=Counter)
    samples: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its headers from the outermost."""
        return HEADER_SEPARATOR.join(self.headers)

    @property
    def type(self) -> ColumnType.ValueType:
        """The type of most of its cells."""
        return KINDS[self.kinds.most_common(1)[0][0]] if self.kinds else COLUMN_TYPE_UNSPECIFIED

    @property
    def others(self) -> int:
        """The number of cells of other types."""
        return sum(self.kinds.values()) - max(self.kinds.values(), default=0)

    def saw(self, cell: CellData) -> None:
        """Count a cell."""
        self.kinds[cell.kind] += 1
        sample = cell.text[:_SAMPLE_LENGTH]
        if len(self.samples) < _SAMPLES and sample not in self.samples:
            self.samples.append(sample)


@dataclass(slots=True)
class TableData:
    """A table's description without its rows, but with their number."""

    number: int
    name: str
    columns: list[ColumnData] = field(default_factory=list)
    rows: int = 0
    left: int = 0
    """How many columns of its sheet stand left of it."""
    note: str = ""
    """What it says of the magnitude of its numbers, "" for nothing."""

    def column(self, number: int) -> ColumnData:
        """Return the column with a number, from 1; a row may be longer than the header."""
        while len(self.columns) < number:
            self.columns.append(ColumnData())
        return self.columns[number - 1]


class Collector:
    """Takes blocks in reading order and passes each table row on, with the table as known so far."""

    def __init__(self, take: Callable[[TableData, RowData], None]) -> None:
        self._take = take
        self.tables: dict[int, TableData] = {}

    def add(self, block: Block) -> None:
        """Take a block; blocks without cells are ignored."""
        cells = dict(_cells(block))
        if not block.table or not cells:
            return
        part = block.table_part
        table = self.tables.get(block.table)
        if table is None:
            place = block.locator.sheet.sheet or next(iter(reversed(block.locator.heading_path)), "")
            table = self.tables[block.table] = TableData(
                block.table, part.name or place, left=_left(block), note=part.note
            )
        for index, said in enumerate(part.columns, 1):
            column = table.column(index)
            column.headers, column.names_rows, column.measure = tuple(said.headers), said.names_rows, said.measure
        number = next(anchor.cell.row for anchor in block.anchors if anchor.HasField("cell"))
        sections = next((tuple(row.headers) for row in part.rows if row.number == number), ())
        for index, cell in cells.items():
            table.column(index).saw(cell)
        table.rows += 1
        self._take(table, RowData(number, sections, cells, table.left))


def _left(block: Block) -> int:
    cell = next(anchor for anchor in block.anchors if anchor.HasField("cell"))
    place = a1.corners(cell.locator.sheet.range)
    return place[1] - (cell.cell.column - 1) if place is not None else 0


def _cells(block: Block) -> Iterator[tuple[int, CellData]]:
    for anchor in block.anchors:
        if not anchor.HasField("cell"):
            continue
        cell = anchor.cell
        kind = cell.WhichOneof("value") or ""
        text = block.text[anchor.span.start : anchor.span.end]
        measure = cell.measure if cell.HasField("measure") else None
        yield cell.column, CellData(text, kind, getattr(cell, kind) if kind else None, measure)
