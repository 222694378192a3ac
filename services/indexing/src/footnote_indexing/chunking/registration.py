"""How a chunker is made known, one of ours or of another package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from footnote.types.v1 import collection_pb2

from footnote_indexing.chunking.model import Chunker, SentenceVectors, Sizes


@dataclass(frozen=True, slots=True)
class Tools:
    """What a chunker may use: the collection's settings, all filled in, and vectors where it says it needs them."""

    settings: collection_pb2.ChunkingSettings
    sentence_vectors: SentenceVectors


@dataclass(frozen=True, slots=True)
class Registration:
    """A chunker by its id; `make` returns a new one for each document, of chunks of these sizes.

    Another package names one by an entry point in the group `footnote.chunkers`; a collection chooses it with strategy
    CHUNKING_STRATEGY_NAMED and `chunker`. `footnote_indexing.chunking.testing` is the suite to run on it.
    """

    id: str
    make: Callable[[Sizes, Tools], Chunker]
    needs_vectors: bool = False
    """It embeds sentences: such documents are cut where the vectors are, not in a process of their own."""
    children: str = "paragraph"
    """The id of what cuts its parents into children."""
