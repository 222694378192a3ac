"""Cutting documents into chunks."""

from __future__ import annotations

from footnote.types.v1 import collection_pb2

from footnote_indexing.chunking import registry
from footnote_indexing.chunking.model import Chunker, SentenceVectors, Sizes
from footnote_indexing.chunking.registration import Tools
from footnote_indexing.chunking.registry import ParentChild


def make_chunker(
    strategy: collection_pb2.ChunkingStrategy.ValueType,
    settings: collection_pb2.ChunkingSettings,
    sentence_vectors: SentenceVectors,
) -> Chunker:
    """Return the chunker of a strategy (not AUTO) with settings whose defaults are filled in.

    Raises InvalidArgument for a named chunker that is not installed.
    """
    in_tokens, tools = settings.unit == collection_pb2.SIZE_UNIT_TOKENS, Tools(settings, sentence_vectors)
    chosen = registry.chosen(strategy, settings)

    def sized(limit: int, overlap_percent: int) -> Sizes:
        return Sizes(limit, limit * overlap_percent // 100, in_tokens)

    if not settings.parent_child:
        return registry.made(chosen, sized(settings.size, settings.overlap_percent), tools)
    parents = registry.made(chosen, sized(settings.parent_size, 0), tools)
    # A parent has no structure left inside: its paragraphs or rows are only packed into children.
    children = sized(settings.child_size, settings.overlap_percent)
    return ParentChild(parents, lambda: registry.ours()[chosen.children].make(children, tools))
