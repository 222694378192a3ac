"""Blocks made by hand, placed as the contract says: each block's text followed by one line feed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from footnote.stages.v1 import parsing_pb2

HEADING, PARAGRAPH = parsing_pb2.BLOCK_KIND_HEADING, parsing_pb2.BLOCK_KIND_PARAGRAPH
ROW, CODE, ITEM = parsing_pb2.BLOCK_KIND_TABLE_ROW, parsing_pb2.BLOCK_KIND_CODE, parsing_pb2.BLOCK_KIND_LIST_ITEM


def placed(blocks: Iterable[parsing_pb2.Block]) -> list[parsing_pb2.Block]:
    """Give every block its span."""
    start, result = 0, []
    for block in blocks:
        block.locator.span.start, block.locator.span.end = start, start + len(block.text)
        start += len(block.text) + 1
        result.append(block)
    return result


def text_of(blocks: Sequence[parsing_pb2.Block]) -> str:
    """The document's text."""
    return "".join(block.text + "\n" for block in blocks)


def block(
    kind: parsing_pb2.BlockKind.ValueType, text: str, path: Sequence[str] = (), **more: object
) -> parsing_pb2.Block:
    """One block; `page`, `lines` and `cells` set its place."""
    made = parsing_pb2.Block(kind=kind, text=text)
    made.locator.heading_path.extend(path)
    if "level" in more:
        made.level = int(str(more["level"]))
    if "page" in more:
        made.locator.page.page = int(str(more["page"]))
    if "lines" in more:
        first, last = more["lines"]  # type: ignore[misc]
        made.locator.lines.first_line, made.locator.lines.last_line = first, last
    return made


def article(sections: int = 4, paragraphs: int = 3, seed: str = "Widget") -> list[parsing_pb2.Block]:
    """A document with headings and paragraphs whose sentences all differ."""
    blocks = [block(HEADING, f"{seed} handbook", level=1, lines=(1, 1))]
    line = 2
    for section in range(sections):
        title = f"Part {section} of the {seed} manual"
        path = [f"{seed} handbook", title]
        blocks.append(block(HEADING, title, path[:1], level=2, lines=(line, line)))
        line += 1
        for paragraph in range(paragraphs):
            sentences = [
                f"Sentence {section}-{paragraph}-{n} says that {seed} {section * 100 + paragraph * 10 + n} is blue."
                for n in range(5)
            ]
            blocks.append(block(PARAGRAPH, " ".join(sentences), path, lines=(line, line)))
            line += 1
    return placed(blocks)
