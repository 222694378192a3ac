"""Turns a grid of cells into table rows: finds the header, its rows, and the cell of each value."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from footnote_ingestion.parsers.base import PARAGRAPH, BlockWriter
from footnote_ingestion.parsers.rows import Headers, SheetPlaces, Span, TableRows, Typed, pack_anchors
from footnote_ingestion.parsers.sheets import headers
from footnote_ingestion.parsers.sheets.beside import captions, tables_beside
from footnote_ingestion.parsers.sheets.held import may_head, names_more
from footnote_ingestion.parsers.sheets.kinds import filled_cells, kind_of
from footnote_ingestion.parsers.sheets.row_names import RowNames
from footnote_ingestion.parsers.tables import (
    HEADER_SEPARATOR,
    are_pairs,
    header_path,
    is_range,
    looks_numeric,
    naming_columns,
    pair_text,
    row_text,
)

_SEARCH = 25
_LEAST_NAMED = 3
_MOST_HELD = 4
"""Parts between blank rows that are held as one header's possible rows: each is tried as its beginning."""
Row = tuple[int, Sequence[str], frozenset[int], Typed | None]


class GridWriter:
    """Takes the rows of one sheet in order and writes them as blocks.

    Blank rows separate tables. Each part's header is searched for in its first rows; rows above it are written
    unchanged. A part without a header keeps the header above if its columns fit. `known` are rows that the file
    declares as the last of a header; those also in `lasting` head all parts below. `group` is a caption above the
    header's names, if other tables beside this one have theirs in the same row.
    """

    def __init__(
        self,
        out: BlockWriter,
        sheet: str,
        left: int,
        known: frozenset[int] = frozenset(),
        lasting: frozenset[int] = frozenset(),
        *,
        apart: bool = True,
        group: str = "",
    ) -> None:
        self._out = out
        self._group = group
        self._sheet, self._left = sheet, left
        self._places = SheetPlaces(sheet, left)
        self._known, self._lasting = known, lasting
        self._lasting_headers: list[Headers] = []
        self._apart = apart
        self._pending: list[Row] = []
        self._decided = False
        self._headers: list[Headers] = []
        self._figures: frozenset[int] = frozenset()
        self._texts: frozenset[int] = frozenset()
        self._table: TableRows | None = None
        self._names = RowNames(())
        self._named = True
        self._header_row = 0
        self._unused: set[int] = set()
        self._pairs = False
        self._alone: list[list[Row]] = []
        self._beside: list[tuple[int, int, GridWriter]] = []

    def row(
        self, number: int, values: Sequence[str], covered: frozenset[int] = frozenset(), typed: Typed | None = None
    ) -> None:
        """Take row `number` (from 0); `covered` columns repeat the value of a merged cell that begins elsewhere.

        `typed` has the file's own values; without it they are parsed from the texts.
        """
        if not any(values):
            self._end_part()
        elif self._beside:
            self._share(number, values, covered, typed)
        elif covered and all(not value or column in covered for column, value in enumerate(values)):
            return  # nothing but values of merged cells from above
        elif self._decided and not self._names_again(values, covered):
            self._write(number, values, covered, typed)
        else:
            if self._decided:
                self._end_part()
            self._pending.append((number, values, covered, typed))
            if len(self._pending) > _SEARCH:
                self._decide()

    def close(self) -> None:
        """Finish the sheet."""
        self._end_part()
        self._settle_held()

    def begin(self, paths: Sequence[Headers], header_row: int, name: str, naming: Collection[int]) -> None:
        """Begin a table with a declared header; its rows follow."""
        self._headers = list(paths)
        self._header_row, self._decided = header_row, True
        self._unused = {column for column, path in enumerate(paths) if path}
        self._table = TableRows(self._out, self._headers, naming=naming, name=name)
        self._names = RowNames(naming)

    def _end_part(self) -> None:
        while self._pending:
            self._decide()
        for _, _, writer in self._beside:
            writer.close()
        self._beside = []
        self._decided = False
        self._names.blank()
        if self._unused:  # headers without values are in no row, but must not be lost
            names = map(HEADER_SEPARATOR.join, self._headers)
            self._lines(self._header_row, [name if at in self._unused else "" for at, name in enumerate(names)])
            self._out.line_above = ""  # it says nothing of the table that follows
            self._unused.clear()

    def _settle_held(self) -> None:
        """Write the parts held for rows that did not follow; the rest of one may be held again, but it is shorter."""
        while self._alone:
            parts, self._alone = self._alone, []
            for part in parts:
                self._settle(part)
                self._end_part()

    def _decide(self) -> None:
        """Settle the rows read so far, or hold them: blank rows may be inside a header, or between it and its body."""
        rows, self._pending = self._pending, []
        kept = rows[-1][0] <= max(self._lasting, default=-1)
        own = _owns(rows)
        if may_head(own, [bool(row[2]) for row in rows], kept=kept) and self._may_hold(own):
            self._alone.append(rows)
            return
        parts, self._alone = [*self._alone, rows], []
        for at in range(len(parts) - 1):
            above = [row for part in parts[at:-1] for row in part]
            found = self._find([*above, *rows])
            if found is not None and found.first < len(above) <= found.body:
                parts[at:] = [[*above, *rows]]
                break
        for part in parts[:-1]:
            self._settle(part)
            self._end_part()
            self._settle_held()
        self._settle(parts[-1])

    def _may_hold(self, own: list[Sequence[str]]) -> bool:
        return not self._alone or (len(self._alone) < _MOST_HELD and names_more(own, _owns(self._alone[-1])))

    def _find(self, rows: list[Row]) -> headers.Header | None:
        known = next((at for at, row in enumerate(rows[:-1]) if row[0] in self._known), None)
        return headers.find([row[1] for row in rows], _owns(rows), known)

    def _settle(self, rows: list[Row]) -> None:
        """Decide what the first rows of a part are, and write them."""
        own = _owns(rows)
        if self._apart and (parts := tables_beside(own)):
            groups = captions(own, parts)
            self._beside = [
                (start, end, self._part_beside(start, group)) for (start, end), group in zip(parts, groups, strict=True)
            ]
            for row in rows:
                self._share(*row)
            return
        self._decided = True
        self._out.numbers.learn(own, [row[3] for row in rows])
        rows = [self._read_again(*row) for row in rows]
        self._pairs = not self._lasting_headers and are_pairs(own)
        found = None if self._pairs else self._find(rows)
        self._begin_part(rows, own, None if found is not None and self._names_less(found, own) else found)

    def _read_again(self, number: int, values: Sequence[str], covered: frozenset[int], typed: Typed | None) -> Row:
        """Return a row with the values of texts that could not be read before the rows below it were known."""
        if typed is not None:
            typed = [own or self._out.numbers.cell(text) for own, text in zip(typed, values, strict=True)]
        return number, values, covered, typed

    def _part_beside(self, start: int, group: str) -> GridWriter:
        left = self._left + start
        return GridWriter(self._out, self._sheet, left, self._known, self._lasting, apart=False, group=group)

    def _begin_part(self, rows: list[Row], own: list[Sequence[str]], found: headers.Header | None) -> None:
        above: list[str] = []
        if self._pairs:
            self._headers = []
            below = rows
        elif found is None:
            if not self._fits_above(rows, own):
                fits = max(_width(row[1]) for row in rows) <= len(self._lasting_headers)
                self._headers = self._lasting_headers if fits else []
            below = rows
        else:
            for at, (number, _, _, _) in enumerate(rows[: found.body]):
                if at < found.first or at > found.last:
                    above += [value for value in own[at] if value]
                    self._lines(number, own[at])
            self._headers = [header_path((self._group, *path)) if path else path for path in found.paths]
            if any(row[0] in self._lasting for row in rows[found.first : found.body]):
                self._lasting_headers = self._headers
            below = rows[found.body :]
            self._header_row = rows[found.first][0]
            self._unused = {column for column, path in enumerate(self._headers) if path}
            if not below:
                below, self._headers = rows[found.first :], []
                self._unused.clear()
        mine = own[len(rows) - len(below) :]
        paths = self._headers or [()] * max(len(row) for row in mine)
        named = self._named
        self._named = any(filled_cells(row) > 1 for row in mine)
        last = self._table
        if last is None or found is not None or last.headers != paths or (self._named and not named):
            goes_on = last is not None and found is None and (not any(last.headers) or last.headers == paths)
            number, said = (last.number, last.said) if last is not None and goes_on else (0, above)
            naming = frozenset({0}) if self._pairs else naming_columns([values for _, values, _, _ in below])
            self._table = TableRows(self._out, paths, naming=naming, said=said, number=number)
            self._names = RowNames(naming)
        if found is not None and self._headers:
            heads = rows[found.last : found.body + 1]
            for (above_it, *_), (number, values, covered, _) in pairwise(heads):
                if number > above_it + 1:
                    self._names.blank()
                if number < below[0][0]:
                    self._section(values, _own(values, covered))
        if found is not None:
            self._figures = self._texts = frozenset()
        if self._headers:
            self._figures |= _figures(mine)
            self._texts |= _texts(mine)
        if found is None:  # asked again whether it names columns, it would come back here
            self._write(*below[0])
            below = below[1:]
        for row in below:
            self.row(*row)

    def _names_less(self, found: headers.Header, own: list[Sequence[str]]) -> bool:
        """Return whether a header is a name with a remark, below one that names all columns of figures."""
        figures = _figures(own[found.body :])
        return (
            found.body == 1
            and headers.is_noted_section(own[0], figures)
            and all(column < len(self._headers) and self._headers[column] for column in figures)
        )

    def _fits_above(self, rows: list[Row], own: list[Sequence[str]]) -> bool:
        """Return whether the table header above fits these rows: same columns, figures in the same places.

        Names alone may precede or separate them, as for sections. Columns that were empty so far may hold anything.
        Codes may stand left of the figures, where a total has its name.
        """
        widths = [_width(row[1]) for row in rows if filled_cells(row[1]) > 1]
        if not self._headers or not widths or max(widths) > len(self._headers):
            return False
        if any(self._repeats_header(row) for row in own):
            return True
        figures = _figures(own)
        if figures <= self._figures or not self._figures:
            return True
        codes = range(min(self._figures)) if self._figures <= figures else range(0)
        return bool(figures & self._figures) and not (figures - self._figures).difference(codes) & self._texts

    def _names_again(self, values: Sequence[str], covered: frozenset[int]) -> bool:
        """Return whether a row may be another header: different texts in most columns that otherwise hold figures."""
        if not self._headers or len(self._figures) < _LEAST_NAMED:
            return False
        if len(self._headers[0]) >= _LEAST_NAMED and values[0]:
            return False  # rows that describe the columns, each with its own name, go on
        over = [values[at] for at in self._figures if at < len(values) and values[at] and at not in covered]
        return (
            len(over) * 2 > len(self._figures)
            and len(set(over)) == len(over) >= _LEAST_NAMED
            and all(kind_of(text) == "t" for text in over)
        )

    def _repeats_header(self, own: Sequence[str]) -> bool:
        """Return whether a row is the last row of the header again."""
        names = [path[-1] if path else "" for path in self._headers]
        filled = [column for column, value in enumerate(own) if value]
        return len(filled) > 1 and all(own[column] == names[column] for column in filled)

    def _share(self, number: int, values: Sequence[str], covered: frozenset[int], typed: Typed | None) -> None:
        """Give each of several adjacent tables its part of a row; cells outside of them are a line of their own."""
        for start, end, writer in self._beside:
            mine = values[start:end]
            if any(mine):
                inside = frozenset(column - start for column in covered if start <= column < end)
                writer.row(number, mine, inside, typed[start:end] if typed is not None else None)
        rest = list(_own(values, covered))
        for start, end, _ in self._beside:
            rest[start:end] = [""] * len(rest[start:end])
        if any(rest):
            self._lines(number, rest)

    def _write(self, number: int, values: Sequence[str], covered: frozenset[int], typed: Typed | None) -> None:
        own = _own(values, covered)
        if self._pairs and _width(own) <= 2 and own[0]:
            self._pair(number, own, typed)
            return
        above: Sequence[str] = ()
        noted = self._headers and not covered and self._names.is_apart
        if noted and headers.is_noted_section(own, self._figures):  # else it may be a row that lacks its values
            self._section(values, own)
            self._lines(number, own)
            return
        if filled_cells(own) == 1:
            across = covered and len({value for value in values if value}) == 1  # one cell over the whole row
            if self._headers and (across or (own[0] and filled_cells(values) == 1)):
                self._section(values, own)
            elif self._headers:
                above = self._names.above(values)
            if not self._headers or across:
                self._lines(number, own)
                return
        elif self._headers:
            above = self._names.above(values)
        values = values if self._headers else own
        if self._unused:
            self._unused.difference_update(column for column, value in enumerate(values) if value)
        assert self._table is not None
        text, spans = self._text(values, above) if above else row_text(self._table.names, values)
        self._row(number, text, spans, values, typed, above, covered)

    def _section(self, values: Sequence[str], own: Sequence[str]) -> None:
        """Take a row that has one cell, or a remark beside it, as the possible name of a section."""
        column, name = next(((at, text) for at, text in enumerate(own) if text), (0, ""))
        across = filled_cells(own) > 1 or filled_cells(values) * 2 > len(self._headers)
        self._names.section(name, column, across=across)

    def _text(self, values: Sequence[str], above: Sequence[str]) -> tuple[str, list[Span]]:
        """Return a row's text, its first value after the names `above` it, and where its values are."""
        assert self._table is not None
        first = next(at for at, value in enumerate(values) if value)
        path = HEADER_SEPARATOR.join([*above, values[first]])
        text, spans = row_text(self._table.names, [*values[:first], path, *values[first + 1 :]])
        column, _, end = spans[0]
        return text, [(column, end - len(values[first]), end), *spans[1:]]

    def _pair(self, number: int, values: Sequence[str], typed: Typed | None) -> None:
        """Write a name and its value."""
        name = values[0].rstrip(":： ")
        if len(values) < 2 or not values[1]:
            self._lines(number, [name])
            return
        spans = [(0, 0, len(name)), (1, len(name) + 2, len(name) + 2 + len(values[1]))]
        self._row(number, pair_text(values), spans, values, typed)

    def _row(
        self, number: int, text: str, spans: Sequence[Span], values: Sequence[str], typed: Typed | None,
        above: Sequence[str] = (), covered: frozenset[int] = frozenset(),
    ) -> None:  # fmt: skip
        assert self._table is not None
        place = self._places.of_range(number, spans[0][0], spans[-1][0])
        if typed is None:
            typed = [*map(self._out.numbers.cell, values)]
        typed = self._table.counted_once(values, typed, covered)
        cells = self._places.of_row(number, len(values))
        self._table.write(number + 1, text, spans, place, cells=cells, typed=typed, above=above)

    def _lines(self, number: int, values: Sequence[str]) -> None:
        text, spans = row_text((), values)
        if spans:
            place = self._places.of_range(number, spans[0][0], spans[-1][0])
            packed = pack_anchors(spans, self._places.of_row(number, len(values)))
            self._out.add(PARAGRAPH, text, place, packed=packed)


def _own(values: Sequence[str], covered: frozenset[int]) -> Sequence[str]:
    """Return the row without repeated values of merged cells."""
    return [("" if column in covered else value) for column, value in enumerate(values)] if covered else values


def _owns(rows: Sequence[Row]) -> list[Sequence[str]]:
    return [_own(values, covered) for _, values, covered, _ in rows]


def _figures(own: Sequence[Sequence[str]]) -> frozenset[int]:
    """Return the columns that hold any figures; a range may be a value or a name."""
    return frozenset(
        column
        for row in own
        for column, value in enumerate(row)
        if value and looks_numeric(value) and not is_range(value)
    )


def _texts(own: Sequence[Sequence[str]]) -> frozenset[int]:
    """Return the columns that hold any texts."""
    return frozenset(column for row in own for column, value in enumerate(row) if value and not looks_numeric(value))


def _width(row: Sequence[str]) -> int:
    return max((index + 1 for index, value in enumerate(row) if value), default=0)
