"""Text, Markdown, HTML, Word, PowerPoint, mail and the rest: structure, places, exact spans."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import docx
import pptx
import pytest
from footnote.stages.v1.parsing_pb2 import Block, ParsedMetadata
from footnote.types.v1.locator_pb2 import LineLocator
from footnote_ingestion.parsers import parser_for, supported
from footnote_ingestion.parsers.base import (
    CODE,
    HEADING,
    LIST_ITEM,
    MAX_BLOCK,
    NOTE,
    PARAGRAPH,
    TABLE_ROW,
    BlockWriter,
    Limits,
    anchor,
    count_words,
)
from footnote_ingestion.parsers.clean import inline, preformatted
from footnote_ingestion.parsers.failures import ParseError
from footnote_ingestion.parsers.metadata import describe
from footnote_ingestion.parsers.sniff import MIME, sniff
from footnote_ingestion.parsers.texts import plain
from footnote_ingestion.parsers.texts.encoding import decode
from support.ingestion_client import assert_spans_exact, document_text


def read(folder: Path, name: str, data: bytes) -> tuple[list[Block], ParsedMetadata]:
    """Sniff, inspect and parse a file, as the worker does."""
    path = folder / name
    path.write_bytes(data)
    parser = parser_for(sniff(path, name).document_type)
    parser.inspect(path, Limits())
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    metadata = describe(out, parser.parse(path, out, Limits()), name)
    assert_spans_exact(blocks)
    assert metadata.char_count == len(document_text(blocks))
    return blocks, metadata


def outline(blocks: list[Block]) -> list[tuple[int, str]]:
    return [(block.kind, block.text) for block in blocks]


def test_text_lines_are_joined_and_numbered(tmp_path: Path) -> None:
    text = "Title\n=====\n\nA sentence that\ngoes on.\n- one\n- two\n\n\nLast.\n"
    blocks, _ = read(tmp_path, "a.txt", text.encode())
    assert outline(blocks) == [
        (HEADING, "Title"),
        (PARAGRAPH, "A sentence that goes on."),
        (LIST_ITEM, "- one"),
        (LIST_ITEM, "- two"),
        (PARAGRAPH, "Last."),
    ]
    joined = blocks[1]
    assert (joined.locator.lines.first_line, joined.locator.lines.last_line) == (4, 5)
    second = joined.anchors[1]
    assert joined.text[second.span.start : second.span.end] == "goes on."
    assert second.locator.lines.first_line == 5
    assert blocks[-1].locator.lines.first_line == 10


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("Hotels\nHotels are booked by the office.\n", ["Hotels", "Hotels are booked by the office."]),
        ("3. Lamps\nTwo are spare.\nThey hang in the loft.", ["3. Lamps", "Two are spare. They hang in the loft."]),
        ("入住须知\n客人下午三点后入住，早上十点前退房。", ["入住须知", "客人下午三点后入住，早上十点前退房。"]),
        # Where the next word did not fit, or the sentence goes on, the line is wrapped.
        ("The ferry goes from Brest\nHarbour to Ouessant.", ["The ferry goes from Brest Harbour to Ouessant."]),
        ("The ferry\ngoes from Brest Harbour.", ["The ferry goes from Brest Harbour."]),
        ("Please note:\nLamps are dear.", ["Please note: Lamps are dear."]),
    ],
)
def test_a_title_directly_above_a_text_is_a_block_of_its_own(tmp_path: Path, text: str, blocks: list[str]) -> None:
    found, _ = read(tmp_path, "a.txt", text.encode())
    assert [block.text for block in found] == blocks
    assert found[-1].locator.lines.last_line == text.strip().count("\n") + 1


def test_titles_below_each_other_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[int] = []
    end_of = plain._paragraph_end
    monkeypatch.setattr(plain, "_paragraph_end", lambda lines, start: ends.append(end_of(lines, start)) or ends[-1])
    found: list[Block] = []
    plain.write_text("Ab\n" * 900 + "A longer line", BlockWriter(found.append, Limits()))
    assert [block.text for block in found] == [*["Ab"] * 900, "A longer line"]
    assert ends == [901]


CODECS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "cp1252"]


@pytest.mark.parametrize("codec", CODECS)
def test_encodings(codec: str) -> None:
    text = "Größe, café, naïve: a short text that shows itself well enough."
    assert decode(text.encode(codec)).removeprefix("\ufeff") == text


def test_markdown(tmp_path: Path) -> None:
    source = """---
title: The guide
authors: [Ann, Bob]
date: 2024-02-03
---
# Guide

Some *bold* text with a [link](http://x.y)
on two lines.

## Linux

- first
- second

| Key | Value |
|-----|-------|
| a   | 1     |

```sh
  make all
```
"""
    blocks, metadata = read(tmp_path, "guide.md", source.encode())
    assert outline(blocks) == [
        (HEADING, "Guide"),
        (PARAGRAPH, "Some bold text with a link on two lines."),
        (HEADING, "Linux"),
        (LIST_ITEM, "first"),
        (LIST_ITEM, "second"),
        (TABLE_ROW, "Key: a; Value: 1"),
        (CODE, "  make all"),
    ]
    assert (blocks[1].locator.lines.first_line, blocks[1].locator.lines.last_line) == (8, 9)
    assert list(blocks[3].locator.heading_path) == ["Guide", "Linux"]
    assert list(blocks[2].locator.heading_path) == ["Guide"]
    assert metadata.title == "The guide"
    assert list(metadata.authors) == ["Ann", "Bob"]
    assert metadata.file_time.ToJsonString() == "2024-02-03T00:00:00Z"
    assert metadata.structure.has_headings
    assert metadata.structure.has_tables


def test_numbers_of_lists_of_markdown_are_read(tmp_path: Path) -> None:
    """As a page shows them, not as they are typed."""
    source = "3. Press A\n3. Press **B**\n   - twice\n\n   more\n3. Go\n\n- last\n\n1) x\n"
    blocks, _ = read(tmp_path, "a.md", source.encode())
    assert [block.text for block in blocks] == ["3. Press A", "4. Press B", "twice", "more", "5. Go", "last", "1) x"]


def test_notes_of_markdown_are_notes_where_they_stand(tmp_path: Path) -> None:
    notes = "[^1]: https://example.com/report\n[^n]: Measured in *March*.\n\n    And in May.\n\nWages fell.\n"
    blocks, _ = read(tmp_path, "a.md", f"Sales rose[^1] and costs fell[^n].\n\n{notes}".encode())
    assert outline(blocks) == [
        (PARAGRAPH, "Sales rose[^1] and costs fell[^n]."),
        (NOTE, "[^1]: https://example.com/report"),
        (NOTE, "[^n]: Measured in March."),
        (NOTE, "And in May."),
        (PARAGRAPH, "Wages fell."),
    ]


def test_a_table_of_html_in_markdown_is_one_in_spite_of_blank_lines(tmp_path: Path) -> None:
    lines = "<table>|<tr><th>Name<th>Price|<tr><td>Lamp<td>40||<tr><td>Chair<td>60|</table>||<tr><td>A<td>1"
    blocks, _ = read(tmp_path, "a.md", lines.replace("|", "\n").encode())
    rows = [(TABLE_ROW, "Name: Lamp; Price: 40"), (TABLE_ROW, "Name: Chair; Price: 60")]
    assert outline(blocks) == [*rows, (PARAGRAPH, "A"), (PARAGRAPH, "1")]
    assert (blocks[1].locator.lines.first_line, blocks[1].locator.lines.last_line) == (1, 6)


def test_html(tmp_path: Path) -> None:
    source = """<!DOCTYPE html><html lang="fr"><head><title>Page</title><meta name="author" content="Zoé">
    <style>p{}</style></head><body><nav>Menu</nav><h1>Un <em>titre</em></h1><script>var x;</script>
    <p>Du texte&nbsp;avec un<br>saut.</p><ul><li>un</li><li>deux<ul><li>dedans</li></ul></li></ul>
    <table><tr><th>Ville</th><th>Habitants</th></tr><tr><td>Gand</td><td>260 000</td></tr></table>
    <pre>a
  b</pre><div hidden>secret</div>Fin</body></html>"""
    blocks, metadata = read(tmp_path, "page.html", source.encode())
    assert outline(blocks) == [
        (HEADING, "Un titre"),
        (PARAGRAPH, "Du texte avec un saut."),
        (LIST_ITEM, "un"),
        (LIST_ITEM, "deux"),
        (LIST_ITEM, "dedans"),
        (TABLE_ROW, "Ville: Gand; Habitants: 260 000"),
        (CODE, "a\n  b"),
        (PARAGRAPH, "Fin"),
    ]
    assert (metadata.title, list(metadata.authors)) == ("Page", ["Zoé"])


def test_a_page_of_nothing_but_navigation_is_read(tmp_path: Path) -> None:
    blocks, _ = read(tmp_path, "a.html", b"<html><body><nav><a>Home</a></nav></body></html>")
    assert outline(blocks) == [(PARAGRAPH, "Home")]


@pytest.mark.slow
def test_deep_html_does_not_overflow(tmp_path: Path) -> None:
    blocks, _ = read(tmp_path, "a.html", b"<html><body>" + b"<div>" * 20_000 + b"deep" + b"</div>" * 20_000)
    assert "deep" in document_text(blocks)


def test_word(tmp_path: Path) -> None:
    document = docx.Document()
    document.core_properties.title = "Handbook"
    document.core_properties.author = "Ann"
    document.add_heading("Leave", 1)
    document.add_paragraph("Thirty days.")
    document.add_heading("Details", 2)
    document.add_paragraph("an item", style="List Bullet")
    table = document.add_table(3, 2)
    for row, values in enumerate((("Grade", "Days"), ("A", "30"), ("B", "28"))):
        for column, value in enumerate(values):
            table.cell(row, column).text = value
    document.add_paragraph("After.")
    buffer = io.BytesIO()
    document.save(buffer)
    blocks, metadata = read(tmp_path, "a.docx", buffer.getvalue())
    assert outline(blocks) == [
        (HEADING, "Leave"),
        (PARAGRAPH, "Thirty days."),
        (HEADING, "Details"),
        (LIST_ITEM, "an item"),
        (TABLE_ROW, "Grade: A; Days: 30"),
        (TABLE_ROW, "Grade: B; Days: 28"),
        (PARAGRAPH, "After."),
    ]
    assert list(blocks[3].locator.heading_path) == ["Leave", "Details"]
    assert (metadata.title, list(metadata.authors)) == ("Handbook", ["Ann"])


def test_slides(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    for number in (1, 2):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = f"Slide {number}"
        slide.placeholders[1].text_frame.text = f"Point {number}"
    slide.notes_slide.notes_text_frame.text = "Say hello."
    buffer = io.BytesIO()
    presentation.save(buffer)
    blocks, metadata = read(tmp_path, "a.pptx", buffer.getvalue())
    assert outline(blocks)[3:] == [(PARAGRAPH, "Point 2"), (NOTE, "Say hello.")]
    assert (blocks[3].locator.slide.slide, blocks[3].locator.slide.title) == (2, "Slide 2")
    assert list(blocks[3].locator.heading_path) == ["Slide 2"]
    assert metadata.page_count == 2


def test_mail(tmp_path: Path) -> None:
    source = (
        b"From: =?utf-8?q?Zo=C3=A9?= <z@x.y>\r\nTo: b@x.y\r\nSubject: Lunch\r\n"
        b"Date: Fri, 02 Feb 2024 12:00:00 +0100\r\n"
        b"MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=B\r\n\r\n"
        b"--B\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>At <b>noon</b>?</p>\r\n"
        b"--B\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=menu.txt\r\n\r\n"
        b"Soup\r\n--B--\r\n"
    )
    blocks, metadata = read(tmp_path, "a.eml", source)
    texts = [block.text for block in blocks]
    assert texts[0] == "Lunch"
    assert "From: Zoé <z@x.y>" in texts
    assert texts[-3:] == ["At noon?", "Attachment: menu.txt", "Soup"]
    assert metadata.file_time.ToJsonString() == "2024-02-02T11:00:00Z"


def test_epub(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as book:
        book.writestr("mimetype", "application/epub+zip")
        book.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
        )
        book.writestr(
            "OEBPS/book.opf",
            '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
            "<dc:title>The Book</dc:title><dc:creator>Ann</dc:creator></metadata><manifest>"
            '<item id="a" href="a.xhtml"/><item id="b" href="b.xhtml"/></manifest>'
            '<spine><itemref idref="b"/><itemref idref="a"/></spine></package>',
        )
        book.writestr("OEBPS/a.xhtml", "<html><body><h1>Second</h1><p>Two.</p></body></html>")
        book.writestr("OEBPS/b.xhtml", "<html><body><h1>First</h1><p>One.</p></body></html>")
    blocks, metadata = read(tmp_path, "a.epub", buffer.getvalue())
    assert [block.text for block in blocks] == ["First", "One.", "Second", "Two."]
    assert (metadata.title, list(metadata.authors)) == ("The Book", ["Ann"])


def test_rtf(tmp_path: Path) -> None:
    source = rb"{\rtf1\ansi{\info{\title Report}{\author Ann}}{\b Bold} caf\'e9\par Second paragraph.\par}"
    blocks, metadata = read(tmp_path, "a.rtf", source)
    assert [block.text for block in blocks] == ["Bold café", "Second paragraph."]
    assert (metadata.title, list(metadata.authors)) == ("Report", ["Ann"])


def test_every_supported_type_has_a_media_type() -> None:
    assert supported() == set(MIME)


def test_types_are_told_by_bytes_not_names(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"%PDF-1.4\n")
    assert sniff(path, "a.docx").document_type == "pdf"
    path.write_bytes(b"Just text")
    assert sniff(path, "a.pdf").document_type == "txt"
    path.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(100))
    with pytest.raises(ParseError) as caught:
        sniff(path, "a.txt")
    assert caught.value.reason == "UNSUPPORTED"


def test_cleaning() -> None:
    assert inline("a\u00adb\x00c \u00a0 d\r\ne\ufb01\ud800") == "abc d efi"
    assert inline("  plain   text ") == "plain text"
    assert preformatted("\n  x  \r\n\ty\n\n") == "  x\n\ty"


def test_words_of_scripts_without_spaces() -> None:
    assert count_words("two words") == 2
    assert count_words("日本語 text") == 4


def test_a_block_too_long_for_a_message_is_split() -> None:
    text = "word " * 40_000
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    place = LineLocator(first_line=1, last_line=1)
    out.add(PARAGRAPH, text.strip(), place, anchors=[anchor(0, 7, place), anchor(49_990, 50_020, place)])
    assert len(blocks) == 4
    assert all(len(block.text) <= MAX_BLOCK for block in blocks)
    assert_spans_exact(blocks)
    assert " ".join(block.text for block in blocks) == text.strip()
    assert [len(block.anchors) for block in blocks] == [2, 1, 0, 0]


def test_too_much_text() -> None:
    out = BlockWriter(lambda block: None, Limits(characters=10))
    with pytest.raises(ParseError) as caught:
        out.add(PARAGRAPH, "more than ten characters")
    assert caught.value.reason == "TOO_LARGE"


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("An inter-\nnational agreement.", "An international agreement."),
        ("An inter\u2010\nnational agreement.", "An international agreement."),
        ("It is well-known, and a well-\nknown fact.", "It is well-known, and a well-known fact."),
        ("Transformer-\nXL reads on.", "Transformer- XL reads on."),
        ("From 1990-\n1995 it stood.", "From 1990- 1995 it stood."),
        ("a -\nb", "a - b"),
    ],
)
def test_a_word_cut_at_the_end_of_a_line_is_one_word(tmp_path: Path, text: str, joined: str) -> None:
    blocks, _ = read(tmp_path, "a.txt", text.encode())
    assert [block.text for block in blocks] == [joined]
    assert_spans_exact(blocks)
