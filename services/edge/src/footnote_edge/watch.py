"""Watching documents: told at once of what happens in this process, and by looking now and then of what others do.

Watches of the same thing share their looks; whether its caller may still see it is asked for each watch.
"""

import asyncio
import time
from collections.abc import AsyncGenerator

from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.document_pb2 import (
    DOCUMENT_STATE_PROCESSING,
    DOCUMENT_STATE_UPLOADED,
    PROGRESS_PHASE_DONE,
    PROGRESS_PHASE_QUEUED,
    Document,
    Progress,
)
from footnote.types.v1.scope_pb2 import Scope
from footnote_kit.access import Access
from footnote_kit.errors import NotFound

from footnote_edge.documents import Documents, is_final
from footnote_edge.looks import SharedLooks
from footnote_edge.permissions import Permissions
from footnote_edge.progress import ProgressBus, Watcher

ROUNDS_PER_SECOND = 20.0
"""How often all watches of one thing together are told of it; each of many hears the more seldom."""

Seen = tuple[str, bytes]


class Watch:
    """Streams of states and progress; each says a thing once."""

    def __init__(self, documents: Documents, permissions: Permissions, bus: ProgressBus, poll_seconds: float) -> None:
        self._documents = documents
        self._permissions = permissions
        self._bus = bus
        self._poll = poll_seconds
        fresh = poll_seconds / 2
        self._single: SharedLooks[Document] = SharedLooks(fresh, time.monotonic)
        self._listed: SharedLooks[list[Document]] = SharedLooks(fresh, time.monotonic)

    async def document(self, scope: Scope, document_id: str) -> AsyncGenerator[tuple[Document, Progress]]:
        """Yield a document whenever it has moved, until it is INDEXED or ERROR; raises NotFound when it is deleted."""
        seen: Seen | None = None
        with self._bus.watching(document_id) as watcher:
            while True:
                document = await self._get(scope, document_id, watcher)
                progress = self._progress(document)
                now = _mark(document, progress)
                if now != seen:
                    seen = now
                    yield document, progress
                if is_final(document):
                    return
                await self._next(watcher)

    async def collection(
        self, scope: Scope, collection_id: str, until_idle: bool
    ) -> AsyncGenerator[tuple[Document, Progress]]:
        """Yield every document of a collection as it is, then whenever one moves; with `until_idle` until none does.

        Raises NotFound as soon as the caller may no longer read the collection.
        """
        seen: dict[str, Seen] = {}
        with self._bus.watching(collection_id) as watcher:
            moving: dict[str, Document] = {}
            for document in await self._documents.in_states(scope, collection_id):
                moving[document.id] = document
            while True:
                for document in moving.values():
                    progress = self._progress(document)
                    now = _mark(document, progress)
                    if seen.get(document.id) != now:
                        seen[document.id] = now
                        yield document, progress
                at_work = {key for key, document in moving.items() if not is_final(document)}
                if until_idle and not at_work:
                    moving = await self._moving(scope, collection_id, set(), watcher)
                    if not moving:
                        return
                    continue
                moved = await self._next(watcher)
                moving = await self._moving(scope, collection_id, at_work | moved, watcher)

    async def _moving(self, scope: Scope, collection_id: str, known: set[str], watcher: Watcher) -> dict[str, Document]:
        # Those in work by one query; those that were and are no longer listed have ended, and are asked for one by one.
        await self._permissions.collection(scope, Collection(id=collection_id), Access.READ, exact=False)
        listed = await self._listed.get(
            (scope.tenant_id, collection_id),
            watcher.moved_at,
            lambda: self._documents.in_states(scope, collection_id, DOCUMENT_STATE_UPLOADED, DOCUMENT_STATE_PROCESSING),
        )
        moving = {document.id: document for document in listed}
        for document_id in known - moving.keys():
            try:
                moving[document_id] = await self._get(scope, document_id, watcher)
            except NotFound:
                continue
        return moving

    async def _get(self, scope: Scope, document_id: str, watcher: Watcher) -> Document:
        """Return a document that the caller may read, as it was when it moved last or later; raises NotFound."""

        async def look() -> Document:
            return await self._documents.get(scope, document_id)

        document = await self._single.get((scope.tenant_id, document_id), watcher.moved_at, look)
        await self._permissions.document(scope, document, Access.READ)
        return document

    async def _next(self, watcher: Watcher) -> set[str]:
        """Wait for news and return the documents that moved: not too soon after the last, and not for ever."""
        pause = min(self._bus.watches(watcher.key) / ROUNDS_PER_SECOND, self._poll)
        await asyncio.sleep(pause)
        return await watcher.wait(max(self._poll - pause, 0.0))

    def _progress(self, document: Document) -> Progress:
        if is_final(document):
            stored = document.chunks_stored
            return Progress(phase=PROGRESS_PHASE_DONE, chunks_total=document.chunks_expected, chunks_stored=stored)
        return self._bus.latest(document.id) or Progress(phase=PROGRESS_PHASE_QUEUED, bytes_total=document.size_bytes)


def _mark(document: Document, progress: Progress) -> Seen:
    return document.etag or document.SerializeToString(deterministic=True).hex(), progress.SerializeToString()
