"""Translates between the messages of the internal GroupService and the logic."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from footnote.ingestion.v1 import ingestion_service_pb2 as pb
from footnote.internal.ingestion.v1alpha1 import group_service_pb2 as groups
from footnote.internal.ingestion.v1alpha1.group_service_pb2_grpc import GroupServiceServicer
from footnote.stages.v1.parsing_pb2 import Block, ParsedMetadata
from footnote.stages.v1.stored_document_pb2 import Document
from footnote_kit.errors import FootnoteError, InvalidArgument
from footnote_kit.handler_context import Call
from footnote_kit.status import to_proto

from footnote_ingestion.documents.catalog import Catalog
from footnote_ingestion.documents.extraction import Extraction
from footnote_ingestion.servicer import checked_id, move_of, system_only

_MOST_DOCUMENTS = 64
_ANSWER_BYTES = 256 * 1024
"""Size from which parts of a group are sent."""


class GroupServicer(GroupServiceServicer):
    """The RPCs by which edge processes many small documents at once."""

    def __init__(self, catalog: Catalog, extraction: Extraction) -> None:
        self._catalog = catalog
        self._extraction = extraction

    async def MoveDocuments(self, request: groups.MoveDocumentsRequest, context: Call) -> groups.MoveDocumentsResponse:
        """Move several documents to another state."""
        system_only(request.scope, "move documents in groups")
        moves = {checked_id("moves.document_id", one.document_id): move_of(one) for one in request.moves}
        if not 1 <= len(request.moves) <= _MOST_DOCUMENTS or len(moves) != len(request.moves):
            raise InvalidArgument.field("moves", f"must be 1 to {_MOST_DOCUMENTS}, each of another document")
        outcomes = await self._catalog.move_many(request.scope, moves)
        return groups.MoveDocumentsResponse(documents=[_moved(outcomes[document_id]) for document_id in moves])

    async def ParseDocuments(
        self, request: groups.ParseDocumentsRequest, context: Call
    ) -> AsyncIterator[groups.ParseDocumentsResponse]:
        """Return the blocks of several documents, and the metadata of each."""
        system_only(request.scope, "parse documents in groups")
        if not 1 <= len(request.document_ids) <= _MOST_DOCUMENTS:
            raise InvalidArgument.field("document_ids", f"must be 1 to {_MOST_DOCUMENTS}")
        ids = [checked_id("document_ids", one) for one in request.document_ids]
        answer, size = groups.ParseDocumentsResponse(), 0
        async with aclosing(self._extraction.parse_many(request.scope, ids, request.ocr_pictures)) as found:
            async for index, part in found:
                answer.parts.append(_part(index, part))
                size += answer.parts[-1].ByteSize()
                if size >= _ANSWER_BYTES:
                    yield answer
                    answer, size = groups.ParseDocumentsResponse(), 0
        if answer.parts:
            yield answer


def _moved(outcome: Document | FootnoteError) -> groups.MovedDocument:
    if isinstance(outcome, FootnoteError):
        return groups.MovedDocument(error=to_proto(outcome))
    return groups.MovedDocument(document=outcome)


def _part(index: int, part: list[Block] | ParsedMetadata | FootnoteError) -> groups.ParsedPart:
    if isinstance(part, FootnoteError):
        return groups.ParsedPart(index=index, error=to_proto(part))
    if isinstance(part, ParsedMetadata):
        return groups.ParsedPart(index=index, found=pb.ParseDocumentResponse(metadata=part))
    return groups.ParsedPart(index=index, found=pb.ParseDocumentResponse(blocks=part))
