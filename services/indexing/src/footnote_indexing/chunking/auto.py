"""Chooses the strategy from the document's structure, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from footnote.stages.v1 import parsing_pb2
from footnote.types.v1 import collection_pb2, document_pb2

from footnote_indexing.chunking.model import Chosen, PlacedBlock


def choose(blocks: Sequence[PlacedBlock]) -> Chosen:
    """Return the strategy for a document that begins with these blocks, and the reason for it."""
    rows = sum(len(block.text) for block in blocks if block.is_row)
    characters = sum(len(block.text) for block in blocks)
    if rows * 2 >= max(characters, 1):
        return collection_pb2.CHUNKING_STRATEGY_TABLE, document_pb2.CHUNKING_CHOICE_TABLE_FOUND
    headings = _count(blocks, (parsing_pb2.BLOCK_KIND_HEADING,))
    if headings >= 2:
        return collection_pb2.CHUNKING_STRATEGY_HEADING_SECTION, document_pb2.CHUNKING_CHOICE_HEADINGS_FOUND
    paragraphs = _count(blocks, (parsing_pb2.BLOCK_KIND_PARAGRAPH, parsing_pb2.BLOCK_KIND_LIST_ITEM))
    if paragraphs >= 2:
        return collection_pb2.CHUNKING_STRATEGY_PARAGRAPH, document_pb2.CHUNKING_CHOICE_PARAGRAPHS_FOUND
    return collection_pb2.CHUNKING_STRATEGY_FIXED_WINDOW, document_pb2.CHUNKING_CHOICE_NO_STRUCTURE


def _count(blocks: Iterable[PlacedBlock], kinds: tuple[parsing_pb2.BlockKind.ValueType, ...]) -> int:
    return sum(1 for block in blocks if block.block.kind in kinds)
