"""Tables drawn into PDFs, and what was read of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from footnote.stages.v1.parsing_pb2 import BLOCK_KIND_TABLE_ROW, Block
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.pdf.parser import PdfParser
from fpdf import FPDF

from support.ingestion_client import assert_spans_exact

Draw = Callable[[FPDF], None]


def read(tmp_path: Path, *pages: Draw) -> list[Block]:
    pdf = FPDF(unit="pt", format=(600, 800))
    pdf.set_auto_page_break(False)
    for draw in pages:
        pdf.add_page()
        pdf.set_font("Helvetica", size=10)
        draw(pdf)
    path = tmp_path / "tables.pdf"
    pdf.output(str(path))
    blocks: list[Block] = []
    PdfParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    assert_spans_exact(blocks)
    return blocks


def rows(blocks: Sequence[Block]) -> list[str]:
    return [block.text for block in blocks if block.kind == BLOCK_KIND_TABLE_ROW]


def put(pdf: FPDF, right: float, top: float, text: str) -> None:
    """Text that ends at `right`."""
    pdf.text(right - pdf.get_string_width(text), top, text)


def columns(
    pdf: FPDF,
    table: Sequence[Sequence[str]],
    top: float = 100,
    ends: Sequence[float] = (350, 450, 550),
    left: float = 50,
) -> None:
    """Rows without borders: the name on the left, values flush right at `ends`."""
    for number, (name, *values) in enumerate(table):
        height = top + 16 * number
        if name:
            pdf.text(left + 12 * (len(name) - len(name.lstrip())), height, name.lstrip())
        for value, end in zip(values, ends, strict=False):
            if value.startswith("$ "):
                pdf.text(end - 60, height, "$")
            if value:
                put(pdf, end, height, value.removeprefix("$ "))


def ruled(pdf: FPDF, table: Sequence[Sequence[str]], top: float = 100, width: float = 120) -> None:
    for number, line in enumerate(table):
        for at, text in enumerate(line):
            pdf.set_xy(50 + width * at, top + 18 * number)
            pdf.cell(width, 18, text, border=1)
