"""Cutting documents into chunks."""

from __future__ import annotations

from collections.abc import Callable

from footnote.types.v1 import collection_pb2

from footnote_indexing.chunking import strategies
from footnote_indexing.chunking.model import Chunker, SentenceVectors, Sizes
from footnote_indexing.chunking.parent_child import ParentChild
from footnote_indexing.chunking.semantic import Semantic

_PLAIN: dict[collection_pb2.ChunkingStrategy.ValueType, Callable[[Sizes], Chunker]] = {
    collection_pb2.CHUNKING_STRATEGY_FIXED_WINDOW: strategies.FixedWindow,
    collection_pb2.CHUNKING_STRATEGY_PARAGRAPH: strategies.Paragraph,
    collection_pb2.CHUNKING_STRATEGY_HEADING_SECTION: strategies.HeadingSection,
    collection_pb2.CHUNKING_STRATEGY_TABLE: strategies.Table,
}


def make_chunker(
    strategy: collection_pb2.ChunkingStrategy.ValueType,
    settings: collection_pb2.ChunkingSettings,
    sentence_vectors: SentenceVectors,
) -> Chunker:
    """Return the chunker of a strategy (not AUTO) with settings whose defaults are filled in."""
    in_tokens = settings.unit == collection_pb2.SIZE_UNIT_TOKENS

    def sized(limit: int, overlap_percent: int) -> Sizes:
        return Sizes(limit, limit * overlap_percent // 100, in_tokens)

    def plain(sizes: Sizes) -> Chunker:
        if strategy == collection_pb2.CHUNKING_STRATEGY_SEMANTIC:
            return Semantic(sizes, settings.breakpoint_percentile, sentence_vectors)
        return _PLAIN[strategy](sizes)

    if not settings.parent_child:
        return plain(sized(settings.size, settings.overlap_percent))
    parents = plain(sized(settings.parent_size, 0))
    # Inside one parent the structure is spent: what is left is to pack its paragraphs, or rows, into children.
    children = sized(settings.child_size, settings.overlap_percent)
    rows = strategy == collection_pb2.CHUNKING_STRATEGY_TABLE
    return ParentChild(parents, lambda: strategies.Table(children) if rows else strategies.Paragraph(children))
