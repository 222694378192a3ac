"""Titles of the slides of OpenDocument presentations are headings, and in the place of all that is on the slide."""

from __future__ import annotations

import zipfile
from pathlib import Path

from footnote.stages.v1.parsing_pb2 import BLOCK_KIND_HEADING, Block
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits

NAMES = " ".join(
    f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for short, name in (("office", "office"), ("text", "text"), ("draw", "drawing"), ("presentation", "presentation"))
)


def frame(text: str, kind: str) -> str:
    inner = f"<draw:text-box><text:p>{text}</text:p></draw:text-box>"
    return f'<draw:frame presentation:class="{kind}">{inner}</draw:frame>'


def test_titles_of_slides_are_headings(tmp_path: Path) -> None:
    slides = (
        f"<draw:page>{frame('All prices rose.', 'outline')}{frame('Prices', 'title')}</draw:page>"
        f"<draw:page>{frame('All costs fell.', 'outline')}</draw:page>"
    )
    body = f"<office:body><office:presentation>{slides}</office:presentation></office:body>"
    path = tmp_path / "a.odp"
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("content.xml", f"<office:document-content {NAMES}>{body}</office:document-content>")
    blocks: list[Block] = []
    parser_for("odp").parse(path, BlockWriter(blocks.append, Limits()), Limits())
    assert [block.text for block in blocks] == ["Prices", "All prices rose.", "All costs fell."]
    assert blocks[0].kind == BLOCK_KIND_HEADING
    assert list(blocks[1].locator.heading_path) == ["Prices"]
    assert [block.locator.slide.title for block in blocks] == ["Prices", "Prices", ""]
    assert list(blocks[2].locator.heading_path) == []
