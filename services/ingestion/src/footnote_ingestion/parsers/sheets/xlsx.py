"""Office Open XML workbooks: number formats, formulas without values, hidden content, comments."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Mapping
from pathlib import Path

from footnote_text.a1 import cell_name, corners
from lxml import etree  # type: ignore[import-untyped]

from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.office.package import UNREADABLE_PACKAGE, alternative_text, xml_parser
from footnote_ingestion.parsers.sheets import declared
from footnote_ingestion.parsers.sheets.number_formats import BINARY, NumberFormats, placed, sheet_parts
from footnote_ingestion.parsers.sheets.rich_texts import Run, runs_of, shared_strings, take
from footnote_ingestion.parsers.sheets.sheet_extras import SheetExtras

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart"
_THREADED = "{http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments}threadedComment"
_PANE, _FILTER = f"{_MAIN}pane", f"{_MAIN}autoFilter"
_NAMED = tuple(f"{_MAIN}{name}" for name in ("drawing", "legacyDrawing"))
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"
_DRAWN = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_EMBED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}embed"
_OBJECTS = ("oleObject", "package")
_MOST_COMMENTS = _MOST_SHAPES = 10_000
_BROKEN = (*UNREADABLE_PACKAGE, OSError, etree.XMLSyntaxError)


class XlsxCells:
    """Reads the sheets of a workbook one by one; xlsb is skipped, since its parts are not XML."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._numbers = NumberFormats(path)
        self._parts: dict[str, str] = {}
        self._binary = False
        self._declarations: dict[str, declared.Declarations] = {}
        self._shared: dict[str, list[Run]] = {}
        try:
            with zipfile.ZipFile(path) as package:
                self._binary = BINARY in package.namelist()
                self._parts = {} if self._binary else sheet_parts(package)
                self._declarations = declared.of_package(package, self._parts)
                self._shared = shared_strings(package)
        except _BROKEN:
            return

    def of_sheet(self, name: str) -> SheetExtras:
        """Return a sheet's data besides its values, as far as it can be read."""
        if self._binary:
            return SheetExtras(unseen=True)
        found = SheetExtras(
            numbers=self._numbers.of_sheet(name), declarations=self._declarations.get(name) or declared.Declarations()
        )
        found.across = self._numbers.across
        found.unreadable += self._numbers.damaged
        part = self._parts.get(name)
        if part is None:
            found.unreadable += 1
            return found
        try:
            with zipfile.ZipFile(self._path) as package:
                with package.open(part) as stream:
                    named = _scan(stream, found, self._shared)
                _look_beside(package, part, named, found)
        except _BROKEN:
            found.unreadable += 1
        return found


def _scan(stream: object, found: SheetExtras, shared: Mapping[str, list[Run]]) -> int:
    """Scan a sheet; return how many parts with comments and drawings it names."""
    kinds = ("e", "inlineStr", "s") if shared else ("e", "inlineStr")
    named = below = 0
    options = {"resolve_entities": False, "no_network": True, "huge_tree": False, "load_dtd": False}
    tags = (f"{_MAIN}row", f"{_MAIN}col", _PANE, _FILTER, *_NAMED)
    for _, element in etree.iterparse(stream, events=("end",), tag=tags, **options):
        named += element.tag in _NAMED
        if element.tag == _PANE:
            found.declarations.frozen = declared.frozen_rows(element)
        elif element.tag == _FILTER and (filtered := corners(element.get("ref", ""))) is not None:
            found.declarations.headers_end.add(filtered[0])
        found.hidden += element.get("hidden") in ("1", "true")
        if element.tag == f"{_MAIN}row":
            below = int(element.get("r") or below + 1)
            told = any(cell.get("t") in kinds or cell.find(f"{_MAIN}f") is not None for cell in element)
            for place, cell in placed(element, below - 1) if told else ():
                if cell.get("t") == "s":
                    take(shared.get(cell.findtext(f"{_MAIN}v") or "", ()), place, found)
                elif cell.get("t") == "inlineStr" and (item := cell.find(f"{_MAIN}is")) is not None:
                    take(runs_of(item), place, found)
                elif cell.get("t") == "e":
                    found.errors[place] = inline(cell.findtext(f"{_MAIN}v") or "")
                if cell.find(f"{_MAIN}f") is not None and not (cell.findtext(f"{_MAIN}v") or cell.get("t") == "str"):
                    found.formulas.append(cell_name(*place))
        element.clear()
    return named


def _look_beside(package: zipfile.ZipFile, part: str, named: int, found: SheetExtras) -> None:
    """Read the parts that a sheet refers to: its comments by cell, and the contents of its drawings."""
    folder, name = posixpath.split(part)
    try:
        relations = etree.fromstring(package.read(f"{folder}/_rels/{name}.rels"), xml_parser())
    except _BROKEN:
        found.unreadable += named
        return
    threads: list[tuple[str, str]] = []
    for relation in relations.iterchildren(tag=etree.Element):
        kind = relation.get("Type", "").rpartition("/")[2]
        found.drawn += kind in _OBJECTS
        if kind not in ("comments", "drawing", "threadedComment"):
            continue
        target = _target(folder, relation)
        try:
            root = etree.fromstring(package.read(target), xml_parser())
        except _BROKEN:
            found.unreadable += 1
            continue
        found.drawn += sum(1 for _ in root.iter(_CHART))
        if kind == "drawing":
            _take_shapes(root, _targets(package, target), found)
        for comment in root.iter(f"{_MAIN}comment", _THREADED):
            text = inline("".join(one.text or "" for one in comment.iter(f"{_MAIN}t", "{*}text")))
            known = threads if comment.tag == _THREADED else found.comments
            if len(known) < _MOST_COMMENTS:
                known.append((comment.get("ref", ""), text))
    # For programs that know no threads, the comment of such a cell repeats them behind a text of Excel's own.
    cells = {cell for cell, _ in threads}
    found.comments = [*(one for one in found.comments if one[0] not in cells), *threads]


def _targets(package: zipfile.ZipFile, part: str) -> dict[str, str]:
    """Return the parts that a part refers to, by the ids of these relations."""
    folder, name = posixpath.split(part)
    try:
        relations = etree.fromstring(package.read(f"{folder}/_rels/{name}.rels"), xml_parser())
    except _BROKEN:
        return {}
    return {one.get("Id", ""): _target(folder, one) for one in relations.iterchildren(tag=etree.Element)}


def _target(folder: str, relation: etree._Element) -> str:
    return posixpath.normpath(posixpath.join("/", folder, relation.get("Target", ""))).lstrip("/")


def _take_shapes(root: etree._Element, targets: Mapping[str, str], found: SheetExtras) -> None:
    """Take the texts of boxes and shapes, and the pictures, with the cell of each anchor."""
    for anchor in root.iterchildren(tag=etree.Element):
        start = anchor.find(f"{_DRAWING}from")
        row = column = ""
        if start is not None:
            row, column = start.findtext(f"{_DRAWING}row", ""), start.findtext(f"{_DRAWING}col", "")
        cell = cell_name(int(row), int(column)) if row.isdecimal() and column.isdecimal() else ""
        for body in anchor.iter(f"{_DRAWING}txBody"):
            lines = ("".join(one.text or "" for one in line.iter(f"{_DRAWN}t")) for line in body.iter(f"{_DRAWN}p"))
            text = inline(" ".join(lines))
            if text and len(found.texts) < _MOST_SHAPES:
                found.texts.append((cell, text))
        for picture in anchor.iter(f"{_DRAWING}pic"):
            embedded = (image.get(_EMBED, "") for image in picture.iter(f"{_DRAWN}blip"))
            found.pictures.append((cell, targets.get(next(embedded, ""), "")))
            for named in picture.iter(f"{_DRAWING}cNvPr"):
                if (text := alternative_text(named)) and len(found.texts) < _MOST_SHAPES:
                    found.texts.append((cell, text))
