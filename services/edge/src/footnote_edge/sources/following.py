"""Waits until the documents of a run have ended, and records which of their items failed."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import uuid4

from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DOCUMENT_STATE_INDEXED
from footnote_kit.errors import FailedPrecondition, NotFound

from footnote_edge.jobs.changes import Feed, Recheck
from footnote_edge.jobs.retrying import until_available
from footnote_edge.ports import Stages
from footnote_edge.sources.documents import SKEW
from footnote_edge.sources.stored import FAILED, IN_STEP, Holder, ItemStore, StoredItem, StoredSource

_PAGE = 500
_CHECK_BATCH = 100
"""Awaited documents that are read by their ids at once."""

_LOST = "Ingestion has lost its document, with the newest commits of its database; the next run repeats the transfer."


class DocumentFollower:
    """Follows documents until they end."""

    def __init__(self, stages: Stages, items: ItemStore, timeout: float, ceiling: float, poll: float) -> None:
        self._feed = Feed(stages, timeout)
        self._timeout = timeout
        self._items = items
        self._ceiling = ceiling
        self._poll = poll

    async def follow(
        self, scope: Scope, source: StoredSource, holder: Holder, stopped: Callable[[], Awaitable[bool]]
    ) -> tuple[int, bool]:
        """Wait until every transferred document has ended; return how many items failed, and whether all have ended.

        While none ends, documents are also read by their ids: ingestion may have lost them; see `Recheck`. A run that
        is `stopped` waits no longer: the next run continues.
        """
        await self._recover(scope, source, holder, stopped)
        waiting = await self._waiting(source)
        since: int | None = None
        oldest = min((row.sync_time for row in waiting.values() if row.sync_time is not None), default=None)
        if oldest is not None:
            since = int((oldest - SKEW).timestamp() * 1_000_000)
        failed = 0
        recheck, last = Recheck(), ""
        while waiting and not await stopped():
            look = self._looking(scope, source, waiting, since)
            ended, since = await until_available(look, self._ceiling)
            if ended:
                failed += await self._settle(holder, waiting, ended)
                recheck.ended()
            if recheck.due():
                ended, last = await self._by_id(scope, source, waiting, last)
                if ended:
                    failed += await self._settle(holder, waiting, ended)
                    recheck.ended(unnamed=True)
            if waiting:
                await asyncio.sleep(self._poll / 2)
        return failed, not waiting

    async def _recover(
        self, scope: Scope, source: StoredSource, holder: Holder, stopped: Callable[[], Awaitable[bool]]
    ) -> None:
        """Record failed items as in step whose documents were indexed since, as by a reindexing."""
        last, failed = "", set[str]()
        while not await stopped() and (rows := await self._items.not_indexed(source.id, last, _CHECK_BATCH)):
            if not last:  # most have failed for good: a look at each in every run would take longer with each of them
                listing = partial(self._feed.failed, scope, source.collection_id)
                try:
                    failed = await until_available(listing, self._ceiling)
                except NotFound:  # the collection is being deleted
                    return
            indexed: dict[str, dict[str, Any]] = {}
            for row in rows:
                if row.document_id in failed:
                    continue
                document = await until_available(partial(self._feed.document, scope, row.document_id), self._ceiling)
                if document is None or document.state != DOCUMENT_STATE_INDEXED or document.sha256 != row.sha256:
                    continue
                indexed[row.key] = {"state": IN_STEP, "reason": "", "message": ""}
            if indexed:
                await self._items.settle(holder, indexed)
            last = rows[-1].key

    async def _settle(self, holder: Holder, waiting: dict[str, StoredItem], ended: Mapping[str, dict[str, Any]]) -> int:
        """Record items whose documents have ended, and wait for them no longer; return how many failed."""
        await self._items.settle(holder, {waiting[one].key: values for one, values in ended.items()})
        for document_id in ended:
            del waiting[document_id]
        return sum(values.get("state") == FAILED for values in ended.values())

    async def _by_id(
        self, scope: Scope, source: StoredSource, waiting: Mapping[str, StoredItem], last: str
    ) -> tuple[dict[str, dict[str, Any]], str]:
        """Read the next awaited documents by their ids; return changes of items to settle, and the last item's key."""
        rows = await self._items.indexing(source.id, last, _CHECK_BATCH)
        if last and not rows:
            rows = await self._items.indexing(source.id, "", _CHECK_BATCH)
        ended: dict[str, dict[str, Any]] = {}
        for row in rows:
            if row.document_id not in waiting:
                continue
            document = await until_available(partial(self._feed.document, scope, row.document_id), self._ceiling)
            values = _lost(row) if document is None else _ended(row, document)
            if values is not None:
                ended[row.document_id] = values
        return ended, rows[-1].key if len(rows) == _CHECK_BATCH else ""

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
    if document.revision < row.revision:
        return _lost(row, document.id)
    if document.indexed_revision >= row.revision or document.state == DOCUMENT_STATE_INDEXED:
        return {"revision": 0}
    if document.state != DOCUMENT_STATE_ERROR:
        return None
    message = document.failure.message or "Its document could not be indexed."
    # No retry time: the same bytes would fail alike. A changed item is tried again; `_recover` sees a reindexing.
    return {"revision": 0, "state": FAILED, "reason": "NOT_INDEXED", "message": message, "retry_time": None}


def _lost(row: StoredItem, document_id: str = "") -> dict[str, Any]:
    """Return the changes of an item whose document, or its new revision, is lost: the next run transfers it again."""
    again = {"version": "", "sha256": "", "label": row.label if document_id else "", "document_id": document_id}
    if not document_id:
        again["nonce"] = uuid4().hex  # or the upload would count as a repeat of the earlier one
    failure = {"state": FAILED, "reason": "NOT_INDEXED", "message": _LOST, "retry_time": datetime.now(UTC)}
    return {"revision": 0, **failure, **again}
