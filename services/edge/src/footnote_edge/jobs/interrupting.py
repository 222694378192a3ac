"""Stops a document's job once it is obsolete: cancelled, deleted or replaced, on any replica.

`cancel_revision` ends a revision that is not searchable yet; of concurrent attempts exactly one wins.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, FAILURE_REASON_CANCELLED, Failure
from footnote_kit.errors import Aborted, FailedPrecondition, FootnoteError
from footnote_kit.hints import FAILURE_HINTS

from footnote_edge.ports import Stages

T = TypeVar("T")

CHECK_SECONDS = 2.0
"""Seconds between a job's checks that it is still wanted; a cancel in this process triggers one at once."""


class Interruptions:
    """The jobs running in this process; bounded by the number of documents in progress."""

    def __init__(self) -> None:
        self._running: dict[str, set[asyncio.Event]] = {}

    def check_now(self, document_id: str) -> None:
        """Make a document's jobs check at once whether they are wanted."""
        for event in self._running.get(document_id, ()):
            event.set()

    async def run(self, document_id: str, work: Coroutine[Any, Any, T], wanted: Callable[[], Awaitable[bool]]) -> T:
        """Run `work` and return its result; raises Aborted, after cancelling it, once `wanted` returns false."""
        news = asyncio.Event()
        events = self._running.setdefault(document_id, set())
        events.add(news)
        task = asyncio.create_task(work)
        looking = asyncio.create_task(_unwanted(news, wanted))
        try:
            await asyncio.wait([task, looking], return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise Aborted("This revision is no longer to be indexed")
        finally:
            for one in (task, looking):
                one.cancel()
            await asyncio.gather(task, looking, return_exceptions=True)
            events.discard(news)
            if not events:
                self._running.pop(document_id, None)


async def _unwanted(news: asyncio.Event, wanted: Callable[[], Awaitable[bool]]) -> None:
    """Return once the work is not wanted; a failed check counts as wanted."""
    while True:
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                await news.wait()
        except TimeoutError:
            pass
        news.clear()
        try:
            if not await wanted():
                return
        except FootnoteError:
            continue


def cancelled() -> Failure:
    """Return the failure of a cancelled document."""
    return Failure(
        reason=FAILURE_REASON_CANCELLED,
        message="Its processing was cancelled.",
        hint=FAILURE_HINTS["CANCELLED"],
    )


def says_cancelled(error: FootnoteError) -> bool:
    """Return whether a stage refuses a revision because it was cancelled."""
    return error.metadata.get("cancelled") == "true"


class AlreadySearched(Exception):
    """The revision was searchable before it could be cancelled."""


async def cancel_revision(
    stages: Stages, scope: Scope, document: Document, failure: Failure, timeout: float
) -> Document:
    """Cancel a document's revision, which ends with `failure`; raises AlreadySearched, or the stages' refusals.

    Indexing decides: it cancels the revision unless it is searchable, so either the cancel or the job wins. After a
    crash right then, the job learns of it and records the same end.
    """
    request = indexing.CancelDocumentRequest(
        scope=scope,
        collection_id=document.collection_id,
        document_id=document.id,
        revision=document.revision,
    )
    try:
        await stages.indexing.CancelDocument(request, timeout=timeout)
    except FailedPrecondition:
        raise AlreadySearched from None
    move = ingestion.UpdateDocumentStateRequest(
        scope=scope,
        document_id=document.id,
        revision=document.revision,
        state=DOCUMENT_STATE_ERROR,
        failure=failure,
    )
    moved: Document = (await stages.ingestion.UpdateDocumentState(move, timeout=timeout)).document
    return moved
