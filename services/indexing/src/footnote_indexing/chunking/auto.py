"""Choosing the strategy from the structure, and saying why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from footnote.types.v1 import collection_pb2, document_pb2

from footnote_indexing.chunking.model import PlacedBlock

_NAMES = collection_pb2.ChunkingStrategy


def choose(blocks: Sequence[PlacedBlock]) -> tuple[collection_pb2.ChunkingStrategy.ValueType, str]:
    """Return the strategy for a document that begins with these blocks, and the reason in words."""
    rows = sum(len(block.text) for block in blocks if block.is_row)
    characters = sum(len(block.text) for block in blocks)
    row_count = _count(blocks, (document_pb2.BLOCK_KIND_TABLE_ROW,))
    if rows * 2 >= max(characters, 1):
        return collection_pb2.CHUNKING_STRATEGY_TABLE, f"{row_count} table rows"
    headings = _count(blocks, (document_pb2.BLOCK_KIND_HEADING,))
    if headings >= 2:
        return collection_pb2.CHUNKING_STRATEGY_HEADING_SECTION, f"{headings} headings"
    paragraphs = _count(blocks, (document_pb2.BLOCK_KIND_PARAGRAPH, document_pb2.BLOCK_KIND_LIST_ITEM))
    if paragraphs >= 2:
        return collection_pb2.CHUNKING_STRATEGY_PARAGRAPH, f"{paragraphs} paragraphs"
    return collection_pb2.CHUNKING_STRATEGY_FIXED_WINDOW, "text without structure"


def describe(strategy: collection_pb2.ChunkingStrategy.ValueType, reason: str) -> str:
    """Return "HEADING_SECTION: 12 headings"."""
    return f"{short_name(strategy)}: {reason}"


def short_name(strategy: collection_pb2.ChunkingStrategy.ValueType) -> str:
    """Return the strategy's name without its prefix."""
    return _NAMES.Name(strategy).removeprefix("CHUNKING_STRATEGY_")


def _count(blocks: Iterable[PlacedBlock], kinds: tuple[document_pb2.BlockKind.ValueType, ...]) -> int:
    return sum(1 for block in blocks if block.block.kind in kinds)
