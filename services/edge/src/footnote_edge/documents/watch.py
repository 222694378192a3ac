"""Watches of documents: notified of changes in this process, and polling for those of other replicas.

Watches of the same document or collection share polls; access is checked for each watch.
"""

import time
from collections.abc import AsyncGenerator, Mapping

from footnote.edge.v1 import documents_pb2 as pb
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.document_pb2 import (
    DOCUMENT_STATE_INDEXED,
    PROGRESS_PHASE_DONE,
    PROGRESS_PHASE_QUEUED,
    PROGRESS_PHASE_VECTORS,
    Progress,
)
from footnote_kit.access import Access
from footnote_kit.errors import FootnoteError, NotFound
from footnote_kit.logs import get_logger
from footnote_kit.paging import micros, position_of, position_token
from google.protobuf.timestamp_pb2 import Timestamp

from footnote_edge.collections.names import CollectionNames
from footnote_edge.collections.permissions import Permissions
from footnote_edge.documents.documents import Documents
from footnote_edge.documents.polling import AdaptivePolling, MissingVectors, PollTimer, SharedPolls
from footnote_edge.documents.views import document_of
from footnote_edge.jobs.changes import Changes, Feed
from footnote_edge.jobs.labels import is_final
from footnote_edge.jobs.progress import ProgressBus, RemainingTime, Watcher

_log = get_logger(__name__)
ROUNDS_PER_SECOND = 20.0
"""Updates per second for all watches of one key together; with many watches each gets fewer."""

SHARED_MICROS = 10_000_000
"""Watches whose last polls lie within the same ten seconds share one, in microseconds."""

REPEATED_SECONDS = 60
"""Polls do not repeat changes older than this."""

MOST_GONE = 10_000
"""Deletions remembered, so that each is reported once."""

Seen = tuple[str, bytes]


class DocumentWatches:
    """Streams of states and progress, without repetition, for `lifetime` seconds at most."""

    def __init__(
        self,
        documents: Documents,
        feed: Feed,
        permissions: Permissions,
        names: CollectionNames,
        missing: MissingVectors,
        bus: ProgressBus,
        polling: AdaptivePolling,
        poll_seconds: float,
        lifetime: float,
    ) -> None:
        self._documents = documents
        self._feed = feed
        self._permissions = permissions
        self._names = names
        self._missing = missing
        self._bus = bus
        self._polling = polling
        self._poll = poll_seconds
        self._lifetime = lifetime
        fresh = poll_seconds / 2
        self._single: SharedPolls[Document] = SharedPolls(fresh, time.monotonic)
        self._changed: SharedPolls[Changes] = SharedPolls(fresh, time.monotonic)

    async def document(
        self, scope: Scope, document_id: str, until_vectors: bool = False
    ) -> AsyncGenerator[pb.WatchDocumentResponse]:
        """Yield a document after each change, until it is INDEXED, ERROR or deleted; raises NotFound.

        With `until_vectors`, the stream goes on until an INDEXED document has the vectors of all its chunks. The stream
        also ends with NotFound when the caller loses read access.
        """
        end = time.monotonic() + self._lifetime
        seen: Seen | None = None
        document = Document()
        timer, pace, missing = self._polling.begin(), RemainingTime(), 0
        with self._bus.watching(document_id) as watcher:
            while time.monotonic() < end:
                try:
                    document = await self._get(scope, document_id, document, watcher, timer)
                except NotFound:
                    if seen is None:
                        raise
                    # If the collection is still readable, the document was deleted. Else NotFound again.
                    await self._may_read(scope, document.collection_id)
                    name = await self._names.one(scope, document.collection_id)
                    yield pb.WatchDocumentResponse(document=document_of(document, name), deleted=True)
                    return
                progress = progress_of(self._bus, document)
                if document.state == DOCUMENT_STATE_INDEXED:
                    missing = await self._missing_of(scope, document, watcher.news_at, missing, known=until_vectors)
                    set_missing(progress, missing, pace)
                now = _mark(document, progress)
                if now != seen:
                    seen = now
                    name = await self._names.one(scope, document.collection_id)
                    yield pb.WatchDocumentResponse(document=document_of(document, name), progress=progress)
                if is_final(document) and not (until_vectors and progress.chunks_without_vector):
                    return
                await self._next(watcher, end)

    async def collection(
        self, scope: Scope, collection_id: str, until_idle: bool, resume_token: str
    ) -> AsyncGenerator[pb.WatchDocumentsResponse]:
        """Yield every document of a collection, then its events; with `until_idle` until no work is left.

        Raises NotFound when the caller loses read access to the collection, InvalidArgument for a token of another
        watch, FailedPrecondition for an expired one.
        """
        end = time.monotonic() + self._lifetime
        bound = pb.WatchDocumentsRequest(collection=collection_id)
        since: int | None = None
        if resume_token:
            (since,) = position_of(scope, bound, resume_token, kinds=(micros,), field="resume_token")
        events = _Events(self._bus)
        await self._count(scope, collection_id, events)
        timer = self._polling.begin()
        with self._bus.watching(collection_id) as watcher:
            reported = 0
            async for part in self._feed.parts(scope, collection_id, since, self._lifetime):
                events.collection = await self._names.one(scope, collection_id)
                for event in events.of(part):
                    reported += event.WhichOneof("event") == "changed"
                    yield event
                since = part.until
            if resume_token:
                # Documents in progress before the break and unchanged since are not among the changes.
                waiting = await self._documents.at_work(scope, collection_id)
                for event in events.of(Changes(documents=waiting)):
                    reported += 1
                    yield event
            assert since is not None
            done = pb.SnapshotDone(documents=reported, end_time=_in(end - time.monotonic()))
            yield pb.WatchDocumentsResponse(snapshot_done=done, resume_token=position_token(scope, bound, (since,)))
            reason = pb.WATCH_END_REASON_LIFETIME
            looked_for_idle = False
            while time.monotonic() < end:
                if until_idle and not events.at_work:
                    if looked_for_idle:
                        reason = pb.WATCH_END_REASON_IDLE
                        break
                    looked_for_idle = True
                    timer.now()
                else:
                    looked_for_idle = False
                    await self._next(watcher, end)
                changes = await self._look(scope, collection_id, since, watcher, timer)
                if events.lacking and time.monotonic() - events.counted >= self._poll / 2:
                    await self._count(scope, collection_id, events, watcher.news_at)
                since = changes.until
                token = position_token(scope, bound, (since,))
                events.collection = await self._names.one(scope, collection_id)
                for event in events.of(changes):
                    event.resume_token = token
                    yield event
            yield pb.WatchDocumentsResponse(
                ended=pb.WatchEnded(reason=reason), resume_token=position_token(scope, bound, (since,))
            )

    async def _look(self, scope: Scope, collection_id: str, since: int, watcher: Watcher, timer: PollTimer) -> Changes:
        """Return local news, or all changes if a poll is due."""
        await self._may_read(scope, collection_id)
        delivered = watcher.delivered()
        if not timer.fires(watcher.moved_at):
            return Changes(documents=delivered, until=since)
        begin = since - since % SHARED_MICROS
        return await self._changed.get(
            (scope.tenant_id, collection_id, begin),
            watcher.news_at,
            lambda: self._feed.since(scope, collection_id, begin),
        )

    async def _may_read(self, scope: Scope, collection_id: str) -> None:
        await self._permissions.collection(scope, Collection(id=collection_id), Access.READ, exact=False)

    async def _get(
        self, scope: Scope, document_id: str, known: Document, watcher: Watcher, timer: PollTimer
    ) -> Document:
        """Return a document in its latest state or a newer one, if the caller may read it; raises NotFound."""

        async def look() -> Document:
            return await self._documents.get(scope, document_id)

        # Two simultaneous changes may arrive in the other order.
        oldest = known.update_time.ToNanoseconds()
        news = [one for one in watcher.delivered() if one.update_time.ToNanoseconds() >= oldest]
        document = news[-1] if news else known
        if timer.fires(watcher.moved_at, self._bus.latest(document_id) is not None):
            document = await self._single.get((scope.tenant_id, document_id), watcher.news_at, look)
        await self._permissions.document(scope, document, Access.READ)
        return document

    async def _next(self, watcher: Watcher, end: float) -> None:
        """Wait for news: at least the minimum pause, and not beyond the end."""
        pause = min(self._bus.watches(watcher.key) / ROUNDS_PER_SECOND, self._poll)
        rest = end - time.monotonic()
        await watcher.pause(min(pause, max(rest, 0.0)), min(max(self._poll - pause, 0.0), max(rest - pause, 0.0)))

    async def _count(self, scope: Scope, collection_id: str, events: "_Events", since: float = 0.0) -> None:
        """Count the vectors that documents lack; the latest count stands while indexing is away."""
        try:
            events.missing = await self._missing.of(scope, collection_id, since=since)
        except FootnoteError as error:
            _log.info("missing_vectors_not_counted", collection_id=collection_id, reason=error.reason)
        events.counted = time.monotonic()

    async def _missing_of(self, scope: Scope, document: Document, since: float, last: int, *, known: bool) -> int:
        """Return how many vectors a searched document lacks.

        Where that cannot be counted, it is the `last` count; with none, 0, or the error if it must be `known`.
        """
        ended = self._bus.ended(document.id)
        if ended is not None and not ended.chunks_without_vector:
            return 0
        try:
            found = await self._missing.of(scope, document.collection_id, document.id, since)
        except FootnoteError:
            if known and not last:
                raise
            return last
        return found.get(document.id, 0)


class _Events:
    """Turns changes into events without repetition; remembers only as much as the latest changes could repeat."""

    def __init__(self, bus: ProgressBus) -> None:
        self._bus = bus
        self._seen: dict[str, Seen] = {}
        self._documents: dict[str, Document] = {}
        self._gone: set[str] = set()
        self.at_work: set[str] = set()
        self.missing: Mapping[str, int] = {}
        """Number of vectors that documents lack, by their id, at the latest count."""
        self.counted = 0.0
        """When they were counted, in seconds of the monotonic clock."""
        self.lacking: dict[str, RemainingTime] = {}
        """Documents that were reported with vectors missing, by id."""
        self.collection = ""
        """Name of the documents' collection."""

    def of(self, changes: Changes) -> list[pb.WatchDocumentsResponse]:
        """Return events for changes, and for progress of unfinished documents, that were not reported yet."""
        events = []
        named = {document.id for document in changes.documents}
        moving = [
            document
            for key, document in self._documents.items()
            if (key in self.at_work or key in self.lacking) and key not in named
        ]
        for document in (*changes.documents, *moving):
            progress = self._progress(document)
            now = _mark(document, progress)
            if self._seen.get(document.id) != now:
                changed = pb.DocumentChanged(document=document_of(document, self.collection), progress=progress)
                events.append(pb.WatchDocumentsResponse(changed=changed))
            self._seen[document.id] = now
            self._documents[document.id] = document
            if is_final(document):
                self.at_work.discard(document.id)
            else:
                self.at_work.add(document.id)
        for document_id in changes.deleted:
            self.at_work.discard(document_id)
            self.lacking.pop(document_id, None)
            if document_id not in self._gone:
                deleted = pb.DocumentDeleted(document_id=document_id)
                events.append(pb.WatchDocumentsResponse(deleted=deleted))
        self._gone = self._gone | set(changes.deleted) if len(self._gone) < MOST_GONE else set(changes.deleted)
        self._forget()
        return events

    def _progress(self, document: Document) -> Progress:
        progress = progress_of(self._bus, document)
        if document.state != DOCUMENT_STATE_INDEXED:
            return progress
        missing = self.missing.get(document.id, 0)
        if document.id not in self.lacking and document.id not in self.missing:
            # It ended after the latest count.
            missing = progress.chunks_without_vector
        if missing:
            set_missing(progress, missing, self.lacking.setdefault(document.id, RemainingTime()))
        else:
            set_missing(progress, 0, self.lacking.pop(document.id, RemainingTime()))
        return progress

    def _forget(self) -> None:
        old = time.time() - REPEATED_SECONDS
        for key, document in list(self._documents.items()):
            if key not in self.at_work and key not in self.lacking and document.update_time.seconds < old:
                del self._documents[key], self._seen[key]


def progress_of(bus: ProgressBus, document: Document) -> Progress:
    """Return a document's progress as far as this process knows it; a copy."""
    progress = Progress()
    if not is_final(document):
        progress.CopyFrom(bus.latest(document.id) or Progress(phase=PROGRESS_PHASE_QUEUED))
        progress.bytes_total = progress.bytes_total or document.size_bytes
        return progress
    progress.CopyFrom(bus.ended(document.id) or progress)
    progress.phase, progress.bytes_total = PROGRESS_PHASE_DONE, document.size_bytes
    progress.ClearField("remaining")
    progress.chunks_total, progress.chunks_stored = document.chunks_expected, document.chunks_stored
    if document.state == DOCUMENT_STATE_INDEXED:
        if document.page_count:
            progress.pages_parsed = progress.pages_total = document.page_count
        progress.chunks_embedded = max(0, document.chunks_stored - progress.chunks_without_vector)
    return progress


def set_missing(progress: Progress, missing: int, pace: RemainingTime) -> None:
    """Write how many vectors an INDEXED document lacks, and the time until it has them."""
    progress.chunks_without_vector = missing
    progress.chunks_embedded = max(0, progress.chunks_stored - missing)
    if missing:
        progress.phase = PROGRESS_PHASE_VECTORS
        pace.note(progress, progress.chunks_embedded, progress.chunks_stored)


def _mark(document: Document, progress: Progress) -> Seen:
    return document.etag or document.SerializeToString(deterministic=True).hex(), progress.SerializeToString()


def _in(seconds: float) -> Timestamp:
    moment = Timestamp()
    moment.FromMicroseconds(int((time.time() + seconds) * 1_000_000))
    return moment
