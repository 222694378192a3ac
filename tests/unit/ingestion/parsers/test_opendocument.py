"""Notes of OpenDocument texts and slides follow their text; deleted content is not read."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import NOTE, PARAGRAPH, BlockWriter, Limits

NAMES = " ".join(
    f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for short, name in (
        ("office", "office"),
        ("text", "text"),
        ("draw", "drawing"),
        ("presentation", "presentation"),
        ("style", "style"),
    )
)
PICTURES = 'xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"'


def read(kind: str, body: str, tmp_path: Path, styles: str = "") -> list[tuple[int, str]]:
    path = tmp_path / f"a.{kind}"
    styles = f"<office:automatic-styles>{styles}</office:automatic-styles>"
    content = f"{styles}<office:body>{body}</office:body>"
    content = f"<office:document-content {NAMES} {PICTURES}>{content}</office:document-content>"
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("content.xml", content)
    blocks: list[Block] = []
    parser_for(kind).parse(path, BlockWriter(blocks.append, Limits()), Limits())
    return [(block.kind, block.text) for block in blocks]


@pytest.mark.parametrize("kind", ["footnote", "endnote"])
def test_notes_of_a_text(kind: str, tmp_path: Path) -> None:
    note = (
        f'<text:note text:note-class="{kind}"><text:note-citation>1</text:note-citation>'
        "<text:note-body><text:p>Not in Peru.</text:p></text:note-body></text:note>"
    )
    body = f"<office:text><text:p>All prices{note} rose.</text:p><text:p>All costs fell.</text:p></office:text>"
    assert read("odt", body, tmp_path) == [
        (PARAGRAPH, "All prices rose."), (NOTE, "Not in Peru."), (PARAGRAPH, "All costs fell."),
    ]  # fmt: skip


def test_deleted_text_is_not_read_and_the_text_of_a_picture_is(tmp_path: Path) -> None:
    gone = "<text:changed-region><text:deletion><text:p>Gone.</text:p></text:deletion></text:changed-region>"
    picture = "<text:p><draw:frame><draw:image/><svg:desc>A red bridge</svg:desc></draw:frame></text:p>"
    body = f"<office:text><text:tracked-changes>{gone}</text:tracked-changes>{picture}</office:text>"
    assert read("odt", body, tmp_path) == [(NOTE, "A red bridge")]


def test_struck_text_is_not_read(tmp_path: Path) -> None:
    made = '<style:style style:name="{}"><style:text-properties style:text-line-through-style="{}"/></style:style>'
    styles = made.format("P1", "solid") + made.format("T1", "dotted") + made.format("T2", "none")
    note = "<text:note><text:note-body><text:p>A note.</text:p></text:note-body></text:note>"
    old = f'<text:span text:style-name="T1">40<text:s/>or<text:span>50</text:span>gone{note}</text:span>'
    body = (
        f'<text:p>The fee is {old}60 EUR.</text:p><text:p text:style-name="P1">Gone <text:span '
        'text:style-name="T2">Kept.</text:span> gone.</text:p><text:h text:style-name="P1">Gone</text:h>'
    )
    assert read("odt", f"<office:text>{body}</office:text>", tmp_path, styles) == [
        (PARAGRAPH, "The fee is 60 EUR."), (NOTE, "A note."), (PARAGRAPH, "Kept."),
    ]  # fmt: skip


def test_what_is_anchored_in_a_paragraph_is_apart_from_its_text(tmp_path: Path) -> None:
    def box(content: str) -> str:
        return f"<draw:frame><draw:text-box>{content}</draw:text-box></draw:frame>"

    note = "<text:note><text:note-body><text:p>One.</text:p><text:p>Two.</text:p></text:note-body></text:note>"
    picture = "<draw:frame><draw:image/><svg:title>Title</svg:title><svg:desc>A red car</svg:desc></draw:frame>"
    shape = "<draw:custom-shape><text:p>In a star</text:p><svg:desc>A star</svg:desc></draw:custom-shape>"
    body = (
        f"<text:p>Before {box(f'<text:p>First line{note}</text:p><text:p>Second line</text:p>')}after.</text:p>"
        f"<text:p>{picture}Next text</text:p><text:p>Words<text:span>{shape}</text:span></text:p>"
        f"<text:p>{box(f'<text:p>{picture}Figure 1: Sales</text:p>')}</text:p>"
    )
    assert read("odt", f"<office:text>{body}</office:text>", tmp_path) == [
        (PARAGRAPH, "Before after."), (PARAGRAPH, "First line"), (NOTE, "One. Two."), (PARAGRAPH, "Second line"),
        (PARAGRAPH, "Next text"), (NOTE, "Title"), (NOTE, "A red car"),
        (PARAGRAPH, "Words"), (PARAGRAPH, "In a star"), (NOTE, "A star"),
        (PARAGRAPH, "Figure 1: Sales"), (NOTE, "Title"), (NOTE, "A red car"),
    ]  # fmt: skip


def test_a_table_in_a_text_box_is_a_table_and_a_box_in_a_cell_is_of_the_cell(tmp_path: Path) -> None:
    def table(*rows: tuple[str, str]) -> str:
        made = (
            "".join(f"<table:table-cell><text:p>{text}</text:p></table:table-cell>" for text in row) for row in rows
        )
        space = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
        inside = "".join(f"<table:table-row>{row}</table:table-row>" for row in made)
        return f'<table:table xmlns:table="{space}">{inside}</table:table>'

    box = "<draw:frame><draw:text-box><text:p>half</text:p><text:p>paid</text:p></draw:text-box></draw:frame>"
    inner = table(("Name", "Sum"), ("Miller", f"12{box}"), ("Smith", "34"))
    body = f"<text:p>X<draw:frame><draw:text-box>{inner}</draw:text-box></draw:frame></text:p>"
    found = [text for _, text in read("odt", f"<office:text>{body}</office:text>", tmp_path)]
    assert found == ["X", "Name: Sum", "Miller: 12 half paid", "Smith: 34"]


@pytest.mark.parametrize(("anchor", "text"), [("char", "Word, x"), ("paragraph", "Word, x"), ("as-char", "Wo rd, x")])
def test_a_shape_anchored_within_a_word_does_not_cut_it(anchor: str, text: str, tmp_path: Path) -> None:
    frame = f'<draw:frame text:anchor-type="{anchor}"><draw:text-box/></draw:frame>'
    assert read("odt", f"<office:text><text:p>Wo{frame}rd, x</text:p></office:text>", tmp_path) == [(PARAGRAPH, text)]


def test_notes_of_a_slide(tmp_path: Path) -> None:
    def box(text: str) -> str:
        return f"<draw:frame><draw:text-box><text:p>{text}</text:p></draw:text-box></draw:frame>"

    slide = f"<draw:page>{box('All prices rose.')}<presentation:notes>{box('Smile.')}</presentation:notes></draw:page>"
    body = f"<office:presentation>{slide}</office:presentation>"
    assert read("odp", body, tmp_path) == [(PARAGRAPH, "All prices rose."), (NOTE, "Smile.")]


def test_a_table_within_a_table_keeps_its_own_rows(tmp_path: Path) -> None:
    def table(*rows: tuple[str, ...]) -> str:
        cells = ("".join(f"<table:table-cell>{cell}</table:table-cell>" for cell in row) for row in rows)
        rows_of = "".join(f"<table:table-row>{row}</table:table-row>" for row in cells)
        return f'<table:table xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0">{rows_of}</table:table>'

    def text(of: str) -> str:
        return f"<text:p>{of}</text:p>"

    inner = table((text("Part"), text("Sum")), (text("Axle"), text("3")))
    outer = table((text("Land"), text("Price")), (text("Chad"), text("7") + inner), (text("Mali"), text("8")))
    found = [words for _, words in read("odt", f"<office:text>{outer}</office:text>", tmp_path)]
    assert found == ["Land: Chad; Price: 7", "Land: Mali; Price: 8", "Part: Axle; Sum: 3"]
