"""Processes several small documents together: one call per stage, one transaction per ledger.

This is the fast path for documents without problems. Every other document gets a job of its own (`processing.py`),
which waits, retries and records failures. Both may process the same document, since each of their steps is idempotent.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.internal.indexing.v1alpha1 import group_service_pb2 as indexing_groups
from footnote.internal.ingestion.v1alpha1 import group_service_pb2 as ingestion_groups
from footnote.stages.v1.parsing_pb2 import ParsedMetadata
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import (
    DOCUMENT_STATE_INDEXED,
    DOCUMENT_STATE_PROCESSING,
    PROGRESS_PHASE_PARSING,
    Progress,
)
from footnote_kit.admission.fair_shares import MOST_COUNTED, Shares
from footnote_kit.document_files import newest
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger

from footnote_edge.gateway.metering import Meter
from footnote_edge.gateway.ports import Spent
from footnote_edge.jobs.block_pipe import TURN_SECONDS, WITH_PICTURES, reads_pictures
from footnote_edge.jobs.failures import end_with
from footnote_edge.jobs.labels import same_labels
from footnote_edge.jobs.processing import Processor
from footnote_edge.jobs.progress import DocumentProgress, ProgressBus
from footnote_edge.jobs.retrying import is_transient, until_available
from footnote_edge.ports import Stages
from footnote_edge.settings import Settings

MOST_DOCUMENTS, MOST_BYTES = 64, 4 * 2**20
"""Maximum number of documents in a group, and of their bytes."""
GROUP_SECONDS = 120.0
"""Time limit for parsing and indexing a group; after that, its documents are processed one by one."""
SMALL_BYTES = 64 * 1024
SMALL_TYPES = frozenset({"txt", "code", "md", "html", "csv", "tsv", "eml"})
"""Files that a parser reads in a few milliseconds, so that the rest of the group hardly waits for them."""

_log = get_logger(__name__)


def is_small(document: Document) -> bool:
    """Return whether a document is parsed so fast that it may go in a group."""
    return document.document_type in SMALL_TYPES and document.size_bytes <= SMALL_BYTES


class GroupProcessor:
    """Processes groups of one user and one collection."""

    def __init__(
        self, stages: Stages, bus: ProgressBus, meter: Meter, shares: Shares, processor: Processor, settings: Settings
    ) -> None:
        self._stages = stages
        self._bus = bus
        self._meter = meter
        self._shares = shares
        self._processor = processor
        self._ceiling = settings.retry_ceiling_seconds
        self._call_timeout = settings.call_timeout_seconds

    async def process(self, scope: Scope, group: Sequence[Document]) -> list[Document]:
        """Process uploaded documents of one collection; return those that need a job of their own.

        Raises a FootnoteError when a stage refuses or fails the whole group, NotOffered when it lacks groups.
        """
        seconds = min(MOST_COUNTED, TURN_SECONDS * len(group))
        await self._shares.job_turn(scope.tenant_id, scope.user_id, seconds)
        begun = await self._begin(scope, await self._quick(scope, group))
        try:
            moves = await self._index(scope, list(begun.values()))
        except FootnoteError as error:
            if is_transient(error):  # each document's own job would record this much later
                await asyncio.gather(*(self._say_waiting(scope, one, error) for one in begun.values()))
            raise
        await self._finish(scope, begun, moves)
        return [document for document in group if document.id not in moves]

    async def _quick(self, scope: Scope, group: Sequence[Document]) -> Sequence[Document]:
        """Return the documents without OCR: at a second per picture, the others would outlast the group."""
        shown = next((one for one in group if one.document_type in WITH_PICTURES), None)
        if shown is None or not await reads_pictures(self._stages, scope, shown):
            return group
        return [one for one in group if one.document_type not in WITH_PICTURES]

    async def _say_waiting(self, scope: Scope, document: Document, error: FootnoteError) -> None:
        """Record what a document waits for; a changed document is left to its own job."""
        with suppress(FootnoteError):
            await self._processor.note_waiting(scope, document, error, attempts=1, pause=0.0)

    async def _begin(self, scope: Scope, group: Sequence[Document]) -> dict[str, Document]:
        """Move the documents to PROCESSING; return those that were moved, by id."""
        if not group:
            return {}
        moves = [_move(one, DOCUMENT_STATE_PROCESSING) for one in group]
        moved = await self._move_all(scope, moves)
        begun = {one.document.id: one.document for one in moved if one.HasField("document")}
        for document in begun.values():
            self._bus.deliver(document)
        return begun

    async def _index(
        self, scope: Scope, documents: Sequence[Document]
    ) -> dict[str, ingestion.UpdateDocumentStateRequest]:
        """Parse and index documents; return the final moves of those that searches now find, by id."""
        if not documents:
            return {}
        sent: list[int] = []
        metadata: dict[int, ParsedMetadata] = {}
        readings: dict[int, DocumentProgress] = {}
        request = ingestion_groups.ParseDocumentsRequest(scope=scope, document_ids=[one.id for one in documents])
        parse = self._stages.ingestion_groups.ParseDocuments(request, timeout=GROUP_SECONDS)

        async def messages() -> AsyncIterator[indexing_groups.IndexDocumentsRequest]:
            yield indexing_groups.IndexDocumentsRequest(scope=scope)
            async for response in parse:
                request = indexing_groups.IndexDocumentsRequest()
                for part in response.parts:
                    if part.HasField("error"):
                        continue  # without metadata, indexing leaves the document out
                    if not sent or sent[-1] != part.index:
                        sent.append(part.index)
                        header = indexing.IndexDocumentHeader(document=newest(documents[part.index]))
                        request.parts.add(header=header)
                        readings[part.index] = self._publish(documents[part.index])
                    if part.found.HasField("metadata"):
                        metadata[part.index] = part.found.metadata
                        readings[part.index].read()
                        request.parts.add(metadata=part.found.metadata)
                    else:
                        readings[part.index].blocks(len(part.found.blocks))
                        request.parts.add(blocks=indexing.BlockBatch(blocks=part.found.blocks))
                yield request

        try:
            response = await self._stages.indexing_groups.IndexDocuments(messages(), timeout=GROUP_SECONDS)
        finally:
            parse.cancel()
        moves: dict[str, ingestion.UpdateDocumentStateRequest] = {}
        for index, one in zip(sent, response.documents, strict=True):
            if not one.HasField("result"):
                continue
            document = documents[index]
            readings[index].done(one.result)
            self._meter.charge(scope.tenant_id, Spent.of(one.result.usage), document.owner_id)
            move = _move(document, DOCUMENT_STATE_PROCESSING)
            end_with(move, metadata[index], one.result)
            if move.state == DOCUMENT_STATE_INDEXED:
                moves[document.id] = move
        return moves

    async def _finish(
        self, scope: Scope, begun: dict[str, Document], moves: dict[str, ingestion.UpdateDocumentStateRequest]
    ) -> None:
        """Record the final states; a document changed or deleted meanwhile is finished by `Processor.finish`."""
        if not moves:
            return
        ended = await until_available(lambda: self._move_all(scope, list(moves.values())), self._ceiling)
        for (document_id, move), one in zip(moves.items(), ended, strict=True):
            before = begun[document_id]
            recorded = one.HasField("document") and one.document.revision == before.revision
            if recorded and same_labels(one.document, before):
                self._bus.finish(before.id, before.collection_id, one.document)
                outcome = "INDEXED"
            else:
                move.scope.CopyFrom(scope)
                outcome = await self._processor.finish(scope, before, move)
            _log.info("document_processed", document_id=before.id, revision=before.revision, outcome=outcome)

    async def _move_all(
        self, scope: Scope, moves: Sequence[ingestion.UpdateDocumentStateRequest]
    ) -> Sequence[ingestion_groups.MovedDocument]:
        request = ingestion_groups.MoveDocumentsRequest(scope=scope, moves=moves)
        response = await self._stages.ingestion_groups.MoveDocuments(request, timeout=self._call_timeout)
        return response.documents

    def _publish(self, document: Document) -> DocumentProgress:
        progress = Progress(phase=PROGRESS_PHASE_PARSING, bytes_total=document.size_bytes)
        self._bus.publish(document.id, document.collection_id, progress)
        return DocumentProgress(progress)


def _move(document: Document, state: int) -> ingestion.UpdateDocumentStateRequest:
    return ingestion.UpdateDocumentStateRequest(
        document_id=document.id,
        revision=document.revision,
        state=state,  # type: ignore[arg-type]
    )
