"""IngestionService over gRPC: converts messages and validates their fields."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import TypeVar
from uuid import uuid4

from footnote.ingestion.v1 import ingestion_service_pb2 as pb
from footnote.ingestion.v1.ingestion_service_pb2_grpc import IngestionServiceServicer
from footnote.internal.ingestion.v1alpha1 import upkeep_service_pb2 as upkeep
from footnote.internal.ingestion.v1alpha1.upkeep_service_pb2_grpc import UpkeepServiceServicer
from footnote.stages.v1.parsing_pb2 import ParsedMetadata
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DocumentState
from footnote_kit import validation
from footnote_kit.access import is_system
from footnote_kit.context import Call
from footnote_kit.errors import InvalidArgument, PermissionDenied
from footnote_kit.paging import LARGEST_SIZE, Page, sequence
from footnote_store.fields import check_metadata
from google.protobuf.struct_pb2 import Struct

from footnote_ingestion.documents.catalog import Catalog, Counting
from footnote_ingestion.documents.changes import Changes
from footnote_ingestion.documents.extraction import Extraction, PagesRead
from footnote_ingestion.documents.tables import MOST_DOCUMENTS, Tables
from footnote_ingestion.documents.uploads import NewFile, Replacement, Uploads
from footnote_ingestion.model.lifecycle import Move
from footnote_ingestion.model.listing import CONTROL, list_query
from footnote_ingestion.model.quota import Quota, StoredTotals
from footnote_ingestion.model.repeats import MOST_TAGS
from footnote_ingestion.model.values import now_micros
from footnote_ingestion.worker.isolation import Isolation

_EDITABLE = frozenset({"tags", "metadata", "expire_time"})
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_MAX_ID = 200
_MAX_NAME = 255
_MAX_QUESTION = 2000
_MAX_QUERY = 8000
_MAX_METADATA_BYTES = 64 * 1024


class IngestionServicer(IngestionServiceServicer, UpkeepServiceServicer):
    """Converts messages; makes no decisions."""

    def __init__(
        self,
        catalog: Catalog,
        uploads: Uploads,
        changes: Changes,
        extraction: Extraction,
        isolation: Isolation,
        counting: Counting,
        tables: Tables,
    ) -> None:
        self._tables = tables
        self._counting = counting
        self._instance = uuid4().hex
        self._catalog = catalog
        self._uploads = uploads
        self._changes = changes
        self._extraction = extraction
        self._isolation = isolation

    async def UploadDocument(
        self, request_iterator: AsyncIterator[pb.UploadDocumentRequest], context: Call
    ) -> pb.UploadDocumentResponse:
        """Store a file."""
        first = await _first(request_iterator, pb.UploadDocumentRequest())
        new = new_file(first.metadata)
        done = await self._uploads.upload(first.scope, new, _parts(request_iterator))
        return pb.UploadDocumentResponse(document=done.document, duplicate=done.duplicate, merged=done.merged)

    async def GetDocument(self, request: pb.GetDocumentRequest, context: Call) -> pb.GetDocumentResponse:
        """Return one document."""
        document = await self._catalog.get(request.scope, checked_id("document_id", request.document_id))
        return pb.GetDocumentResponse(document=document)

    async def ListDocuments(self, request: pb.ListDocumentsRequest, context: Call) -> pb.ListDocumentsResponse:
        """Return a page of documents."""
        if request.all_tenants:
            system_only(request.scope, "ask about all tenants")
        query = list_query(request)
        documents, token, total = await self._catalog.list(request.scope, query, request.collection_ids)
        return pb.ListDocumentsResponse(documents=documents, next_page_token=token, total_size=total)

    async def ListDocumentChanges(
        self, request: pb.ListDocumentChangesRequest, context: Call
    ) -> AsyncIterator[pb.ListDocumentChangesResponse]:
        """Return the changes in a collection."""
        since = request.since.ToMicroseconds() if request.HasField("since") else None
        found = self._changes.since(request.scope, checked_id("collection_id", request.collection_id), since)
        async with aclosing(found) as batches:
            async for batch in batches:
                answer = pb.ListDocumentChangesResponse(documents=batch.documents, deleted=batch.deleted)
                if batch.until is not None:
                    answer.until.FromMicroseconds(batch.until)
                yield answer

    async def DownloadDocument(
        self, request: pb.DownloadDocumentRequest, context: Call
    ) -> AsyncIterator[pb.DownloadDocumentResponse]:
        """Return a file."""
        revision = request.revision if request.HasField("revision") else None
        if revision is not None and revision < 1:
            raise InvalidArgument.field("revision", "must be at least 1")
        document, file, parts = await self._catalog.download(
            request.scope, checked_id("document_id", request.document_id), revision
        )
        yield pb.DownloadDocumentResponse(document=document, file=file)
        async with aclosing(parts) as opened:
            async for part in opened:
                yield pb.DownloadDocumentResponse(data=part)

    async def DeleteDocument(self, request: pb.DeleteDocumentRequest, context: Call) -> pb.DeleteDocumentResponse:
        """Delete a document."""
        await self._catalog.delete(request.scope, checked_id("document_id", request.document_id))
        return pb.DeleteDocumentResponse()

    async def BeginDeletion(self, request: upkeep.BeginDeletionRequest, context: Call) -> upkeep.BeginDeletionResponse:
        """Hide a document before its deletion."""
        if request.undo:
            system_only(request.scope, "take a deletion back")
        document_id = checked_id("document_id", request.document_id)
        document = await self._catalog.begin_deletion(request.scope, document_id, request.etag, request.undo)
        return upkeep.BeginDeletionResponse(document=document)

    async def ConfirmLabels(self, request: upkeep.ConfirmLabelsRequest, context: Call) -> upkeep.ConfirmLabelsResponse:
        """Record that chunks match their document's record."""
        await self._catalog.labelled(request.scope, checked_id("document_id", request.document_id), request.etag)
        return upkeep.ConfirmLabelsResponse()

    async def ListUnfinishedDocuments(
        self, request: upkeep.ListUnfinishedDocumentsRequest, context: Call
    ) -> upkeep.ListUnfinishedDocumentsResponse:
        """Return documents with unfinished work."""
        system_only(request.scope, "ask about all tenants")
        found, token = await self._catalog.unfinished(Page.of(request.scope, request))
        documents = [
            upkeep.UnfinishedDocument(document=one.document, deletion=one.deletion, labels=one.labels) for one in found
        ]
        return upkeep.ListUnfinishedDocumentsResponse(documents=documents, next_page_token=token)

    async def FindDocuments(self, request: upkeep.FindDocumentsRequest, context: Call) -> upkeep.FindDocumentsResponse:
        """Return which documents exist."""
        system_only(request.scope, "ask about all tenants")
        if len(request.document_ids) > LARGEST_SIZE:
            raise InvalidArgument.field("document_ids", f"must be at most {LARGEST_SIZE}")
        found = await self._catalog.there(request.document_ids)
        return upkeep.FindDocumentsResponse(document_ids=found, instance=self._instance)

    async def ReplaceDocument(
        self, request_iterator: AsyncIterator[pb.ReplaceDocumentRequest], context: Call
    ) -> pb.ReplaceDocumentResponse:
        """Store a new file for a document."""
        first = await _first(request_iterator, pb.ReplaceDocumentRequest())
        given = first.metadata
        validation.check_request_id(given.request_id, "metadata.request_id")
        new = Replacement(
            document_id=checked_id("metadata.document_id", given.document_id),
            filename=_filename(given.filename, required=False),
            etag=given.etag,
            quota=Quota(tenant_bytes=_not_negative("metadata.max_tenant_bytes", given.max_tenant_bytes)),
            request_id=given.request_id,
            about=_about(given),
        )
        document, unchanged = await self._uploads.replace(first.scope, new, _parts(request_iterator))
        return pb.ReplaceDocumentResponse(document=document, unchanged=unchanged)

    async def ParseDocument(
        self, request: pb.ParseDocumentRequest, context: Call
    ) -> AsyncIterator[pb.ParseDocumentResponse]:
        """Return a document's blocks, then its metadata."""
        document_id = checked_id("document_id", request.document_id)
        found = self._extraction.parse(request.scope, document_id, request.ocr_pictures, request.searched_file)
        async with aclosing(found) as batches:
            async for batch in batches:
                if isinstance(batch, ParsedMetadata):
                    yield pb.ParseDocumentResponse(metadata=batch)
                elif isinstance(batch, PagesRead):
                    yield pb.ParseDocumentResponse(pages=pb.PagesRead(read=batch.read, total=batch.total))
                else:
                    yield pb.ParseDocumentResponse(blocks=batch)

    async def UpdateDocumentState(
        self, request: pb.UpdateDocumentStateRequest, context: Call
    ) -> pb.UpdateDocumentStateResponse:
        """Move a document to another state."""
        document_id = checked_id("document_id", request.document_id)
        document = await self._catalog.move(request.scope, document_id, move_of(request))
        return pb.UpdateDocumentStateResponse(document=document)

    async def UpdateDocument(self, request: pb.UpdateDocumentRequest, context: Call) -> pb.UpdateDocumentResponse:
        """Change tags, metadata or expiry."""
        fields = frozenset(request.update_mask.paths)
        if not fields or not fields <= _EDITABLE:
            raise InvalidArgument.field("update_mask", f"must name some of: {', '.join(sorted(_EDITABLE))}")
        wanted = Document(tags=_tags(request.resource.tags, "resource.tags"))
        wanted.metadata.CopyFrom(_metadata("resource.metadata", request.resource.metadata))
        if request.resource.HasField("expire_time"):
            wanted.expire_time.CopyFrom(request.resource.expire_time)
            if "expire_time" in fields and wanted.expire_time.ToMicroseconds() <= now_micros():
                raise InvalidArgument.field("resource.expire_time", "must be in the future")
        document = await self._catalog.update(
            request.scope, checked_id("document_id", request.document_id), wanted, fields, request.resource.etag
        )
        return pb.UpdateDocumentResponse(document=document)

    async def GetIsolation(self, request: pb.GetIsolationRequest, context: Call) -> pb.GetIsolationResponse:
        """Return how worker processes are isolated."""
        return pb.GetIsolationResponse(summary=self._isolation.text())

    async def DescribeTables(self, request: pb.DescribeTablesRequest, context: Call) -> pb.DescribeTablesResponse:
        """Describe the tables of a document."""
        return await self._tables.describe(request.scope, checked_id("document_id", request.document_id))

    async def ReadTable(self, request: pb.ReadTableRequest, context: Call) -> pb.ReadTableResponse:
        """Return rows of a table."""
        document_id = checked_id("document_id", request.document_id)
        if request.number < 1:
            raise InvalidArgument.field("number", "must be at least 1")
        page = Page.of(request.scope, request, kinds=(sequence,))
        after = page.position[0] if page.position else 0
        found = await self._tables.read(request.scope, document_id, request.number, after, page.size)
        if (until := after + len(found.rows)) < found.total_size and found.rows:
            found.next_page_token = page.token((until,))
        return found

    async def QueryTables(self, request: pb.QueryTablesRequest, context: Call) -> pb.QueryTablesResponse:
        """Run a statement over tables."""
        if not 1 <= len(request.document_ids) <= MOST_DOCUMENTS:
            raise InvalidArgument.field("document_ids", f"must be 1 to {MOST_DOCUMENTS}")
        if not request.query.strip():
            raise InvalidArgument.field("query", "is required")
        ids = [checked_id("document_ids", one) for one in request.document_ids]
        return await self._tables.query(request.scope, ids, request.query)

    async def ComputeAnswer(self, request: pb.ComputeAnswerRequest, context: Call) -> pb.ComputeAnswerResponse:
        """Compute an answer from tables."""
        if not 1 <= len(request.document_ids) <= MOST_DOCUMENTS:
            raise InvalidArgument.field("document_ids", f"must be 1 to {MOST_DOCUMENTS}")
        if not request.question.strip() or len(request.question) > _MAX_QUESTION:
            raise InvalidArgument.field("question", f"must be 1 to {_MAX_QUESTION} characters")
        ids = [checked_id("document_ids", one) for one in request.document_ids]
        if len(request.query) > _MAX_QUERY:
            raise InvalidArgument.field("query", f"must be at most {_MAX_QUERY} characters")
        reading = request.reading if request.HasField("reading") else None
        return await self._tables.compute(request.scope, request.question, ids, request.locale, request.query, reading)

    async def CountKept(self, request: upkeep.CountKeptRequest, context: Call) -> upkeep.CountKeptResponse:
        """Return storage totals."""
        counted = await self._counting.stored(request.scope, request.owners, request.after_owner)
        return upkeep.CountKeptResponse(
            own=_totals(counted.own),
            tenant=None if counted.tenant is None else _totals(counted.tenant),
            owners=map(_totals, counted.owners),
        )


def new_file(given: pb.UploadMetadata) -> NewFile:
    """Convert an uploader's description; raises InvalidArgument."""
    validation.check_request_id(given.request_id, "metadata.request_id")
    return NewFile(
        collection_id=checked_id("metadata.collection_id", given.collection_id),
        filename=_filename(given.filename, required=True),
        tags=_tags(given.tags),
        metadata=_metadata("metadata.metadata", given.metadata),
        source_type=_short("metadata.source_type", given.source_type),
        expire_time=given.expire_time if given.HasField("expire_time") else None,
        allow_duplicate=given.allow_duplicate,
        quota=Quota(
            collection_documents=_not_negative("metadata.max_documents", given.max_documents),
            tenant_documents=_not_negative("metadata.max_tenant_documents", given.max_tenant_documents),
            tenant_bytes=_not_negative("metadata.max_tenant_bytes", given.max_tenant_bytes),
            own=given.max_documents > 0,
        ),
        size=_not_negative("metadata.size_bytes", given.size_bytes) if given.HasField("size_bytes") else None,
        sha256=_sha256(given.sha256),
        request_id=given.request_id,
        about=_about(given),
    )


def system_only(scope: Scope, what: str) -> None:
    """Raise PermissionDenied unless a service calls on its own account."""
    if not is_system(scope):
        raise PermissionDenied(f"Only a service at work on its own account may {what}.")


def move_of(request: pb.UpdateDocumentStateRequest) -> Move:
    """Convert a request to a move; raises InvalidArgument."""
    if request.state not in DocumentState.values():
        raise InvalidArgument.field("state", "is unknown")
    return Move(
        state=request.state,
        revision=_not_negative("revision", request.revision),
        new_revision=request.new_revision,
        failure=request.failure if request.HasField("failure") else None,
        waiting_reason=request.waiting_reason,
        parsed=request.parsed if request.HasField("parsed") else None,
        chunking_strategy=request.chunking_strategy,
        chunking_choice=request.chunking_choice,
        chunks_expected=request.chunks_expected if request.HasField("chunks_expected") else None,
        chunks_stored=request.chunks_stored if request.HasField("chunks_stored") else None,
        settings_digest=request.settings_digest,
        waiting_message=request.waiting_message,
        waiting_attempts=_not_negative("waiting_attempts", request.waiting_attempts),
        next_attempt_time=request.next_attempt_time if request.HasField("next_attempt_time") else None,
        etag=request.etag,
    )


_Request = TypeVar("_Request", pb.UploadDocumentRequest, pb.ReplaceDocumentRequest)


async def _first(requests: AsyncIterator[_Request], empty: _Request) -> _Request:
    """Return the first message, which must hold the metadata."""
    first = await anext(aiter(requests), empty)
    if first.WhichOneof("payload") != "metadata":
        raise InvalidArgument.field("metadata", "is required on the first message")
    return first


async def _parts(requests: AsyncIterator[_Request]) -> AsyncIterator[bytes]:
    """Yield the bytes of the messages after the first."""
    async for request in requests:
        if request.WhichOneof("payload") == "metadata":
            raise InvalidArgument.field("metadata", "is allowed on the first message only")
        yield request.data


def checked_id(name: str, value: str) -> str:
    """Return an id; raises InvalidArgument for an empty or unusable one."""
    if not value:
        raise InvalidArgument.field(name, "is required")
    return _short(name, value)


def _short(name: str, value: str) -> str:
    if len(value) > _MAX_ID or CONTROL.search(value):
        raise InvalidArgument.field(name, f"must be at most {_MAX_ID} characters without control characters")
    return value


def _filename(value: str, *, required: bool) -> str:
    """Return the last segment of a client's path without unsafe characters; composed, as people type it."""
    last = unicodedata.normalize("NFC", value).replace("\\", "/").rstrip("/").rpartition("/")[2]
    name = CONTROL.sub("", last).strip()
    if name in ("", ".", "..") and (value or required):
        raise InvalidArgument.field("metadata.filename", "must be the name of a file")
    if len(name) > _MAX_NAME:  # keep the extension, which distinguishes kinds of text
        stem, dot, extension = name.rpartition(".")
        name = f"{stem[: _MAX_NAME - 16]}{dot}{extension[:15]}" if dot else name[:_MAX_NAME]
    return name


def _tags(tags: Sequence[str], name: str = "metadata.tags") -> tuple[str, ...]:
    if len(tags) > MOST_TAGS:
        raise InvalidArgument.field(name, f"must be at most {MOST_TAGS}")
    return tuple(dict.fromkeys(checked_id(name, tag.strip()) for tag in tags))


def _sha256(value: str) -> str:
    if value and not _SHA256.fullmatch(value):
        raise InvalidArgument.field("metadata.sha256", "must be 64 hexadecimal digits")
    return value.lower()


def _about(given: pb.UploadMetadata | pb.ReplaceMetadata) -> bytes:
    """Return the uploader's description, without edge's additions: limits may change, and expiry counts from now."""
    said = type(given)()
    said.MergeFrom(given)  # type: ignore[arg-type]
    for name in ("request_id", "max_documents", "max_tenant_documents", "max_tenant_bytes", "expire_time"):
        if name in said.DESCRIPTOR.fields_by_name:
            said.ClearField(name)  # type: ignore[arg-type]
    return said.SerializeToString(deterministic=True)


def _metadata(name: str, value: Struct) -> Struct:
    if value.ByteSize() > _MAX_METADATA_BYTES:
        raise InvalidArgument.field(name, f"is larger than {_MAX_METADATA_BYTES} bytes")
    check_metadata(name, value)
    return value


def _totals(kept: StoredTotals) -> upkeep.Kept:
    return upkeep.Kept(owner_id=kept.owner_id, documents=kept.documents, bytes=kept.bytes)


def _not_negative(name: str, value: int) -> int:
    if value < 0:
        raise InvalidArgument.field(name, "must not be negative")
    return value
