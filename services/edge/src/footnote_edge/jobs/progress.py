"""How far documents being processed have come, told to whoever watches in this process."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

from footnote.types.v1.document_pb2 import PROGRESS_PHASE_PARSING, Document, Progress


class Watcher:
    """One watch's mailbox: the documents that moved since it last looked, however often they did."""

    def __init__(self, key: str) -> None:
        self.key = key
        """What is watched: the id of a document or of a collection."""
        self.moved_at = time.monotonic()
        """When something moved last, or this began: what was read before does not tell of it.

        Progress is no move: it is known here, and nothing that is stored changes by it. Nor is what is told of.
        """
        self.news_at = self.moved_at
        """When something moved or was told of last: what was read before is older than that."""
        self._moved: set[str] = set()
        self._told: dict[str, Document] = {}
        self._event = asyncio.Event()

    def tell(self, document: Document) -> None:
        """Note what a document is from now on: there is nothing to look for."""
        self._told[document.id] = document
        self.news_at = time.monotonic()
        self._moved.add(document.id)
        self._event.set()

    def told(self) -> list[Document]:
        """Return the documents that were told of since this was asked last, each as it was told last."""
        told, self._told = self._told, {}
        return list(told.values())

    def notify(self, document_id: str, *, moved: bool = True) -> None:
        """Note that a document moved, or only that there is progress."""
        self._moved.add(document_id)
        if moved:
            self.moved_at = self.news_at = time.monotonic()
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
        """Tell watches of the document and of its collection how far it is."""
        self._latest[document_id] = progress
        self._notify(document_id, collection_id, moved=False)

    def told(self, document: Document) -> None:
        """Tell watches what ingestion answered when the document was changed: they need not look themselves."""
        for key in (document.id, document.collection_id):
            for watcher in self._watchers.get(key, ()):
                watcher.tell(document)

    def changed(self, document_id: str, collection_id: str) -> None:
        """Have watches look: a document has changed, or is gone, and it is not known here what it is now."""
        self._notify(document_id, collection_id, moved=True)

    def finish(self, document_id: str, collection_id: str, ended: Document | None = None) -> None:
        """Forget the document's progress: from now on its state says everything, that it `ended` in if it is known."""
        self._latest.pop(document_id, None)
        if ended is None:
            self.changed(document_id, collection_id)
        else:
            self.told(ended)

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

    def _notify(self, document_id: str, collection_id: str, *, moved: bool) -> None:
        for key in (document_id, collection_id):
            for watcher in self._watchers.get(key, ()):
                watcher.notify(document_id, moved=moved)
