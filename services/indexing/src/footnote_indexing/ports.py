"""The logic's outside dependencies, as protocols."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from footnote.stages.v1 import passage_pb2
from footnote_providers.base import Vectors
from footnote_store.rows import Hit, MessageRow, Row


class ChunkStore(Protocol):
    """The part of the vector store that indexing writes through; see footnote_store.store."""

    async def ensure_space(self, dimensions: int, variant: int = ..., timeout: float = ...) -> str:
        """Create the physical collection for a dimension if it is absent; return its name."""
        ...

    async def ensure_message_space(self, dimensions: int, timeout: float = ...) -> str:
        """Create the physical collection for messages if it is absent; return its name."""
        ...

    async def upsert(self, space: str, rows: Sequence[Row], timeout: float = ...) -> int:
        """Write rows, replacing those with the same ids; return how many were confirmed."""
        ...

    async def insert(self, space: str, rows: Sequence[Row], timeout: float = ...) -> int:
        """Write rows that the store does not hold yet, in one attempt; return how many were confirmed."""
        ...

    async def query(
        self, space: str, expr: str, limit: int, offset: int = ..., timeout: float = ...
    ) -> list[passage_pb2.Chunk]:
        """Read chunks in the order of their ids."""
        ...

    async def read(
        self, space: str, expr: str, limit: int, offset: int = ..., timeout: float = ..., *, vectors: bool = ...
    ) -> list[Hit]:
        """Read chunks in the order of their ids, with the identifying columns, and vectors if wanted."""
        ...

    async def ids(self, space: str, expr: str, limit: int, timeout: float = ...) -> list[str]:
        """Return ids of rows in order."""
        ...

    async def vectors(self, space: str, ids: Sequence[str], timeout: float = ...) -> dict[str, Vectors]:
        """Return the vectors of rows by id, each of shape (dimensions,); missing ids are left out."""
        ...

    async def count(self, space: str, expr: str, timeout: float = ...) -> int:
        """Count rows."""
        ...

    async def delete(self, space: str, expr: str, timeout: float = ...) -> int:
        """Remove rows; return how many there were."""
        ...

    async def upsert_messages(self, space: str, rows: Sequence[MessageRow], timeout: float = ...) -> int:
        """Write messages; return how many were confirmed."""
        ...

    async def health(self, timeout: float = ...) -> dict[str, Any]:
        """Return the store's health; raises Unavailable when it does not answer."""
        ...


class EmbeddingCache(Protocol):
    """Vectors by key; a cache that does not answer counts as empty and never fails a document."""

    async def get(self, keys: Sequence[str]) -> Mapping[str, Vectors]:
        """Return the cached vectors, each of shape (dimensions,)."""
        ...

    async def put(self, vectors: Mapping[str, Vectors]) -> None:
        """Store vectors for the cache's time to live."""
        ...

    async def delete(self, keys: Sequence[str]) -> None:
        """Delete vectors."""
        ...

    async def count(self) -> int:
        """Return the number of entries, an estimate where an exact count is expensive."""
        ...

    async def close(self) -> None:
        """Release its resources."""
        ...
