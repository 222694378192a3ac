"""QueryChunks: chunks by their metadata, in reading order, without a query."""

from __future__ import annotations

import time

from footnote.stages.v1.passage_pb2 import Chunk
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.errors import NotFound
from footnote_kit.paging import Page, fitting
from footnote_store.filters import Expr, compile_expr, conjunction, quote

from footnote_retrieval.model import Group
from footnote_retrieval.ports import ChunkStore, Collections
from footnote_retrieval.settings import Settings


class MetadataQuery:
    """Reads chunks of one collection by a filter. Unlike a search it fails when the store fails."""

    def __init__(self, collections: Collections, store: ChunkStore, settings: Settings) -> None:
        self._collections = collections
        self._store = store
        self._settings = settings

    async def query(
        self, scope: Scope, collection: str, where: Expr, page: Page, offset: int
    ) -> tuple[list[Chunk], str, int]:
        """Return a page of chunks, the next page's token ("" on the last), and the total number.

        `offset` chunks are skipped before the first page. Raises NotFound with `Collection 'x' not found`, Unavailable
        when the store does not answer.
        """
        found = (await self._collections.resolve(scope, [collection])).visible
        if not found:
            raise NotFound(f"Collection '{collection}' not found", reason="COLLECTION_NOT_FOUND")
        member, now = found[0], time.time()
        if not member.space:
            return [], "", 0
        group = Group(member.space, member.collection.settings.embedding, (member,), scope.tenant_id)
        expr = conjunction([group.scope(now).rows(), compile_expr(where)])
        timeout = self._settings.read_timeout
        total = await self._store.count(member.space, expr, timeout)
        skipped = offset
        if page.position:
            skipped, expr = 0, conjunction([expr, f"id > {quote(str(page.position[0]))}"])
        if skipped >= total:
            return [], "", total
        hits = await self._store.read(member.space, expr, page.size + 1, skipped, timeout)
        shown = hits[: page.size]
        shown = shown[: fitting([hit.chunk for hit in shown])]
        token = page.token((shown[-1].id,)) if len(shown) < len(hits) else ""
        chunks = [hit.chunk for hit in shown if group.allows(hit, now)]
        for chunk in chunks:
            chunk.collection = member.collection.name
            chunk.collection_id = member.collection.id
        return chunks, token, total
