"""Marks of notes and exponents of pages, Word documents and slides do not melt into the number before them."""

from __future__ import annotations

import io
from pathlib import Path

import docx
import pptx
import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from pptx.util import Inches

CASES = [
    (("We saw 102", "3", " patients."), "We saw 102^3 patients."),
    (("About 10", "6", " cells."), "About 10^6 cells."),
    (("About 10", "-3", " mol."), "About 10^-3 mol."),
    (("An area of 5 m", "2", "."), "An area of 5 m²."),
    (("A rate of 5 s", "-1", "."), "A rate of 5 s⁻¹."),
    (("All patients", "3", " were seen."), "All patients^3 were seen."),
    (("It rose by 12.5%", "1,2", " in all."), "It rose by 12.5%^1,2 in all."),
    (("It rose to 102 ", "3", " in all."), "It rose to 102 3 in all."),
    (("On the 21", "st", " day."), "On the 21st day."),
    (("It rose to 102", "[3]", " in all."), "It rose to 102[3] in all."),
]


def read(data: bytes, kind: str, tmp_path: Path) -> list[str]:
    path = tmp_path / f"file.{kind}"
    path.write_bytes(data)
    blocks: list[Block] = []
    parser_for(kind).parse(path, BlockWriter(blocks.append, Limits()), Limits())
    return [block.text for block in blocks]


@pytest.mark.parametrize(("pieces", "expected"), CASES)
def test_of_a_page(pieces: tuple[str, str, str], expected: str, tmp_path: Path) -> None:
    before, raised, after = pieces
    sentence = f"{before}<sup>{raised}</sup>{after}"
    assert read(f"<body><p>{sentence}</p></body>".encode(), "html", tmp_path) == [expected]
    assert read(f"<body><h2>{sentence}</h2><p>x</p></body>".encode(), "html", tmp_path)[0] == expected
    cell = f"<table><tr><th>Land</th><th>Note</th></tr><tr><td>Gaul</td><td>{sentence}</td></tr></table>"
    assert read(f"<body>{cell}</body>".encode(), "html", tmp_path) == [f"Land: Gaul; Note: {expected}"]


@pytest.mark.parametrize(("pieces", "expected"), CASES)
def test_of_a_word_document(pieces: tuple[str, str, str], expected: str, tmp_path: Path) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph(pieces[0])
    paragraph.add_run(pieces[1]).font.superscript = True
    paragraph.add_run(pieces[2])
    made = io.BytesIO()
    document.save(made)
    assert read(made.getvalue(), "docx", tmp_path) == [expected]


@pytest.mark.parametrize(("pieces", "expected"), CASES)
def test_of_a_slide(pieces: tuple[str, str, str], expected: str, tmp_path: Path) -> None:
    """Shown in a title, a box and a cell of a table."""
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    size = Inches(2)
    table = slide.shapes.add_table(2, 2, size, size, size, size).table
    for at, text in enumerate(("Land", "Note", "Gaul")):
        table.cell(at // 2, at % 2).text = text
    box = slide.shapes.add_textbox(size, size, size, size)
    for frame in (slide.shapes.title.text_frame, box.text_frame, table.cell(1, 1).text_frame):
        for at, text in enumerate(pieces):
            run = frame.paragraphs[0].add_run()
            run.text = text
            if at == 1:
                run.font._element.set("baseline", "30000")
    made = io.BytesIO()
    presentation.save(made)
    assert set(read(made.getvalue(), "pptx", tmp_path)) == {expected, f"Land: Gaul; Note: {expected}"}
