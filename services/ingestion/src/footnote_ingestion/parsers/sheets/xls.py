"""Excel 97 to 2003 workbooks: number formats, hidden rows and columns, and comments, which calamine does not report."""

from __future__ import annotations

from pathlib import Path

import xlrd  # type: ignore[import-untyped]
from footnote_text.a1 import cell_name

from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.sheets.beside import Beside, Shown
from footnote_ingestion.parsers.sheets.declared import Said
from footnote_ingestion.parsers.sheets.number_formats import parse

_MOST_COMMENTS = 10_000
_MOST_FROZEN = 12


class XlsCells:
    """Reads this data sheet by sheet."""

    def __init__(self, path: Path) -> None:
        try:
            self._book = xlrd.open_workbook(str(path), formatting_info=True, on_demand=True)
        except Exception:  # xlrd raises anything for a damaged record; calamine has opened the file
            self._book = None

    def of_sheet(self, name: str) -> Beside:
        """Return a sheet's data besides its values, as far as it can be read."""
        if self._book is None:
            return Beside(unreadable=1)
        try:
            sheet = self._book.sheet_by_name(name)
            found = Beside(
                numbers=self._numbers(sheet),
                said=Said(frozen=_frozen(sheet)),
                hidden=sum(bool(row.hidden) for at, row in sheet.rowinfo_map.items() if at < sheet.nrows)
                + sum(bool(column.hidden) for at, column in sheet.colinfo_map.items() if at < sheet.ncols),
                comments=[
                    (cell_name(row, column), inline(remark.text or ""))
                    for (row, column), remark in sorted(sheet.cell_note_map.items())[:_MOST_COMMENTS]
                ],
            )
            self._book.unload_sheet(name)
        except Exception:  # as above: the plain values remain
            return Beside(unreadable=1)
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


def _frozen(sheet: xlrd.sheet.Sheet) -> int | None:
    """Return the last row that a frozen pane keeps visible."""
    split = int(sheet.horz_split_pos) if sheet.panes_are_frozen else 0
    return split - 1 if 0 < split <= _MOST_FROZEN else None
