"""Uploads files and follows each until it is searchable or has failed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from footnote.client.repeating import Attempts, Retry
from footnote.client.uploads import PART_SIZE, name_of
from footnote.edge.v1.documents_pb2 import (
    Document,
    GetDocumentRequest,
    UploadDocumentRequest,
    UploadDocumentResponse,
    UploadMetadata,
    WatchDocumentRequest,
    WatchDocumentResponse,
)
from footnote.types.v1 import document_pb2
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DOCUMENT_STATE_INDEXED, Progress
from footnote_kit.errors import FootnoteError

from footnote_cli.errors import CommandError
from footnote_cli.group_ingestion import Ended, GroupIngestor
from footnote_cli.session import Session
from footnote_cli.transfers import read_parts

T = TypeVar("T")

# Limit on uploaded, unfinished documents, besides those being uploaded: the server works in its own order.
MAX_FOLLOWED = 64
# Limit on watches; a user may have 32 by default, and may use some elsewhere.
MAX_WATCHED = 16
_UPLOAD_TIMEOUT = 600.0
_RETRY = Retry(attempts=8, first=0.5, longest=15.0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result for one file. `error` is empty when it is searchable, or accepted without waiting."""

    path: Path
    document: Document | None = None
    duplicate: bool = False
    error: str = ""
    hint: str = ""
    reason: str = ""

    @property
    def failed(self) -> bool:
        """Whether the file failed."""
        return bool(self.error)


class Observer:
    """Receives the progress of files; the methods do nothing unless overridden."""

    def uploading(self, path: Path, sent: int, total: int) -> None:
        """Report that `sent` of `total` bytes are sent."""

    def progress(self, path: Path, document: Document, progress: Progress) -> None:
        """Report the server's progress on a document."""

    def waiting(self, path: Path, why: str) -> None:
        """Report that there is no progress now."""

    def finished(self, outcome: Outcome) -> None:
        """Report that a file succeeded or failed."""


class Ingestor:
    """Uploads files to a collection, `jobs` at a time."""

    def __init__(
        self,
        session: Session,
        metadata: UploadMetadata,
        observer: Observer,
        *,
        jobs: int,
        wait: bool,
        follow: bool = False,
    ) -> None:
        self._session = session
        self._metadata = metadata
        self._observer = observer
        self._jobs = jobs
        self._uploads = asyncio.Semaphore(jobs)
        self._followed = asyncio.Semaphore(MAX_FOLLOWED + jobs)
        self._watched = asyncio.Semaphore(MAX_WATCHED)
        self._wait = wait
        self._follow_symlinks = follow

    async def run(self, paths: Sequence[Path]) -> list[Outcome]:
        """Return the result for each file, in the order given; small ones are uploaded in groups."""
        small = await asyncio.to_thread(_small, paths)
        outcomes: dict[Path, Outcome] = {}

        def ended(end: Ended) -> None:
            if end.alone:
                tasks.append(group.create_task(self._alone(end.path)))
                return
            outcomes[end.path] = outcome = self._outcome(end)
            self._observer.finished(outcome)

        async with asyncio.TaskGroup() as group:
            groups = GroupIngestor(
                self._session,
                self._metadata,
                self._retried,
                _RETRY,
                self._observer.waiting,
                jobs=self._jobs,
                wait=self._wait,
                follow_symlinks=self._follow_symlinks,
            )
            tasks: list[asyncio.Task[Outcome]] = []
            group.create_task(groups.run([path for path in paths if path in small], ended))
            for path in paths:
                if path not in small:
                    await self._followed.acquire()
                    tasks.append(group.create_task(self._one(path)))
        outcomes |= {outcome.path: outcome for outcome in (task.result() for task in tasks)}
        return [outcomes[path] for path in paths]

    def _outcome(self, end: Ended) -> Outcome:
        if isinstance(end.error, OSError):
            return _unreadable(end.path, end.error)
        if end.error is not None:
            return Outcome(end.path, error=end.error.message, hint=end.error.hint, reason=end.error.reason)
        assert end.document is not None
        return _ended(end.path, end.document, end.duplicate)

    async def _alone(self, path: Path) -> Outcome:
        await self._followed.acquire()
        return await self._one(path)

    async def _one(self, path: Path) -> Outcome:
        try:
            outcome = await self._ingest(path)
        except CommandError as error:
            outcome = Outcome(path, error=error.message, hint=error.hint, reason=error.reason)
        except OSError as error:
            outcome = _unreadable(path, error)
        finally:
            self._followed.release()
        self._observer.finished(outcome)
        return outcome

    async def _ingest(self, path: Path) -> Outcome:
        async with self._uploads:
            # The same id for every attempt: a retry after a lost answer gets the first result.
            request_id = uuid4().hex
            response = await self._retried(path, lambda: self._upload(path, request_id))
        document = response.document
        if self._wait and document.state not in (
            document_pb2.DOCUMENT_STATE_INDEXED,
            document_pb2.DOCUMENT_STATE_ERROR,
        ):
            document = await self._retried(path, lambda: self._follow(path, document.id))
        return _ended(path, document, response.duplicate)

    async def _upload(self, path: Path, request_id: str) -> UploadDocumentResponse:
        parts = self._parts(path, request_id)
        response: UploadDocumentResponse = await self._session.call(
            self._session.stub.UploadDocument, parts, timeout=_UPLOAD_TIMEOUT
        )
        return response

    async def _parts(self, path: Path, request_id: str) -> AsyncIterator[UploadDocumentRequest]:
        """Yield the metadata, then the file's bytes in parts."""
        metadata = UploadMetadata()
        metadata.CopyFrom(self._metadata)
        metadata.filename = name_of(path)
        metadata.request_id = request_id
        total = metadata.size_bytes = (await asyncio.to_thread(path.stat)).st_size
        yield UploadDocumentRequest(metadata=metadata)
        sent = 0
        async for data in read_parts(path, follow_symlinks=self._follow_symlinks):
            yield UploadDocumentRequest(data=data)
            sent += len(data)
            self._observer.uploading(path, sent, total)

    async def _follow(self, path: Path, document_id: str) -> Document:
        document = Document()
        async with self._watched:
            async for update in updates(self._session, document_id):
                document = update.document
                self._observer.progress(path, document, update.progress)
        return document

    async def _retried(self, path: Path, action: Callable[[], Awaitable[T]]) -> T:
        """Retry an action while the server is down or overloaded; an upload has one request id for all attempts."""
        attempts = Attempts(_RETRY, repeatable=True, timeout=inf)
        while True:
            try:
                return await action()
            except CommandError as error:
                failure = error.__cause__
                pause = attempts.pause(failure) if isinstance(failure, FootnoteError) else None
                if pause is None:
                    raise
            self._observer.waiting(path, "the server is away or overloaded; trying again")
            await asyncio.sleep(pause)


def _small(paths: Sequence[Path]) -> frozenset[Path]:
    """Return the files that go in groups; none if there is only one, whose progress is then shown."""
    small = [path for path in paths if _size(path) <= PART_SIZE]
    return frozenset(small if len(small) > 1 else ())


def _size(path: Path) -> float:
    try:
        return path.stat().st_size
    except OSError:
        return inf


def _ended(path: Path, document: Document, duplicate: bool) -> Outcome:
    if document.state != document_pb2.DOCUMENT_STATE_ERROR:
        return Outcome(path, document, duplicate)
    failure = document.failure
    reason = document_pb2.FailureReason.Name(failure.reason).removeprefix("FAILURE_REASON_")
    return Outcome(path, document, duplicate, failure.message or "It failed.", failure.hint, reason)


def _unreadable(path: Path, error: OSError) -> Outcome:
    return Outcome(path, error=f"Cannot be read: {error.strerror}", hint="Check its permissions.")


_TIMEOUT = 7200.0
_LOOK_AGAIN = 2.0


async def updates(
    session: Session, document_id: str, *, until_vectors: bool = False
) -> AsyncIterator[WatchDocumentResponse]:
    """Yield the states of a document until it is INDEXED or ERROR; raises CommandError when it is deleted.

    With `until_vectors`, until an INDEXED document has the vectors of all its chunks.
    """
    ended = False
    while not ended:  # a stream lasts an hour at most
        async for update in _seen(session, document_id, until_vectors):
            if update.deleted:
                problem = f"The document '{document_id}' was deleted."
                raise CommandError(problem, "See: footnote documents list", reason="DOCUMENT_NOT_FOUND")
            ended = update.document.state in (DOCUMENT_STATE_INDEXED, DOCUMENT_STATE_ERROR)
            ended = ended and not (until_vectors and update.progress.chunks_without_vector)
            yield update


async def _seen(session: Session, document_id: str, until_vectors: bool) -> AsyncIterator[WatchDocumentResponse]:
    """Watch a document; if the user has no watch left, read it once after a while."""
    request = WatchDocumentRequest(document_id=document_id, until_vectors=until_vectors)
    try:
        async for update in session.stream(session.stub.WatchDocument, request, timeout=_TIMEOUT):
            yield update
    except CommandError as error:
        if error.code != "RESOURCE_EXHAUSTED":
            raise
        await asyncio.sleep(_LOOK_AGAIN)
        look = await session.call(session.stub.GetDocument, GetDocumentRequest(document_id=document_id))
        yield WatchDocumentResponse(document=look.document)
