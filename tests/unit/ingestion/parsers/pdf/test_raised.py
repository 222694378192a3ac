"""Marks of notes and exponents do not melt into the number before them."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote.types.v1.document_pb2 import Block
from footnote_ingestion.parsers.base import BlockWriter, Limits
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
