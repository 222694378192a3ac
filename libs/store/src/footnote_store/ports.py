"""The interface of a vector store: spaces of chunks and messages, searched by vector, words and filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

# For type checkers only: the launcher imports this module and needs no database client.
if TYPE_CHECKING:
    import numpy as np
    from footnote.stages.v1.passage_pb2 import Chunk
    from footnote.types.v1.answer_pb2 import MemoryMessage
    from numpy.typing import NDArray

    from footnote_store.rows import Hit, MessageRow, Row, Vector
    from footnote_store.scope import RowScope


class Store(Protocol):
    """A vector store as indexing and retrieval use it; calls may run concurrently, from several processes.

    `timeout` is in seconds. A missing or late response raises `Unavailable(STORE_UNAVAILABLE)`; a store may be down
    at the start and come back. `expr` and `where` are filters in the output language of `footnote_store.compiler`,
    over the columns of `footnote_store.rows.encode_chunk`. A write is visible to all readers at once.
    """

    async def ensure_space(self, dimensions: int, variant: int = 0, timeout: float = 30.0) -> str:
        """Create the space for chunks with vectors of a length if it is missing; return its `rows.space_name`."""
        ...

    async def ensure_message_space(self, dimensions: int, timeout: float = 30.0) -> str:
        """Create the space for messages if it is missing; return its name, which ends in "_<dimensions>"."""
        ...

    async def upsert(self, space: str, rows: Sequence[Row], timeout: float = 60.0) -> int:
        """Write rows, replacing rows with the same ids; return how many were confirmed.

        Raises InvalidArgument for a vector of another length (DIMENSION_MISMATCH) or a text too long.
        """
        ...

    async def insert(self, space: str, rows: Sequence[Row], timeout: float = 60.0) -> int:
        """Write rows whose ids are all new, in one attempt; return how many were confirmed."""
        ...

    async def search_dense(
        self, space: str, vector: Vector, scope: RowScope, limit: int, timeout: float = 10.0, *, where: str = ...
    ) -> list[Hit]:
        """Return the chunks in scope nearest to a vector, best first; scores are cosines. Parents are never found."""
        ...

    async def search_lexical(
        self, space: str, lexical_query: str, scope: RowScope, limit: int, timeout: float = 10.0, *, where: str = ...,
        vectors: bool = False,
    ) -> list[Hit]:  # fmt: skip
        """Return the chunks in scope that match search terms best, by BM25 or similar; none without terms."""
        ...

    async def query(self, space: str, expr: str, limit: int, offset: int = 0, timeout: float = 10.0) -> list[Chunk]:
        """Return the chunks that pass a filter, in order of their ids, which is reading order."""
        ...

    async def read(
        self, space: str, expr: str, limit: int, offset: int = 0, timeout: float = 10.0, *, vectors: bool = False
    ) -> list[Hit]:
        """Return rows as `query` does, with score 0; with vectors if requested."""
        ...

    async def ids(self, space: str, expr: str, limit: int, timeout: float = 10.0) -> list[str]:
        """Return the ids of the rows that pass a filter, in order."""
        ...

    async def filenames(self, space: str, expr: str, limit: int, timeout: float = 10.0) -> dict[str, str]:
        """Return a mapping of document id to file name for the rows that pass a filter."""
        ...

    async def vectors(self, space: str, ids: Sequence[str], timeout: float = 10.0) -> dict[str, NDArray[np.float32]]:
        """Return vectors of length 1 by id, shape (dimensions,) each; missing ids are left out."""
        ...

    async def count(self, space: str, expr: str, timeout: float = 10.0) -> int:
        """Return the number of rows that pass a filter."""
        ...

    async def delete(self, space: str, expr: str, timeout: float = 60.0) -> int:
        """Delete the rows that pass a filter, chunks or messages; return how many there were."""
        ...

    async def upsert_messages(self, space: str, rows: Sequence[MessageRow], timeout: float = 30.0) -> int:
        """Store messages, replacing the user's messages with the same ids; return how many were confirmed."""
        ...

    async def search_messages(
        self, space: str, vector: Vector, tenant_id: str, user_id: str, limit: int, exclude_conversation_id: str = "",
        timeout: float = 5.0,
    ) -> list[MemoryMessage]:  # fmt: skip
        """Return the user's messages most similar to a vector, best first, with scores from 0 to 1."""
        ...

    async def health(self, timeout: float = 3.0) -> dict[str, Any]:
        """Return the store's state: `healthy`, `engine`, `latency_ms`, and `rows`, how many each space has.

        Raises Unavailable when it does not respond.
        """
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class Engine(Protocol):
    """A process of a store that runs beside the services and ends with them."""

    async def start(self) -> str:
        """Start it, wait until it serves, and return its address; raises FootnoteError when it does not start."""
        ...

    async def stop(self) -> None:
        """Stop the process."""
        ...
