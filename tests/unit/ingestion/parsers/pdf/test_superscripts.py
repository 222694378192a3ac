"""Marks of notes and exponents do not melt into the number before them."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote_ingestion.parsers.base import TABLE_ROW, BlockWriter, Limits
from footnote_ingestion.parsers.pdf.parser import PdfParser
from fpdf import FPDF

UP, DOWN = "SUP", "SUB"


def read(pieces: list[tuple[str, str]], path: Path) -> str:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("times", size=12)
    for text, place in pieces:
        pdf.char_vpos = place or "LINE"
        pdf.write(6, text)
    path.write_bytes(bytes(pdf.output()))
    blocks: list[Block] = []
    PdfParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    return "\n".join(block.text for block in blocks)


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([("We saw 102", ""), ("3", UP), (" patients.", "")], "We saw 102^3 patients."),
        ([("It rose to 12.5%", ""), ("4", UP), (" in all.", "")], "It rose to 12.5%^4 in all."),
        ([("It ended in 2019.", ""), ("12", UP), (" Then it rose.", "")], "It ended in 2019.^12 Then it rose."),
        ([("About 10", ""), ("6", UP), (" cells, 10", ""), ("-3", UP), (" mol.", "")], "About 10^6 cells, 10^-3 mol."),
        ([("7", UP), ("2019 restated", "")], "7 2019 restated"),
        ([("A price of 31", ""), ("99", UP), (" dollars", "")], "A price of 31^99 dollars"),
    ],
)
def test_raised_figures_are_parted_from_others(pieces: list[tuple[str, str]], expected: str, tmp_path: Path) -> None:
    assert read(pieces, tmp_path / "page.pdf") == expected


@pytest.mark.parametrize(
    "pieces",
    [
        [("We saw 1,023 patients of 2019-2020, 12.5% more.", "")],
        [("An area of 5 m", ""), ("2", UP), (" and the 21", ""), ("st", UP), (" day.", "")],
        [("Water is H", ""), ("2", DOWN), ("O; x", ""), ("12", DOWN), (" is not 10.", "")],
        [("We saw them", ""), ("1,2", UP), (" again.", "")],
    ],
)
def test_other_figures_stay_as_they_are(pieces: list[tuple[str, str]], tmp_path: Path) -> None:
    assert read(pieces, tmp_path / "page.pdf") == "".join(text for text, _ in pieces)


# What stands in cells, "^" before what is raised; and how it is read.
CELLS = [
    ("Name", "Before", "After"), ("Cells", "10^6", "2.5"), ("Patients", "102^3", "1,023"), ("Mol", "10^-3", "98%^4"),
    ("Total^4", "3.1×10^5", "12^a"), ("Area m^2", "(45)^2", "7"), ("Rest 2", "31", "7 8"),
]  # fmt: skip
READ = {"Area m^2": "Area m²", "12^a": "12 a"}


@pytest.mark.parametrize("borders", [True, False], ids=["borders", "no borders"])
@pytest.mark.parametrize("last", [True, False], ids=["raised ones last", "raised ones in place"])
def test_raised_figures_in_cells_are_parts_of_what_they_stand_at(borders: bool, last: bool, tmp_path: Path) -> None:
    pdf = FPDF(unit="pt", format=(600, 800))
    pdf.add_page()
    raised: list[tuple[float, int, str]] = []

    def put(left: float, top: float, text: str, size: float) -> float:
        pdf.set_font("times", size=size)
        pdf.text(left, top, text)
        return left + pdf.get_string_width(text)

    for number, row in enumerate(CELLS):
        for at, text in enumerate(row):
            if borders:
                pdf.rect(50 + 120 * at, 100 + 18 * number, 120, 18)
            base, _, figure = text.partition("^")
            raised.append((put(55 + 120 * at, 113 + 18 * number, base, 10), 109 + 18 * number, figure))
            if not last:
                put(*raised.pop(), 6.5)
    for one in raised:
        put(*one, 6.5)
    path = tmp_path / "table.pdf"
    path.write_bytes(bytes(pdf.output()))
    blocks: list[Block] = []
    PdfParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    rows = [block.text for block in blocks if block.kind == TABLE_ROW]
    assert len(rows) == len(CELLS) - 1
    for text, cells in zip(rows, CELLS[1:], strict=True):
        assert [part.rpartition(": ")[2] for part in text.split("; ")] == [READ.get(cell, cell) for cell in cells]
    assert not any(block.text in ("2", "3", "4", "5", "6", "-3", "a") for block in blocks)
