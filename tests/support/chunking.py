"""What every chunker must keep to, checked from outside: the conformance suite for chunkers."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from footnote.stages.v1 import parsing_pb2
from footnote.types.v1 import chunk_pb2, collection_pb2
from footnote_indexing.chunking.assemble import Passage, TextWindow
from footnote_indexing.chunking.model import HARD_LIMIT, Cut
from footnote_indexing.chunking.registry import make_chunker
from footnote_kit.collection_settings import resolve
from footnote_providers.builtin import embed
from footnote_text import tokens

from support.blocks import text_of

S = collection_pb2.ChunkingStrategy
LONGEST_WORD = 40
"""Longer ones may have to be cut: no word of a language is longer than half of the smallest chunk."""
PLAIN = [
    S.CHUNKING_STRATEGY_FIXED_WINDOW,
    S.CHUNKING_STRATEGY_PARAGRAPH,
    S.CHUNKING_STRATEGY_HEADING_SECTION,
    S.CHUNKING_STRATEGY_SEMANTIC,
    S.CHUNKING_STRATEGY_TABLE,
]


@dataclass
class Made:
    """A chunk as it came out."""

    cut: Cut
    passage: Passage


def settings(**values: object) -> collection_pb2.ChunkingSettings:
    """Chunking settings with defaults filled in."""
    chunking = collection_pb2.ChunkingSettings(**values)
    return resolve(collection_pb2.ChunkingSettings(), chunking)


def cut(
    blocks: Sequence[parsing_pb2.Block],
    strategy: S.ValueType,
    chunking: collection_pb2.ChunkingSettings,
    batch: int = 10_000,
) -> list[Made]:
    """Cut a document as the service does, feeding `batch` blocks at once."""
    window = TextWindow()
    chunker = make_chunker(strategy, chunking, lambda texts: embed(texts, 384))
    made: list[Made] = []
    for start in range(0, len(blocks), batch):
        cuts = chunker.feed(window.place(blocks[start : start + batch]))
        made += [Made(one, window.passage(one)) for one in cuts]
        if cuts:
            window.forget(cuts[-1].parent[0] if cuts[-1].parent else cuts[-1].start)
    return made + [Made(one, window.passage(one)) for one in chunker.finish()]


def is_unspaced(char: str) -> bool:
    """The character's script puts no spaces between words."""
    name = unicodedata.name(char, "")
    return name.startswith(
        ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "HALFWIDTH KATAKANA", "IDEOGRAPHIC")
    )


def inside_word(text: str, index: int) -> bool:
    """A cut before text[index] would go through a word that is short enough to be kept whole."""
    if index <= 0 or index >= len(text):
        return False
    before, after = text[index - 1], text[index]
    if is_unspaced(before) or is_unspaced(after):
        return False
    if not (before.isalnum() and after.isalnum()):
        return False
    first, last = index, index
    while first > 0 and text[first - 1].isalnum():
        first -= 1
    while last < len(text) and text[last].isalnum():
        last += 1
    return last - first <= LONGEST_WORD


def inside_grapheme(text: str, index: int) -> bool:
    """A cut before text[index] would tear a character from its marks."""
    if index <= 0 or index >= len(text):
        return False
    before, after = text[index - 1], text[index]
    return bool(unicodedata.combining(after)) or after in "\ufe0f\u200d" or (before == "\u200d" and after > "\u2000")


def check(blocks: Sequence[parsing_pb2.Block], made: Sequence[Made], chunking: collection_pb2.ChunkingSettings) -> None:
    """Assert everything that holds for whatever chunker and document."""
    text = text_of(blocks)
    spans = []
    for item in made:
        span = item.passage.locator.span
        assert (span.start, span.end) == (item.cut.start, item.cut.end)
        assert text[span.start : span.end] == item.passage.text
        assert item.passage.text.strip() == item.passage.text != ""
        for edge in (span.start, span.end):
            assert not inside_word(text, edge), text[max(0, edge - 20) : edge + 20]
            assert not inside_grapheme(text, edge)
        for anchor in item.passage.anchors:
            assert 0 <= anchor.span.start < anchor.span.end <= len(item.passage.text)
        check_size(blocks, item, chunking)
        spans.append((span.start, span.end))
    levels = {item.cut.level for item in made}
    for level in levels:
        check_order([item for item in made if item.cut.level == level], chunking)
        check_cover(text, [(m.cut.start, m.cut.end) for m in made if m.cut.level == level])
    check_rows(blocks, made)


def check_size(blocks: Sequence[parsing_pb2.Block], item: Made, chunking: collection_pb2.ChunkingSettings) -> None:
    limit = {
        chunk_pb2.CHUNK_LEVEL_STANDARD: chunking.size,
        chunk_pb2.CHUNK_LEVEL_PARENT: chunking.parent_size,
        chunk_pb2.CHUNK_LEVEL_CHILD: chunking.child_size,
    }[item.cut.level]
    in_tokens = chunking.unit == collection_pb2.SIZE_UNIT_TOKENS
    size = tokens.count(item.passage.text) if in_tokens else len(item.passage.text)
    if size > limit:
        rows = {block.text.strip() for block in blocks if block.kind == parsing_pb2.BLOCK_KIND_TABLE_ROW}
        assert item.passage.text in rows, (size, limit)
        assert len(item.passage.text) <= HARD_LIMIT


def check_order(made: Sequence[Made], chunking: collection_pb2.ChunkingSettings) -> None:
    for before, after in pairwise(made):
        assert before.cut.start <= after.cut.start
        assert before.cut.end < after.cut.end
        if chunking.unit != collection_pb2.SIZE_UNIT_TOKENS and before.cut.parent == after.cut.parent:
            size = chunking.child_size if after.cut.parent else chunking.size
            allowed = 0 if after.cut.level == chunk_pb2.CHUNK_LEVEL_PARENT else size * chunking.overlap_percent // 100
            assert before.cut.end - after.cut.start <= allowed


def check_cover(text: str, spans: Sequence[tuple[int, int]]) -> None:
    position = 0
    for start, end in sorted(spans):
        assert not text[position:start].strip(), text[position:start][:80]
        position = max(position, end)
    assert not text[position:].strip(), text[position:][:80]


def check_rows(blocks: Sequence[parsing_pb2.Block], made: Sequence[Made]) -> None:
    for block in blocks:
        if block.kind != parsing_pb2.BLOCK_KIND_TABLE_ROW or len(block.text) > HARD_LIMIT:
            continue
        first = block.locator.span.start + len(block.text) - len(block.text.lstrip())
        last = block.locator.span.start + len(block.text.rstrip())
        for item in made:
            for edge in (item.cut.start, item.cut.end):
                assert not first < edge < last, "a table row was cut"
