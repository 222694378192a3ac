"""OpenDocument texts and presentations: zip packages of XML."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from footnote.types.v1.locator_pb2 import SlideLocator
from lxml import etree  # type: ignore[import-untyped]

from footnote_ingestion.parsers.base import (
    FURNITURE,
    LIST_ITEM,
    NOTE,
    PARAGRAPH,
    BlockWriter,
    Limits,
    Place,
    Properties,
)
from footnote_ingestion.parsers.cells import Cell, write_table
from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.failures import (
    CONTENT_LEFT_OUT,
    CORRUPT,
    OTHER,
    PAGE_FURNITURE,
    PARTS_UNREADABLE,
    PASSWORD_PROTECTED,
    STRUCK_LEFT_OUT,
    ParseError,
)
from footnote_ingestion.parsers.inside import write_picture
from footnote_ingestion.parsers.mathml import Node, linear
from footnote_ingestion.parsers.office.package import (
    UNREADABLE_PACKAGE,
    check_package,
    moment,
    packed_file,
    xml_parser,
)

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_PRESENTATION = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_MATH = "{http://www.w3.org/1998/Math/MathML}math"
_LINK = "{http://www.w3.org/1999/xlink}href"
_ANNOTATION = f"{_OFFICE}annotation"
_SKIP = (f"{_TEXT}tracked-changes", _ANNOTATION, f"{_TEXT}note-citation", f"{_TEXT}table-of-content")
_NOTES = (f"{_TEXT}note-body", _ANNOTATION)
_SPACES = (f"{_TEXT}s", f"{_TEXT}tab", f"{_TEXT}line-break")
_OBJECTS = (f"{_DRAW}object", f"{_DRAW}object-ole")
_ALTERNATIVES = tuple(
    f"{{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}}{name}" for name in ("title", "desc")
)
_STYLED = (f"{_TEXT}p", f"{_TEXT}h", f"{_TEXT}span")
_STRIKE = f"{_STYLE}text-line-through-style"
_APART = (f"{_TEXT}p", f"{_TEXT}h", *_ALTERNATIVES)
"""Elements that begin and end a text of their own."""
_MARGINS = tuple(
    f"{_STYLE}{name}" for name in ("header", "header-left", "header-first", "footer", "footer-left", "footer-first")
)
_MANIFEST = "META-INF/manifest.xml"
_MAX_REPEAT = 100
_NOT_READ = "{count} charts and embedded objects are not read"


class OpenDocumentParser:
    """Reads odt and odp files."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Open the package and check whether it is encrypted."""
        check_package(path, limits)
        read_part(path, "content.xml")

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Write headings, paragraphs, list items, tables and notes in order."""
        check_package(path, limits)
        content = xml_of(read_part(path, "content.xml"))
        body = content.find(f"{_OFFICE}body")
        if body is None:
            raise ParseError(CORRUPT, "The document has no body.")
        if struck := _take_out_struck(content, body):
            out.warn(CONTENT_LEFT_OUT, STRUCK_LEFT_OUT, struck)
        properties = _properties(path)
        slides = list(body.iter(f"{_DRAW}page"))
        for number, slide in enumerate(slides, 1):
            out.reset_headings()
            title = _title(slide)
            place = SlideLocator(slide=number, title=title[:300])
            out.heading(title, 1, place)
            _Walker(out, place, path).children(slide)
            out.pages(number, len(slides))
        if not slides:
            _Walker(out, None, path).children(body)
            _write_margins(path, out)
        if deleted := sum(1 for _ in body.iter(f"{_TEXT}deletion")):
            out.warn(OTHER, "{count} tracked deletions are read as if they were accepted", deleted)
        properties.page_count = len(slides)
        return properties


def _take_out_struck(content: etree._Element, body: etree._Element) -> int:
    """Empty the struck paragraphs and stretches; return their number. Named styles are not looked at."""
    struck = {
        style.getparent().get(f"{_STYLE}name"): style.get(_STRIKE) != "none"
        for style in content.iter(f"{_STYLE}text-properties")
        if style.get(_STRIKE)
    }
    count = 0
    for element in list(body.iter(*_STYLED)) if any(struck.values()) else ():
        if struck.get(element.get(f"{_TEXT}style-name")):
            count += bool("".join(_text(element)).strip())
            _empty(element, struck)
    return count


def _empty(element: etree._Element, struck: Mapping[str | None, bool]) -> None:
    element.text = " "
    for child in element:
        child.tail = ""
        if child.tag in (*_STYLED, f"{_TEXT}a") and struck.get(child.get(f"{_TEXT}style-name"), True):
            _empty(child, struck)


def _write_margins(path: Path, out: BlockWriter) -> None:
    """Write page headers and footers, which are kept but not searched."""
    try:
        styles = xml_of(read_part(path, "styles.xml", needed=False) or b"<none/>")
    except ParseError:
        out.warn(PARTS_UNREADABLE, "{count} parts of the document beside its text could not be read")
        return
    texts = dict.fromkeys(
        inline(" ".join("".join(_text(line)) for line in margin.iter(f"{_TEXT}p", f"{_TEXT}h")))
        for margin in styles.iter(*_MARGINS)
    )
    kept = [text for text in texts if text]
    if kept:
        out.reset_headings()
        for text in kept:
            out.add(FURNITURE, text)
        out.warn(PAGE_FURNITURE, "{count} headers and footers are kept apart and not searched", len(kept))


def read_part(path: Path | zipfile.ZipFile, name: str, *, needed: bool = True) -> bytes:
    """Return a file of a package, or empty if it is missing and not `needed`; otherwise raises `ParseError`.

    A damaged or encrypted file raises `ParseError` too. An open package stays open: opening reads all of its names.
    """
    try:
        with nullcontext(path) if isinstance(path, zipfile.ZipFile) else zipfile.ZipFile(path) as package:
            if _is_locked(package):
                raise ParseError(PASSWORD_PROTECTED, "The document opens only with a password.")
            if not needed and name not in package.namelist():
                return b""
            return package.read(name)
    except (*UNREADABLE_PACKAGE, OSError) as error:
        raise ParseError(CORRUPT, "The document is damaged and cannot be opened.") from error


def _is_locked(package: zipfile.ZipFile) -> bool:
    try:
        return b"encryption-data" in package.read(_MANIFEST)
    except UNREADABLE_PACKAGE:  # missing or damaged: encrypted content will not parse as XML
        return False


def xml_of(data: bytes) -> etree._Element:
    """Return the root of an XML file; raises `ParseError` if it is malformed."""
    try:
        return etree.fromstring(data, xml_parser())
    except etree.XMLSyntaxError as error:
        raise ParseError(CORRUPT, "The document's XML is malformed.") from error


def _properties(path: Path) -> Properties:
    try:
        root = xml_of(read_part(path, "meta.xml"))
    except ParseError:
        return Properties()
    creator = next(root.iter(f"{_DC}creator"), None)
    return Properties(
        title=first_text(root, f"{_DC}title"),
        authors=[inline(creator.text or "")] if creator is not None and creator.text else [],
        file_time=moment(first_text(root, f"{_DC}date")[:19]),
    )


def first_text(root: etree._Element, tag: str) -> str:
    """Return the text of the first element of a kind, empty if there is none."""
    found = next(root.iter(tag), None)
    return inline(found.text or "") if found is not None else ""


def _text(element: etree._Element, *, drawn: bool = False) -> Iterator[str]:
    """Yield the visible text of a paragraph; notes, comments and, unless `drawn`, shapes become their own blocks."""
    yield element.text or ""
    for child in element.iterchildren():
        if child.tag in _SPACES:
            yield " "
        elif not drawn and _is_drawn(child):  # only some stand between words; others hang where the cursor was
            yield " " if child.get(f"{_TEXT}anchor-type") == "as-char" else ""
        elif child.tag not in (*_SKIP, f"{_TEXT}note") and isinstance(child.tag, str):
            apart = " " if child.tag in _APART else ""
            yield apart
            yield from _text(child, drawn=drawn)
            yield apart
        yield child.tail or ""


def _is_drawn(element: etree._Element) -> bool:
    return isinstance(element.tag, str) and element.tag.startswith(_DRAW)


def _beside(element: etree._Element) -> Iterator[etree._Element]:
    """Yield the shapes, notes and comments in an element, in order, without those within others."""
    for child in element.iterchildren(tag=etree.Element):
        if _is_drawn(child) or child.tag in _NOTES:
            yield child
        else:
            yield from _beside(child)


class _Walker:
    """Walks the body."""

    def __init__(self, out: BlockWriter, place: Place | None, path: Path) -> None:
        self._out = out
        self._place = place
        self._path = path
        self._items = 0

    def children(self, parent: Iterable[etree._Element]) -> None:
        for element in parent:
            tag = element.tag
            if (tag in _SKIP and tag != _ANNOTATION) or not isinstance(tag, str) or _is_title(element):
                continue
            if tag == f"{_TEXT}h":
                level = element.get(f"{_TEXT}outline-level") or "1"
                self._out.heading(inline("".join(_text(element))), int(level) if level.isdecimal() else 1, self._place)
                self._notes(element)
            elif tag == f"{_TEXT}p":
                self._out.add(LIST_ITEM if self._items else PARAGRAPH, inline("".join(_text(element))), self._place)
                self._notes(element)
            elif tag == _ANNOTATION:
                self._remark(element)
            elif tag == f"{_TEXT}list-item":
                self._items += 1
                self.children(element)
                self._items -= 1
            elif tag == f"{_TABLE}table":
                self._table(element)
            elif _is_drawn(element):
                self.children(element)
                for text in element.iterchildren(*_ALTERNATIVES):
                    self._out.add(NOTE, inline(text.text or ""), self._place)
                self._drawn([element])
            elif tag == f"{_PRESENTATION}notes":
                for paragraph in element.iter(f"{_TEXT}p"):
                    self._out.add(NOTE, inline("".join(_text(paragraph))), self._place)
            else:
                self.children(element)

    def _drawn(self, frames: Iterable[etree._Element]) -> None:
        """Write the words of the pictures in frames; warn of other pictures and of objects."""
        out = self._out
        for frame in frames:
            if objects := list(frame.iterchildren(*_OBJECTS)):
                for one in objects:
                    if equation := _equation(self._path, one):
                        out.add(NOTE, equation, self._place)
                    else:
                        out.warn(CONTENT_LEFT_OUT, _NOT_READ, 1, [self._place], under=out.heading_path())
            else:
                for name in picture_names(frame):
                    write_picture(partial(packed_file, self._path, name), out, self._place)

    def _notes(self, element: etree._Element) -> None:
        """Write the shapes, notes and comments in an element."""
        for one in _beside(element):
            if one.tag in _NOTES:
                self._note(one)
                self._drawn(one.iter(f"{_DRAW}frame"))
            else:
                self.children([one])

    def _note(self, note: etree._Element) -> None:
        if note.tag == _ANNOTATION:
            self._remark(note)
        else:
            self._out.add(NOTE, inline("".join(_text(note, drawn=True))), self._place)

    def _remark(self, element: etree._Element) -> None:
        text = inline(" ".join("".join(_text(line)) for line in element.iter(f"{_TEXT}p")))
        author = inline(element.findtext(f"{_DC}creator") or "")
        if text:
            self._out.add(NOTE, f"Comment by {author}: {text}" if author else f"Comment: {text}", self._place)

    def _table(self, element: etree._Element) -> None:
        self._rows(element)
        self._drawn(element.iter(f"{_DRAW}frame"))
        for note in element.iter(*_NOTES):
            self._note(note)

    def _rows(self, element: etree._Element) -> None:
        """Write a table's own rows, then the tables within its cells."""
        rows = [_row(row) for row in element.iter(f"{_TABLE}table-row") if _table_of(row) is element]
        head = element.find(f"{_TABLE}table-header-rows")
        marked = len(head.findall(f"{_TABLE}table-row")) if head is not None else 0
        write_table(rows, self._out, self._place, marked if marked < len(rows) else 0)
        for inner in element.iter(f"{_TABLE}table"):
            if _table_of(inner) is element:
                self._rows(inner)


def _table_of(element: etree._Element) -> etree._Element | None:
    """Return what an element within a table stands in: a table or, within that, a frame."""
    return next(element.iterancestors(f"{_TABLE}table", f"{_DRAW}frame"), None)


def _equation(path: Path, thing: etree._Element) -> str:
    """Return the equation that an embedded object is, as text in one line; empty for other objects."""
    root = thing.find(_MATH)
    if root is None:
        try:
            name = posixpath.normpath(f"{thing.get(_LINK) or ''}/content.xml")
            root = etree.fromstring(packed_file(path, name), xml_parser())
        except (KeyError, ValueError, OSError, etree.XMLSyntaxError):
            return ""
    return linear(_node(root)) if root.tag == _MATH else ""


def _node(element: etree._Element) -> Node:
    children = [_node(one) for one in element.iterchildren(tag=etree.Element)]
    return Node(etree.QName(element).localname, element.text or "", children)


def picture_names(frame: etree._Element) -> list[str]:
    """Return the file of the picture that a frame shows, if it shows one that does not stand for an object.

    Further ones in a frame are other forms of the first. The name is empty for a picture that is within the XML.
    """
    image = frame.find(f"{_DRAW}image")
    if image is None or any(frame.find(tag) is not None for tag in _OBJECTS):
        return []
    return [image.get(_LINK) or ""]


def _is_title(element: etree._Element) -> bool:
    return bool(element.tag == f"{_DRAW}frame" and element.get(f"{_PRESENTATION}class") == "title")


def _title(slide: etree._Element) -> str:
    """Return the text of a slide's title placeholders."""
    lines = (one for frame in slide.iter(f"{_DRAW}frame") if _is_title(frame) for one in frame.iter(f"{_TEXT}p"))
    return inline(" ".join("".join(_text(line)) for line in lines))


def _row(row: etree._Element) -> list[Cell]:
    """Return the cells that begin in a row, without covered ones."""
    cells: list[Cell] = []
    for cell in row.iterchildren(f"{_TABLE}table-cell"):
        text = inline(" ".join("".join(_text(paragraph, drawn=True)) for paragraph in _paragraphs(cell)))
        down, across, repeat = (
            _number(cell, name) for name in ("number-rows-spanned", "number-columns-spanned", "number-columns-repeated")
        )
        cells += [Cell(text, down, across) for _ in range(min(repeat, _MAX_REPEAT))]
    return cells


def _paragraphs(parent: etree._Element) -> Iterator[etree._Element]:
    """Yield the paragraphs under an element, except those nested in others, in tables, in notes or in comments."""
    for child in parent.iterchildren():
        if child.tag in (f"{_TEXT}p", f"{_TEXT}h"):
            yield child
        elif child.tag not in (*_SKIP, f"{_TABLE}table") and isinstance(child.tag, str):
            yield from _paragraphs(child)


def _number(cell: etree._Element, name: str) -> int:
    value = cell.get(f"{_TABLE}{name}") or "1"
    return max(int(value[:6]), 1) if value.isascii() and value.isdecimal() else 1
