"""Uploads files and follows each until it is searchable or has failed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from footnote.edge.v1.documents_pb2 import (
    Document,
    UploadDocumentRequest,
    UploadDocumentResponse,
    UploadMetadata,
)
from footnote.types.v1 import document_pb2
from footnote.types.v1.document_pb2 import Progress
from footnote_kit.backoff import Backoff

from footnote_cli.errors import CommandError
from footnote_cli.session import Session
from footnote_cli.transfers import read_parts
from footnote_cli.updates import updates

T = TypeVar("T")

# Documents uploaded and not yet finished, beyond those being uploaded: the server works on them in its own order.
MAX_FOLLOWED = 64
# Of these, watched at once; a user may watch 32 times unless the deployment says otherwise, and does so elsewhere too.
MAX_WATCHED = 16
_UPLOAD_TIMEOUT = 600.0
_RECONNECT_ATTEMPTS = 8
_RECONNECT_BACKOFF = Backoff(first=0.5, longest=8.0)
_TRANSIENT = frozenset({"UNAVAILABLE"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file. `error` is empty when it is searchable, or accepted where nobody waited."""

    path: Path
    document: Document | None = None
    duplicate: bool = False
    error: str = ""
    hint: str = ""
    reason: str = ""

    @property
    def failed(self) -> bool:
        """Whether the file did not get in."""
        return bool(self.error)


class Observer:
    """Hears how files fare; the methods do nothing unless overridden."""

    def uploading(self, path: Path, sent: int, total: int) -> None:
        """Hear that `sent` of `total` bytes are on their way."""

    def progress(self, path: Path, document: Document, progress: Progress) -> None:
        """Hear how far the server says a document is."""

    def waiting(self, path: Path, why: str) -> None:
        """Hear that nothing moves for now."""

    def finished(self, outcome: Outcome) -> None:
        """Hear that a file is done, well or not."""


class Ingestor:
    """Brings files into a collection, `jobs` uploads at a time."""

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
        self._uploads = asyncio.Semaphore(jobs)
        self._followed = asyncio.Semaphore(MAX_FOLLOWED + jobs)
        self._watched = asyncio.Semaphore(MAX_WATCHED)
        self._wait = wait
        self._follow_symlinks = follow

    async def run(self, paths: Sequence[Path]) -> list[Outcome]:
        """Return what became of each file, in the order given."""
        async with asyncio.TaskGroup() as group:
            tasks = []
            for path in paths:
                await self._followed.acquire()
                tasks.append(group.create_task(self._one(path)))
        return [task.result() for task in tasks]

    async def _one(self, path: Path) -> Outcome:
        try:
            outcome = await self._ingest(path)
        except CommandError as error:
            outcome = Outcome(path, error=error.message, hint=error.hint, reason=error.reason)
        except OSError as error:
            outcome = Outcome(path, error=f"Cannot be read: {error.strerror}", hint="Check its permissions.")
        finally:
            self._followed.release()
        self._observer.finished(outcome)
        return outcome

    async def _ingest(self, path: Path) -> Outcome:
        async with self._uploads:
            # The same for every attempt: one whose answer was lost is told what it came to.
            request_id = uuid4().hex
            response = await self._retried(path, lambda: self._upload(path, request_id))
        document = response.document
        if self._wait and document.state not in (
            document_pb2.DOCUMENT_STATE_INDEXED,
            document_pb2.DOCUMENT_STATE_ERROR,
        ):
            document = await self._retried(path, lambda: self._follow(path, document.id))
        if document.state == document_pb2.DOCUMENT_STATE_ERROR:
            failure = document.failure
            reason = document_pb2.FailureReason.Name(failure.reason).removeprefix("FAILURE_REASON_")
            return Outcome(path, document, response.duplicate, failure.message or "It failed.", failure.hint, reason)
        return Outcome(path, document, response.duplicate)

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
        metadata.filename = path.name
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
        """Run an action again while the server is away; repeating is safe: an upload is recognised by its bytes."""
        for attempt in range(1, _RECONNECT_ATTEMPTS + 1):
            try:
                return await action()
            except CommandError as error:
                if error.code not in _TRANSIENT or attempt == _RECONNECT_ATTEMPTS:
                    raise
                self._observer.waiting(path, "the server is away; trying again")
                await asyncio.sleep(_RECONNECT_BACKOFF.pause(attempt))
        raise AssertionError("unreachable")
