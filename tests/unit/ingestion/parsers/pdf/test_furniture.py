"""What runs in the margins of pages: kept apart and counted; text that only looks like it stays text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import fpdf
import pytest
from footnote.stages.v1.parsing_pb2 import Block, ParsedMetadata
from footnote.types.v1.document_pb2 import WARNING_KIND_PAGE_FURNITURE
from footnote_ingestion.parsers.base import FURNITURE, TABLE_ROW, BlockWriter, Limits
from footnote_ingestion.parsers.metadata import describe
from footnote_ingestion.parsers.pdf.parser import PdfParser
from support.ingestion_client import assert_spans_exact

Set = tuple[float, float, str, str]
"""Distance from the page's top in points, size, style, text."""
BODY = "The committee met in the small hall and spoke of the new bridge at length."


def made(folder: Path, pages: Sequence[Sequence[Set]]) -> Path:
    pdf = fpdf.FPDF(unit="pt", format="A4")
    pdf.set_auto_page_break(False)
    for lines in pages:
        pdf.add_page()
        for top, size, style, text in lines:
            pdf.set_font("helvetica", style, size)
            pdf.text(72, top, text)
    path = folder / "made.pdf"
    pdf.output(str(path))
    return path


def read(path: Path) -> tuple[list[str], list[Block], ParsedMetadata]:
    """Texts that are searched, furniture, metadata."""
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    metadata = describe(out, PdfParser().parse(path, out, Limits()), path.name)
    assert_spans_exact(blocks)
    kinds = [block.kind == FURNITURE for block in blocks]
    assert kinds == sorted(kinds), "furniture stands after the text"
    return (
        [block.text for block in blocks if block.kind != FURNITURE],
        [b for b in blocks if b.kind == FURNITURE],
        metadata,
    )


def body(number: int, lines: int = 6) -> list[Set]:
    return [(200 + 14 * line, 11, "", f"{BODY} Item {number * 17 + line * 5}.") for line in range(lines)]


def pages(count: int, extra: Callable[[int], Sequence[Set]]) -> list[list[Set]]:
    return [[*extra(number), *body(number)] for number in range(1, count + 1)]


TOP, FOOT = 50.0, 800.0
TEXT: dict[str, Callable[[int], Set]] = {
    "fiscal years": lambda n: (TOP, 11, "", f"Annual results for fiscal year {2018 + n}"),
    "years alone": lambda n: (TOP, 11, "", str(2018 + n)),
    "invoices": lambda n: (TOP, 11, "", f"Invoice {1000 + n}"),
    "invoices that count as pages do": lambda n: (TOP, 11, "", f"Invoice {n}"),
    "sums that rise": lambda n: (FOOT, 11, "", f"Total due: {500 + n} EUR"),
    "sums in front": lambda n: (FOOT, 11, "", f"EUR {500 + n}"),
    "sums of pages": lambda n: (FOOT, 11, "", f"Carried over: {n}"),
    "one sum": lambda n: (FOOT, 11, "", "Total due: 500.00 EUR"),
    "shares": lambda n: (FOOT, 11, "", f"{n} %"),
    "headings": lambda n: (TOP, 16, "B", f"{n} Chapter"),
    "the same heading": lambda n: (TOP, 16, "B", "Findings"),
    "lots": lambda n: (TOP, 11, "", f"Lot {n} of the sale"),
}
APART: dict[str, tuple[Callable[[int], Set], int]] = {
    # How many of the ten appearances stay text.
    "numbers": (lambda n: (FOOT, 9, "", str(n)), 0),
    "numbers after a preface": (lambda n: (FOOT, 9, "", str(n + 12)), 0),
    "numbers between dashes": (lambda n: (FOOT, 9, "", f"- {n} -"), 0),
    "page and number": (lambda n: (FOOT, 9, "", f"Page {n}"), 0),
    "page of pages": (lambda n: (FOOT, 9, "", f"Page {n} of 10"), 0),
    "seite": (lambda n: (TOP, 9, "", f"Seite {n} von 10"), 0),
    "with the part": (lambda n: (FOOT, 9, "", f"F-{n}"), 0),
    "roman": (lambda n: (FOOT, 9, "", ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"][n - 1]), 0),
    "a running head": (lambda n: (TOP, 9, "", "Proceedings of the bridge committee"), 1),
    "a running foot with its page": (lambda n: (FOOT, 9, "", f"Bridges, volume 2 | {n}"), 1),
    "page words at the end": (lambda n: (FOOT, 9, "", f"Bridge report, page {n}"), 1),
    "number first": (lambda n: (FOOT, 9, "", f"{n} Proceedings of the committee"), 1),
}


@pytest.mark.parametrize("name", TEXT)
def test_what_only_counts_as_pages_do_stays_text(name: str, tmp_path: Path) -> None:
    path = made(tmp_path, pages(10, lambda number: [TEXT[name](number)]))
    texts, furniture, metadata = read(path)
    joined = "\n".join(texts)
    for number in range(1, 11):
        assert TEXT[name](number)[3] in joined
    if name == "the same heading":
        assert texts.count("Findings") == 10
    assert not furniture
    assert not metadata.warnings


@pytest.mark.parametrize("name", APART)
def test_what_runs_in_the_margins_is_kept_apart_and_counted(name: str, tmp_path: Path) -> None:
    line, stays = APART[name]
    texts, furniture, metadata = read(made(tmp_path, pages(10, lambda number: [line(number)])))
    expected = [line(number)[3] for number in range(1, 11)]
    assert sum(text == expected[0] for text in texts) == stays
    assert [block.text for block in furniture] == expected[stays:]
    assert [block.locator.page.page for block in furniture] == list(range(1 + stays, 11))
    assert not any(block.locator.heading_path for block in furniture)
    (warning,) = metadata.warnings
    assert (warning.kind, warning.count) == (WARNING_KIND_PAGE_FURNITURE, 10 - stays)
    assert [place.page.page for place in warning.places] == [block.locator.page.page for block in furniture]
    assert str(10 - stays) in warning.text


def test_pages_that_rise_in_all_their_lines_do_not_become_one_block(tmp_path: Path) -> None:
    invoices = [
        [(TOP, 12, "", f"Invoice {1000 + number}"), (FOOT, 12, "", f"Total due: {500 + number} EUR")]
        for number in range(1, 41)
    ]
    texts, _, _ = read(made(tmp_path, invoices))
    assert len(texts) == 80
    assert "Total due: 540 EUR" in texts


def test_words_of_margins_are_not_counted_nor_sampled(tmp_path: Path) -> None:
    path = made(tmp_path, pages(10, lambda number: [(FOOT, 9, "", f"Page {number} of 10")]))
    texts, _, metadata = read(path)
    assert "Page" not in " ".join(texts)
    assert metadata.word_count == sum(len(text.replace(".", " ").split()) for text in texts)


def test_a_file_of_nothing_but_page_numbers_is_text(tmp_path: Path) -> None:
    texts, furniture, _ = read(made(tmp_path, [[(FOOT, 9, "", str(number))] for number in range(1, 6)]))
    assert len(texts) == 5
    assert not furniture


@pytest.mark.parametrize("angle", [30, 45, 54, -45])
def test_watermarks_are_no_headings_and_no_part_of_tables(angle: int, tmp_path: Path) -> None:
    pdf = fpdf.FPDF(unit="pt", format="A4")
    pdf.set_auto_page_break(False)
    for number in range(1, 5):
        pdf.add_page()
        pdf.set_font("helvetica", "B", 90)
        with pdf.rotation(angle, 297, 421):
            pdf.text(140, 450, "DRAFT")
        pdf.set_font("helvetica", "B", 16)
        pdf.text(72, 90, f"Chapter {number}")
        pdf.set_font("helvetica", size=11)
        for top, _, _, text in body(number):
            pdf.text(72, top, text)
        for row, cells in enumerate((("Region", "2023", "2022"), ("North", "485", "503"), ("South", "345", "355"))):
            for column, cell in enumerate(cells):
                pdf.set_xy(72 + 120 * column, 400 + 18 * row)
                pdf.cell(120, 18, cell, border=1)
    path = tmp_path / "draft.pdf"
    pdf.output(str(path))
    texts, furniture, _ = read(path)
    assert texts.count("DRAFT") == 1
    assert [block.text for block in furniture] == ["DRAFT"] * 3
    assert texts.count("Region: South; 2023: 345; 2022: 355") == 4
    blocks: list[Block] = []
    PdfParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    assert {tuple(block.locator.heading_path) for block in blocks if block.kind == TABLE_ROW} == {
        (f"Chapter {number}",) for number in range(1, 5)
    }
