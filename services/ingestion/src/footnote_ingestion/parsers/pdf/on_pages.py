"""Pictures on the pages of a PDF beside its text."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from pathlib import Path

import pypdfium2 as pdfium
import pypdfium2.raw as raw
from footnote.types.v1.locator_pb2 import PageLocator

from footnote_ingestion.parsers import inside
from footnote_ingestion.parsers.base import BlockWriter
from footnote_ingestion.parsers.failures import CONTENT_LEFT_OUT, TEXT_RECOGNISED
from footnote_ingestion.parsers.inside import RECOGNISED, words_in
from footnote_ingestion.parsers.ocr import Area, Recognised
from footnote_ingestion.parsers.pdf.layout import Page
from footnote_ingestion.parsers.pdf.lines import Line
from footnote_ingestion.parsers.pdf.scans import shown
from footnote_ingestion.parsers.pdf.turns import turned

_DEEPEST = 3
"""Forms within forms: PDFium's own limit for finding objects in them."""
_SMALLEST = 6.0
"""Points: a lower or narrower picture is a rule or a bullet, because letters of this size are not readable."""


def unread_pictures(page: pdfium.PdfPage, lines: Sequence[Line], turn: int) -> list[Area]:
    """Return the places of the pictures of a page without text on them; `lines` are turned clockwise by `turn`.

    A picture under text is a background or a scan with its recognised text.
    """
    areas = [(area, turned(area, turn)) for area in _areas(page)]
    return [area for area, seen in areas if not any(_stands_in(line, seen) for line in lines)]


def read_pictures(path: Path, pages: Sequence[Page], out: BlockWriter) -> None:
    """Read the pictures of pages by OCR if it is enabled, and warn of those without words.

    A page that was recognised as a whole has no further pictures.
    """
    wanted = [page for page in pages if page.pictures and page.recognised is None]
    if not out.ocr_languages:
        for page in wanted:
            out.pictures(len(page.pictures), PageLocator(page=page.number))
        return
    views = shown(path, [page.number for page in wanted])
    for page in wanted:
        place = PageLocator(page=page.number)
        if len(out.pictures_read) >= inside.MOST_PICTURES:  # drawing the page would be useless
            out.warn(CONTENT_LEFT_OUT, inside.BEYOND, len(page.pictures), [place])
            continue
        whole = next(views)
        for area in dict.fromkeys(page.pictures):
            picture = whole.cut(area)
            paragraphs, words = words_in(picture.tobytes(), picture.copy, out)
            if words:
                out.warn(CONTENT_LEFT_OUT, words, 1, [place])
            elif paragraphs:
                page.recognised = page.recognised or Recognised(page.number)
                page.recognised.paragraphs += [[whole.placed(line, area) for line in lines] for lines in paragraphs]
                out.warn(TEXT_RECOGNISED, RECOGNISED, 1, [place])


def _areas(page: pdfium.PdfPage) -> Iterator[Area]:
    """Yield the places of pictures; pictures in a form have the form's place."""
    for index in range(raw.FPDFPage_CountObjects(page.raw)):
        found = raw.FPDFPage_GetObject(page.raw, index)
        kind = raw.FPDFPageObj_GetType(found)
        if kind == raw.FPDF_PAGEOBJ_IMAGE or kind == raw.FPDF_PAGEOBJ_FORM:
            count = 1 if kind == raw.FPDF_PAGEOBJ_IMAGE else _in_form(found, 1)
            area = _area(found) if count else None
            if area is not None and min(area[2] - area[0], area[3] - area[1]) >= _SMALLEST:
                yield from [area] * count


def _in_form(form: object, depth: int) -> int:
    """Return the number of pictures in a form."""
    if depth > _DEEPEST:
        return 0
    found = 0
    for index in range(max(raw.FPDFFormObj_CountObjects(form), 0)):
        one = raw.FPDFFormObj_GetObject(form, index)
        kind = raw.FPDFPageObj_GetType(one)
        found += kind == raw.FPDF_PAGEOBJ_IMAGE
        if kind == raw.FPDF_PAGEOBJ_FORM:
            found += _in_form(one, depth + 1)
    return found


def _area(found: object) -> Area | None:
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    if not raw.FPDFPageObj_GetBounds(found, left, bottom, right, top):
        return None
    return left.value, bottom.value, right.value, top.value


def _stands_in(line: Line, area: Area) -> bool:
    across, up = (line.left + line.right) / 2, (line.bottom + line.top) / 2
    return area[0] <= across <= area[2] and area[1] <= up <= area[3]
