"""QueryChunks: chunks by their metadata, in reading order, without a query."""

from __future__ import annotations

import time
from collections.abc import Callable

from footnote.types.v1.chunk_pb2 import Chunk
from footnote.types.v1.scope_pb2 import Scope
from footnote_kit.errors import NotFound
from footnote_store.filters import Expr, compile_expr, conjunction

from footnote_retrieval.model import Group
from footnote_retrieval.ports import ChunkStore, Collections
from footnote_retrieval.settings import Settings

DEFAULT_LIMIT = 100
MAX_LIMIT = 1000


class MetadataQuery:
    """Reads chunks of one collection by a filter. Unlike a search it fails when the store does."""

    def __init__(
        self, collections: Collections, store: ChunkStore, settings: Settings, now: Callable[[], float] = time.time
    ) -> None:
        self._collections = collections
        self._store = store
        self._settings = settings
        self._now = now

    async def query(
        self, scope: Scope, collection: str, where: Expr, limit: int | None, offset: int
    ) -> tuple[list[Chunk], int]:
        """Return a page of chunks and how many there are in all.

        Raises NotFound with `Collection 'x' not found`, Unavailable when the store does not answer. `limit` None means
        100; more than 1000 means 1000.
        """
        found = (await self._collections.resolve(scope, [collection])).visible
        if not found:
            raise NotFound(f"Collection '{collection}' not found", reason="COLLECTION_NOT_FOUND")
        member, now = found[0], self._now()
        if not member.space:
            return [], 0
        group = Group(member.space, member.collection.settings.embedding, (member,), scope.tenant_id)
        expr = conjunction([group.scope(now).rows(), compile_expr(where)])
        timeout = self._settings.read_timeout
        total = await self._store.count(member.space, expr, timeout)
        size = DEFAULT_LIMIT if limit is None else min(limit, MAX_LIMIT)
        if offset >= total or size == 0:
            return [], total
        hits = await self._store.read(member.space, expr, size, offset, timeout)
        chunks = [hit.chunk for hit in hits if group.allows(hit, now)]
        for chunk in chunks:
            chunk.collection = member.collection.name
            chunk.collection_id = member.collection.id
        return chunks, total
