"""Table rows as blocks: their text, and its cells with headers, values and places."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from footnote.stages.v1.parsing_pb2 import Block
from footnote.types.v1.locator_pb2 import Anchor, Locator, SheetLocator
from footnote.types.v1.table_pb2 import Cell, Table, TableColumn
from footnote_text.a1 import column_letters, range_name

from footnote_ingestion.parsers.base import TABLE_ROW, BlockWriter, Place
from footnote_ingestion.parsers.measures import is_note, measure_of, names_unit, note_of
from footnote_ingestion.parsers.numbers import NOTHING, is_number
from footnote_ingestion.parsers.tables import HEADER_SEPARATOR, looks_like_year, row_text

Headers = Sequence[str]
"""Headers of one column, from the outermost."""
Span = tuple[int, int, int]
"""Column, start and end of a value in its row's text."""
Typed = Sequence[bytes]
"""The values of a row by column, as `Numbers` gives them."""
Places = tuple[Sequence[bytes], bytes]
"""Serialized locators of a row's cells: the prefix per column, and the common suffix."""

_ANCHOR_TAG = bytes([Block.ANCHORS_FIELD_NUMBER << 3 | 2])
_SPAN_TAG = bytes([Anchor.SPAN_FIELD_NUMBER << 3 | 2])
_LOCATOR_TAG = bytes([Anchor.LOCATOR_FIELD_NUMBER << 3 | 2])
_CELL_TAG = bytes([Anchor.CELL_FIELD_NUMBER << 3 | 2])
_SHEET_NAME_TAG = bytes([SheetLocator.SHEET_FIELD_NUMBER << 3 | 2])
_SHEET_TAG = bytes([Locator.SHEET_FIELD_NUMBER << 3 | 2])
_RANGE_TAG = bytes([SheetLocator.RANGE_FIELD_NUMBER << 3 | 2])
_ROW_TAG = bytes([Cell.ROW_FIELD_NUMBER << 3])
_COLUMN_TAG = bytes([Cell.COLUMN_FIELD_NUMBER << 3])
_START_TAG, _END_TAG = b"\x08", b"\x10"  # the two fields of a span
_SPAN_HEADS = [_SPAN_TAG + bytes([2 + size]) + _START_TAG for size in range(12)]
_SMALL = [bytes([n]) if n < 128 else bytes([n & 127 | 128, n >> 7]) for n in range(1 << 14)]


def varint(number: int) -> bytes:
    """Encode a number as a protobuf varint."""
    if number < len(_SMALL):
        return _SMALL[number]
    data = bytearray()
    while number > 127:
        data.append(number & 127 | 128)
        number >>= 7
    data.append(number)
    return bytes(data)


def _field(tag: bytes, data: bytes) -> bytes:
    return tag + varint(len(data)) + data


class SheetPlaces:
    """The places of a sheet's cells; `left` is the sheet's column of index 0."""

    def __init__(self, sheet: str, left: int = 0) -> None:
        self.sheet = sheet
        self.left = left
        self._name = _field(_SHEET_NAME_TAG, sheet.encode()) if sheet else b""
        self._heads: list[bytes] = []
        self._figures = 0

    def of_row(self, number: int, width: int) -> tuple[list[bytes], bytes]:
        """Return the serialized locators' prefix per column and their common suffix, for a row's cells.

        Except for its digits, a cell's name is the same in all rows with as many digits.
        """
        figures = str(number + 1).encode()
        if len(figures) != self._figures:
            self._heads, self._figures = [], len(figures)
        while len(self._heads) < width:
            name = column_letters(self.left + len(self._heads)).encode()
            range_ = _RANGE_TAG + varint(len(name) + len(figures)) + name
            data = self._name + range_
            sheet = _SHEET_TAG + varint(len(data) + len(figures)) + data
            self._heads.append(_LOCATOR_TAG + varint(len(sheet) + len(figures)) + sheet)
        return self._heads, figures

    def of_range(self, number: int, first: int, last: int) -> SheetLocator:
        """Return the locator of the cells `first`..`last` (from 0) of a row."""
        return SheetLocator(sheet=self.sheet, range=range_name(number, self.left + first, number, self.left + last))


def pack_anchors(
    spans: Sequence[Span],
    places: Places = ((), b""),
    row: int = 0,
    typed: Typed = (),
) -> bytes:
    """Return the anchors of values as a block's serialized field, one cell each if `row` (from 1) is given.

    Protobuf objects created one by one take five times as long. `places` has serialized locators (prefix per column,
    common suffix), and `typed` serialized values.
    """
    heads, tail = places
    small = _SMALL if spans and spans[-1][2] < len(_SMALL) else _Varints()
    of_row = _ROW_TAG + varint(row) + _COLUMN_TAG
    parts: list[bytes] = []
    for column, start, end in spans:
        begin, stop = small[start], small[end]
        data = _SPAN_HEADS[len(begin) + len(stop)] + begin + _END_TAG + stop
        if heads:
            data += heads[column] + tail
        if row:
            cell = of_row + small[column + 1]
            if typed:
                cell += typed[column]
            data += _CELL_TAG + small[len(cell)] + cell
        parts += (_ANCHOR_TAG, small[len(data)], data)
    return b"".join(parts)


class _Varints:
    """Numbers as protobuf varints, of any size."""

    def __getitem__(self, number: int) -> bytes:
        return varint(number)


class TableRows:
    """Writes the rows of one table with known headers."""

    def __init__(
        self,
        out: BlockWriter,
        headers: Sequence[Headers],
        *,
        naming: Collection[int] = (),
        name: str = "",
        said: Sequence[str] = (),
        number: int = 0,
    ) -> None:
        self._out = out
        self.headers = headers
        self.written = 0
        """Rows written so far, if their writer counts them here."""
        self.number = number or out.new_table()
        self.names = [HEADER_SEPARATOR.join(path) for path in headers]
        """The header of each column as written in rows."""
        corner = [text for at in sorted(naming) if at < len(headers) for text in headers[at]]
        values = [path for at, path in enumerate(headers) if at not in naming]
        shared = [text for text in values[0] if all(text in path for path in values)] if len(values) > 1 else []
        note, scale, of_all = note_of((out.line_above, *said, *shared, *corner))
        self.said = (note, *said) if note else tuple(said)
        """What stands above it, for a part of it with other columns of names."""
        self._naming = naming
        if not all(any(map(str.isdigit, path[-1])) for path in values if path):
            # Beside "Price", "Size (cm)" names the unit of the sizes; beside "2019", or as "(cm)", that of the table.
            corner = [text for text in corner if is_note(text) or not names_unit(text)]
        columns = []
        for at, path in enumerate(headers):
            measure = None if at in naming else measure_of(path, (*self.said, *corner), of_all)
            columns.append(TableColumn(headers=path, names_rows=at in naming, measure=measure))
        self._head = Table(number=self.number, name=name, columns=columns, note=note, note_scale=scale)

    def counted_once(self, values: Sequence[str], typed: Typed, covered: Collection[int]) -> Typed:
        """Return values of a row without numbers that merged cells repeat in `covered` columns: sums count each once.

        Row names and years keep theirs, since questions name rows by them.
        """
        if not covered:
            return typed
        repeated = {
            at for at in covered if at not in self._naming and is_number(typed[at]) and not looks_like_year(values[at])
        }
        return [NOTHING if at in repeated else one for at, one in enumerate(typed)]

    def row(
        self,
        number: int,
        values: Sequence[str],
        place: Place | None,
        *,
        cells: Places = ((), b""),
        typed: Typed = (),
        bare: bool = False,
    ) -> list[Span]:
        """Write row `number` (from 1) and return where its values are; `bare` omits the headers from its text."""
        text, spans = row_text(() if bare else self.names, values)
        if spans:
            self.write(number, text, spans, place, cells=cells, typed=typed)
        return spans

    def write(
        self,
        number: int,
        text: str,
        spans: Sequence[Span],
        place: Place | None,
        *,
        cells: Places = ((), b""),
        typed: Typed = (),
        above: Sequence[str] = (),
    ) -> None:
        """Write a row whose text is ready; `above` are its sections."""
        packed = pack_anchors(spans, cells, number, typed)
        self._out.add(TABLE_ROW, text, place, packed=packed, table=self.number, part=self._head, above=(number, above))
