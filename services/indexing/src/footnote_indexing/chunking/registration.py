"""How a built-in chunker or one of another package is registered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from footnote.types.v1 import collection_pb2

from footnote_indexing.chunking.model import Chunker, SentenceVectors, Sizes


@dataclass(frozen=True, slots=True)
class Tools:
    """What a chunker may use: the collection's settings, filled in, and sentence vectors if it needs them."""

    settings: collection_pb2.ChunkingSettings
    sentence_vectors: SentenceVectors


@dataclass(frozen=True, slots=True)
class Registration:
    """A chunker by its id; `make` returns a new one for each document, with these chunk sizes.

    Another package names one by an entry point in the group `footnote.chunkers`. A collection chooses it with strategy
    CHUNKING_STRATEGY_NAMED and `chunker`. `footnote_indexing.chunking.testing` is the test suite for it.
    """

    id: str
    make: Callable[[Sizes, Tools], Chunker]
    needs_vectors: bool = False
    """Whether it embeds sentences; such documents are cut in this process, where the vectors are."""
    children: str = "paragraph"
    """The id of the chunker that cuts its parents into children."""
