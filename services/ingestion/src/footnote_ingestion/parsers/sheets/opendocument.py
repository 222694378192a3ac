"""OpenDocument spreadsheets: number texts, merged and hidden cells, comments, formulas without values.

Covers what calamine does not report (OpenDocument 1.3, part 3, chapter 9).
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from footnote_text.a1 import cell_name
from lxml import etree  # type: ignore[import-untyped]

from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.numbers import of_value, sign_measure
from footnote_ingestion.parsers.office.opendocument import picture_names
from footnote_ingestion.parsers.office.package import UNREADABLE_PACKAGE, xml_parser
from footnote_ingestion.parsers.sheets.declared import table_of
from footnote_ingestion.parsers.sheets.rich_texts import Run, take
from footnote_ingestion.parsers.sheets.sheet_extras import SheetExtras, Shown

_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_PROPERTIES, _SPAN = f"{_STYLE}text-properties", f"{_TEXT}span"
_BREAKS = tuple(f"{_TEXT}{name}" for name in ("line-break", "tab", "s"))
_RANGE, _SHAPES = f"{_TABLE}database-range", f"{_TABLE}shapes"
_REPEATED = f"{_TABLE}table-header-rows"
_CONFIG = "{urn:oasis:names:tc:opendocument:xmlns:config:1.0}"
_FROZEN = "2"
_MOST_FROZEN = 12
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_DRAWN = tuple(f"{{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}}{name}" for name in ("object", "object-ole"))
_AUTHOR = "{http://purl.org/dc/elements/1.1/}creator"
CONTENT, _SETTINGS = "content.xml", "settings.xml"
_AROUND, _AFTER = re.compile(r"[^0-9]*"), re.compile(r"(?<![^0-9])[^0-9]*+\Z")
_CALC_TYPE = "{urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0}value-type"
_FORMATTED = ("float", "percentage", "currency", "time")
_UNSEEN = ("collapse", "filter")
_MOST_REPEATS = 1_000
"""A row or cell repeated more often than this is filler."""
_MOST_COMMENTS = _MOST_MERGED = 10_000


@dataclass(frozen=True, slots=True)
class Written:
    """A number or time with the displayed text from the file."""

    text: str

    def show(self, value: object) -> str:
        """Return the displayed text."""
        return self.text

    def typed(self, value: object) -> bytes:
        """Return the value with the percent sign, currency or unit of its displayed text."""
        before, after = _AROUND.match(self.text), _AFTER.search(self.text)
        percent = self.text.endswith("%")
        if percent and isinstance(value, float | int):
            value = round(value * 100, 12)
        return of_value(value, sign_measure(percent, before[0] if before else "", after[0] if after else ""))


@dataclass(slots=True)
class _Sheet:
    numbers: dict[tuple[int, int], Shown]
    beside: SheetExtras
    row: int = 0
    styles: Mapping[str | None, tuple[bool, bool]] = field(default_factory=dict)
    """Styles of stretches of text: whether they are superscript, and whether struck."""


class OdsCells:
    """Reads all sheets in one pass, on first use."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sheets: dict[str, SheetExtras] | None = None

    def of_sheet(self, name: str) -> SheetExtras:
        """Return a sheet's data besides its values, as far as it can be read."""
        if self._sheets is None:
            self._sheets = {}
            last = SheetExtras()
            try:
                for sheet, last in self._read():
                    self._sheets[sheet] = last
                self._panes()
            except (*UNREADABLE_PACKAGE, OSError, etree.XMLSyntaxError):
                last.unreadable += 1  # the part before the damage is known; calamine has the values
        return self._sheets.get(name) or SheetExtras(unreadable=1)

    def _read(self) -> Iterator[tuple[str, SheetExtras]]:
        options = {"resolve_entities": False, "no_network": True, "huge_tree": False, "load_dtd": False}
        tags = (
            f"{_TABLE}table",
            f"{_TABLE}table-row",
            f"{_TABLE}table-column",
            _RANGE,
            _SHAPES,
            _REPEATED,
            *_DRAWN,
            _PROPERTIES,
        )
        styles: dict[str | None, tuple[bool, bool]] = {}
        sheet = _new()
        with zipfile.ZipFile(self._path) as package, package.open(CONTENT) as stream:
            for event, element in etree.iterparse(stream, events=("start", "end"), tag=tags, **options):
                if element.tag == tags[0]:
                    if event == "start":
                        sheet = _new()
                        sheet.styles = styles
                        yield element.get(f"{_TABLE}name", ""), sheet.beside
                elif element.tag == _PROPERTIES:
                    raised = element.get(f"{_STYLE}text-position", "").startswith("super")
                    struck = element.get(f"{_STYLE}text-line-through-style", "none") != "none"
                    if raised or struck:
                        styles[element.getparent().get(f"{_STYLE}name")] = (raised, struck)
                elif element.tag == _REPEATED:
                    if event == "end" and sheet.row:
                        sheet.beside.declarations.repeated = sheet.row - 1
                elif element.tag == _RANGE:
                    if event == "end":
                        self._declare(element)
                elif element.tag == _SHAPES:
                    if event == "end":
                        sheet.beside.texts += [("", text) for text in _shape_texts(element)]
                        sheet.beside.pictures += [("", name) for name in _pictures(element)]
                        element.clear()
                elif element.tag in _DRAWN:
                    sheet.beside.drawn += event == "end"
                elif event == "end":
                    sheet.beside.hidden += element.get(f"{_TABLE}visibility") in _UNSEEN
                    if element.tag == tags[1]:
                        _take(element, sheet)
                    element.clear()

    def _panes(self) -> None:
        """Record the frozen rows of each sheet, from the settings of its view."""
        with zipfile.ZipFile(self._path) as package:
            if _SETTINGS not in package.namelist():
                return
            root = etree.fromstring(package.read(_SETTINGS), xml_parser())
        for sheet in root.iterfind(f".//{_CONFIG}config-item-map-named/{_CONFIG}config-item-map-entry"):
            declarations = {
                item.get(f"{_CONFIG}name"): item.text for item in sheet.iterchildren(f"{_CONFIG}config-item")
            }
            rows = declarations.get("VerticalSplitPosition") or ""
            found = (self._sheets or {}).get(sheet.get(f"{_CONFIG}name", ""))
            if found is not None and declarations.get("VerticalSplitMode") == _FROZEN and rows.isdecimal():
                found.declarations.frozen = int(rows) - 1 if 0 < int(rows) <= _MOST_FROZEN else None

    def _declare(self, element: etree._Element) -> None:
        """Record a declared database range; its first row is a header unless the file denies that."""
        start, _, end = element.get(f"{_TABLE}target-range-address", "").partition(":")
        sheet = start.rpartition(".")[0].strip("$'").replace("''", "'")
        headed = element.get(f"{_TABLE}contains-header", "true") == "true"
        reference = f"{start.rpartition('.')[2]}:{end.rpartition('.')[2]}".replace("$", "")
        name = element.get(f"{_TABLE}name", "")
        one = table_of(reference, int(headed), "" if name.startswith("__Anonymous") else name)
        if one is not None and self._sheets is not None and sheet in self._sheets:
            self._sheets[sheet].declarations.tables.append(one)


def _new() -> _Sheet:
    numbers: dict[tuple[int, int], Shown] = {}
    return _Sheet(numbers, SheetExtras(numbers=numbers))


def _take(row: etree._Element, sheet: _Sheet) -> None:
    repeats = _count(row, "number-rows-repeated")
    shown: dict[int, Written] = {}
    errors: dict[int, str] = {}
    column = 0
    for cell in row.iterchildren(f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
        again = _count(cell, "number-columns-repeated")
        _look(cell, sheet.row, column, sheet.beside)
        if cell.get(f"{_OFFICE}value-type") == "string" and again == repeats == 1:
            broken = next(cell.iter(*_BREAKS), None) is not None
            if broken or sheet.styles:
                take(_runs(cell, sheet.styles), (sheet.row, column), sheet.beside, broken=broken)
        if cell.get(_CALC_TYPE) == "error":
            errors.update(dict.fromkeys(range(column, column + min(again, _MOST_REPEATS)), _text(cell)))
        elif cell.get(f"{_OFFICE}value-type") in _FORMATTED and (text := _text(cell)):
            shown.update(dict.fromkeys(range(column, column + min(again, _MOST_REPEATS)), Written(text)))
        column += again
    for number in range(sheet.row, sheet.row + min(repeats, _MOST_REPEATS)):
        sheet.numbers.update({(number, at): text for at, text in shown.items()})
        sheet.beside.errors.update({(number, at): text for at, text in errors.items()})
    sheet.row += repeats


def _runs(cell: etree._Element, styles: Mapping[str | None, tuple[bool, bool]]) -> Iterator[Run]:
    for line in cell.iterchildren(f"{_TEXT}p"):
        yield line.text or "", False, False
        for part in line.iterchildren(tag=etree.Element):
            marks = styles.get(part.get(f"{_TEXT}style-name"), (False, False)) if part.tag == _SPAN else (False, False)
            for event, one in etree.iterwalk(part, events=("start", "end")):
                if event == "start":
                    yield " " if one.tag in _BREAKS else one.text or "", *marks
                elif one is not part:
                    yield one.tail or "", *marks
            yield part.tail or "", False, False
        yield " ", False, False


def _look(cell: etree._Element, row: int, column: int, beside: SheetExtras) -> None:
    """Record a cell's data besides its value."""
    if cell.get(f"{_TABLE}formula") and not cell.get(f"{_OFFICE}value-type"):
        beside.formulas.append(cell_name(row, column))
    down, right = _count(cell, "number-rows-spanned"), _count(cell, "number-columns-spanned")
    if (down > 1 or right > 1) and len(beside.merged) < _MOST_MERGED:
        beside.merged.append(((row, column), (row + down - 1, column + right - 1)))
    if len(cell) and any(child.tag.startswith(_DRAW) for child in cell.iterchildren(tag=etree.Element)):
        beside.texts += [(cell_name(row, column), text) for text in _shape_texts(cell)]
        beside.pictures += [(cell_name(row, column), name) for name in _pictures(cell)]
    for remark in cell.iterchildren(f"{_OFFICE}annotation"):
        text, author = _text(remark), inline(remark.findtext(_AUTHOR) or "")
        if text and len(beside.comments) < _MOST_COMMENTS:
            beside.comments.append((cell_name(row, column), f"{author}: {text}" if author else text))


def _shape_texts(element: etree._Element) -> list[str]:
    """Return the texts of boxes and shapes in an element, except comments."""
    found = []
    for shape in element.iterchildren(tag=etree.Element):
        if shape.tag.startswith(_DRAW):
            lines = ("".join(line.itertext()) for line in shape.iter(f"{_TEXT}p"))
            found.append(inline(" ".join(lines)))
    return [text for text in found if text][:_MOST_COMMENTS]


def _pictures(element: etree._Element) -> list[str]:
    return [name for frame in element.iter(f"{_DRAW}frame") for name in picture_names(frame)]


def _text(element: etree._Element) -> str:
    return inline(" ".join("".join(line.itertext()) for line in element.iterchildren(f"{_TEXT}p")))


def _count(element: etree._Element, name: str) -> int:
    return max(int(element.get(f"{_TABLE}{name}", "1")), 1)
