"""A grid of cells to rows of tables: where the header is, which rows belong to it, which cell holds which value."""

from __future__ import annotations

from collections.abc import Sequence

from footnote_ingestion.parsers.base import PARAGRAPH, BlockWriter
from footnote_ingestion.parsers.rows import Headers, SheetPlaces, Span, TableRows, Typed, pack_anchors
from footnote_ingestion.parsers.tables import (
    HEADER_SEPARATOR,
    are_pairs,
    header_path,
    is_series,
    looks_like_year,
    looks_numeric,
    naming_columns,
    pair_text,
    row_text,
)

_SEARCH = 15
Row = tuple[int, Sequence[str], frozenset[int], Typed | None]


class GridWriter:
    """Takes the rows of one sheet in order and writes them as blocks.

    Blank rows part tables. Each part's header row is looked for in its first rows; what stands above it is written as
    it is. A part without a header of its own keeps the header above when its columns fit.
    """

    def __init__(self, out: BlockWriter, sheet: str, left: int) -> None:
        self._out = out
        self._places = SheetPlaces(sheet, left)
        self._pending: list[Row] = []
        self._decided = False
        self._headers: list[Headers] = []
        self._table: TableRows | None = None
        self._header_row = 0
        self._unused: set[int] = set()
        self._pairs = False

    def row(
        self, number: int, values: Sequence[str], covered: frozenset[int] = frozenset(), typed: Typed | None = None
    ) -> None:
        """Take row `number` (from 0); `covered` columns repeat the value of a merged cell that begins elsewhere.

        `typed` gives the values that the file itself has; without it they are read from the texts.
        """
        if not any(values):
            self._end_part()
        elif all(not value or column in covered for column, value in enumerate(values)):
            return  # nothing but what merged cells from above reach down to
        elif self._decided:
            self._write(number, values, covered, typed)
        else:
            self._pending.append((number, values, covered, typed))
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
            names = map(HEADER_SEPARATOR.join, self._headers)
            self._lines(self._header_row, [name if at in self._unused else "" for at, name in enumerate(names)])
            self._unused.clear()

    def _decide(self) -> None:
        rows, self._pending = self._pending, []
        self._decided = True
        merged = [_own(values, covered) for _, values, covered, _ in rows]
        self._out.numbers.learn(merged)
        self._pairs = are_pairs(merged)
        found = None if self._pairs else find_header([values for _, values, _, _ in rows], merged)
        above: list[str] = []
        if self._pairs:
            self._headers = []
            below = rows
        elif found is None:
            if not self._headers or _width(rows[0][1]) > len(self._headers) or _filled(rows[0][1]) < 2:
                self._headers = []
            below = rows
        else:
            for number, values, covered, _ in rows[:found]:
                own = _own(values, covered)
                above += [value for value in own if value]
                self._lines(number, own)
            last = found + header_rows_below(rows[found:])
            columns = range(max(len(values) for _, values, _, _ in rows[found : last + 1]))
            self._headers = [
                header_path([values[column] for _, values, _, _ in rows[found : last + 1] if column < len(values)])
                for column in columns
            ]
            below = rows[last + 1 :]
            self._table = None
            self._header_row = rows[found][0]
            self._unused = {column for column, path in enumerate(self._headers) if path}
            if not below:
                below, self._headers = rows[found:], []
                self._unused.clear()
        if self._table is None or found is not None or self._table.headers != self._headers:
            number = 0 if self._table is None or found is not None else self._table.number
            naming = frozenset({0}) if self._pairs else naming_columns([_own(row[1], row[2]) for row in below])
            self._table = TableRows(self._out, self._headers, naming=naming, said=above, number=number)
        for number, values, covered, typed in below:
            self._write(number, values, covered, typed)

    def _write(self, number: int, values: Sequence[str], covered: frozenset[int], typed: Typed | None) -> None:
        own = _own(values, covered)
        if self._pairs and _width(own) <= 2 and own[0]:
            self._pair(number, own, typed)
            return
        across = covered and len({value for value in values if value}) == 1  # one cell over the whole row
        if _filled(own) == 1 and (not self._headers or across):
            self._lines(number, own)
            return
        values = values if self._headers else own
        if self._unused:
            self._unused.difference_update(column for column, value in enumerate(values) if value)
        assert self._table is not None
        text, spans = row_text(self._table.names, values)
        self._row(number, text, spans, values, typed)

    def _pair(self, number: int, values: Sequence[str], typed: Typed | None) -> None:
        """Write a name and its value."""
        name = values[0].rstrip(":： ")
        if len(values) < 2 or not values[1]:
            self._lines(number, [name])
            return
        spans = [(0, 0, len(name)), (1, len(name) + 2, len(name) + 2 + len(values[1]))]
        self._row(number, pair_text(values), spans, values, typed)

    def _row(self, number: int, text: str, spans: Sequence[Span], values: Sequence[str], typed: Typed | None) -> None:
        assert self._table is not None
        place = self._places.of_range(number, spans[0][0], spans[-1][0])
        if typed is None:
            typed = [*map(self._out.numbers.cell, values)]
        cells = self._places.of_row(number, len(values))
        self._table.write(number + 1, text, spans, place, cells=cells, typed=typed)

    def _lines(self, number: int, values: Sequence[str]) -> None:
        text, spans = row_text((), values)
        if spans:
            place = self._places.of_range(number, spans[0][0], spans[-1][0])
            packed = pack_anchors(spans, self._places.of_row(number, len(values)))
            self._out.add(PARAGRAPH, text, place, packed=packed)


def header_rows_below(rows: Sequence[Row]) -> int:
    """Return how many more rows go on with a header: they name the columns of groups, and nothing else."""
    more = 0
    while more < len(rows) - 2:
        _, above, covered, _ = rows[more]
        _, values, again, _ = rows[more + 1]
        group = _grouped_columns(above, covered)
        names = [value for column, value in enumerate(values) if value and column in group and column not in again]
        others = [value for column, value in enumerate(values) if value and column not in group and column not in again]
        if not names or others or any(looks_numeric(name) and not looks_like_year(name) for name in names):
            break
        more += 1
    return more


def _grouped_columns(values: Sequence[str], covered: frozenset[int]) -> set[int]:
    """Return the columns that stand under a cell of several columns."""
    found: set[int] = set()
    for column in range(1, len(values)):
        if column in covered and values[column] and values[column] == values[column - 1]:
            found |= {column - 1, column}
    return found


def _own(values: Sequence[str], covered: frozenset[int]) -> Sequence[str]:
    """Return the row without what merged cells repeat."""
    return [("" if column in covered else value) for column, value in enumerate(values)] if covered else values


def find_header(rows: Sequence[Sequence[str]], merged: Sequence[Sequence[str]] | None = None) -> int | None:
    """Index of the header among the first rows of a table, or None when the first wide row looks like data.

    `merged` are the same rows without what merged cells repeat.
    """
    merged = merged or rows
    widest = max(_filled(row) for row in rows)
    if widest < 2:
        return None
    for index, row in enumerate(rows[:-1]):
        if _filled(row) < max(2, widest * 0.6):
            continue
        filled = [value for value in merged[index] if value]
        if len(filled) < 2 and (row[0] or not filled or _filled(row) == len(row)):  # a title over the whole table
            continue
        labels = [value for value in filled if not looks_numeric(value) or looks_like_year(value)]
        distinct = len(set(filled)) >= len(filled) * 0.7
        short = sum(len(value) for value in filled) <= 120 * len(filled)
        named = len(labels) == len(filled) or is_series(row, rows[index + 1])
        return index if named and distinct and short else None
    return None


def _filled(row: Sequence[str]) -> int:
    return len(row) - row.count("")


def _width(row: Sequence[str]) -> int:
    return max((index + 1 for index, value in enumerate(row) if value), default=0)
