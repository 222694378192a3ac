"""Uploads small files in groups, and finds their outcomes by listing: one call for many files each time."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from uuid import uuid4

from footnote.client.repeating import Retry
from footnote.client.uploads import MOST_BYTES, MOST_FILES, PART_SIZE, name_of
from footnote.edge.v1.documents_pb2 import (
    Document,
    GetDocumentRequest,
    ListDocumentsRequest,
    ListDocumentsResponse,
    UploadDocumentResponse,
    UploadDocumentsRequest,
    UploadDocumentsResponse,
    UploadMetadata,
)
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DOCUMENT_STATE_INDEXED
from footnote_kit.backoff import Backoff
from footnote_kit.errors import FootnoteError
from footnote_kit.status import from_proto

from footnote_cli.errors import CommandError, explain_failure
from footnote_cli.session import Session

FINAL = (DOCUMENT_STATE_INDEXED, DOCUMENT_STATE_ERROR)
_MOST_GROUPS = 8
"""Maximum number of groups at once: each holds its files' bytes, up to MOST_BYTES."""
_LOOK_SECONDS, _PAGE = 0.4, 200
_LATE_MICROSECONDS = 3_000_000
"""An end may appear in lists this much later than simultaneous ones: clocks differ, and writes take time."""
_SURE_SECONDS = 20.0
"""Seconds after which a document missing from the lists is read by its id: it may be deleted."""
_TIMEOUT = 600.0


@dataclass(frozen=True, slots=True)
class Ended:
    """A file of a group: its document, or the error of the file alone; `alone` if the server takes no groups."""

    path: Path
    document: Document | None = None
    duplicate: bool = False
    error: CommandError | OSError | None = None
    alone: bool = False


@dataclass(slots=True)
class _Group:
    """Files of one call."""

    paths: list[Path] = field(default_factory=list)
    requests: list[UploadDocumentsRequest] = field(default_factory=list)
    size: int = 0


class GroupIngestor:
    """Uploads small files, `jobs` groups at a time but at most 8.

    `retried` repeats a step as `retry` says. `waiting` is called with a file that a server which is away keeps waiting.
    """

    def __init__(
        self,
        session: Session,
        metadata: UploadMetadata,
        retried: Callable[[Path, Callable[[], Awaitable[None]]], Awaitable[None]],
        retry: Retry,
        waiting: Callable[[Path, str], None],
        *,
        jobs: int,
        wait: bool,
        follow_symlinks: bool,
    ) -> None:
        self._session = session
        self._metadata = metadata
        self._retried = retried
        self._passes = retry.covers
        self._turns = asyncio.Semaphore(min(jobs, _MOST_GROUPS))
        self._wait = wait
        self._flags = os.O_RDONLY | (0 if follow_symlinks else getattr(os, "O_NOFOLLOW", 0))
        self._ends = _Ends(session, retry, waiting)

    async def run(self, paths: Sequence[Path], ended: Callable[[Ended], None]) -> None:
        """Upload files of at most PART_SIZE bytes, and call `ended` for each."""

        async def one(group: _Group) -> None:
            try:
                async for end in self._one(group):
                    ended(end)
            finally:
                self._turns.release()

        async with asyncio.TaskGroup() as tasks:
            looking = tasks.create_task(self._ends.look()) if self._wait else None
            groups: list[asyncio.Task[None]] = []
            for start in range(0, len(paths), MOST_FILES):
                made, unreadable = await asyncio.to_thread(self._read, paths[start : start + MOST_FILES])
                for end in unreadable:
                    ended(end)
                for group in made:
                    await self._turns.acquire()
                    groups.append(tasks.create_task(one(group)))
            await asyncio.gather(*groups)
            if looking is not None:
                looking.cancel()

    def _read(self, paths: Sequence[Path]) -> tuple[list[_Group], list[Ended]]:
        """Return the messages of files in groups, and those that cannot be read."""
        groups, unreadable = [_Group()], []
        for path in paths:
            try:
                with os.fdopen(os.open(path, self._flags), "rb") as file:
                    data = file.read(PART_SIZE + 1)
            except OSError as error:
                unreadable.append(Ended(path, error=error))
                continue
            request = UploadDocumentsRequest(metadata=self._metadata, data=data[:PART_SIZE])
            request.metadata.filename = name_of(path)
            # The same id for every attempt: a retry after a lost answer gets the first result.
            request.metadata.request_id = uuid4().hex
            request.metadata.size_bytes = len(data)  # a file that has grown meanwhile is refused
            size = request.ByteSize()
            if groups[-1].size + size > MOST_BYTES:
                groups.append(_Group())
            groups[-1].paths.append(path)
            groups[-1].requests.append(request)
            groups[-1].size += size
        return [one for one in groups if one.paths], unreadable

    async def _one(self, group: _Group) -> AsyncIterator[Ended]:
        uploads = _Uploads(self._session, group, self._passes)
        failure: CommandError | None = None
        try:
            await self._retried(group.paths[0], uploads.attempt)
        except CommandError as error:
            failure = error
        waiting: list[tuple[Path, asyncio.Future[Document], bool]] = []
        for path, outcome in zip(group.paths, uploads.outcomes, strict=True):
            if outcome is None and failure is not None and failure.code == "UNIMPLEMENTED":
                yield Ended(path, alone=True)
            elif outcome is None or isinstance(outcome, CommandError):
                yield Ended(path, error=outcome or failure)
            elif self._wait and outcome.document.state not in FINAL:
                waiting.append((path, self._ends.of(path, outcome.document), outcome.duplicate))
            else:
                yield Ended(path, outcome.document, outcome.duplicate)
        for path, end, duplicate in waiting:
            try:
                yield Ended(path, await end, duplicate)
            except CommandError as error:
                yield Ended(path, error=error)


class _Uploads:
    """A group's uploads; `outcomes` has an error, or what was stored, for each file that was answered for."""

    def __init__(self, session: Session, group: _Group, passes: Callable[[FootnoteError], bool]) -> None:
        self._session = session
        self._passes = passes
        self._requests = group.requests
        self._left = list(range(len(group.requests)))
        self.outcomes: list[UploadDocumentResponse | CommandError | None] = [None] * len(group.requests)

    async def attempt(self) -> None:
        """Upload the files that are not stored or refused yet; raises the error of one that may pass by itself."""
        requests = [self._requests[index] for index in self._left]
        response: UploadDocumentsResponse = await self._session.call(
            self._session.stub.UploadDocuments, iter(requests), timeout=_TIMEOUT
        )
        passing: dict[int, FootnoteError] = {}
        for index, file in zip(self._left, response.files, strict=True):
            if not file.HasField("error"):
                self.outcomes[index] = file.stored
                continue
            failure = from_proto(file.error)
            self.outcomes[index] = explain_failure(failure)
            if self._passes(failure):
                passing[index] = failure
        self._left = list(passing)
        if passing:
            longest = max(passing.values(), key=lambda failure: failure.retry_after or 0.0)
            raise explain_failure(longest) from longest


@dataclass(slots=True)
class _Waited:
    """A document that has not ended; its end has an update time of `after` or later, in microseconds."""

    path: Path
    collection_id: str
    after: int
    since: float
    end: asyncio.Future[Document]


class _Ends:
    """Waits until documents end, by listing those that ended last."""

    def __init__(self, session: Session, retry: Retry, waiting: Callable[[Path, str], None]) -> None:
        self._session = session
        self._attempts = retry.attempts
        self._backoff = Backoff(retry.first, retry.longest)
        self._waiting = waiting
        self._told = ""  # id of the document with which an absence was reported
        self._waited: dict[str, _Waited] = {}

    def of(self, path: Path, document: Document) -> asyncio.Future[Document]:
        """Return a future of the end of a file's document; it raises CommandError when the document is deleted."""
        loop = asyncio.get_running_loop()
        if document.id not in self._waited:
            after = document.update_time.ToMicroseconds()
            end: asyncio.Future[Document] = loop.create_future()
            self._waited[document.id] = _Waited(path, document.collection_id, after, loop.time(), end)
        return self._waited[document.id].end

    async def look(self) -> None:
        """Poll for ends until cancelled; a server that stays away fails all waits."""
        away, pause = 0, _LOOK_SECONDS
        while True:
            await asyncio.sleep(pause)
            collections = {one.collection_id for one in self._waited.values()}
            steps: list[Callable[[], Awaitable[None]]] = [partial(self._list, one) for one in collections]
            steps.append(self._ask)
            failures = [await self._tried(step) for step in steps]
            failure, pause = next(filter(None, failures), None), _LOOK_SECONDS
            # A rate limit passes, however long the work takes.
            away = away + 1 if failure is not None and failure.code != "RESOURCE_EXHAUSTED" else 0
            if failure is not None and away == self._attempts:
                self._fail(failure)
                away = 0
            elif failure is not None:
                asked = getattr(failure.__cause__, "retry_after", None) or 0.0
                pause = max(pause, self._backoff.pause(max(1, away), asked))
            self._tell(away > 0)

    def _tell(self, away: bool) -> None:
        """Report the server's absence, and its return, with one of the files that wait."""
        if away and self._waited:
            if self._told not in self._waited:
                self._told = next(iter(self._waited))
            self._waiting(self._waited[self._told].path, "the server is away or overloaded; trying again")
        elif not away and self._told in self._waited:
            self._waiting(self._waited[self._told].path, "the server is back")
            self._told = ""

    async def _tried(self, step: Callable[[], Awaitable[None]]) -> CommandError | None:
        """Return the error of a step that may pass by itself; any other fails all waits."""
        try:
            await step()
        except CommandError as error:
            if error.code in ("UNAVAILABLE", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED"):
                return error
            self._fail(error)
        return None

    async def _list(self, collection_id: str) -> None:
        """List the documents that ended since the previous list."""
        request = ListDocumentsRequest(
            collection=collection_id, states=FINAL, order_by="update_time desc", page_size=_PAGE
        )
        waited = [one for one in self._waited.values() if one.collection_id == collection_id]
        newest = 0
        while left := [one for one in waited if not one.end.done()]:
            page: ListDocumentsResponse = await self._session.call(self._session.stub.ListDocuments, request)
            times = [document.update_time.ToMicroseconds() for document in page.documents]
            newest = max([newest, *times])
            for document in page.documents:
                self._end(document)
            request.page_token = page.next_page_token
            if not request.page_token or min(times, default=0) < min(one.after for one in left):
                break
        for one in waited:  # not those that came meanwhile, which may have ended before `newest`
            one.after = max(one.after, newest - _LATE_MICROSECONDS)

    async def _ask(self) -> None:
        """Get the document that has waited longest, if that is long."""
        if not self._waited:
            return
        document_id, waited = next(iter(self._waited.items()))
        if asyncio.get_running_loop().time() - waited.since < _SURE_SECONDS:
            return
        request = GetDocumentRequest(document_id=document_id)
        try:
            document = (await self._session.call(self._session.stub.GetDocument, request)).document
        except CommandError as error:
            if error.code != "NOT_FOUND":
                raise
            self._waited.pop(document_id).end.set_exception(error)
            return
        if document.state in FINAL:
            self._end(document)
        else:  # asked for again after as long a time
            del self._waited[document_id]
            self._waited[document_id] = waited
            waited.since = asyncio.get_running_loop().time()

    def _end(self, document: Document) -> None:
        if (waited := self._waited.pop(document.id, None)) is not None:
            waited.end.set_result(document)

    def _fail(self, error: CommandError) -> None:
        for waited in self._waited.values():
            waited.end.set_exception(error)
        self._waited.clear()
