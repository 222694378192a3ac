"""Word documents: headings by style or outline level, lists, tables, footnotes, core properties."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from zipfile import BadZipFile

from docx.document import Document
from docx.opc.exceptions import PackageNotFoundError
from docx.opc.part import PartFactory
from docx.package import Package
from docx.parts.document import DocumentPart
from lxml import etree  # type: ignore[import-untyped]

from footnote_ingestion.parsers.base import (
    LIST_ITEM,
    NOTE,
    PARAGRAPH,
    TABLE_ROW,
    BlockWriter,
    Limits,
    Properties,
)
from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.failures import CORRUPT, ParseError
from footnote_ingestion.parsers.office.package import check_package, core_properties, xml_parser
from footnote_ingestion.parsers.tables import header_depth, row_text

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_HEADING = re.compile(r"(?:heading|titre|überschrift|título|intestazione|kop)\s*(\d)", re.IGNORECASE)
# Documents with macros and templates are documents too; the macros are not read.
for _kind in ("ms-word.document.macroEnabled", "openxmlformats-officedocument.wordprocessingml.template"):
    PartFactory.part_type_for[f"application/vnd.{_kind}.main+xml"] = DocumentPart
_NOTE_PARTS = ("/footnotes", "/endnotes")


class DocxParser:
    """Reads docx files."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Open the package and finds its main part."""
        check_package(path, limits)
        _open(path)

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Write body paragraphs and tables in order, footnotes at the end."""
        check_package(path, limits)
        document = _open(path)
        walker = _Walker(out, _styles(document))
        walker.children(document.element.body)
        for relation in document.part.rels.values():
            if relation.reltype.endswith(_NOTE_PARTS) and not relation.is_external:
                root = etree.fromstring(relation.target_part.blob, xml_parser())
                for note in root:
                    out.add(NOTE, inline("".join(_text(note))))
        return core_properties(path)


def _open(path: Path) -> Document:
    try:
        document: Document = Package.open(str(path)).main_document_part.document
        return document
    except (PackageNotFoundError, BadZipFile, KeyError, ValueError, AttributeError, etree.XMLSyntaxError) as error:
        raise ParseError(CORRUPT, "The Word document is damaged and cannot be opened.") from error


def _styles(document: Document) -> dict[str, tuple[int, bool]]:
    """For each style id (heading level or 0, is a list)."""
    found: dict[str, tuple[int, bool]] = {}
    based: dict[str, str] = {}
    for style in document.styles.element.iterchildren(f"{_W}style"):
        style_id, name = style.get(f"{_W}styleId") or "", ""
        if (named := style.find(f"{_W}name")) is not None:
            name = named.get(f"{_W}val") or ""
        match = _HEADING.match(name)
        outline = style.find(f"{_W}pPr/{_W}outlineLvl")
        level = int(match[1]) if match else 1 if name.lower() == "title" else _outline(outline)
        numbered = style.find(f"{_W}pPr/{_W}numPr") is not None
        found[style_id] = (level, not level and (numbered or name.lower().startswith(("list bullet", "list number"))))
        if (base := style.find(f"{_W}basedOn")) is not None:
            based[style_id] = base.get(f"{_W}val") or ""
    for style_id, base_id in based.items():  # a style without a level of its own has that of its base
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
                yield child.text or ""
            case t if t in (f"{_W}tab", f"{_W}br", f"{_W}cr", f"{_W}ptab"):
                yield " "
            case t if t == f"{_W}noBreakHyphen":
                yield "-"
            case t if t in (f"{_W}del", f"{_W}txbxContent", f"{_W}pPr", f"{_W}rPr", f"{_W}instrText", _FALLBACK):
                continue
            case t if t == f"{_W}p":
                yield from _text(child)
                yield " "
            case _:
                yield from _text(child)


class _Walker:
    """Walks the body; remembers the styles."""

    def __init__(self, out: BlockWriter, styles: dict[str, tuple[int, bool]]) -> None:
        self._out = out
        self._styles = styles

    def children(self, parent: etree._Element) -> None:
        for element in parent.iterchildren():
            if element.tag == f"{_W}p":
                self._paragraph(element)
            elif element.tag == f"{_W}tbl":
                self._table(element)
            elif element.tag in (f"{_W}sdt", f"{_W}sdtContent", f"{_W}ins", f"{_W}customXml", f"{_W}smartTag"):
                self.children(element)

    def _paragraph(self, element: etree._Element) -> None:
        text = inline("".join(_text(element)))
        level, listed = self._style(element)
        if level:
            self._out.heading(text, level)
        else:
            self._out.add(LIST_ITEM if listed else PARAGRAPH, text)
        for box in element.iter(f"{_W}txbxContent"):
            if not any(parent.tag == _FALLBACK for parent in box.iterancestors()):
                self.children(box)

    def _style(self, element: etree._Element) -> tuple[int, bool]:
        style_id = ""
        if (style := element.find(f"{_W}pPr/{_W}pStyle")) is not None:
            style_id = style.get(f"{_W}val") or ""
        level, listed = self._styles.get(style_id, (0, False))
        level = level or _outline(element.find(f"{_W}pPr/{_W}outlineLvl"))
        return level, not level and (listed or element.find(f"{_W}pPr/{_W}numPr") is not None)

    def _table(self, element: etree._Element) -> None:
        rows = [_row(row) for row in element.iterchildren(f"{_W}tr")]
        if not rows:
            return
        if max(len(row) for row in rows) < 2:  # a frame around running text
            for cell in element.iter(f"{_W}tc"):
                self.children(cell)
            return
        table = self._out.new_table()
        marked = element.find(f"{_W}tr/{_W}trPr/{_W}tblHeader") is not None
        depth = 1 if marked and len(rows) > 1 else header_depth(rows)
        for row in rows[depth:]:
            self._out.add(TABLE_ROW, row_text(rows[0] if depth else [], row)[0], table=table)


def _row(row: etree._Element) -> list[str]:
    """Return the texts of a row's cells; a cell over several columns is followed by empty ones."""
    values: list[str] = []
    for cell in row.iter(f"{_W}tc"):
        if cell.getparent() is not row and any(parent.tag == f"{_W}tc" for parent in cell.iterancestors()):
            continue
        values.append(inline("".join(_text(cell))))
        span = cell.find(f"{_W}tcPr/{_W}gridSpan")
        width = span.get(f"{_W}val") if span is not None else "1"
        values += [""] * (min(int(width), 64) - 1 if width and width.isdecimal() else 0)
    return values
