"""Number formats of a workbook: percents, decimals, thousands and currency signs, from its cells' styles.

Calamine gives values without their formats: 0.25 where the sheet shows 25%. This reads the formats of Office Open XML
workbooks (ECMA-376 part 1, 18.8.30 and 18.8.31) for cells whose format changes the displayed text.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from pathlib import Path

from footnote_text.a1 import cell_position
from lxml import etree  # type: ignore[import-untyped]

from footnote_ingestion.parsers.numbers import of_value, sign_measure
from footnote_ingestion.parsers.office.package import UNREADABLE_PACKAGE, xml_parser
from footnote_ingestion.parsers.sheets.merges import Across, Range

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
BINARY = "xl/workbook.bin"
"""The workbook part of binary workbooks, in place of XML."""
_BUILT_IN = {1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 37: "#,##0", 38: "#,##0",
             39: "#,##0.00", 40: "#,##0.00"}  # fmt: skip
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|_.|\*.|\[\$(?P<symbol>[^\[\]-]*+)[^\[\]]*+\]|\[[^\[\]]*+\]'
    r"|(?P<number>[#0?](?:[#0?,.]*[#0?])?)|(?P<percent>%)|(?P<sign>[-+$() ]|[^\x00-\x7f])|(?P<other>.)"
)
_CONDITIONS = ("[<", "[>", "[=")
_SIGNS = "-+() "
_PLACES = [Decimal(1).scaleb(-places) for places in range(31)]  # a workbook's formats have at most 30 decimals
_MOST_DIGITS = 255
_ROUNDING = Context(prec=64, rounding=ROUND_HALF_UP)
_EXACT = 1e15  # beyond this, a float's digits are not the cell's


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """What is displayed around and of a number."""

    before: str
    after: str
    percent: bool
    thousands: bool
    decimals: int
    fixed: bool
    """Whether to show all decimals, including zeros."""
    digits: int = 1
    """How many digits to show before the decimals at least, with zeros in front."""
    below: str = ""
    """What is displayed before a negative number, if it is other than a sign and `before`."""

    def show(self, value: object) -> str | None:
        """Return the number as the sheet shows it; None for other values and when it is too large to be exact."""
        if not isinstance(value, int | float):
            return None
        scaled = value * 100 if self.percent else value
        if abs(scaled) >= _EXACT:
            return None
        exact = Decimal(f"{abs(scaled):.15g}")  # the digits that a sheet has
        rounded = exact.quantize(_PLACES[self.decimals], context=_ROUNDING)
        grouping = "," if self.thousands else ""
        text = f"{rounded:{grouping}f}"
        if self.digits > 1:
            whole, point, decimals = text.partition(".")
            commas = (self.digits - 1) // 3 if self.thousands else 0
            text = f"{int(whole.replace(',', '')):0{self.digits + commas}{grouping}}{point}{decimals}"
        if not self.fixed and "." in text:
            text = text.rstrip("0").rstrip(".")
        before = (self.below or f"-{self.before}") if scaled < 0 and text.strip("0.,") else self.before
        return f"{before}{text}{'%' if self.percent else ''}{self.after}".strip()

    def typed(self, value: object) -> bytes:
        """Return a number as the fields of `Cell`, percents as displayed, with unit and currency."""
        if not isinstance(value, int | float):
            return of_value(value)
        return of_value(
            round(value * 100, 12) if self.percent else value, sign_measure(self.percent, self.before, self.after)
        )


@lru_cache(maxsize=512)
def parse(code: str) -> NumberFormat | None:
    """Parse a format code's section for positive numbers, and what the next one has before negative numbers.

    None for dates, fractions, exponents, General, and a section under a condition, which is not for all numbers.
    """
    if code.lower().startswith("general"):
        return None
    first = _first_section(code)
    positive = _section(first)
    if positive is None:
        return None
    before, number, after, percent = positive
    negative = _section(_first_section(code[len(first) + 1 :]))
    below = negative[0].replace("(", "").lstrip() if negative is not None else ""
    whole, _, decimals = number.partition(".")
    after = f" {after.strip()}" if after.startswith(" ") and after.strip() else after.strip()
    return NumberFormat(
        before.lstrip(),
        after,
        percent,
        "," in number,
        min(len(decimals.replace(",", "")), len(_PLACES) - 1),
        not set(decimals) & set("#?"),
        min(max(whole.count("0"), 1), _MOST_DIGITS),
        below if below.strip(_SIGNS) != before.strip(_SIGNS) else "",
    )


def _section(code: str) -> tuple[str, str, str, bool] | None:
    """Return what stands before a section's digits, these, what stands after them, and whether it is a percent."""
    before, after, number, percent = "", "", "", False
    for match in _TOKEN.finditer(code):
        if match["other"] or match[0].startswith(_CONDITIONS):
            return None
        if match["number"]:
            if number:
                return None
            number = match["number"]
            continue
        percent = percent or bool(match["percent"])
        literal = match["quoted"] or match["escaped"] or match["symbol"] or match["sign"] or ""
        if number:
            after += literal
        else:
            before += literal
    return (before, number, after, percent) if number else None


def _first_section(code: str) -> str:
    """Return the text before the first unquoted semicolon."""
    return re.match(r'(?:"[^"]*"|\\.|[^;"\\])*', code)[0]  # type: ignore[index]  # it matches the empty text too


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
                    for place, cell in _placed(row, number):
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


def _placed(row: etree._Element, number: int) -> Iterator[tuple[tuple[int, int], etree._Element]]:
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
