"""Writes rows in batches, each with its own retries, and removes them; one writer at a time for each document."""

import asyncio
from collections.abc import Sequence
from weakref import WeakValueDictionary

from footnote_kit.backoff import Backoff
from footnote_kit.errors import Unavailable
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import counter
from footnote_store.compiler import quote
from footnote_store.connection import StoreFrozen
from footnote_store.rows import Row

from footnote_indexing.model import IndexVersion, RevisionKey
from footnote_indexing.ports import ChunkStore
from footnote_indexing.settings import Settings

_log = get_logger("footnote.indexing.store")
_BACKOFF = Backoff(first=0.2, longest=60.0)


def revision_expr(key: RevisionKey) -> str:
    """Return the filter for the rows of one revision in one index version."""
    return f"collection_key == {quote(key.collection_key)} and revision_key == {quote(key.revision_key)}"


class StoreWriter:
    """Writes rows into the store, with a limit on concurrent calls over all documents."""

    def __init__(self, store: ChunkStore, settings: Settings) -> None:
        self.store = store
        self._attempts = settings.store_attempts
        self._turns = asyncio.Semaphore(settings.store_in_flight)

    async def ensure(self, index_version: IndexVersion) -> str:
        """Ensure that an index version's physical collection exists; return its name."""
        return await self.store.ensure_space(index_version.embedding.dimensions, index_version.variant)

    async def ensure_same(self, index_version: IndexVersion) -> str:
        """Like `ensure`; raises Unavailable(STORE_UNAVAILABLE) if the store gives it another name than ours."""
        space = await self.ensure(index_version)
        if space != index_version.space:
            raise Unavailable(
                f"the vector store offers {space!r} for {index_version.space!r}", reason="STORE_UNAVAILABLE"
            )
        return space

    async def write(self, space: str, rows: Sequence[Row], *, new: bool = False) -> None:
        """Write one batch; after the last attempt raise Unavailable(STORE_UNAVAILABLE) and log the ids not written.

        `new` means that none of the rows was ever written, so that the first attempt inserts without a lookup. A store
        that hangs is not retried: each attempt would take as long to notice it.
        """
        for attempt in range(1, self._attempts + 1):
            put = self.store.insert if new and attempt == 1 else self.store.upsert
            try:
                async with self._turns:
                    confirmed = await put(space, rows)
                if confirmed != len(rows):
                    raise Unavailable(
                        f"the vector store confirmed {confirmed} of {len(rows)} chunks", reason="STORE_UNAVAILABLE"
                    )
            except Unavailable as error:
                if attempt == self._attempts or isinstance(error, StoreFrozen):
                    ids = [row.chunk.id for row in rows]
                    _log.error("chunks_not_stored", chunk_ids=ids, attempts=attempt, error=error.message)
                    raise
                await asyncio.sleep(_BACKOFF.pause(attempt))
            else:
                for level in {row.chunk.level for row in rows}:
                    written = sum(1 for row in rows if row.chunk.level == level)
                    counter("footnote.indexing.chunks").add(written, {"level": str(level)})
                return

    async def count(self, space: str, key: RevisionKey) -> int:
        """Count the rows of a revision."""
        return await self.store.count(space, revision_expr(key))

    async def count_all(self, space: str, keys: Sequence[RevisionKey]) -> int:
        """Count the rows of several revisions of one index version."""
        revisions = ", ".join(quote(key.revision_key) for key in keys)
        expr = f"collection_key == {quote(keys[0].collection_key)} and revision_key in [{revisions}]"
        return await self.store.count(space, expr)

    async def trim(self, space: str, key: RevisionKey, chunks: int) -> int:
        """Remove the rows of a revision from ordinal `chunks` on: leftovers of an attempt with other settings."""
        return await self.store.delete(space, f"{revision_expr(key)} and ordinal >= {chunks}")

    async def purge(self, space: str, key: RevisionKey) -> int:
        """Remove the rows of a revision."""
        return await self.store.delete(space, revision_expr(key))


class DocumentLocks:
    """A lock for each document whose rows are being written."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, document_id: str) -> asyncio.Lock:
        """Return the document's lock."""
        return self._locks.setdefault(document_id, asyncio.Lock())
