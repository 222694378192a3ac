"""The retrieval logic's outside dependencies, as protocols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.answer_pb2 import MemoryMessage
from footnote.types.v1.collection_pb2 import Collection, EmbeddingSettings
from footnote_providers.base import Cosines
from footnote_store.filters import TRUE, RowScope
from footnote_store.rows import Hit, Vector
from numpy.typing import NDArray

NO_BOUNDS = TextBounds()
"""Bounds of a query that repeats no other text."""


@dataclass(frozen=True, slots=True)
class Searchable:
    """A collection as search sees it: settings, location of its rows, and the rows hidden now."""

    collection: Collection
    space: str
    collection_key: str
    hidden_revisions: tuple[str, ...]
    languages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a search sees; `stale` if the answer predates the last write of documents and no newer one is available."""

    visible: Sequence[Searchable]
    stale: bool = False


class Collections(Protocol):
    """Knows which collections the caller may see."""

    def known(self, scope: Scope, names: Sequence[str]) -> Sequence[Searchable] | None:
        """Return what `resolve` would, if that is certain without a call; else None."""
        ...

    async def resolve(self, scope: Scope, names: Sequence[str], *, stale_too: bool = False) -> Resolved:
        """Return the named collections, or every visible one; `stale_too` allows the last known on failure.

        Raises NotFound for one that the caller may not see.
        """
        ...


class ChunkStore(Protocol):
    """The part of the vector store that retrieval reads; raises Unavailable when it does not answer."""

    async def search_dense(
        self, space: str, vector: Vector, scope: RowScope, limit: int, timeout: float = 10.0, *, where: str = TRUE
    ) -> list[Hit]:
        """Find the nearest chunks by cosine."""
        ...

    async def search_lexical(
        self, space: str, lexical_query: str, scope: RowScope, limit: int, timeout: float = 10.0, *,
        where: str = TRUE, vectors: bool = False,
    ) -> list[Hit]:  # fmt: skip
        """Find the best chunks by BM25, with their vectors if wanted."""
        ...

    async def read(self, space: str, expr: str, limit: int, offset: int = 0, timeout: float = 10.0) -> list[Hit]:
        """Read chunks by a filter in reading order."""
        ...

    async def filenames(self, space: str, expr: str, limit: int, timeout: float = 10.0) -> dict[str, str]:
        """Return document id to file name."""
        ...

    async def count(self, space: str, expr: str, timeout: float = 10.0) -> int:
        """Count the rows that pass a filter."""
        ...


class MessageStore(Protocol):
    """The part of the vector store that memory search reads."""

    async def search_messages(
        self, space: str, vector: Vector, tenant_id: str, user_id: str, limit: int,
        exclude_conversation_id: str = "", timeout: float = 5.0,
    ) -> list[MemoryMessage]:  # fmt: skip
        """Find a user's own messages most similar to a vector."""
        ...


SEMANTIC_WEIGHT = 0.4
"""A provider that recommends less than this is too weak on meaning to be used alone."""


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A query's vector, and the weight its provider recommends beside BM25 (0 to 1)."""

    vector: NDArray[np.float32]
    dense_weight: float
    cosines: Cosines | None = None
    """How to interpret its cosines, if the provider says."""
    holds_weight: bool = False
    """Whether the weight is fixed, whatever the candidates look like."""

    @property
    def knows_meaning(self) -> bool:
        """Whether nearness means similar meaning, not only similar words."""
        return self.dense_weight >= SEMANTIC_WEIGHT


class Embedder(Protocol):
    """Turns queries into vectors; raises a FootnoteError when it cannot."""

    async def embed_query(self, settings: EmbeddingSettings, text: str) -> QueryVector:
        """Embed one query with the provider that these settings name."""
        ...

    def check(
        self, scope: Scope, settings: EmbeddingSettings, searched: TextBounds, query: TextBounds = NO_BOUNDS
    ) -> None:
        """Raise unless these settings may embed a query (PROVIDER_NOT_ALLOWED).

        `searched` are the bounds of the searched collections, `query` those of what the query repeats. A remote
        provider must be allowed by both.
        """
        ...

    def is_local(self, settings: EmbeddingSettings) -> bool:
        """Return whether these settings embed on this machine."""
        ...

    async def dense_weight(self, settings: EmbeddingSettings) -> float:
        """Return the fusion weight that the provider recommends, without calling it."""
        ...
