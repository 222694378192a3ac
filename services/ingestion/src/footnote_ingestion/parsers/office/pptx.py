"""Presentations: slide by slide, title first, then text, tables, charts and notes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pptx
from footnote.types.v1.locator_pb2 import SlideLocator
from lxml import etree  # type: ignore[import-untyped]
from pptx.exc import PackageNotFoundError, PythonPptxError

from footnote_ingestion.parsers.base import LIST_ITEM, NOTE, PARAGRAPH, TABLE_ROW, BlockWriter, Limits, Properties
from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.failures import CORRUPT, TOO_LARGE, ParseError
from footnote_ingestion.parsers.office.package import check_package, core_properties
from footnote_ingestion.parsers.tables import header_depth, row_text


class PptxParser:
    """Reads pptx files."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Open the package."""
        check_package(path, limits)
        _open(path)

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Write every slide under its title."""
        check_package(path, limits)
        presentation = _open(path)
        properties = core_properties(path)
        unreadable = 0
        for number, slide in enumerate(presentation.slides, 1):
            properties.page_count = number
            if number > limits.pages:
                raise ParseError(TOO_LARGE, f"The presentation has more than the {limits.pages} slides allowed.")
            try:
                _slide(slide, number, out)
            except (PythonPptxError, KeyError, AttributeError, ValueError):
                unreadable += 1
            out.pages(number, len(presentation.slides))
        if unreadable:
            properties.warnings.append(f"{unreadable} of {properties.page_count} slides could not be read in full")
        if unreadable and not out.block_count:
            raise ParseError(CORRUPT, "None of the slides can be read.")
        return properties


def _open(path: Path) -> Any:
    try:
        return pptx.Presentation(str(path))
    except (PackageNotFoundError, PythonPptxError, KeyError, ValueError, etree.XMLSyntaxError) as error:
        raise ParseError(CORRUPT, "The presentation is damaged and cannot be opened.") from error


def _slide(slide: Any, number: int, out: BlockWriter) -> None:
    title_shape = slide.shapes.title
    title = inline(title_shape.text_frame.text) if title_shape is not None else ""
    place = SlideLocator(slide=number, title=title[:300])
    out.reset_headings()
    if title:
        out.heading(title, 1, place)
    _shapes(
        (shape for shape in slide.shapes if title_shape is None or shape.shape_id != title_shape.shape_id), place, out
    )
    if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None:
        for paragraph in frame.paragraphs:
            out.add(NOTE, inline(_runs(paragraph)), place)


def _shapes(shapes: Iterable[Any], place: SlideLocator, out: BlockWriter) -> None:
    for shape in shapes:
        if hasattr(shape, "shapes"):  # a group
            _shapes(shape.shapes, place, out)
        elif getattr(shape, "has_table", False) and shape.has_table:
            rows = [[inline(cell.text) for cell in row.cells] for row in shape.table.rows]
            _table(rows, place, out)
        elif getattr(shape, "has_chart", False) and shape.has_chart:
            _table(_chart(shape.chart), place, out)
        elif shape.has_text_frame:
            texts = [(paragraph.level, inline(_runs(paragraph))) for paragraph in shape.text_frame.paragraphs]
            several = sum(1 for _, text in texts if text) > 1
            for level, text in texts:
                out.add(LIST_ITEM if several or level else PARAGRAPH, text, place)


def _runs(paragraph: Any) -> str:
    return str(paragraph.text).replace("\v", " ")


def _table(rows: list[list[str]], place: SlideLocator, out: BlockWriter) -> None:
    table = out.new_table()
    depth = header_depth(rows)
    for row in rows[depth:]:
        out.add(TABLE_ROW, row_text(rows[0] if depth else [], row)[0], place, table=table)


def _chart(chart: Any) -> list[list[str]]:
    """Return the chart's data as a table: a row per category, a column per series."""
    rows: list[list[str]] = []
    for plot in chart.plots:
        categories = [inline(str(category)) for category in plot.categories]
        series = list(plot.series)
        rows.append(["Category", *(inline(one.name or f"Series {index}") for index, one in enumerate(series, 1))])
        for index, category in enumerate(categories):
            values = [one.values[index] if index < len(one.values) else None for one in series]
            rows.append([category, *("" if value is None else f"{value:.15g}" for value in values)])
    return rows
