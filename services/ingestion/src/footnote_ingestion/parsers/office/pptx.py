"""Presentations: slide by slide, title first, then text, tables, charts, notes and comments."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pptx
from footnote.types.v1.locator_pb2 import SlideLocator
from lxml import etree  # type: ignore[import-untyped]
from pptx.exc import PackageNotFoundError, PythonPptxError

from footnote_ingestion.parsers.base import LIST_ITEM, NOTE, PARAGRAPH, BlockWriter, Limits, Properties
from footnote_ingestion.parsers.cells import Cell, write_table
from footnote_ingestion.parsers.clean import RAISED, inline, joined, starts_as_figure
from footnote_ingestion.parsers.failures import (
    CONTENT_LEFT_OUT,
    CORRUPT,
    MOST_PLACES,
    OTHER,
    PARTS_UNREADABLE,
    TOO_LARGE,
    ParseError,
)
from footnote_ingestion.parsers.inside import write_picture
from footnote_ingestion.parsers.office.charts import diagram_texts, write_charts
from footnote_ingestion.parsers.office.equations import linear
from footnote_ingestion.parsers.office.package import (
    UNREADABLE_PACKAGE,
    alternative_text,
    blob_of,
    check_package,
    core_properties,
    xml_parser,
)
from footnote_ingestion.parsers.office.repair import LOST_PARTS, opened
from footnote_ingestion.parsers.symbols import in_font

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_IMAGE = f"{_A}blip"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_NAMED = f"{_P}cNvPr"
_THREADS = "{http://schemas.microsoft.com/office/powerpoint/2018/8/main}"
_MOST_COMMENTS = 1_000
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}oMath"
_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"


class PptxParser:
    """Reads pptx files."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Open the package."""
        check_package(path, limits)
        _open(path)

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Write every slide under its title."""
        check_package(path, limits)
        presentation, lost = _open(path)
        if lost:
            out.warn(PARTS_UNREADABLE, LOST_PARTS, lost)
        properties = core_properties(path)
        unreadable: list[SlideLocator] = []
        hidden: list[SlideLocator] = []
        named = presentation.part._element.get_or_add_sldIdLst()  # `slides` raises if one of them is missing
        for number, one in enumerate(named, 1):
            properties.page_count = number
            if number > limits.pages:
                raise ParseError(TOO_LARGE, f"The presentation has more than the {limits.pages} slides allowed.")
            try:
                slide = presentation.part.related_slide(one.rId)
                if slide.element.get("show") in ("0", "false"):
                    hidden.append(SlideLocator(slide=number))
                _slide(slide, number, out)
            except (PythonPptxError, KeyError, AttributeError, ValueError):
                unreadable.append(SlideLocator(slide=number))
            out.pages(number, len(named))
        if hidden:
            out.warn(OTHER, "{count} hidden slides are read like the others", len(hidden), hidden[:MOST_PLACES])
        if unreadable:
            words = f"{{count}} of {properties.page_count} slides could not be read in full"
            out.warn(PARTS_UNREADABLE, words, len(unreadable), unreadable[:MOST_PLACES])
        if unreadable and not out.block_count:
            raise ParseError(CORRUPT, "None of the slides can be read.")
        return properties


def _open(path: Path) -> tuple[Any, int]:
    failures = (PackageNotFoundError, PythonPptxError, *UNREADABLE_PACKAGE, AttributeError, etree.XMLSyntaxError)
    try:
        return opened(path, pptx.Presentation, failures)
    except failures as error:
        raise ParseError(CORRUPT, "The presentation is damaged and cannot be opened.") from error


def _slide(slide: Any, number: int, out: BlockWriter) -> None:
    title_shape = slide.shapes.title
    title = inline(_all_runs(title_shape.text_frame)) if title_shape is not None else ""
    place = SlideLocator(slide=number, title=title[:300])
    out.reset_headings()
    if title:
        out.heading(title, 1, place)
    for image in slide.element.findall(f"{_P}cSld/{_P}bg//{_IMAGE}"):
        write_picture(partial(blob_of, image, slide.part), out, place)
    _shapes(slide.shapes, place, out, title_shape.shape_id if title_shape is not None else None)
    if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None:
        for paragraph in frame.paragraphs:
            out.add(NOTE, inline(_runs(paragraph)), place)
    for remark in _comments(slide.part, out, place):
        out.add(NOTE, remark, place)


def _shapes(shapes: Any, place: SlideLocator, out: BlockWriter, title_id: int | None) -> None:
    """Write shapes in order; an unreadable one loses only itself, and one of several alternatives is read."""
    known = {id(shape._element): shape for shape in shapes}
    for element in shapes._element.iterchildren():
        if element.tag == _ALTERNATIVES:
            _alternative(element, place, out)
        elif (shape := known.get(id(element))) is not None:
            try:
                if title_id is None or shape.shape_id != title_id:
                    _shape(shape, place, out)
            except (PythonPptxError, KeyError, AttributeError, ValueError, TypeError, IndexError):
                out.warn(PARTS_UNREADABLE, "{count} shapes could not be read", 1, [place])


def _shape(shape: Any, place: SlideLocator, out: BlockWriter) -> None:
    named = next((one for one in shape._element.iter(_NAMED)), None)  # its own name comes first
    if named is not None:
        out.add(NOTE, alternative_text(named), place)
    if hasattr(shape, "shapes"):  # a group
        _shapes(shape.shapes, place, out, None)
    elif getattr(shape, "has_table", False) and shape.has_table:
        write_table(_cells(shape.table), out, place)
    elif getattr(shape, "has_chart", False) and shape.has_chart:
        write_charts(shape._element, shape.part, out, place)
    elif shape.has_text_frame:
        _write_texts([(one.level, inline(_runs(one))) for one in shape.text_frame.paragraphs], place, out)
    elif (data := shape._element.find(f".//{_A}graphicData")) is not None and (
        data.get("uri", "").endswith("/ole") or not shape._element.findall(f".//{_A}blip")  # an object has a picture
    ):
        if data.get("uri", "").endswith("/diagram"):
            for text in diagram_texts(data, shape.part, out, place):
                out.add(LIST_ITEM, text, place)
        else:
            out.warn(CONTENT_LEFT_OUT, "{count} embedded objects are not read", 1, [place])
        return
    if not hasattr(shape, "shapes"):  # those of a group are counted one by one
        for image in shape._element.iter(_IMAGE):
            write_picture(partial(blob_of, image, shape.part), out, place)


def _write_texts(texts: list[tuple[int, str]], place: SlideLocator, out: BlockWriter) -> None:
    several = sum(1 for _, text in texts if text) > 1
    for level, text in texts:
        out.add(LIST_ITEM if several or level else PARAGRAPH, text, place)


def _alternative(element: Any, place: SlideLocator, out: BlockWriter) -> None:
    """Write the first alternative form that has text; tables in it become lines."""
    for form in element.iterchildren():
        texts = []
        for paragraph in form.iter(f"{_A}p"):
            text = "".join(
                linear(one) if one.tag == _MATH else one.text or "" for one in paragraph.iter(f"{_A}t", _MATH)
            )
            texts.append((0, inline(text)))
        if any(text for _, text in texts):
            _write_texts(texts, place, out)
            return
    out.warn(CONTENT_LEFT_OUT, "{count} parts without text are not read", 1, [place])


def _runs(paragraph: Any) -> str:
    """Return a paragraph's text; superscript figures do not extend the number before them."""
    pieces = (f"{RAISED}{one.text}" if _is_raised(one) else _in_its_font(one) for one in paragraph._p.content_children)
    return joined(pieces).replace("\v", " ")


def _in_its_font(run: Any) -> str:
    """Return a run's text as its font shows it; words behind a symbol keep its font, and are no symbols."""
    text = str(run.text)
    for name in ("sym", "latin"):
        face, inner = run.find(f"{_A}rPr/{_A}{name}"), text.strip()
        if face is not None and (name == "latin" or not any(one.isascii() for one in inner)):
            text = in_font(text, face.get("typeface") or "")
    return text


def _is_raised(run: Any) -> bool:
    properties = run.find(f"{_A}rPr")
    baseline = "0" if properties is None else properties.get("baseline", "0")
    return not baseline.startswith(("-", "0")) and starts_as_figure(run.text)


def _all_runs(frame: Any) -> str:
    return "\n".join(_runs(paragraph) for paragraph in frame.paragraphs)


def _cells(table: Any) -> list[list[Cell]]:
    """Return the cells of a table that are not covered by others."""
    return [
        [
            Cell(inline(_all_runs(cell.text_frame)), cell.span_height, cell.span_width)
            for cell in row.cells
            if not cell.is_spanned
        ]
        for row in table.rows
    ]


def _comments(slide: Any, out: BlockWriter, place: SlideLocator) -> list[str]:
    """Return the comments of a slide's part, in order; warn of unreadable ones."""
    found: list[str] = []
    for relation in slide.rels.values():
        if relation.is_external or not relation.reltype.endswith("/comments"):
            continue
        try:
            found += _comment_texts(etree.fromstring(relation.target_part.blob, xml_parser()))
        except (KeyError, AttributeError, ValueError, etree.XMLSyntaxError):
            out.warn(PARTS_UNREADABLE, "{count} parts with comments could not be read", 1, [place])
    return [f"Comment: {text}" for text in found[:_MOST_COMMENTS] if text]


def _comment_texts(root: etree._Element) -> Iterator[str]:
    for remark in root.iter(f"{_P}cm", f"{_THREADS}cm", f"{_THREADS}reply"):
        if remark.tag == f"{_P}cm":
            yield inline(remark.findtext(f"{_P}text") or "")
        elif (body := remark.find(f"{_THREADS}txBody")) is not None:
            lines = ("".join(one.text or "" for one in line.iter(f"{_A}t")) for line in body.iter(f"{_A}p"))
            yield inline(" ".join(lines))
