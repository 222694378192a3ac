"""How far documents being processed have come, told to whoever watches in this process."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

from footnote.types.v1.document_pb2 import PROGRESS_PHASE_PARSING, Progress


class Watcher:
    """One watch's mailbox: the documents that moved since it last looked, however often they did."""

    def __init__(self, key: str) -> None:
        self.key = key
        """What is watched: the id of a document or of a collection."""
        self.moved_at = time.monotonic()
        """When something moved last, or this began: what was read before does not tell of it."""
        self._moved: set[str] = set()
        self._event = asyncio.Event()

    def notify(self, document_id: str) -> None:
        """Note that a document moved."""
        self._moved.add(document_id)
        self.moved_at = time.monotonic()
        self._event.set()

    async def pause(self, least: float, more: float) -> set[str]:
        """Wait `least` seconds, then for news, `more` seconds at most; return the documents that moved."""
        await asyncio.sleep(least)
        return await self.wait(more)

    async def wait(self, timeout: float) -> set[str]:
        """Return the documents that moved, after at most `timeout` seconds; possibly none."""
        try:
            async with asyncio.timeout(timeout):
                await self._event.wait()
        except TimeoutError:
            pass
        self._event.clear()
        moved, self._moved = self._moved, set()
        return moved


class Pages:
    """Notes how far a file is read, and how long the rest of it will take."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._began = 0.0
        self._first = 0

    def read(self, read: int, total: int) -> None:
        """Note that so many pages are read, of so many."""
        now = time.monotonic()
        if not self._began or read < self._progress.pages_parsed:
            self._began, self._first = now, read
        self._progress.pages_parsed, self._progress.pages_total = read, total
        self._progress.ClearField("remaining")
        if read > self._first and self._progress.phase == PROGRESS_PHASE_PARSING:
            left = (now - self._began) / (read - self._first) * (total - read)
            self._progress.remaining.FromMicroseconds(int(left * 1_000_000))


class ProgressBus:
    """Latest progress per document in work here; bounded by the number of documents in work and of watches."""

    def __init__(self) -> None:
        self._latest: dict[str, Progress] = {}
        self._watchers: dict[str, set[Watcher]] = {}

    def publish(self, document_id: str, collection_id: str, progress: Progress) -> None:
        """Tell watches of the document and of its collection."""
        self._latest[document_id] = progress
        self._notify(document_id, collection_id)

    def finish(self, document_id: str, collection_id: str) -> None:
        """Forget the document's progress: from now on its state says everything."""
        self._latest.pop(document_id, None)
        self._notify(document_id, collection_id)

    def moved(self, key: str) -> None:
        """Tell watches of something that is no document, an operation say."""
        for watcher in self._watchers.get(key, ()):
            watcher.notify(key)

    def latest(self, document_id: str) -> Progress | None:
        """Return the progress of a document that is in work in this process, else None."""
        return self._latest.get(document_id)

    def watches(self, key: str) -> int:
        """Return how many listen to a document or to a collection."""
        return len(self._watchers.get(key, ()))

    @contextmanager
    def watching(self, key: str) -> Iterator[Watcher]:
        """Listen to a document or to a collection, by id, for the time of the block."""
        watcher = Watcher(key)
        self._watchers.setdefault(key, set()).add(watcher)
        try:
            yield watcher
        finally:
            watchers = self._watchers[key]
            watchers.discard(watcher)
            if not watchers:
                del self._watchers[key]

    def _notify(self, document_id: str, collection_id: str) -> None:
        for key in (document_id, collection_id):
            for watcher in self._watchers.get(key, ()):
                watcher.notify(document_id)
