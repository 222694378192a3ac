"""Which bold lines of a PDF are headings."""

from collections.abc import Callable
from pathlib import Path

import pytest
from footnote.stages.v1.parsing_pb2 import BLOCK_KIND_HEADING, Block
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.pdf.headings import HeadingFinder
from footnote_ingestion.parsers.pdf.lines import Line
from footnote_ingestion.parsers.pdf.parser import PdfParser
from fpdf import FPDF


def line(text: str, *, bold: bool = False) -> Line:
    return Line(text, 1, 72, 72 + 5 * len(text), 700, 690, 10, bold, hyphen=False)


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("Consolidated Balance Sheets", True),
        ("Results for 2023", True),
        ("Item 7. Liquidity", True),
        ("Total revenues 66,608 62,286 58,158", False),
        ("Diluted loss per share ($8.30) ($7.15) ($20.88)", False),
        ("Total borrowings $ 1,204 —", False),
        ("Margin 12.5% 13.0%", False),
        ("December 31, 2022 2021", False),
    ],
)
def test_a_sum_in_bold_type_is_no_heading(text: str, heading: bool) -> None:
    body = [line("Plain text that makes up most of the page, in the same size as the rest of it.") for _ in range(20)]
    finder = HeadingFinder([*body, line(text, bold=True)], [])
    assert (finder.level(line(text, bold=True)) > 0) == heading


def headings(write: Callable[[FPDF], None], tmp_path: Path) -> list[str]:
    """The headings of a paper with plain text, in which `write` puts something between its paragraphs."""
    pdf = FPDF(unit="pt", format=(600, 800))
    pdf.set_margins(60, 60)
    pdf.add_page()
    for round_ in range(3):
        pdf.set_font("Helvetica", size=10)
        pdf.multi_cell(480, 12, f"Part {round_} of the plain text, which is the greater part of the page. " * 8)
        pdf.ln(14)
        if round_ == 0:
            write(pdf)
            pdf.ln(14)
    path = tmp_path / "headings.pdf"
    pdf.output(str(path))
    blocks: list[Block] = []
    PdfParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    return [block.text for block in blocks if block.kind == BLOCK_KIND_HEADING]


def bold(*lines: str, size: float = 10, spread: int = 0) -> Callable[[FPDF], None]:
    def write(pdf: FPDF) -> None:
        pdf.set_font("Helvetica", style="B", size=size)
        for line in lines:
            if spread:
                for word in line.split():
                    pdf.cell(spread, 12, word)
                pdf.ln(12)
            else:
                pdf.cell(480, 12, line, new_x="LMARGIN", new_y="NEXT")

    return write


def run_in(title: str, text: str) -> Callable[[FPDF], None]:
    def write(pdf: FPDF) -> None:
        pdf.set_font("Helvetica", style="B", size=10)
        pdf.write(12, title)
        pdf.set_font("Helvetica", size=10)
        pdf.write(12, f" {text}")
        pdf.ln(12)

    return write


def outlined(pdf: FPDF) -> None:
    pdf.start_section("Methods in use", level=1)
    bold("Methods in use")(pdf)
    pdf.ln(14)
    pdf.set_font("Helvetica", size=10)
    pdf.multi_cell(480, 12, "What stands between the two of them is as plain as the rest of the page. " * 3)
    pdf.ln(14)
    bold("Results of the trial")(pdf)


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (bold("Results of the trial"), ["Results of the trial"]),
        (bold("Results of the trial", size=14), ["Results of the trial"]),
        (run_in("Data and power", "We trained the model on the same data."), []),
        (run_in("No NSP:", "A model that is trained on the MLM but"), []),
        (bold("Table 3: Results of the trial"), []),
        (bold("Figure 2.1. Where the trial was held"), []),
        (bold("Table of contents"), ["Table of contents"]),
        (bold("Model SQuAD Accuracy Average", spread=110), []),
        (bold("sentences that go on in bold type"), []),
        (bold("- Effect of the number of steps; and"), []),
        (bold("2.2 Language models and attention in each", "Direction"),
         ["2.2 Language models and attention in each Direction"]),
        (bold("3 Experiments", "3.1 Setup"), ["3 Experiments", "3.1 Setup"]),
        (outlined, ["Methods in use", "Results of the trial"]),
    ],
)  # fmt: skip
def test_a_heading_is_a_whole_line_of_its_own(
    write: Callable[[FPDF], None], expected: list[str], tmp_path: Path
) -> None:
    assert headings(write, tmp_path) == expected


@pytest.mark.parametrize(
    ("authors", "address"),
    [(["Ada Lovelace", "Charles Babbage"], "{ada,charles}@engine.org"), (["Ada 1 2 Charles 2"], "")],
)
def test_authors_are_no_headings(authors: list[str], address: str, tmp_path: Path) -> None:
    pdf = FPDF(unit="pt", format=(600, 800))
    pdf.add_page()
    bold("How engines think", size=18)(pdf)
    pdf.ln(20)
    bold(*authors, size=12)(pdf)
    pdf.set_font("Helvetica", size=10)
    pdf.cell(480, 12, address, new_x="LMARGIN", new_y="NEXT")
    pdf.ln(20)
    bold("Abstract", size=12)(pdf)
    pdf.ln(14)
    pdf.set_font("Helvetica", size=10)
    pdf.multi_cell(480, 12, "They do not, but they can be taught to count cards and to weave flowers. " * 12)
    path = tmp_path / "authors.pdf"
    pdf.output(str(path))
    blocks: list[Block] = []
    PdfParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    assert [one.text for one in blocks if one.kind == BLOCK_KIND_HEADING] == ["How engines think", "Abstract"]
    assert all(name in "\n".join(one.text for one in blocks) for name in authors)
