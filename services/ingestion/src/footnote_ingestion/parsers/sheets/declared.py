"""A workbook's declarations about its tables: ranges and header rows, print titles, filters, panes."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from footnote_text.a1 import corners
from lxml import etree  # type: ignore[import-untyped]

from footnote_ingestion.parsers.office.package import UNREADABLE_PACKAGE, xml_parser

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_MOST_TABLES = 1_000
_MOST_FROZEN = 12
_ROWS = re.compile(r"\$?([0-9]{1,7}):\$?([0-9]{1,7})")


@dataclass(frozen=True, slots=True)
class Declared:
    """A table that the file declares; rows and columns count from 0."""

    top: int
    left: int
    bottom: int
    right: int
    header_rows: int = 1
    name: str = ""
    naming: int = 1
    """How many columns at the left name its rows."""


@dataclass(slots=True)
class Declarations:
    """What the file declares about one sheet's tables."""

    tables: list[Declared] = field(default_factory=list)
    headers_end: set[int] = field(default_factory=set)
    """Header rows of filters."""
    frozen: int | None = None
    """The last row of a frozen pane."""
    repeated: int | None = None
    """The last of the rows repeated on each printed page."""

    @property
    def lasting(self) -> frozenset[int]:
        """The rows that stay above all rows below them, on the screen or on each page."""
        return frozenset(row for row in (self.frozen, self.repeated) if row is not None)


def table_of(reference: str, header_rows: int, name: str) -> Declared | None:
    """Return a table by its range; None if that is invalid, or holds only its header."""
    found = corners(reference)
    if found is None or found[2] - found[0] < header_rows:
        return None
    return Declared(*found, header_rows, name)


def of_package(package: zipfile.ZipFile, parts: Mapping[str, str]) -> dict[str, Declarations]:
    """Return an Office Open XML workbook's declarations by sheet name; unreadable ones are left out."""
    found = {name: Declarations() for name in parts}
    try:
        _print_titles(package, list(parts), found)
    except (*UNREADABLE_PACKAGE, OSError, etree.XMLSyntaxError, ValueError):
        pass  # the header is then searched for as if nothing were declared
    for name, part in parts.items():
        try:
            found[name].tables = _tables(package, part)
        except (*UNREADABLE_PACKAGE, OSError, etree.XMLSyntaxError, ValueError):
            continue
    return found


def _tables(package: zipfile.ZipFile, part: str) -> list[Declared]:
    folder, file = posixpath.split(part)
    path = f"{folder}/_rels/{file}.rels"
    if path not in package.NameToInfo:
        return []
    found: list[Declared] = []
    for relation in etree.fromstring(package.read(path), xml_parser()).iterchildren(tag=etree.Element):
        kind = relation.get("Type", "").rpartition("/")[2]
        if kind not in ("table", "pivotTable") or len(found) >= _MOST_TABLES:
            continue
        target = posixpath.normpath(posixpath.join("/", folder, relation.get("Target", ""))).lstrip("/")
        root = etree.fromstring(package.read(target), xml_parser())
        if kind == "table":
            one = table_of(root.get("ref", ""), int(root.get("headerRowCount", "1")), root.get("displayName", ""))
        else:
            one = _pivot(root)
        if one is not None:
            found.append(one)
    return found


def _pivot(root: etree._Element) -> Declared | None:
    """Return a pivot table (ECMA-376 part 1, 18.10.1.49) without the row of captions above its column headers."""
    place = root.find(f"{_MAIN}location")
    found = corners(place.get("ref", "")) if place is not None else None
    if place is None or found is None:
        return None
    top, left, bottom, right = found
    body, naming = int(place.get("firstDataRow", "1")), int(place.get("firstDataCol", "1"))
    header = max(min(int(place.get("firstHeaderRow", "1")), body - 1), 0)
    if not 0 < body <= bottom - top or not 0 < naming <= right - left:
        return None
    return Declared(top + header, left, bottom, right, body - header, root.get("name", ""), naming)


def _print_titles(package: zipfile.ZipFile, sheets: Sequence[str], found: Mapping[str, Declarations]) -> None:
    book = etree.fromstring(package.read("xl/workbook.xml"), xml_parser())
    names = [sheet.get("name", "") for sheet in book.iterfind(f"{_MAIN}sheets/{_MAIN}sheet")]
    for name in book.iterfind(f"{_MAIN}definedNames/{_MAIN}definedName"):
        at = int(name.get("localSheetId", "-1"))
        if not 0 <= at < len(names) or names[at] not in found:
            continue
        if name.get("name") == "_xlnm.Print_Titles":
            for rows in _ROWS.finditer((name.text or "").replace("$", "")):
                found[names[at]].repeated = int(rows[2]) - 1
        elif name.get("name") == "_xlnm._FilterDatabase":
            filtered = corners((name.text or "").rpartition("!")[2])
            if filtered is not None:
                found[names[at]].headers_end.add(filtered[0])


def frozen_rows(pane: etree._Element) -> int | None:
    """Return the last row that a frozen pane keeps visible."""
    split = pane.get("ySplit", "")
    if not pane.get("state", "").startswith("frozen") or not split.isdecimal():
        return None
    return int(split) - 1 if 0 < int(split) <= _MOST_FROZEN else None
