"""Watching documents: told at once of what happens in this process, and by looking now and then of what others do."""

from collections.abc import AsyncGenerator

from footnote.types.v1.document_pb2 import (
    DOCUMENT_STATE_PROCESSING,
    DOCUMENT_STATE_UPLOADED,
    PROGRESS_PHASE_DONE,
    PROGRESS_PHASE_QUEUED,
    Document,
    Progress,
)
from footnote.types.v1.scope_pb2 import Scope
from footnote_kit.errors import NotFound

from footnote_edge.documents import Documents, is_final
from footnote_edge.progress import ProgressBus

Seen = tuple[str, bytes]


class Watch:
    """Streams of states and progress; each says a thing once."""

    def __init__(self, documents: Documents, bus: ProgressBus, poll_seconds: float) -> None:
        self._documents = documents
        self._bus = bus
        self._poll = poll_seconds

    async def document(self, scope: Scope, document_id: str) -> AsyncGenerator[tuple[Document, Progress]]:
        """Yield a document whenever it has moved, until it is INDEXED or ERROR; raises NotFound when it is deleted."""
        seen: Seen | None = None
        with self._bus.watching(document_id) as watcher:
            while True:
                document = await self._documents.get(scope, document_id)
                progress = self._progress(document)
                now = _mark(document, progress)
                if now != seen:
                    seen = now
                    yield document, progress
                if is_final(document):
                    return
                await watcher.wait(self._poll)

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
                    moving = await self._moving(scope, collection_id, set())
                    if not moving:
                        return
                    continue
                moved = await watcher.wait(self._poll)
                moving = await self._moving(scope, collection_id, at_work | moved)

    async def _moving(self, scope: Scope, collection_id: str, known: set[str]) -> dict[str, Document]:
        # Those in work by one query; those that were and are no longer listed have ended, and are asked for one by one.
        listed = await self._documents.in_states(
            scope, collection_id, DOCUMENT_STATE_UPLOADED, DOCUMENT_STATE_PROCESSING
        )
        moving = {document.id: document for document in listed}
        for document_id in known - moving.keys():
            try:
                moving[document_id] = await self._documents.get(scope, document_id)
            except NotFound:
                continue
        return moving

    def _progress(self, document: Document) -> Progress:
        if is_final(document):
            stored = document.chunks_stored
            return Progress(phase=PROGRESS_PHASE_DONE, chunks_total=document.chunks_expected, chunks_stored=stored)
        return self._bus.latest(document.id) or Progress(phase=PROGRESS_PHASE_QUEUED, bytes_total=document.size_bytes)


def _mark(document: Document, progress: Progress) -> Seen:
    return document.etag or document.SerializeToString(deterministic=True).hex(), progress.SerializeToString()
