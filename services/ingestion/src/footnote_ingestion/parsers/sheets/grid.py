"""A grid of cells to rows of tables: where the header is, which rows belong to it, which cell holds which value."""

from __future__ import annotations

from collections.abc import Sequence

from footnote_ingestion.parsers.base import PARAGRAPH, TABLE_ROW, BlockWriter
from footnote_ingestion.parsers.tables import cell_anchors, cell_range, looks_numeric, row_text

_SEARCH = 15
Row = tuple[int, Sequence[str]]


class GridWriter:
    """Takes the rows of one sheet in order and writes them as blocks.

    Blank rows part tables. Each part's header row is looked for in its first rows; what stands above it is written as
    it is. A part without a header of its own keeps the header above when its columns fit.
    """

    def __init__(self, out: BlockWriter, sheet: str, left: int) -> None:
        self._out = out
        self._sheet = sheet
        self._left = left
        self._pending: list[Row] = []
        self._decided = False
        self._headers: list[str] = []
        self._table = 0
        self._header_row = 0
        self._unused: set[int] = set()

    def row(self, number: int, values: Sequence[str]) -> None:
        """Take row `number` (from 0)."""
        if not any(values):
            self._end_part()
        elif self._decided:
            self._write(number, values)
        else:
            self._pending.append((number, values))
            if len(self._pending) > _SEARCH:
                self._decide()

    def close(self) -> None:
        """Return the sheet has ended."""
        self._end_part()

    def _end_part(self) -> None:
        if self._pending:
            self._decide()
        self._decided = False
        if self._unused:  # headers of columns without a value: they stand in no row, and are not lost
            cells = [value if column in self._unused else "" for column, value in enumerate(self._headers)]
            self._lines(self._header_row, cells)
            self._unused.clear()

    def _decide(self) -> None:
        rows, self._pending = self._pending, []
        self._decided = True
        found = find_header([values for _, values in rows])
        if found is None:
            if not self._headers or _width(rows[0][1]) > len(self._headers) or _filled(rows[0][1]) < 2:
                self._headers = []
            below = rows
        else:
            for number, values in rows[:found]:
                self._lines(number, values)
            self._headers = [value[:200] for value in rows[found][1]]
            below = rows[found + 1 :]
            self._table = 0
            self._header_row = rows[found][0]
            self._unused = {column for column, value in enumerate(self._headers) if value}
            if not below:
                below, self._headers = rows[found:], []
                self._unused.clear()
        if not self._table or found is not None:
            self._table = self._out.new_table()
        for number, values in below:
            self._write(number, values)

    def _write(self, number: int, values: Sequence[str]) -> None:
        if _filled(values) == 1 and not self._headers:
            self._lines(number, values)
            return
        self._unused.difference_update(column for column, value in enumerate(values) if value)
        self._block(TABLE_ROW, number, values, self._headers, self._table)

    def _lines(self, number: int, values: Sequence[str]) -> None:
        self._block(PARAGRAPH, number, values, (), 0)

    def _block(self, kind: int, number: int, values: Sequence[str], headers: Sequence[str], table: int) -> None:
        text, spans = row_text(headers, values)
        if not spans:
            return
        place = cell_range(self._sheet, number, self._left + spans[0][0], self._left + spans[-1][0])
        self._out.add(kind, text, place, anchors=cell_anchors(self._sheet, number, self._left, spans), table=table)  # type: ignore[arg-type]


def find_header(rows: Sequence[Sequence[str]]) -> int | None:
    """Index of the header among the first rows of a table, or None when the first wide row looks like data."""
    widest = max(_filled(row) for row in rows)
    if widest < 2:
        return None
    for index, row in enumerate(rows[:-1]):
        filled = [value for value in row if value]
        if len(filled) < max(2, widest * 0.6):
            continue
        labels = [value for value in filled if not looks_numeric(value) or _is_year(value)]
        distinct = len(set(filled)) >= len(filled) * 0.7
        short = sum(len(value) for value in filled) <= 120 * len(filled)
        return index if len(labels) == len(filled) and distinct and short else None
    return None


def _is_year(text: str) -> bool:
    return len(text) == 4 and text.isdecimal() and 1900 <= int(text) <= 2100


def _filled(row: Sequence[str]) -> int:
    return sum(1 for value in row if value)


def _width(row: Sequence[str]) -> int:
    return max((index + 1 for index, value in enumerate(row) if value), default=0)
