"""Number formats of a workbook: percents, decimals, thousands and currency signs, from its cells' styles.

Calamine gives values without their formats: 0.25 where the sheet shows 25%. This reads the formats of Office Open XML
workbooks (ECMA-376 part 1, 18.8.30 and 18.8.31) for cells whose format changes the displayed text.
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from footnote_text.a1 import cell_position
from lxml import etree  # type: ignore[import-untyped]

from footnote_ingestion.parsers.format_codes import NumberFormat, parse
from footnote_ingestion.parsers.office.package import UNREADABLE_PACKAGE, xml_parser
from footnote_ingestion.parsers.sheets.merges import Across, Range

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
BINARY = "xl/workbook.bin"
"""The workbook part of binary workbooks, in place of XML."""
_BUILT_IN = {1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 37: "#,##0", 38: "#,##0",
             39: "#,##0.00", 40: "#,##0.00"}  # fmt: skip


class NumberFormats:
    """The formats of one workbook, read per sheet on demand; none if they are unreadable."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._styles: dict[str, NumberFormat] = {}
        self._centred: frozenset[str] = frozenset()
        self._parts: dict[str, str] = {}
        self.across: list[Range] = []
        """Texts of the sheet last read that are centred across empty cells."""
        self.damaged = False
        """Whether there are unreadable formats."""
        if not zipfile.is_zipfile(path):
            return
        try:
            with zipfile.ZipFile(path) as package:
                if not _has_styles(package):
                    return
                self._styles, self._centred = _styles(package)
                self._parts = sheet_parts(package) if self._styles or self._centred else {}
        except (*UNREADABLE_PACKAGE, OSError, etree.XMLSyntaxError):
            self._styles, self.damaged = {}, True

    def of_sheet(self, name: str) -> Mapping[tuple[int, int], NumberFormat]:
        """Return the formats by (row, column), from 0, of the sheet's cells that hold a number."""
        part = self._parts.get(name)
        self.across = []
        if part is None:
            return {}
        across = Across()
        found: dict[tuple[int, int], NumberFormat] = {}
        try:
            with zipfile.ZipFile(self._path) as package, package.open(part) as stream:
                options = {"resolve_entities": False, "no_network": True, "huge_tree": False, "load_dtd": False}
                below = 0
                for _, row in etree.iterparse(stream, events=("end",), tag=f"{_MAIN}row", **options):
                    number = int(row.get("r") or below + 1) - 1
                    for place, cell in placed(row, number):
                        style = self._styles.get(cell.get("s", ""))
                        if style is not None and cell.get("t", "n") == "n":
                            found[place] = style
                        if self._centred and cell.get("s", "") in self._centred:
                            across.cell(*place, filled=len(cell) > 0)
                    below = number + 1
                    row.clear()
        except (*UNREADABLE_PACKAGE, OSError, etree.XMLSyntaxError):
            self.damaged = True
            return {}
        self.across = across.ranges
        return found


def placed(row: etree._Element, number: int) -> Iterator[tuple[tuple[int, int], etree._Element]]:
    """Yield a row's cells with their places; one that names none is beside the last (ECMA-376 part 1, 18.3.1.4)."""
    place = (number, -1)
    for cell in row.iterchildren(f"{_MAIN}c"):
        name = cell.get("r")
        place = cell_position(name) if name else (place[0], place[1] + 1)
        yield place, cell


def _has_styles(package: zipfile.ZipFile) -> bool:
    """Return whether a workbook may have a styles part, which is optional; true if that is unreadable."""
    if BINARY in package.namelist():
        return False
    relations = etree.fromstring(package.read("xl/_rels/workbook.xml.rels"), xml_parser())
    return any(item.get("Type", "").endswith("/styles") for item in relations.iterchildren(tag=etree.Element))


def _styles(package: zipfile.ZipFile) -> tuple[dict[str, NumberFormat], frozenset[str]]:
    """Return the number formats by index of cell style, without plain ones, and the styles centred across cells."""
    root = etree.fromstring(package.read("xl/styles.xml"), xml_parser())
    codes = dict(_BUILT_IN)
    for item in root.iterfind(f"{_MAIN}numFmts/{_MAIN}numFmt"):
        codes[int(item.get("numFmtId", "0"))] = item.get("formatCode", "")
    styles: dict[str, NumberFormat] = {}
    centred: set[str] = set()
    for index, style in enumerate(root.iterfind(f"{_MAIN}cellXfs/{_MAIN}xf")):
        found = parse(codes.get(int(style.get("numFmtId", "0")), "General"))
        if found is not None:
            styles[str(index)] = found
        alignment = style.find(f"{_MAIN}alignment")
        if alignment is not None and alignment.get("horizontal") == "centerContinuous":
            centred.add(str(index))
    return styles, frozenset(centred)


def sheet_parts(package: zipfile.ZipFile) -> dict[str, str]:
    """Return the package part of each sheet by its name."""
    relations = etree.fromstring(package.read("xl/_rels/workbook.xml.rels"), xml_parser())
    targets = {
        item.get("Id"): posixpath.join("/xl", item.get("Target", "")).lstrip("/")
        for item in relations.iterchildren(tag=etree.Element)
    }
    book = etree.fromstring(package.read("xl/workbook.xml"), xml_parser())
    sheets = book.iterfind(f"{_MAIN}sheets/{_MAIN}sheet")
    return {
        sheet.get("name", ""): posixpath.normpath(targets[sheet.get(_RELATION)])
        for sheet in sheets
        if sheet.get(_RELATION) in targets
    }
