"""Word documents: headings by style or outline level, lists, tables, notes, core properties."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from docx.document import Document
from docx.opc.exceptions import PackageNotFoundError
from docx.opc.part import PartFactory
from docx.package import Package
from docx.parts.document import DocumentPart
from lxml import etree  # type: ignore[import-untyped]

from footnote_ingestion.parsers.base import (
    FURNITURE,
    LIST_ITEM,
    NOTE,
    PARAGRAPH,
    BlockWriter,
    Limits,
    Properties,
)
from footnote_ingestion.parsers.cells import joined_down, write_table
from footnote_ingestion.parsers.clean import RAISED, inline, joined, starts_as_figure
from footnote_ingestion.parsers.failures import (
    CONTENT_LEFT_OUT,
    CORRUPT,
    OTHER,
    PAGE_FURNITURE,
    PARTS_UNREADABLE,
    ParseError,
)
from footnote_ingestion.parsers.inside import write_picture
from footnote_ingestion.parsers.office.charts import diagram_texts, write_charts
from footnote_ingestion.parsers.office.equations import linear
from footnote_ingestion.parsers.office.fields import show_fields
from footnote_ingestion.parsers.office.hidden import is_hidden, warn_of_hidden
from footnote_ingestion.parsers.office.imported import write_imported
from footnote_ingestion.parsers.office.numbering import Numbers, set_before, value_of
from footnote_ingestion.parsers.office.package import (
    UNREADABLE_PACKAGE,
    alternative_text,
    blob_of,
    check_package,
    core_properties,
    xml_parser,
)
from footnote_ingestion.parsers.office.repair import LOST_PARTS, opened
from footnote_ingestion.parsers.symbols import read_symbol, read_text, warn_of_unknown

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_TABLE, _CELL_PROPERTIES, _SPAN, _MERGE = (f"{_W}{name}" for name in ("tbl", "tcPr", "gridSpan", "vMerge"))
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_HEADING = re.compile(r"(?:heading|titre|überschrift|título|intestazione|kop)\s*(\d)", re.IGNORECASE)
# Documents with macros and templates are documents too; macros are not read.
for _kind in ("ms-word.document.macroEnabled", "openxmlformats-officedocument.wordprocessingml.template"):
    PartFactory.part_type_for[f"application/vnd.{_kind}.main+xml"] = DocumentPart
_MARGIN_PARTS = ("/header", "/footer")
_PICTURE = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"
_IMAGES = ("{http://schemas.openxmlformats.org/drawingml/2006/main}blip", "{urn:schemas-microsoft-com:vml}imagedata")
_OBJECT = "{urn:schemas-microsoft-com:office:office}OLEObject"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}oMath"
_CHANGES = tuple(f"{_W}{name}" for name in ("ins", "del", "moveFrom", "moveTo"))
_WRAPS = frozenset(f"{_W}{name}" for name in ("sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag"))


class DocxParser:
    """Reads docx files."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Open the package and find its main part."""
        check_package(path, limits)
        _open(path)

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Write body paragraphs and tables in order, each followed by its notes; headers and footers come last."""
        check_package(path, limits)
        document, lost = _open(path)
        if lost:
            out.warn(PARTS_UNREADABLE, LOST_PARTS, lost)
        show_fields(document.element.body)
        set_before(document.element.body, Numbers(_numbering(document), document.styles.element))
        notes, margins = _beside(document, out)
        walker = _Walker(out, _styles(document), document.part, notes)
        walker.children(document.element.body)
        notes.write_rest(out)
        _write_margins(margins, out)
        warn_of_hidden(document.element.body, out)
        warn_of_unknown(document.element.body, out)
        if changes := sum(1 for _ in document.element.body.iter(*_CHANGES)):
            out.warn(OTHER, "{count} tracked changes are read as if they were accepted", changes)
        return core_properties(path)


def _beside(document: Document, out: BlockWriter) -> tuple[Notes, list[str]]:
    """Return footnotes, endnotes and comments, and the distinct page headers and footers."""
    notes = Notes()
    margins: dict[str, None] = {}
    for relation in document.part.rels.values():
        kind = "/" + relation.reltype.rpartition("/")[2]
        if relation.is_external or kind not in (*PARTS, *_MARGIN_PARTS):
            continue
        try:
            root = etree.fromstring(relation.target_part.blob, xml_parser())
        except etree.XMLSyntaxError:
            out.warn(PARTS_UNREADABLE, "{count} parts of the document beside its text could not be read")
            continue
        show_fields(root)
        out.pictures(sum(1 for _ in _pictures(root)))
        if kind in _MARGIN_PARTS:
            margins.setdefault(_whole(root))
        else:
            notes.add(kind, root, _whole)
    return notes, [text for text in margins if text]


def _write_margins(texts: list[str], out: BlockWriter) -> None:
    """Write page headers and footers, which are kept but not searched."""
    if not texts:
        return
    out.reset_headings()
    for text in texts:
        out.add(FURNITURE, text)
    out.warn(PAGE_FURNITURE, "{count} headers and footers are kept apart and not searched", len(texts))


def _open(path: Path) -> tuple[Document, int]:
    def read(source: str | io.BytesIO) -> Document:
        document: Document = Package.open(source).main_document_part.document
        return document

    failures = (PackageNotFoundError, *UNREADABLE_PACKAGE, AttributeError, etree.XMLSyntaxError)
    try:
        return opened(path, read, failures)
    except failures as error:
        raise ParseError(CORRUPT, "The Word document is damaged and cannot be opened.") from error


def _numbering(document: Document) -> etree._Element | None:
    for relation in document.part.rels.values():
        if not relation.is_external and relation.reltype.endswith("/numbering"):
            try:
                return etree.fromstring(relation.target_part.blob, xml_parser())
            except etree.XMLSyntaxError:
                return None
    return None


def _styles(document: Document) -> dict[str, tuple[int, bool]]:
    """For each style id (heading level or 0, is a list)."""
    found: dict[str, tuple[int, bool]] = {}
    based: dict[str, str] = {}
    for style in document.styles.element.iterchildren(f"{_W}style"):
        style_id, name = style.get(f"{_W}styleId") or "", value_of(style.find(f"{_W}name"))
        match = _HEADING.match(name)
        outline = style.find(f"{_W}pPr/{_W}outlineLvl")
        level = int(match[1]) if match else 1 if name.lower() == "title" else _outline(outline)
        numbered = style.find(f"{_W}pPr/{_W}numPr") is not None
        found[style_id] = (level, not level and (numbered or name.lower().startswith(("list bullet", "list number"))))
        if (base := style.find(f"{_W}basedOn")) is not None:
            based[style_id] = base.get(f"{_W}val") or ""
    for style_id, base_id in based.items():  # a style without a level of its own inherits its base's
        for _ in range(10):
            if found[style_id][0] or base_id not in found:
                break
            if found[base_id][0] and base_id != style_id:
                found[style_id] = found[base_id]
            base_id = based.get(base_id, "")
    return found


def _outline(element: etree._Element | None) -> int:
    value = element.get(f"{_W}val") if element is not None else None
    return int(value) + 1 if value and value.isdecimal() and int(value) < 6 else 0


def _text(element: etree._Element) -> Iterator[str]:
    """Yield the visible text under an element, deleted text, alternatives and text boxes left out."""
    for child in element.iterchildren():
        match child.tag:
            case t if t == f"{_W}t":
                yield read_text(child)
            case t if t == f"{_W}r" and is_hidden(child):
                continue
            case t if t == f"{_W}sym":
                yield read_symbol(child)
            case t if t == f"{_W}r" and (raised := _raised(child)):
                yield RAISED + raised
            case t if t in (f"{_W}tab", f"{_W}br", f"{_W}cr", f"{_W}ptab"):
                yield " "
            case t if t == f"{_W}noBreakHyphen":
                yield "-"
            case t if t == _MATH:
                yield linear(child)
            case t if t in (
                f"{_W}del",
                f"{_W}moveFrom",
                f"{_W}txbxContent",
                f"{_W}pPr",
                f"{_W}rPr",
                f"{_W}instrText",
                _TABLE,  # a nested table's rows are its own
                _FALLBACK,
            ):
                continue
            case t if t == f"{_W}p":
                yield from _text(child)
                yield " "
            case _:
                yield from _text(child)


def _whole(element: etree._Element) -> str:
    """Return the text of all paragraphs under an element, those of tables and boxes included."""
    paragraphs = (one for one in element.iter(f"{_W}p") if not _is_fallback(one))
    return inline(" ".join(joined(_text(one)) for one in paragraphs))


def _raised(run: etree._Element) -> str:
    """Return a superscript run's text if it begins with a digit."""
    place = run.find(f"{_W}rPr/{_W}vertAlign")
    if place is None or place.get(f"{_W}val") != "superscript":
        return ""
    text = "".join(_text(run))
    return text if starts_as_figure(text) else ""


class _Walker:
    """Walks the body; remembers the styles."""

    def __init__(self, out: BlockWriter, styles: dict[str, tuple[int, bool]], part: Any, notes: Notes) -> None:
        self._out = out
        self._styles = styles
        self._part = part
        self._notes = notes

    def children(self, parent: etree._Element) -> None:
        for element in parent.iterchildren():
            if element.tag == f"{_W}p":
                self._paragraph(element)
                self._notes.write(element, self._out)
            elif element.tag == f"{_W}tbl":
                self._table(element)
                self._notes.write(element, self._out)
            elif element.tag in _WRAPS:
                self.children(element)
            elif element.tag == _ALTERNATIVES and len(element):
                self.children(element[0])
            elif element.tag == f"{_W}altChunk":
                write_imported(element, self._part, self._out)

    def _paragraph(self, element: etree._Element) -> None:
        text = inline(joined(_text(element)))
        level, listed = self._style(element)
        if level:
            self._out.heading(text, level)
        else:
            self._out.add(LIST_ITEM if listed else PARAGRAPH, text)
        self._drawn(element)

    def _drawn(self, paragraph: etree._Element) -> None:
        """Write what is drawn in a paragraph, and warn of pictures and objects; boxes of text have their own."""
        out = self._out
        for drawing in paragraph.iter(f"{_W}drawing"):
            if next(drawing.iterancestors(f"{_W}p")) is paragraph:
                self._drawing(drawing)
        for image in _pictures(paragraph, of=paragraph):
            write_picture(partial(blob_of, image, self._part), out)
        if objects := sum(1 for _ in paragraph.iter(_OBJECT)):
            out.warn(CONTENT_LEFT_OUT, "{count} embedded objects are not read", objects, under=out.heading_path())
        for box in paragraph.iter(f"{_W}txbxContent"):
            if next(box.iterancestors(f"{_W}p")) is paragraph and not _is_fallback(box):
                self.children(box)

    def _drawing(self, element: etree._Element) -> None:
        """Write a picture's alternative text and a diagram's texts."""
        for named in element.iter(_PICTURE):
            self._out.add(NOTE, alternative_text(named))
        for text in diagram_texts(element, self._part, self._out):
            self._out.add(LIST_ITEM, text)
        write_charts(element, self._part, self._out)

    def _style(self, element: etree._Element) -> tuple[int, bool]:
        style_id = value_of(element.find(f"{_W}pPr/{_W}pStyle"))
        level, listed = self._styles.get(style_id, (0, False))
        level = level or _outline(element.find(f"{_W}pPr/{_W}outlineLvl"))
        return level, not level and (listed or element.find(f"{_W}pPr/{_W}numPr") is not None)

    def _table(self, element: etree._Element) -> None:
        rows = list(_rows(element))
        lines = [_row(row) for row in rows]
        if not lines:
            return
        if max(sum(columns for _, columns, _ in line) for line in lines) < 2:  # a frame around running text
            for cell in element.iter(f"{_W}tc"):
                self.children(cell)
            return
        marked = next((at for at, row in enumerate(rows) if row.find(f"{_W}trPr/{_W}tblHeader") is None), 0)
        write_table(joined_down(lines), self._out, None, marked)
        for paragraph in element.iter(f"{_W}p"):
            if next(paragraph.iterancestors(_TABLE, f"{_W}txbxContent")) is element:
                self._drawn(paragraph)
        for inner in element.iter(_TABLE):
            if inner is not element and next(inner.iterancestors(_TABLE)) is element:
                self._table(inner)


def _is_fallback(element: etree._Element) -> bool:
    """Return whether an element is the form for programs that do not know the other one, which says the same."""
    return next(element.iterancestors(_FALLBACK), None) is not None


def _pictures(root: etree._Element, of: etree._Element | None = None) -> Iterator[etree._Element]:
    """Yield the pictures under an element without those of objects; under a paragraph, without those in its boxes."""
    for image in root.iter(*_IMAGES):
        owner = next(image.iterancestors(f"{_W}p", f"{_W}object"), None)
        stands_for_object = owner is not None and owner.tag == f"{_W}object"
        if not stands_for_object and not _is_fallback(image) and (of is None or owner is of):
            yield image


def _rows(parent: etree._Element) -> Iterator[etree._Element]:
    """Yield the rows of a table, including those in content controls."""
    for child in parent.iterchildren():
        if child.tag == f"{_W}tr":
            yield child
        elif child.tag in _WRAPS:
            yield from _rows(child)


def _row(row: etree._Element) -> list[tuple[str, int, bool]]:
    """Return a row's cells: text, number of columns covered, whether it continues the cell above."""
    found: list[tuple[str, int, bool]] = []
    if (skipped := row.find(f"{_W}trPr/{_W}gridBefore")) is not None:
        found.append(("", _number(skipped), False))
    for cell in row.iter(f"{_W}tc"):
        if cell.getparent() is not row and any(parent.tag == f"{_W}tc" for parent in cell.iterancestors()):
            continue
        text = inline(joined(_text(cell)))
        properties = cell.find(_CELL_PROPERTIES)
        span = merge = None
        if properties is not None:
            span, merge = properties.find(_SPAN), properties.find(_MERGE)
        goes_on = merge is not None and merge.get(f"{_W}val", "continue") == "continue"
        found.append((text, _number(span) if span is not None else 1, goes_on))
    return found


def _number(element: etree._Element) -> int:
    value = element.get(f"{_W}val") or ""
    return max(min(int(value[:4]), 64), 1) if value.isdecimal() else 1


PARTS = ("/footnotes", "/endnotes", "/comments")
_KINDS = dict(zip((f"{_W}footnoteReference", f"{_W}endnoteReference", f"{_W}commentReference"), PARTS, strict=True))
_Key: TypeAlias = tuple[str, str]


class Notes:
    """Knows the notes by their numbers; each is written once."""

    def __init__(self) -> None:
        self._texts: dict[_Key, str] = {}

    def add(self, part: str, root: etree._Element, read: Callable[[etree._Element], str]) -> None:
        """Add a part of the package, one of `PARTS`; `read` returns the text of an element."""
        for number, note in enumerate(root):
            text = read(note)
            author = read_author(note) if part == "/comments" else ""
            if text:
                key = (part, note.get(f"{_W}id") or f"unnumbered {number}")
                self._texts.setdefault(key, f"{author}{text}")

    def write(self, element: etree._Element, out: BlockWriter) -> None:
        """Write the notes that a paragraph or table refers to, once each, in the order of reference."""
        for key in _referred_to(element) if self._texts else ():
            out.add(NOTE, self._texts.pop(key, ""))

    def write_rest(self, out: BlockWriter) -> None:
        """Write the notes without a reference."""
        for text in self._texts.values():
            out.add(NOTE, text)
        self._texts.clear()


def read_author(comment: etree._Element) -> str:
    """Return a comment's author as its prefix."""
    author = " ".join((comment.get(f"{_W}author") or "").split())
    return f"Comment by {author}: " if author else "Comment: "


def _referred_to(element: etree._Element) -> Iterator[_Key]:
    for reference in element.iter(*_KINDS):
        yield _KINDS[reference.tag], reference.get(f"{_W}id") or ""
