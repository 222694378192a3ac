"""Excel 97 to 2003 workbooks: what calamine does not report: number formats, hidden content, comments, drawings."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import olefile  # type: ignore[import-untyped]
import xlrd  # type: ignore[import-untyped]
from footnote_text.a1 import cell_name

from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.format_codes import parse
from footnote_ingestion.parsers.office.legacy import ANCHOR, pictures
from footnote_ingestion.parsers.sheets.declared import Declarations
from footnote_ingestion.parsers.sheets.merges import Across, Range
from footnote_ingestion.parsers.sheets.rich_texts import Run, take
from footnote_ingestion.parsers.sheets.sheet_extras import SheetExtras, Shown

_BOUND_SHEET, _DRAWING, _CONTINUE, _BEGIN, _END = 0x85, 0xEC, 0x3C, 0x809, 0x0A
_CHART = 0x20
"""What a part says at its beginning if it is a chart: its shapes are anchored at no cells (MS-XLS 2.4.21)."""
_OBJECT, _TEXT, _COMMENT = 0x5D, 0x1B6, 0x19
"""Records of an object and of its text (MS-XLS 2.4.181 and 2.4.329), and the kind of object that is a comment's box."""
_ANCHOR_HEAD = struct.pack("<HHI", 0, ANCHOR, 18)
_ANCHOR = struct.Struct("<5H")
"""The beginning of an anchor: flags, column, offset in it, row, offset in it."""
_MOST_COMMENTS = _MOST_SHAPES = 10_000
_EMPTY = (xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK)
_CENTRED_ACROSS = 6
"""Horizontal alignment (MS-XLS 2.4.353): centred across this cell and the empty cells with it that follow."""
_MOST_FROZEN = 12
_RAISED = 1
"""How a font is shifted (MS-XLS 2.4.122): it is superscript."""


class Drawn(NamedTuple):
    """The cells ("B3", "" for none) of a sheet's pictures, and the texts of boxes and shapes with theirs."""

    pictures: Sequence[str] = ()
    texts: Sequence[tuple[str, str]] = ()


class XlsCells:
    """Reads this data sheet by sheet."""

    def __init__(self, path: Path) -> None:
        self._drawn: dict[str, Drawn] = {}
        self._unreadable = 0
        try:
            self._drawn = drawn_by_sheet(path)
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
        drawn = self._drawn.get(name, Drawn())
        try:
            sheet = self._book.sheet_by_name(name)
            found = SheetExtras(
                numbers=self._numbers(sheet),
                errors=_errors(sheet),
                declarations=self._declarations(sheet),
                across=self._across(sheet),
                hidden=sum(bool(row.hidden) for at, row in sheet.rowinfo_map.items() if at < sheet.nrows)
                + sum(bool(column.hidden) for at, column in sheet.colinfo_map.items() if at < sheet.ncols),
                comments=[
                    (cell_name(row, column), inline(remark.text or ""))
                    for (row, column), remark in sorted(sheet.cell_note_map.items())[:_MOST_COMMENTS]
                ],
                pictures=[(cell, "") for cell in drawn.pictures],
                texts=list(drawn.texts),
                unreadable=self._unreadable,
            )
            for place, ends in sheet.rich_text_runlist_map.items():
                take(self._runs(sheet, place, ends), place, found)
            self._book.unload_sheet(name)
        except Exception:  # as above: the plain values remain
            return SheetExtras(unreadable=1)
        return found

    def _runs(self, sheet: xlrd.sheet.Sheet, place: tuple[int, int], begins: Sequence[tuple[int, int]]) -> list[Run]:
        """Return the runs of a text: `begins` has the offset and the font of each but the first."""
        text = str(sheet.cell_value(*place))
        first = self._book.xf_list[sheet.cell_xf_index(*place)].font_index
        fonts = [(0, first), *begins, (len(text), first)]
        return [
            (
                text[start:end],
                self._book.font_list[font].escapement == _RAISED,
                self._book.font_list[font].struck_out == 1,
            )
            for (start, font), (end, _) in pairwise(fonts)
            if end > start
        ]

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


def _errors(sheet: xlrd.sheet.Sheet) -> dict[tuple[int, int], str]:
    return {
        (row, column): xlrd.error_text_from_code.get(sheet.cell_value(row, column), "#N/A")
        for row in range(sheet.nrows)
        for column, kind in enumerate(sheet.row_types(row))
        if kind == xlrd.XL_CELL_ERROR
    }


def _frozen(sheet: xlrd.sheet.Sheet) -> int | None:
    """Return the last row that a frozen pane keeps visible."""
    split = int(sheet.horz_split_pos) if sheet.panes_are_frozen else 0
    return split - 1 if 0 < split <= _MOST_FROZEN else None


def drawn_by_sheet(path: Path) -> dict[str, Drawn]:
    """Return what is drawn on each sheet, with the cells at which it is anchored."""
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
    return {name: _drawn(data, start) for name, start in sheets.items()}


def _records(data: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    """Yield (type, content) of the records from an offset to the end of their sheet, those of charts in it included."""
    depth = 0
    while start + 4 <= len(data):
        kind, size = struct.unpack_from("<HH", data, start)
        yield kind, data[start + 4 : start + 4 + size]
        depth += (kind == _BEGIN) - (kind == _END)
        if kind == _END and depth <= 0:
            return
        start += 4 + size


def _drawn(data: bytes, start: int) -> Drawn:
    """Return what is drawn on a sheet; its drawing is in pieces between other records, a text after its shape."""
    drawing, last, kind_of_object, left = bytearray(), 0, 0, 0
    anchor = -1  # where the last anchor in the drawing begins
    parts: list[bool] = []  # for each part that is begun and not ended, whether it is a chart
    texts: list[tuple[str, bytearray]] = []
    for kind, body in _records(data, start):
        if kind == _BEGIN:
            parts.append(body[2:4] == _CHART.to_bytes(2, "little"))
        elif kind == _END:
            del parts[-1:]
        elif (kind == _DRAWING or (kind == _CONTINUE and last == _DRAWING)) and not any(parts):
            new = max(len(drawing) - len(_ANCHOR_HEAD) + 1, 0)
            drawing += body
            anchor = max(anchor, drawing.rfind(_ANCHOR_HEAD, new))
        elif kind == _OBJECT and len(body) >= 6:
            kind_of_object = struct.unpack_from("<H", body, 4)[0]
        elif kind == _TEXT and kind_of_object != _COMMENT and len(texts) < _MOST_SHAPES:
            begin = anchor + len(_ANCHOR_HEAD)
            cell = _cell_of(drawing[begin : begin + _ANCHOR.size]) if anchor >= 0 and not any(parts) else ""
            left = struct.unpack_from("<H", body, 10)[0] if len(body) >= 12 else 0
            texts.append((cell, bytearray()))
        elif kind == _CONTINUE and last == _TEXT and kind_of_object != _COMMENT and texts and left > 0 and body:
            letters = body[1:] if body[0] & 1 else b"".join(bytes((letter, 0)) for letter in body[1:])
            texts[-1][1].extend(letters[: 2 * left])
            left -= len(letters) // 2
        last = last if kind == _CONTINUE else kind
    return Drawn(
        [_cell_of(one) for one in pictures(bytes(drawing), 0, len(drawing))],
        [(cell, text) for cell, letters in texts if (text := inline(letters.decode("utf-16-le", errors="replace")))],
    )


def _cell_of(anchor: bytes | bytearray) -> str:
    """Return the cell at which a shape begins."""
    if len(anchor) < _ANCHOR.size:
        return ""
    _, column, _, row, _ = _ANCHOR.unpack_from(anchor)
    return cell_name(row, column)
