"""What a vector store is: spaces of chunks and of messages, found by vector, by words and by filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

# For the eyes of type checkers only: the launcher reads this, and needs no client of a database.
if TYPE_CHECKING:
    import numpy as np
    from footnote.types.v1.answer_pb2 import MemoryMessage
    from footnote.types.v1.chunk_pb2 import Chunk
    from numpy.typing import NDArray

    from footnote_store.rows import Hit, MessageRow, Row, Vector
    from footnote_store.scope import RowScope


class Store(Protocol):
    """A vector store as indexing and retrieval use it; calls may run side by side, from several processes.

    `timeout` is seconds. What does not answer in time, or at all, is `Unavailable(STORE_UNAVAILABLE)`; a store may be
    down at the start and come back. `expr` and `where` are filters in the language that `footnote_store.compiler`
    writes, over the columns of `footnote_store.rows.encode_chunk`. What was written is read at once, also by others.
    """

    async def ensure_space(self, dimensions: int, variant: int = 0, timeout: float = 30.0) -> str:
        """Make the space for chunks with vectors of a length if it is not there; return its `rows.space_name`."""
        ...

    async def ensure_message_space(self, dimensions: int, timeout: float = 30.0) -> str:
        """Make the space for messages if it is not there; return its name, which ends in "_<dimensions>"."""
        ...

    async def upsert(self, space: str, rows: Sequence[Row], timeout: float = 60.0) -> int:
        """Write rows, replacing those of the same ids; return how many were confirmed.

        Raises InvalidArgument for a vector of another length (DIMENSION_MISMATCH) or a text too long.
        """
        ...

    async def insert(self, space: str, rows: Sequence[Row], timeout: float = 60.0) -> int:
        """Write rows of which the store holds none, in one attempt; return how many were confirmed."""
        ...

    async def search_dense(
        self, space: str, vector: Vector, scope: RowScope, limit: int, timeout: float = 10.0, *, where: str = ...
    ) -> list[Hit]:
        """Find the chunks in scope nearest to a vector, best first; scores are cosines. Parents are never found."""
        ...

    async def search_lexical(
        self, space: str, lexical_query: str, scope: RowScope, limit: int, timeout: float = 10.0, *, where: str = ...,
        vectors: bool = False,
    ) -> list[Hit]:  # fmt: skip
        """Find the chunks in scope that match search terms best, by BM25 or its like; without terms, none."""
        ...

    async def query(self, space: str, expr: str, limit: int, offset: int = 0, timeout: float = 10.0) -> list[Chunk]:
        """Read chunks by a filter in order of their ids, which is reading order."""
        ...

    async def read(
        self, space: str, expr: str, limit: int, offset: int = 0, timeout: float = 10.0, *, vectors: bool = False
    ) -> list[Hit]:
        """Read rows as `query` does; scores are 0, `vectors` come if wanted."""
        ...

    async def ids(self, space: str, expr: str, limit: int, timeout: float = 10.0) -> list[str]:
        """Return the ids of rows that pass a filter, in order."""
        ...

    async def filenames(self, space: str, expr: str, limit: int, timeout: float = 10.0) -> dict[str, str]:
        """Return document id to file name for the rows that pass a filter."""
        ...

    async def vectors(self, space: str, ids: Sequence[str], timeout: float = 10.0) -> dict[str, NDArray[np.float32]]:
        """Return vectors of length 1 by id, shape (dimensions,) each; ids that are not there are left out."""
        ...

    async def count(self, space: str, expr: str, timeout: float = 10.0) -> int:
        """Count the rows that pass a filter."""
        ...

    async def delete(self, space: str, expr: str, timeout: float = 60.0) -> int:
        """Remove the rows that pass a filter, chunks or messages; return how many there were."""
        ...

    async def upsert_messages(self, space: str, rows: Sequence[MessageRow], timeout: float = 30.0) -> int:
        """Remember messages, replacing a user's own of the same ids; return how many were confirmed."""
        ...

    async def search_messages(
        self, space: str, vector: Vector, tenant_id: str, user_id: str, limit: int, exclude_conversation_id: str = "",
        timeout: float = 5.0,
    ) -> list[MemoryMessage]:  # fmt: skip
        """Find a user's own messages most similar to a vector, best first, with scores from 0 to 1."""
        ...

    async def health(self, timeout: float = 3.0) -> dict[str, Any]:
        """Say how the store is: `healthy`, `engine`, `latency_ms`; raises Unavailable when it does not answer."""
        ...

    async def close(self) -> None:
        """Close connections."""
        ...


class Engine(Protocol):
    """A process of a store that runs beside the services and ends with them."""

    async def start(self) -> str:
        """Start it, wait until it serves, and return its address; raises FootnoteError when it does not come up."""
        ...

    async def stop(self) -> None:
        """End it."""
        ...
