"""Pages whose text runs up, down or upside down: read as upright ones, with the boxes of cells as on the page."""

from __future__ import annotations

import io
from functools import partial
from pathlib import Path

import pypdf
import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote.types.v1.locator_pb2 import Box
from footnote_ingestion.parsers.base import FURNITURE, HEADING, BlockWriter, Limits
from footnote_ingestion.parsers.ocr import TextLine
from footnote_ingestion.parsers.pdf.parser import PdfParser
from footnote_ingestion.parsers.pdf.scans import shown
from fpdf import FPDF
from pypdf.generic import ArrayObject, NameObject, NumberObject, RectangleObject
from support.drawn_tables import read as drawn
from support.drawn_tables import ruled

WIDE, HIGH = 842.0, 595.0
TABLE = [["Region", "2023", "2022"], ["North", "485", "503"], ["South", "345", "355"], ["West", "11", "12"]]
HEAD, SIDE = "Plan of the ministry", "Not for print"
TURNS = {
    90: (0, 1, -1, 0, HIGH, 0),
    180: (-1, 0, 0, -1, WIDE, HIGH),
    270: (0, -1, 1, 0, 0, WIDE),
}
"""Matrices that turn a page's content counterclockwise, so that `/Rotate` by as many degrees shows it upright."""


def upright(pages: int = 4) -> bytes:
    """Landscape pages: a running head, a title, paragraphs, a table with a mark of a note, a number at the foot."""
    pdf = FPDF(unit="pt", format=(HIGH, WIDE), orientation="L")
    pdf.set_auto_page_break(False)
    for number in range(1, pages + 1):
        pdf.add_page()
        pdf.set_font("Helvetica", size=9)
        pdf.text(60, 40, HEAD)
        pdf.text(600, 560, f"Page {number}")
        if number == 2:
            with pdf.rotation(90, 30, 300):
                pdf.text(30, 300, SIDE)
        pdf.set_font("Helvetica", "B", 20)
        pdf.text(60, 120, f"Topic {number}")
        pdf.set_font("Helvetica", size=12)
        for top, text in (
            (140, f"The first point says that plan {number} is good for all people in the whole country and beyond it"),
            (200, f"Second point: costs rise by {number + 3} percent a year, as the ministry shows for each region"),
        ):
            pdf.set_xy(60, top)
            pdf.multi_cell(350, 16, f"{text}, and that nobody knows a better one.", align="L")
        pdf.set_font("Helvetica", size=10)
        ruled(pdf, TABLE, top=300)
        pdf.set_font("Helvetica", size=6)
        pdf.text(309.6, 344, "2")
    return bytes(pdf.output())


def turned(plain: bytes, degrees: int, *, shown: bool = True, corner: tuple[int, int] = (0, 0)) -> bytes:
    """The same pages with their content turned and moved by `corner`; `shown` upright by `/Rotate`."""
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(plain))
    for page in writer.pages:
        if degrees:
            page.add_transformation(TURNS[degrees])
        page.add_transformation((1, 0, 0, 1, *corner))
        width, height = (HIGH, WIDE) if degrees % 180 else (WIDE, HIGH)
        page.mediabox = page.cropbox = RectangleObject((*corner, corner[0] + width, corner[1] + height))
        if shown:
            page.rotate(degrees)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def read(data: bytes, tmp_path: Path) -> list[Block]:
    path = tmp_path / "turned.pdf"
    path.write_bytes(data)
    blocks: list[Block] = []
    PdfParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    return blocks


def said(blocks: list[Block]) -> list[tuple[int, str, list[str], int]]:
    return [(block.kind, block.text, list(block.locator.heading_path), block.locator.page.page) for block in blocks]


def boxes(blocks: list[Block]) -> list[Box]:
    return [cell.locator.page.box for block in blocks for cell in block.anchors if cell.locator.page.HasField("box")]


def moved(box: Box, matrix: tuple[float, ...]) -> tuple[float, float, float, float]:
    a, b, c, d, e, f = matrix
    corners = [(a * x + c * y + e, b * x + d * y + f) for x in (box.left, box.right) for y in (box.bottom, box.top)]
    across, up = [x for x, _ in corners], [y for _, y in corners]
    return min(across), min(up), max(across), max(up)


@pytest.mark.parametrize("corner", [(0, 0), (100, 300)], ids=["corner at 0", "corner elsewhere"])
@pytest.mark.parametrize("shown", [True, False], ids=["shown upright", "shown turned"])
@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_turned_pages_are_read_as_upright_ones(
    degrees: int, shown: bool, corner: tuple[int, int], tmp_path: Path
) -> None:
    plain = upright()
    expected = read(plain, tmp_path)
    texts = [block.text for block in expected]
    assert [texts.count(f"Topic {number}") for number in range(1, 5)] == [1] * 4
    assert texts.count("Region: South; 2023: 345; 2022: 355^2") == 4
    assert [block.text for block in expected if block.kind == FURNITURE][1] == f"{HEAD}\nPage 2"
    blocks = read(turned(plain, degrees, shown=shown, corner=corner), tmp_path)
    assert said(blocks) == said(expected)
    matrix = list(TURNS.get(degrees, (1, 0, 0, 1, 0, 0)))
    matrix[4:] = matrix[4] + corner[0], matrix[5] + corner[1]
    assert len(boxes(blocks)) == 4 * 9
    for found, box in zip(boxes(blocks), boxes(expected), strict=True):
        assert (found.left, found.bottom, found.right, found.top) == pytest.approx(moved(box, tuple(matrix)), abs=0.1)


def test_a_mirrored_page_is_read_from_its_top_down(tmp_path: Path) -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(upright(1)))
    writer.pages[0].add_transformation((-1, 0, 0, 1, WIDE, 0))
    out = io.BytesIO()
    writer.write(out)
    text = " ".join(block.text for block in read(out.getvalue(), tmp_path))
    places = [text.index(words) for words in ("The first point", "nobody knows", "Second point")]
    assert places == sorted(places)


def landscape(pdf: FPDF, number: int) -> None:
    """A page whose text runs up, but for its running head and its number, as TeX's pdflscape sets wide tables."""
    pdf.text(60, 40, HEAD)
    pdf.text(500, 760, f"Page {number}")
    with pdf.rotation(90, 300, 400):
        pdf.set_font("Helvetica", "B", 16)
        pdf.text(50, 280, "A wide table")
        pdf.set_font("Helvetica", size=10)
        ruled(pdf, TABLE, top=300)


def portrait(pdf: FPDF, number: int) -> None:
    pdf.text(60, 40, HEAD)
    pdf.text(500, 760, f"Page {number}")
    for at in range(8):
        pdf.text(60, 150 + 14 * at, f"The plan of place {number * 10 + at} is good for all people in the country.")


def test_running_heads_of_a_page_with_a_sideways_table_are_found(tmp_path: Path) -> None:
    pages = enumerate((portrait, landscape, portrait, landscape), 1)
    blocks = drawn(tmp_path, *(partial(draw, number=number) for number, draw in pages))
    texts = [block.text for block in blocks if block.kind != FURNITURE]
    assert texts.count(HEAD) == 1
    assert not any("Page" in text for text in texts)
    assert texts.count("A wide table") == 2
    assert texts.count("Region: South; 2023: 345; 2022: 355") == 2


def test_type_of_a_negative_size_may_be_upright(tmp_path: Path) -> None:
    pdf = FPDF(unit="pt", format=(600, 800))
    pdf.add_page()
    pdf.set_font("Helvetica", size=12)
    text = [
        f"BT -1 0 0 -1 60 {700 - 14 * at} Tm (The plan is good for all, say {at} of them.) Tj ET" for at in range(9)
    ]
    pdf._out("\n".join(["/F1 -20 Tf BT -1 0 0 -1 60 740 Tm (The plan) Tj ET", "/F1 -12 Tf", *text]))
    first, *_ = read(bytes(pdf.output()), tmp_path)
    assert (first.kind, first.text) == (HEADING, "The plan")


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
@pytest.mark.parametrize("box", [(50, 60, 500, 700), (500, 700, 50, 60), (-40, -30, 900, 900)])
def test_a_place_on_a_page_is_found_in_its_picture(
    degrees: int, box: tuple[int, int, int, int], tmp_path: Path
) -> None:
    pdf = FPDF(unit="pt", format=(600, 800))
    pdf.add_page()
    pdf.rect(200, 460, 50, 40, style="F")
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(bytes(pdf.output())))
    writer.pages[0][NameObject("/CropBox")] = ArrayObject(NumberObject(edge) for edge in box)
    writer.pages[0].rotate(degrees)
    writer.write(tmp_path / "cropped.pdf")
    (page,) = shown(tmp_path / "cropped.pdf", [1])
    area = (202.0, 302.0, 248.0, 338.0)
    found = page.cut(area)
    assert found.getextrema() == (0, 0)
    line = page.placed(TextLine("ink", (0, 0, found.width, found.height), []), area)
    assert line.box == pytest.approx(area, abs=0.8)
