"""Waits until the documents of a run have ended, and records which of their items failed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DOCUMENT_STATE_INDEXED
from footnote_kit.errors import FailedPrecondition

from footnote_edge.jobs.changes import Feed
from footnote_edge.jobs.retrying import until_available
from footnote_edge.ports import Stages
from footnote_edge.sources.documents import SKEW
from footnote_edge.sources.stored import FAILED, Holder, ItemStore, StoredItem, StoredSource

_PAGE = 500


class DocumentFollower:
    """Follows documents until they end."""

    def __init__(self, stages: Stages, items: ItemStore, timeout: float, ceiling: float, poll: float) -> None:
        self._feed = Feed(stages, timeout)
        self._timeout = timeout
        self._items = items
        self._ceiling = ceiling
        self._poll = poll

    async def follow(
        self, scope: Scope, source: StoredSource, holder: Holder, cancelled: Callable[[], Awaitable[bool]]
    ) -> int:
        """Wait until every transferred document has ended; return how many ended in ERROR.

        A cancelled run stops waiting: the next run continues.
        """
        waiting = await self._waiting(source)
        since: int | None = None
        oldest = min((row.sync_time for row in waiting.values() if row.sync_time is not None), default=None)
        if oldest is not None:
            since = int((oldest - SKEW).timestamp() * 1_000_000)
        failed = 0
        while waiting and not await cancelled():
            look = self._looking(scope, source, waiting, since)
            ended, since = await until_available(look, self._ceiling)
            if ended:
                await self._items.settle(holder, {waiting[one].key: values for one, values in ended.items()})
            failed += sum(values.get("state") == FAILED for values in ended.values())
            for document_id in ended:
                del waiting[document_id]
            if waiting:
                await asyncio.sleep(self._poll / 2)
        return failed

    async def _waiting(self, source: StoredSource) -> dict[str, StoredItem]:
        waiting: dict[str, StoredItem] = {}
        last = ""
        while rows := await self._items.indexing(source.id, last, _PAGE):
            waiting |= {row.document_id: row for row in rows}
            last = rows[-1].key
        return waiting

    def _looking(
        self, scope: Scope, source: StoredSource, waiting: dict[str, StoredItem], since: int | None
    ) -> Callable[[], Awaitable[tuple[dict[str, dict[str, Any]], int | None]]]:
        async def look() -> tuple[dict[str, dict[str, Any]], int | None]:
            try:
                return await self._read(scope, source.collection_id, waiting, since)
            except FailedPrecondition:
                # Ingestion no longer knows deletions from so long ago: a missing document is deleted.
                return await self._read(scope, source.collection_id, waiting, None)

        return look

    async def _read(
        self, scope: Scope, collection_id: str, waiting: dict[str, StoredItem], since: int | None
    ) -> tuple[dict[str, dict[str, Any]], int | None]:
        gone = set(waiting) if since is None else set()
        ended: dict[str, dict[str, Any]] = {}
        until: int | None = None
        async for part in self._feed.parts(scope, collection_id, since, self._timeout):
            gone.update(document_id for document_id in part.deleted if document_id in waiting)
            for document in part.documents:
                if document.id in waiting:
                    gone.discard(document.id)
                    if (values := _ended(waiting[document.id], document)) is not None:
                        ended[document.id] = values
            until = part.until or until
        return ended | {one: {"revision": 0} for one in gone}, until


def _ended(row: StoredItem, document: Document) -> dict[str, Any] | None:
    """Return the changes of an item whose document has ended; None until then."""
    if document.indexed_revision >= row.revision or document.state == DOCUMENT_STATE_INDEXED:
        return {"revision": 0}
    if document.state != DOCUMENT_STATE_ERROR:
        return None
    message = document.failure.message or "Its document could not be indexed."
    # No retry time: the same bytes would fail alike. A changed item is tried again.
    return {"revision": 0, "state": FAILED, "reason": "NOT_INDEXED", "message": message, "retry_time": None}
