"""Pages are read in the order of their content, unless that contradicts their layout."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.pdf.lines import Line
from footnote_ingestion.parsers.pdf.order import in_order
from footnote_ingestion.parsers.pdf.parser import PdfParser
from fpdf import FPDF

LEFT, RIGHT = 15, 110
COLUMN_ONE = [f"The {word} line of the left column tells of prices." for word in ("first", "second", "third")]
COLUMN_TWO = [f"The {word} line of the right column tells of costs." for word in ("first", "second", "third")]


def column(left: int, top: int, texts: Sequence[str]) -> list[tuple[int, int, str]]:
    return [(left, top + 6 * index, text) for index, text in enumerate(texts)]


TITLE = [(LEFT, 20, "A title that stands above both columns of this page, from its left edge to its right one, whole")]
NOTE = [(LEFT, 250, "A note that stands below both columns of this page, from its left edge to its right one, whole")]
ONE, TWO = column(LEFT, 40, COLUMN_ONE), column(RIGHT, 40, COLUMN_TWO)
MORE = [(LEFT, 100, "What follows goes over the whole width of the page again, from its left edge to its right one")]
ROWS = [(left, top, f"{name} {top}") for top in (40, 60, 80) for left, name in ((LEFT, "name"), (RIGHT, "value"))]


def read(written: Sequence[tuple[int, int, str]], path: Path) -> str:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("helvetica", size=9)
    for left, top, text in written:
        pdf.text(left, top, text)
    path.write_bytes(bytes(pdf.output()))
    blocks: list[Block] = []
    PdfParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    return " ".join(block.text for block in blocks)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ([TITLE, ONE, TWO, NOTE], [TITLE, ONE, TWO, NOTE]),
        ([ONE, TWO, NOTE, TITLE], [TITLE, ONE, TWO, NOTE]),
        ([NOTE, TITLE, ONE, TWO], [TITLE, ONE, TWO, NOTE]),
        ([MORE, NOTE, ONE, TWO, TITLE], [TITLE, ONE, TWO, MORE, NOTE]),
        ([ONE[1:], TWO, ONE[:1]], [ONE, TWO]),
        ([ROWS, TITLE], [TITLE, ROWS]),
    ],
    ids=["in order", "title last", "note first", "both", "first line of a column last", "rows stay rows"],
)
def test_nothing_is_read_before_what_stands_above_it(
    written: list[list[tuple[int, int, str]]], expected: list[list[tuple[int, int, str]]], tmp_path: Path
) -> None:
    text = read([one for part in written for one in part], tmp_path / "page.pdf")
    places = [text.index(one) for part in expected for _, _, one in part]
    assert places == sorted(places)


def line(left: float, right: float, top: float, bottom: float) -> Line:
    return Line("text", 1, left, right, top, bottom, 10.0, False, False)


def test_no_line_is_lost_wherever_lines_stand() -> None:
    chance = random.Random(3)
    for _ in range(200):
        numbers = [chance.choice((0.0, -1e9, 1e9, chance.uniform(-50, 700))) for _ in range(4 * chance.randint(1, 40))]
        lines = [line(*numbers[at : at + 4]) for at in range(0, len(numbers), 4)]
        read = in_order(lines)
        assert sorted(map(id, read)) == sorted(map(id, lines))
    odd = [line(float("nan"), 1, 2, 3), line(0, float("inf"), 20, 10), line(0, 10, 5, 1)]
    assert in_order(odd) == odd


def test_lines_above_one_another_are_read_downwards() -> None:
    chance = random.Random(4)
    lines = [line(10, 200, 12.0 * at + 10, 12.0 * at) for at in range(60)]
    chance.shuffle(lines)
    read = in_order(lines)
    assert all(above.top > below.top for above, below in combinations(read, 2))


def test_a_paragraph_goes_on_in_the_first_column_of_the_next_page(tmp_path: Path) -> None:
    pdf = FPDF()
    pdf.set_auto_page_break(False)
    for left in (RIGHT, LEFT):
        pdf.add_page()
        pdf.set_font("helvetica", size=9)
        for at in range(5):
            pdf.text(left, 260 - 5 * (5 - at), f"this line {at} tells of the prices and costs of a plan that is")
    path = tmp_path / "columns.pdf"
    path.write_bytes(bytes(pdf.output()))
    blocks: list[Block] = []
    PdfParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    assert [(block.text.count("line"), block.locator.page.last_page) for block in blocks] == [(10, 2)]
