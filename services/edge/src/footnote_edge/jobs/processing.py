"""Processes one document from stored bytes to searchable chunks: begin, index, finish; each idempotent.

This module does not know how jobs are stored; `workflows.py` runs the three steps as one durable workflow.
"""

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from cachetools import LRUCache
from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.stages.v1.parsing_pb2 import ParsedMetadata
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import (
    DOCUMENT_STATE_ERROR,
    DOCUMENT_STATE_INDEXED,
    DOCUMENT_STATE_PROCESSING,
    DOCUMENT_STATE_UNSPECIFIED,
    WaitingReason,
)
from footnote_kit import transient_errors
from footnote_kit.admission.fair_shares import Shares
from footnote_kit.errors import (
    Aborted,
    DeadlineExceeded,
    FailedPrecondition,
    FootnoteError,
    Internal,
    InvalidArgument,
    NotFound,
    Unavailable,
)
from footnote_kit.logs import get_logger
from footnote_kit.redact import redact
from footnote_kit.telemetry import untraced

from footnote_edge.gateway.metering import Meter
from footnote_edge.jobs.block_pipe import TURN_SECONDS, BlockPipe
from footnote_edge.jobs.failures import end_with, failure_of
from footnote_edge.jobs.interrupting import Interruptions, cancelled, says_cancelled
from footnote_edge.jobs.labels import align, same_labels
from footnote_edge.jobs.postponing import Postponed, Postponements, may_be_of_one, rest_seconds
from footnote_edge.jobs.progress import ProgressBus
from footnote_edge.jobs.restoring import Restoring
from footnote_edge.jobs.retrying import is_transient, until_available, waiting_for
from footnote_edge.ports import Stages
from footnote_edge.settings import Settings

INTERNAL_ATTEMPTS = 3
"""Attempts after an internal error or a timeout before the document fails with it: some are transient."""

MOST_SAID = 500
"""Characters of a failing service's message that waiting documents keep."""

MOST_UPLOADS = 4096
"""Documents remembered from their upload until their job begins."""

_log = get_logger(__name__)


def job_of(document: Document) -> str:
    """Return the name of a revision's job."""
    return f"{document.id}:{document.revision}"


def collection_of(scope: Scope, document: Document) -> str:
    """Return the name of the collection whose provider embeds a document."""
    return f"{scope.tenant_id}/{document.collection_id}"


class Processor:
    """Parses and indexes documents; every method may be repeated after a crash at any point."""

    def __init__(
        self,
        stages: Stages,
        bus: ProgressBus,
        interruptions: Interruptions,
        meter: Meter,
        shares: Shares,
        postponements: Postponements,
        restoring: Restoring,
        settings: Settings,
    ) -> None:
        self._restoring = restoring
        self._stages = stages
        self._shares = shares
        self._bus = bus
        self._interruptions = interruptions
        self._pipe = BlockPipe(stages, bus, meter, shares, settings.job_timeout_seconds)
        self._postponements = postponements
        self._ceiling = settings.retry_ceiling_seconds
        self._call_timeout = settings.call_timeout_seconds
        self._uploads: LRUCache[str, str] = LRUCache(MOST_UPLOADS)

    async def begin(self, scope: Scope, document_id: str, revision: int) -> Document | None:
        """Move the document to PROCESSING and return it; None if there is nothing to do: deleted, newer or done."""
        await self._shares.job_turn(scope.tenant_id, scope.user_id, TURN_SECONDS)
        if (document := await self._begin_as_uploaded(scope, document_id, revision)) is not None:
            self._bus.deliver(document)
            return document
        try:
            document = await self._get(scope, document_id)
            if document.revision != revision or document.state in (DOCUMENT_STATE_INDEXED, DOCUMENT_STATE_ERROR):
                return None
            try:
                document = await self._update(scope, document_id, revision, state=DOCUMENT_STATE_PROCESSING)
            except FailedPrecondition:
                # A crash came between this move and its record; the move itself is done.
                document = await self._get(scope, document_id)
                if document.revision != revision or document.state != DOCUMENT_STATE_PROCESSING:
                    return None
        except (NotFound, Aborted):
            return None
        self._bus.deliver(document)
        return document

    def remember_upload(self, document: Document) -> None:
        """Remember an upload's result, so that its job need not fetch the document."""
        self._uploads[document.id] = document.etag

    async def _begin_as_uploaded(self, scope: Scope, document_id: str, revision: int) -> Document | None:
        """Move a document unchanged since its upload to PROCESSING; None if it is not remembered."""
        etag = self._uploads.pop(document_id, "")
        if not etag:
            return None
        try:
            return await self._update(scope, document_id, revision, state=DOCUMENT_STATE_PROCESSING, etag=etag)
        except (NotFound, Aborted, FailedPrecondition):
            return None

    async def index(self, scope: Scope, document: Document) -> ingestion.UpdateDocumentStateRequest | None:
        """Parse and index one revision and return its final move; None if it was deleted in the meantime.

        Ends early if it was cancelled or a newer revision took over; the move is then refused. Raises Postponed after
        the maximum wait for its provider, to free its place for other documents.
        """
        held = self._postponements.held_seconds(job_of(document), collection_of(scope, document))

        def give_up(error: FootnoteError, waited: float) -> None:
            if (rest := rest_seconds(error)) is not None:
                raise Postponed(error, rest)
            if waited >= held and may_be_of_one(error):
                raise Postponed(error)

        request = ingestion.UpdateDocumentStateRequest(
            scope=scope, document_id=document.id, revision=document.revision, state=DOCUMENT_STATE_ERROR
        )
        waits = bool(document.waiting_reason)

        async def wait(error: FootnoteError, attempts: int, pause: float) -> None:
            nonlocal waits
            waits = True
            await self.note_waiting(scope, document, error, attempts, pause)

        async def stored() -> None:
            nonlocal waits
            if waits:
                waits = False
                await self._note_waiting_over(scope, document)

        attempts = 0
        while True:
            try:
                indexed = until_available(
                    lambda: self._parse_and_index(scope, document, stored),
                    self._ceiling,
                    on_wait=wait,
                    also_timeouts=False,
                    give_up=give_up,
                )
                metadata, result = await self._interruptions.run(
                    document.id, indexed, lambda: self._wanted(scope, document)
                )
                break
            except (Internal, DeadlineExceeded) as error:
                attempts += 1
                if attempts >= INTERNAL_ATTEMPTS:
                    request.failure.CopyFrom(failure_of(error))
                    return request
            except FootnoteError as error:
                if not await self._exists(scope, document):
                    return None
                request.failure.CopyFrom(cancelled() if says_cancelled(error) else failure_of(error))
                return request
        end_with(request, metadata, result)
        return request

    async def _parse_and_index(
        self, scope: Scope, document: Document, stored: Callable[[], Awaitable[None]]
    ) -> tuple[ParsedMetadata, indexing.IndexResult]:
        """Parse and index; waits for a provider that is not configured, as the document is not at fault."""
        try:
            return await self._pipe.run(scope, document, stored)
        except FailedPrecondition as error:
            if error.reason != "PROVIDER_UNCONFIGURED":
                raise
            waits = {transient_errors.WAITING: transient_errors.PROVIDER_REFUSED}
            raise Unavailable(error.message, reason="PROVIDER_FAILED", metadata=waits) from error

    async def finish(self, scope: Scope, document: Document, move: ingestion.UpdateDocumentStateRequest | None) -> str:
        """Record the end and return "INDEXED", "ERROR", "SUPERSEDED" or "DELETED"; purges a deleted one's chunks."""
        ended: Document | None = None
        try:
            if move is None:
                raise NotFound("deleted during processing", reason="DOCUMENT_NOT_FOUND")
            moved = await until_available(
                lambda: self._stages.ingestion.UpdateDocumentState(move, timeout=self._call_timeout), self._ceiling
            )
            ended = moved.document
            outcome = "INDEXED" if move.state == DOCUMENT_STATE_INDEXED else "ERROR"
            if move.state == DOCUMENT_STATE_INDEXED and not same_labels(moved.document, document):
                # Its labels changed during indexing: the chunks have the old ones.
                ended = await until_available(
                    lambda: align(self._stages, scope, moved.document, self._call_timeout), self._ceiling
                )
            if moved.document.revision != move.revision:
                outcome = "SUPERSEDED"
        except (Aborted, FailedPrecondition):
            # A newer revision took over, or this end was recorded just before a crash.
            outcome = "SUPERSEDED"
            if move is not None and move.state == DOCUMENT_STATE_INDEXED:
                await self._withdraw(scope, document)
        except NotFound:
            await self.purge_chunks(scope, document)
            outcome = "DELETED"
        except InvalidArgument as error:
            # Ingestion of another version does not know this end. Without another one the job would begin for ever.
            if move is None or move.state != DOCUMENT_STATE_INDEXED or ended is not None:
                raise
            await self._withdraw(scope, document)
            failed = ingestion.UpdateDocumentStateRequest(
                scope=scope, document_id=document.id, revision=document.revision, state=DOCUMENT_STATE_ERROR,
                failure=failure_of(Internal(error.message)),
            )  # fmt: skip
            return await self.finish(scope, document, failed)
        self._bus.finish(document.id, document.collection_id, ended if outcome in ("INDEXED", "ERROR") else None)
        return outcome

    async def _withdraw(self, scope: Scope, document: Document) -> None:
        """Remove the chunks of a revision that ingestion did not record as searched: its file is not kept.

        Else searches would find it for good if the newer revision failed or were cancelled. The revision before is
        searched again.
        """
        with suppress(NotFound):
            now = await until_available(lambda: self._get(scope, document.id), self._ceiling)
            if now.indexed_revision >= document.revision:
                return
        request = indexing.DeleteDocumentChunksRequest(
            scope=scope,
            collection_id=document.collection_id,
            document_id=document.id,
            revision=document.revision,
        )
        with suppress(NotFound):
            await until_available(
                lambda: self._stages.indexing.DeleteDocumentChunks(request, timeout=self._call_timeout), self._ceiling
            )
        await self._restoring.run(scope, document.id)

    async def purge_chunks(self, scope: Scope, document: Document) -> None:
        """Remove all chunks of a deleted document."""
        request = indexing.DeleteDocumentChunksRequest(
            scope=scope, collection_id=document.collection_id, document_id=document.id
        )
        with suppress(NotFound):  # the collection was deleted with them
            await until_available(
                lambda: self._stages.indexing.DeleteDocumentChunks(request, timeout=self._call_timeout), self._ceiling
            )

    async def note_waiting(
        self, scope: Scope, document: Document, error: FootnoteError, attempts: int, pause: float
    ) -> None:
        """Record what a document waits for: the error, how many attempts, and the next attempt in `pause` s."""
        waiting = waiting_for(error)
        _log.warning(
            "document_waits", document_id=document.id, reason=error.reason, waiting=WaitingReason.Name(waiting)
        )
        request = ingestion.UpdateDocumentStateRequest(
            scope=scope,
            document_id=document.id,
            revision=document.revision,
            state=DOCUMENT_STATE_UNSPECIFIED,
            waiting_reason=waiting,
            waiting_message=redact(error.message)[:MOST_SAID],
            waiting_attempts=attempts,
        )
        request.next_attempt_time.FromMilliseconds(int((time.time() + max(rest_seconds(error) or 0.0, pause)) * 1000))
        try:
            moved = await self._stages.ingestion.UpdateDocumentState(request, timeout=self._call_timeout)
            self._bus.deliver(moved.document)
        except FootnoteError as refusal:
            if not is_transient(refusal):
                raise
        self._bus.publish(document.id, document.collection_id, self._pipe.progress(document))

    async def _note_waiting_over(self, scope: Scope, document: Document) -> None:
        """Note on a document that it waits for nothing more: much of it may still be to come."""
        request = ingestion.UpdateDocumentStateRequest(
            scope=scope, document_id=document.id, revision=document.revision, state=DOCUMENT_STATE_UNSPECIFIED
        )
        with suppress(FootnoteError):  # the job's own calls meet the same error
            moved = await self._stages.ingestion.UpdateDocumentState(request, timeout=self._call_timeout)
            self._bus.deliver(moved.document)

    async def _exists(self, scope: Scope, document: Document) -> bool:
        try:
            await self._get(scope, document.id)
        except NotFound:
            return False
        return True

    async def _wanted(self, scope: Scope, document: Document) -> bool:
        """Return whether this revision should still be indexed; raises errors of the check."""
        request = ingestion.GetDocumentRequest(scope=scope, document_id=document.id)
        get = self._stages.ingestion.GetDocument
        try:
            now: Document = (await get(request, timeout=self._call_timeout, metadata=untraced())).document
        except NotFound:
            return False
        return bool(now.revision == document.revision and now.state == DOCUMENT_STATE_PROCESSING)

    async def _get(self, scope: Scope, document_id: str) -> Document:
        request = ingestion.GetDocumentRequest(scope=scope, document_id=document_id)
        response = await until_available(
            lambda: self._stages.ingestion.GetDocument(request, timeout=self._call_timeout), self._ceiling
        )
        document: Document = response.document
        return document

    async def _update(self, scope: Scope, document_id: str, revision: int, *, state: int, etag: str = "") -> Document:
        request = ingestion.UpdateDocumentStateRequest(
            scope=scope,
            document_id=document_id,
            revision=revision,
            state=state,  # type: ignore[arg-type]
            etag=etag,
        )
        response = await until_available(
            lambda: self._stages.ingestion.UpdateDocumentState(request, timeout=self._call_timeout), self._ceiling
        )
        document: Document = response.document
        return document
