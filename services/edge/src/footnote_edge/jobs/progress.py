"""Progress of documents in this process, published to watches."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

from cachetools import LRUCache
from footnote.indexing.v1.indexing_service_pb2 import IndexResult
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import PROGRESS_PHASE_INDEXING, Progress

MOST_ENDED = 4096
"""Maximum number of ended documents whose last counts are kept."""

_COUNTS = ("blocks_parsed", "chunks_total", "chunks_embedded", "chunks_stored")


class Watcher:
    """One watch's mailbox: the documents that changed since its last check, each once."""

    def __init__(self, key: str) -> None:
        self.key = key
        """The id of the watched document or collection."""
        self.moved_at = time.monotonic()
        """Time of the last change, or of creation: an earlier read does not include it.

        Progress is no change, since nothing stored changes with it. Nor is a document whose new state is delivered
        here.
        """
        self.news_at = self.moved_at
        """Time of the last change or delivered state: an earlier read is older than that."""
        self._moved: set[str] = set()
        self._delivered: dict[str, Document] = {}
        self._event = asyncio.Event()

    def deliver(self, document: Document) -> None:
        """Deliver a document's new state, so that no poll is needed."""
        self._delivered[document.id] = document
        self.news_at = time.monotonic()
        self._moved.add(document.id)
        self._event.set()

    def delivered(self) -> list[Document]:
        """Return the delivered documents since the last call, each in its latest state."""
        delivered, self._delivered = self._delivered, {}
        return list(delivered.values())

    def notify(self, document_id: str, *, moved: bool = True) -> None:
        """Note that a document changed or, unless `moved`, only progressed."""
        self._moved.add(document_id)
        if moved:
            self.moved_at = self.news_at = time.monotonic()
        self._event.set()

    async def pause(self, least: float, more: float) -> set[str]:
        """Wait `least` seconds, then for news, at most `more` seconds; return the documents that changed."""
        await asyncio.sleep(least)
        return await self.wait(more)

    async def wait(self, timeout: float) -> set[str]:
        """Return the documents that changed, after at most `timeout` seconds; possibly none."""
        try:
            async with asyncio.timeout(timeout):
                await self._event.wait()
        except TimeoutError:
            pass
        self._event.clear()
        moved, self._moved = self._moved, set()
        return moved


class RemainingTime:
    """Estimates the remaining time of work from its speed so far."""

    def __init__(self) -> None:
        self._began = 0.0
        self._first = self._last = 0

    def note(self, progress: Progress, done: int, total: int) -> None:
        """Set the remaining time to `total` in `progress`; unset at the start, and after a restart of the work."""
        now = time.monotonic()
        if not self._began or done < self._last:
            self._began, self._first = now, done
        self._last = done
        progress.ClearField("remaining")
        if done > self._first:
            left = (now - self._began) / (done - self._first) * (total - done)
            progress.remaining.FromMicroseconds(int(left * 1_000_000))


class DocumentProgress:
    """Progress of one document through parsing and indexing.

    The phase is PARSING until the file is parsed, then INDEXING. Counts never fall, even if parsing starts over after a
    wait; only pages may, during OCR.
    """

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self._pace = RemainingTime()
        self._blocks = 0

    def pages(self, read: int, total: int) -> None:
        """Note the number of pages read and the total."""
        self.progress.pages_parsed, self.progress.pages_total = read, total
        self._pace.note(self.progress, read, total)

    def blocks(self, number: int) -> None:
        """Add to the number of parsed blocks."""
        self._blocks += number
        self.progress.blocks_parsed = max(self.progress.blocks_parsed, self._blocks)

    def read(self) -> None:
        """Note the end of parsing."""
        self.progress.phase = PROGRESS_PHASE_INDEXING
        self.progress.ClearField("remaining")

    def indexed(self, update: Progress) -> None:
        """Merge indexing's progress; its counts may lag behind, so the higher one is kept."""
        for name in _COUNTS:
            setattr(self.progress, name, max(getattr(self.progress, name), getattr(update, name)))
        if self.progress.phase == PROGRESS_PHASE_INDEXING:
            self.progress.ClearField("remaining")
            if update.HasField("remaining"):
                self.progress.remaining.CopyFrom(update.remaining)

    def done(self, result: IndexResult) -> None:
        """Set the final counts from indexing's result."""
        progress, stored = self.progress, result.chunks_stored
        progress.chunks_total, progress.chunks_stored = result.chunks_expected, stored
        progress.chunks_without_vector = result.chunks_without_vector
        progress.chunks_embedded = max(0, stored - result.chunks_without_vector)
        progress.ClearField("remaining")


class ProgressBus:
    """Delivers progress and states of documents to the watches of this process."""

    def __init__(self) -> None:
        self._latest: dict[str, Progress] = {}
        self._ended: LRUCache[str, Progress] = LRUCache(MOST_ENDED)
        self._watchers: dict[str, set[Watcher]] = {}

    def publish(self, document_id: str, collection_id: str, progress: Progress) -> None:
        """Publish a document's progress to watches of it and of its collection."""
        self._latest[document_id] = progress
        self._ended.pop(document_id, None)
        self._notify(document_id, collection_id, moved=False)

    def deliver(self, document: Document) -> None:
        """Deliver ingestion's state of a changed document to watches, so that they need not poll."""
        for key in (document.id, document.collection_id):
            for watcher in self._watchers.get(key, ()):
                watcher.deliver(document)

    def changed(self, document_id: str, collection_id: str) -> None:
        """Make watches poll: a document was changed or deleted, and its new state is not known here."""
        self._notify(document_id, collection_id, moved=True)

    def finish(self, document_id: str, collection_id: str, ended: Document | None = None) -> None:
        """Keep the document's last counts, and deliver its `ended` state if known."""
        if (last := self._latest.pop(document_id, None)) is not None and ended is not None:
            self._ended[document_id] = last
        if ended is None:
            self.changed(document_id, collection_id)
        else:
            self.deliver(ended)

    def moved(self, key: str) -> None:
        """Notify watches of another object, an operation for example."""
        for watcher in self._watchers.get(key, ()):
            watcher.notify(key)

    def latest(self, document_id: str) -> Progress | None:
        """Return the progress of a document in progress in this process, else None."""
        return self._latest.get(document_id)

    def ended(self, document_id: str) -> Progress | None:
        """Return the last counts of a document whose processing recently ended in this process, else None."""
        return self._ended.get(document_id)

    def watches(self, key: str) -> int:
        """Return the number of watches of a document or collection."""
        return len(self._watchers.get(key, ()))

    @contextmanager
    def watching(self, key: str) -> Iterator[Watcher]:
        """Subscribe to a document or collection, by id, during the block."""
        watcher = Watcher(key)
        self._watchers.setdefault(key, set()).add(watcher)
        try:
            yield watcher
        finally:
            watchers = self._watchers[key]
            watchers.discard(watcher)
            if not watchers:
                del self._watchers[key]

    def _notify(self, document_id: str, collection_id: str, *, moved: bool) -> None:
        for key in (document_id, collection_id):
            for watcher in self._watchers.get(key, ()):
                watcher.notify(document_id, moved=moved)
