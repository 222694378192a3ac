"""How a workbook shows its numbers, whichever format it has."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import xlrd  # type: ignore[import-untyped]
from lxml import etree  # type: ignore[import-untyped]

from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.sheets.number_formats import NumberFormats, parse

_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_CONTENT = "content.xml"
_NUMBERS = ("float", "percentage", "currency")
_MOST_REPEATS = 1_000
"""A row or cell said to be repeated more often than this is filler."""


class Shown(Protocol):
    """How one cell's number is shown."""

    def show(self, value: float) -> str | None:
        """Return the number as the sheet shows it; None where its plain form will do."""


class ShownNumbers(Protocol):
    """How a workbook's numbers are shown."""

    def of_sheet(self, name: str) -> Mapping[tuple[int, int], Shown]:
        """Return it by (row, column), from 0, for the cells of a sheet whose number has a form of its own."""


def shown_numbers(path: Path) -> ShownNumbers:
    """Return how the numbers of a workbook are shown; nothing where its format does not say, as xlsb here."""
    if not zipfile.is_zipfile(path):
        return XlsNumbers(path)
    with zipfile.ZipFile(path) as package:
        names = package.namelist()
    return OdsNumbers(path) if _CONTENT in names else NumberFormats(path)


@dataclass(frozen=True, slots=True)
class Written:
    """A number whose form stands in the file."""

    text: str

    def show(self, value: float) -> str:
        """Return what stands there."""
        return self.text


class OdsNumbers:
    """OpenDocument spreadsheets, which hold the text of each cell beside its value (OpenDocument 1.3, 9.1.4)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sheets: dict[str, dict[tuple[int, int], Written]] | None = None

    def of_sheet(self, name: str) -> Mapping[tuple[int, int], Shown]:
        """Return the texts of a sheet's cells that hold a number."""
        if self._sheets is None:
            try:
                self._sheets = self._read()
            except (KeyError, ValueError, OSError, zipfile.BadZipFile, etree.XMLSyntaxError, NotImplementedError):
                self._sheets = {}
        return self._sheets.get(name, {})

    def _read(self) -> dict[str, dict[tuple[int, int], Written]]:
        """Read all sheets in one pass, row by row."""
        sheets: dict[str, dict[tuple[int, int], Written]] = {}
        options = {"resolve_entities": False, "no_network": True, "huge_tree": False, "load_dtd": False}
        tags = (f"{_TABLE}table", f"{_TABLE}table-row")
        found: dict[tuple[int, int], Written] = {}
        number = 0
        with zipfile.ZipFile(self._path) as package, package.open(_CONTENT) as stream:
            for event, element in etree.iterparse(stream, events=("start", "end"), tag=tags, **options):
                if element.tag == tags[0]:
                    if event == "start":
                        number, found = 0, sheets.setdefault(element.get(f"{_TABLE}name", ""), {})
                elif event == "end":
                    repeats = int(element.get(f"{_TABLE}number-rows-repeated", "1"))
                    cells = dict(_written(element))
                    for row in range(number, number + min(repeats, _MOST_REPEATS)):
                        found.update({(row, column): text for column, text in cells.items()})
                    number += repeats
                    element.clear()
        return sheets


def _written(row: etree._Element) -> Iterator[tuple[int, Written]]:
    """Yield column and text of a row's cells that hold a number."""
    column = 0
    for cell in row.iterchildren(f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
        repeats = int(cell.get(f"{_TABLE}number-columns-repeated", "1"))
        if cell.get(f"{_OFFICE}value-type") in _NUMBERS:
            text = inline(" ".join("".join(line.itertext()) for line in cell.iterchildren(f"{_TEXT}p")))
            if text:
                for place in range(column, column + min(repeats, _MOST_REPEATS)):
                    yield place, Written(text)
        column += repeats


class XlsNumbers:
    """Excel 97 to 2003 workbooks, by the format codes of their cells."""

    def __init__(self, path: Path) -> None:
        try:
            self._book = xlrd.open_workbook(str(path), formatting_info=True, on_demand=True)
        except Exception:  # xlrd raises whatever a damaged record leads it to; calamine has opened the file
            self._book = None

    def of_sheet(self, name: str) -> Mapping[tuple[int, int], Shown]:
        """Return the formats of a sheet's cells that hold a number."""
        if self._book is None:
            return {}
        found: dict[tuple[int, int], Shown] = {}
        try:
            sheet = self._book.sheet_by_name(name)
            for row in range(sheet.nrows):
                for column in range(sheet.row_len(row)):
                    if sheet.cell_type(row, column) == xlrd.XL_CELL_NUMBER:
                        style = self._book.xf_list[sheet.cell_xf_index(row, column)]
                        form = parse(self._book.format_map[style.format_key].format_str)
                        if form is not None:
                            found[row, column] = form
            self._book.unload_sheet(name)
        except Exception:  # as above: the plain values are there nevertheless
            return {}
        return found
