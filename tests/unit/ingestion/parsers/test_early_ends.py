"""Files made to take for ever end early, with a warning of what they are: processor time is bounded, text is kept."""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote.types.v1.document_pb2 import ReadingWarning
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.failures import CONTENT_LEFT_OUT, OTHER
from footnote_ingestion.parsers.mail import EmlParser
from footnote_ingestion.parsers.office.epub import EpubParser
from footnote_ingestion.parsers.texts.html import DEEPEST, HtmlParser, flattened

SECONDS = 10.0
"""Of processor time. Each takes a second or two; before they ended early, minutes."""


def book(order: str) -> bytes:
    """A book of one chapter, whose reading order is given."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="content.opf"/></rootfiles></container>',
        )
        archive.writestr(
            "content.opf",
            '<package xmlns="http://www.idpf.org/2007/opf"><manifest>'
            '<item id="one" href="one.xhtml" media-type="application/xhtml+xml"/></manifest>'
            f"<spine>{order}</spine></package>",
        )
        archive.writestr("one.xhtml", "<html><body><p>A chapter.</p></body></html>")
    return held.getvalue()


def read(path: Path, parser: EpubParser | HtmlParser | EmlParser) -> tuple[list[Block], list[ReadingWarning]]:
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    start = time.process_time()
    parser.parse(path, out, Limits())
    assert time.process_time() - start < SECONDS
    return blocks, list(out.noticed.warnings())


def test_a_spine_that_names_one_chapter_60_000_times(tmp_path: Path) -> None:
    path = tmp_path / "book.epub"
    path.write_bytes(book('<itemref idref="one"/>' * 60_000))
    blocks, warned = read(path, EpubParser())
    assert [block.text for block in blocks] == ["A chapter."]
    assert [(one.kind, one.count) for one in warned] == [(OTHER, 59_999)]


def test_elements_nested_200_000_deep(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    deep = 200_000
    path.write_text(f"<body><p>Before.</p>{'<div>' * deep}<p>Deep.</p>{'</div>' * deep}<h2>After</h2></body>")
    blocks, warned = read(path, HtmlParser())
    assert [block.text for block in blocks] == ["Before.", "Deep.", "After"]
    assert [(one.kind, one.count) for one in warned] == [(OTHER, deep - DEEPEST)]


def test_a_message_to_60_000_recipients(tmp_path: Path) -> None:
    path = tmp_path / "message.eml"
    names = ", ".join(f"Person {number} <p{number}@example.org>" for number in range(60_000))
    path.write_text(f"From: a@example.org\nTo: {names}\nSubject: To all\n\nThe body.\n")
    blocks, warned = read(path, EmlParser())
    texts = [block.text for block in blocks]
    assert texts[0] == "To all"
    assert texts[-1] == "The body."
    listed = next(text for text in texts if text.startswith("To: "))
    assert listed.startswith("To: Person 0 <p0@example.org>, Person 1 <p1@example.org>, ")
    assert listed.endswith("@example.org>")
    assert [one.kind for one in warned] == [CONTENT_LEFT_OUT]
    assert warned[0].count + listed.count(",") + 1 == 60_000


@pytest.mark.parametrize(
    "page",
    [
        lambda one: "<p>x" * one,
        lambda one: f"<ul>{'<li>x' * one}</ul>",
        lambda one: "<div>x</div>" * one,
        lambda one: f"<script>{'<div>' * one}</script><p>x</p>",
        lambda one: f"<!-- {'<div>' * one} --><p>x</p>",
        lambda one: f"{'<br>' * one}<img src='x'>",
        lambda one: "<" * one,
    ],
)
def test_long_pages_that_are_not_deep_stay_as_they_are(page: Callable[[int], str]) -> None:
    html = page(3 * DEEPEST)
    assert flattened(html) == (html, 0)


@pytest.mark.parametrize("end", ["", "<script", "<!--", "<div"])
def test_text_of_deep_elements_is_kept_whatever_ends_the_page(end: str) -> None:
    html, deeper = flattened("<b>" * (DEEPEST + 2) + "text" + "</b>" * (DEEPEST + 2) + "more" + end)
    assert deeper == 2
    assert html == "<b>" * DEEPEST + "text" + "</b>" * DEEPEST + "more" + end
