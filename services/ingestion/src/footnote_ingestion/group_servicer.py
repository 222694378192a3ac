"""Translates between the messages of the internal GroupService and the logic."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from footnote.ingestion.v1 import ingestion_service_pb2 as pb
from footnote.internal.ingestion.v1alpha1 import group_service_pb2 as groups
from footnote.internal.ingestion.v1alpha1.group_service_pb2_grpc import GroupServiceServicer
from footnote.stages.v1.parsing_pb2 import Block, ParsedMetadata
from footnote.stages.v1.stored_document_pb2 import Document
from footnote_kit.context import Call
from footnote_kit.errors import FootnoteError, InvalidArgument
from footnote_kit.status import to_proto

from footnote_ingestion.documents.catalog import Catalog
from footnote_ingestion.documents.group_extraction import GroupExtraction
from footnote_ingestion.documents.uploads import NewFile, Uploaded, Uploads
from footnote_ingestion.servicer import checked_id, move_of, new_file, system_only

_MOST_DOCUMENTS = 64
_ANSWER_BYTES = 256 * 1024
"""Size from which parts of a group are sent."""


class GroupServicer(GroupServiceServicer):
    """The RPCs by which edge processes many small documents at once."""

    def __init__(self, uploads: Uploads, catalog: Catalog, extraction: GroupExtraction) -> None:
        self._uploads = uploads
        self._catalog = catalog
        self._extraction = extraction

    async def UploadDocuments(
        self, request: groups.UploadDocumentsRequest, context: Call
    ) -> groups.UploadDocumentsResponse:
        """Store several files of one collection."""
        if not 1 <= len(request.files) <= _MOST_DOCUMENTS:
            raise InvalidArgument.field("files", f"must be 1 to {_MOST_DOCUMENTS}")
        files = [_file(one) for one in request.files]
        described = [one[0] for one in files if not isinstance(one, FootnoteError)]
        if len({(one.collection_id, one.quota) for one in described}) > 1:
            raise InvalidArgument.field("files", "must be of one collection")
        ids = [one.request_id for one in described if one.request_id]
        if len(set(ids)) != len(ids):
            raise InvalidArgument.field("files.metadata.request_id", "must be another one for each file")
        if not described:
            outcomes = [one for one in files if isinstance(one, FootnoteError)]
            return groups.UploadDocumentsResponse(files=map(_uploaded, outcomes))
        first = described[0]
        ended = await self._uploads.upload_many(request.scope, first.collection_id, first.quota, files)
        return groups.UploadDocumentsResponse(files=map(_uploaded, ended))

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
        async with aclosing(self._extraction.parse(request.scope, ids)) as found:
            async for index, part in found:
                answer.parts.append(_part(index, part))
                size += answer.parts[-1].ByteSize()
                if size >= _ANSWER_BYTES:
                    yield answer
                    answer, size = groups.ParseDocumentsResponse(), 0
        if answer.parts:
            yield answer


def _file(given: groups.WholeFile) -> tuple[NewFile, bytes] | FootnoteError:
    try:
        return new_file(given.metadata), given.data
    except FootnoteError as error:
        return error


def _uploaded(outcome: Uploaded | FootnoteError) -> groups.UploadedFile:
    if isinstance(outcome, FootnoteError):
        return groups.UploadedFile(error=to_proto(outcome))
    stored = pb.UploadDocumentResponse(document=outcome.document, duplicate=outcome.duplicate, merged=outcome.merged)
    return groups.UploadedFile(stored=stored)


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
