"""Renders pages of PDFs as pictures for OCR, and places the recognised text on the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pypdfium2 as pdfium
from PIL import Image

from footnote_ingestion.parsers.ocr import (
    MOST_PIXELS,
    Area,
    Recognised,
    TextLine,
    find_program,
    recognise,
    turned_back,
)
from footnote_ingestion.parsers.pdf.hidden import shown_area

_DOTS_PER_INCH = 200
# Put before files without a valid one; PDFium then searches for the objects.
_HEADER = b"%PDF-1.7\n"


def pages(path: Path, numbers: Sequence[int], languages: str) -> Iterator[Recognised]:
    """Yield the recognised text of some pages of a PDF, by their numbers from 1; `languages` as in "eng+fra".

    Raises `ParseError` if the program is missing or lacks a language. There is no time limit per page: a timeout ends
    the whole worker and the program with it.
    """
    if not numbers:
        return
    program = find_program()
    for number, page in zip(numbers, shown(path, numbers), strict=True):
        lines = recognise(page.picture, program, languages)
        yield Recognised(number, [[page.placed(line) for line in one] for one in lines])


@dataclass(frozen=True, slots=True)
class Shown:
    """A page as a reader sees it, rotated for reading, in shades of grey."""

    picture: Image.Image
    scale: float
    """Pixels of the picture per point of the page."""
    turned: int
    size: tuple[float, float]
    """Width and height of the page's crop box; places count from its lower left `corner`."""
    corner: tuple[float, float]

    def cut(self, area: Area) -> Image.Image:
        """Return the part of the picture that shows an area of the page."""
        left, bottom, right, top = self._seen(area)
        height = self.picture.height
        return self.picture.crop((round(left), height - round(top), round(right), height - round(bottom)))

    def placed(self, line: TextLine, area: Area | None = None) -> TextLine:
        """Return a line of the picture, or of a `cut` from it, with its place on the page."""
        right, up = self._seen(area)[:2] if area is not None else (0.0, 0.0)
        box = line.box[0] + round(right), line.box[1] + round(up), line.box[2] + round(right), line.box[3] + round(up)
        return _placed(TextLine(line.text, box, line.sure), self.scale, self.turned, self.size, self.corner)

    def _seen(self, area: Area) -> Area:
        """Return an area of the page in pixels of the picture from its lower left corner, clipped to its edges."""
        right, up = self.corner
        moved = area[0] - right, area[1] - up, area[2] - right, area[3] - up
        at = [edge * self.scale for edge in turned_back(moved, -self.turned % 360, self.size)]
        width, height = self.picture.size
        left, bottom = min(max(at[0], 0.0), width - 1.0), min(max(at[1], 0.0), height - 1.0)
        return left, bottom, min(max(at[2], left + 1), width), min(max(at[3], bottom + 1), height)


def open_pdf(path: Path) -> pdfium.PdfDocument:
    """Open a PDF even if its first line is missing; raises `pdfium.PdfiumError`."""
    with path.open("rb") as file:
        headed = b"%PDF-" in file.read(1024)
    return pdfium.PdfDocument(path if headed else _HEADER + path.read_bytes())


def shown(path: Path, numbers: Sequence[int]) -> Iterator[Shown]:
    """Yield some pages of a PDF, by their numbers from 1, as pictures."""
    document = open_pdf(path)
    try:
        for number in numbers:
            page = document[number - 1]
            picture, scale = _picture(page)
            # The picture shows the page as rotated for reading, and places count from its crop box.
            left, bottom, right, top = shown_area(page)
            turned = page.get_rotation()
            page.close()
            yield Shown(picture, scale, turned, (right - left, top - bottom), (left, bottom))
    finally:
        document.close()


def _picture(page: pdfium.PdfPage) -> tuple[Image.Image, float]:
    """Return a page in shades of grey, and its number of pixels per point."""
    scale = min(_DOTS_PER_INCH / 72, MOST_PIXELS / max(1.0, *page.get_size()))
    bitmap = page.render(scale=scale, grayscale=True)
    picture = bitmap.to_pil().copy()
    bitmap.close()
    return picture, scale


def _placed(
    line: TextLine, scale: float, turned: int, size: tuple[float, float], corner: tuple[float, float]
) -> TextLine:
    """Return a line with its box in points of the page; the picture shows the page rotated for reading."""
    left, bottom, right, top = (edge / scale for edge in line.box)
    shown = size if turned in (0, 180) else (size[1], size[0])
    left, bottom, right, top = turned_back((left, bottom, right, top), turned, shown)
    return TextLine(line.text, (left + corner[0], bottom + corner[1], right + corner[0], top + corner[1]), line.sure)
