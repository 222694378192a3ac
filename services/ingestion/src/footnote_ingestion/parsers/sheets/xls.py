"""Excel 97 to 2003 workbooks: number formats, hidden rows and columns, and comments, which calamine does not report."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import olefile  # type: ignore[import-untyped]
import xlrd  # type: ignore[import-untyped]
from footnote_text.a1 import cell_name

from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.office.drawn import pictures
from footnote_ingestion.parsers.sheets.declared import Declarations
from footnote_ingestion.parsers.sheets.merges import Across, Range
from footnote_ingestion.parsers.sheets.number_formats import parse
from footnote_ingestion.parsers.sheets.sheet_extras import SheetExtras, Shown

_BOUND_SHEET, _DRAWING, _CONTINUE, _END = 0x85, 0xEC, 0x3C, 0x0A
_ANCHOR = struct.Struct("<5H")
"""The beginning of an anchor: flags, column, offset in it, row, offset in it."""
_MOST_COMMENTS = 10_000
_EMPTY = (xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK)
_CENTRED_ACROSS = 6
"""Horizontal alignment (MS-XLS 2.4.353): centred across this cell and the empty cells with it that follow."""
_MOST_FROZEN = 12


class XlsCells:
    """Reads this data sheet by sheet."""

    def __init__(self, path: Path) -> None:
        self._pictures: dict[str, list[str]] = {}
        self._unreadable = 0
        try:
            self._pictures = pictures_by_sheet(path)
        except Exception:  # what a damaged record raises; all else can still be read
            self._unreadable = 1
        try:
            self._book = xlrd.open_workbook(str(path), formatting_info=True, on_demand=True)
        except Exception:  # xlrd raises anything for a damaged record; calamine has opened the file
            self._book = None

    def of_sheet(self, name: str) -> SheetExtras:
        """Return a sheet's data besides its values, as far as it can be read."""
        if self._book is None:
            return SheetExtras(unreadable=1)
        try:
            sheet = self._book.sheet_by_name(name)
            found = SheetExtras(
                numbers=self._numbers(sheet),
                declarations=self._declarations(sheet),
                across=self._across(sheet),
                hidden=sum(bool(row.hidden) for at, row in sheet.rowinfo_map.items() if at < sheet.nrows)
                + sum(bool(column.hidden) for at, column in sheet.colinfo_map.items() if at < sheet.ncols),
                comments=[
                    (cell_name(row, column), inline(remark.text or ""))
                    for (row, column), remark in sorted(sheet.cell_note_map.items())[:_MOST_COMMENTS]
                ],
                pictures=[(cell, "") for cell in self._pictures.get(name, ())],
                unreadable=self._unreadable,
            )
            self._book.unload_sheet(name)
        except Exception:  # as above: the plain values remain
            return SheetExtras(unreadable=1)
        return found

    def _numbers(self, sheet: xlrd.sheet.Sheet) -> dict[tuple[int, int], Shown]:
        found: dict[tuple[int, int], Shown] = {}
        for row in range(sheet.nrows):
            for column in range(sheet.row_len(row)):
                if sheet.cell_type(row, column) == xlrd.XL_CELL_NUMBER:
                    style = self._book.xf_list[sheet.cell_xf_index(row, column)]
                    form = parse(self._book.format_map[style.format_key].format_str)
                    if form is not None:
                        found[row, column] = form
        return found

    def _declarations(self, sheet: xlrd.sheet.Sheet) -> Declarations:
        """Return what built-in names and panes say of a sheet's headers."""
        declarations = Declarations(frozen=_frozen(sheet))
        for name in self._book.name_obj_list:
            if not name.builtin or name.scope != sheet.number or name.name not in ("Print_Titles", "_FilterDatabase"):
                continue
            for area in name.result.value if name.result is not None and isinstance(name.result.value, list) else ():
                _, _, top, end, left, right = area.coords
                if name.name == "_FilterDatabase":
                    declarations.headers_end.add(top)
                elif end - top <= _MOST_FROZEN and right - left >= sheet.ncols:
                    declarations.repeated = end - 1
        return declarations

    def _across(self, sheet: xlrd.sheet.Sheet) -> list[Range]:
        """Return texts centred across empty cells."""
        centred = {at for at, style in enumerate(self._book.xf_list) if style.alignment.hor_align == _CENTRED_ACROSS}
        found = Across()
        for row in range(sheet.nrows if centred else 0):
            for column in range(sheet.row_len(row)):
                if sheet.cell_xf_index(row, column) in centred:
                    found.cell(row, column, filled=sheet.cell_type(row, column) not in _EMPTY)
        return found.ranges


def _frozen(sheet: xlrd.sheet.Sheet) -> int | None:
    """Return the last row that a frozen pane keeps visible."""
    split = int(sheet.horz_split_pos) if sheet.panes_are_frozen else 0
    return split - 1 if 0 < split <= _MOST_FROZEN else None


def pictures_by_sheet(path: Path) -> dict[str, list[str]]:
    """Return the cells at which the pictures of each sheet are anchored ("B3"), "" for none."""
    with olefile.OleFileIO(str(path)) as ole:
        if not ole.exists("Workbook"):
            return {}
        data: bytes = ole.openstream("Workbook").read()
    sheets = {}
    for kind, body in _records(data, 0):
        if kind == _BOUND_SHEET and len(body) > 8:
            wide, letters = body[7] & 1, body[8:]
            name = letters[: body[6] * 2].decode("utf-16-le") if wide else letters[: body[6]].decode("latin-1")
            sheets[name] = struct.unpack_from("<I", body)[0]
    return {name: _anchors(data, start) for name, start in sheets.items()}


def _records(data: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    """Yield (type, content) of the records from an offset to the end of their sheet."""
    while start + 4 <= len(data):
        kind, size = struct.unpack_from("<HH", data, start)
        yield kind, data[start + 4 : start + 4 + size]
        if kind == _END:
            return
        start += 4 + size


def _anchors(data: bytes, start: int) -> list[str]:
    """Return the cells of the pictures of a sheet, whose drawing lies in pieces between other records."""
    drawing, last = bytearray(), 0
    for kind, body in _records(data, start):
        if kind == _DRAWING or (kind == _CONTINUE and last == _DRAWING):
            drawing += body
        last = last if kind == _CONTINUE else kind
    found = []
    for anchor in pictures(bytes(drawing), 0, len(drawing)):
        _, column, _, row, _ = _ANCHOR.unpack_from(anchor) if len(anchor) >= _ANCHOR.size else (0, -1, 0, 0, 0)
        found.append(cell_name(row, column) if column >= 0 else "")
    return found
