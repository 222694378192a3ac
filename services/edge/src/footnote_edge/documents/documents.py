"""Documents at the public API: upload, replace, read, download, chunks. Files are streamed, never held whole."""

from collections.abc import AsyncGenerator, AsyncIterator, Container, Mapping, Sequence
from datetime import UTC, datetime

from footnote.edge.v1 import documents_pb2 as edge
from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.stages.v1.passage_pb2 import Chunk
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.document_pb2 import (
    DOCUMENT_STATE_PROCESSING,
    DOCUMENT_STATE_UPLOADED,
    DocumentState,
)
from footnote_kit.access import Access, document_missing
from footnote_kit.errors import InvalidArgument, NotFound, PermissionDenied
from footnote_kit.origins import refuse_reserved, with_origin

from footnote_edge.collections.collections import Collections
from footnote_edge.collections.permissions import Permissions
from footnote_edge.gateway.ports import Allowance
from footnote_edge.gateway.quotas import Quotas
from footnote_edge.jobs.jobs import Jobs
from footnote_edge.jobs.labels import align
from footnote_edge.jobs.progress import ProgressBus
from footnote_edge.ports import Stages
from footnote_edge.settings import Settings

PART_BYTES = 256 * 1024
LIST_PAGE = 500

AT_WORK = (DOCUMENT_STATE_UPLOADED, DOCUMENT_STATE_PROCESSING)


class Documents:
    """Document operations for callers, and the jobs that follow from them."""

    def __init__(
        self,
        stages: Stages,
        collections: Collections,
        permissions: Permissions,
        jobs: Jobs,
        quotas: Quotas,
        bus: ProgressBus,
        settings: Settings,
    ) -> None:
        self._stages = stages
        self._ingestion = stages.ingestion
        self._collections = collections
        self._permissions = permissions
        self._jobs = jobs
        self._quotas = quotas
        self._bus = bus
        self._timeout = settings.call_timeout_seconds
        self._transfer_timeout = settings.job_timeout_seconds

    async def upload(
        self,
        scope: Scope,
        metadata: edge.UploadMetadata,
        parts: AsyncIterator[bytes],
        origin: Mapping[str, str] | None = None,
    ) -> ingestion.UploadDocumentResponse:
        """Stream a file, `metered` already, to ingestion, and enqueue its job; see `UploadBatches.receive`."""
        await self._quotas.admit(scope.tenant_id)
        collection = await self._collections.for_upload(scope, metadata.collection)
        head = upload_head(metadata, collection, await self._quotas.allowances.of(scope.tenant_id), origin)

        response = await self.store(scope, head, parts)
        await self.finish_upload(scope, metadata, response)
        return response

    async def store(
        self, scope: Scope, head: ingestion.UploadMetadata, parts: AsyncIterator[bytes]
    ) -> ingestion.UploadDocumentResponse:
        """Store a file at ingestion; `parts` have at most PART_BYTES."""

        async def messages() -> AsyncIterator[ingestion.UploadDocumentRequest]:
            yield ingestion.UploadDocumentRequest(scope=scope, metadata=head)
            async for part in parts:
                yield ingestion.UploadDocumentRequest(data=part)

        response: ingestion.UploadDocumentResponse = await self._ingestion.UploadDocument(
            messages(), timeout=self._transfer_timeout
        )
        return response

    async def queue_in_groups(self, responses: Sequence[ingestion.UploadDocumentResponse]) -> set[str]:
        """Queue stored files that may be processed in groups, all at once; return the ids of their documents."""
        return await self._jobs.queue_in_groups([one.document for one in responses if _needs_job(one)])

    async def finish_upload(
        self,
        scope: Scope,
        metadata: edge.UploadMetadata,
        response: ingestion.UploadDocumentResponse,
        grouped: Container[str] = (),
    ) -> None:
        """Enqueue the job of a stored file that is not `grouped`, or label the document with the same bytes."""
        if _needs_job(response) and response.document.id not in grouped:
            await self._jobs.process(response.document)
        labelled = bool(metadata.tags) or bool(metadata.metadata.fields)
        if response.merged or (response.duplicate and labelled):
            # Also if nothing was added: the first response, and with it the update of the chunks, may have been lost.
            response.document.CopyFrom(await align(self._stages, scope, response.document, self._timeout))
        self._bus.deliver(response.document)

    async def replace(
        self, scope: Scope, metadata: edge.ReplaceMetadata, parts: AsyncIterator[bytes]
    ) -> tuple[Document, bool]:
        """Replace a document's file and enqueue its job; return the document and whether the bytes were the same."""
        if not metadata.document_id:
            raise InvalidArgument.field("metadata.document_id", "must be given")
        await self.get(scope, metadata.document_id, Access.WRITE)
        await self._quotas.admit(scope.tenant_id)
        head = ingestion.ReplaceMetadata(
            document_id=metadata.document_id,
            filename=metadata.filename,
            etag=metadata.etag,
            max_tenant_bytes=(await self._quotas.allowances.of(scope.tenant_id)).bytes,
            request_id=metadata.request_id,
        )

        async def messages() -> AsyncIterator[ingestion.ReplaceDocumentRequest]:
            yield ingestion.ReplaceDocumentRequest(scope=scope, metadata=head)
            async for part in self.metered(scope, parts):
                yield ingestion.ReplaceDocumentRequest(data=part)

        response = await self._ingestion.ReplaceDocument(messages(), timeout=self._transfer_timeout)
        if not response.unchanged:
            # For a repeated request id the response has the current state, and the job may be old.
            if response.document.state == DOCUMENT_STATE_UPLOADED:
                await self._jobs.process(response.document)
            self._bus.deliver(response.document)
        return response.document, response.unchanged

    async def get(self, scope: Scope, document_id: str, needs: Access = Access.READ) -> Document:
        """Return a document to which the caller has the access it `needs`; raises NotFound, PermissionDenied."""
        if not document_id:
            raise InvalidArgument.field("document_id", "must be given")
        request = ingestion.GetDocumentRequest(scope=scope, document_id=document_id)
        document: Document = (await self._ingestion.GetDocument(request, timeout=self._timeout)).document
        await self._permissions.document(scope, document, needs)
        return document

    async def permits(self, scope: Scope, document: Document, needs: Access) -> bool:
        """Return whether the caller has the access it `needs` to a document."""
        try:
            await self._permissions.document(scope, document, needs)
        except (NotFound, PermissionDenied):
            return False
        return True

    async def page(self, scope: Scope, request: edge.ListDocumentsRequest) -> ingestion.ListDocumentsResponse:
        """Return a page of documents of one collection, or of all that the caller may read."""
        if request.outdated and not request.collection:
            raise InvalidArgument.field("outdated", "goes with collection")
        collections = [(await self._collections.get(scope, request.collection)).id] if request.collection else []
        return await self._list(
            scope,
            collections,
            list(request.states),
            filename_contains=request.filename_contains,
            tags=request.tags,
            document_types=request.document_types,
            languages=request.languages,
            outdated_for=await self._collections.outdated.digest(scope, collections[0]) if request.outdated else "",
            created_after=request.created_after if request.HasField("created_after") else None,
            created_before=request.created_before if request.HasField("created_before") else None,
            order_by=request.order_by,
            page_size=request.page_size,
            page_token=request.page_token,
        )

    async def at_work(self, scope: Scope, collection_id: str) -> list[Document]:
        """Return a collection's documents that are in progress or queued; raises NotFound."""
        await self._permissions.collection(scope, Collection(id=collection_id), Access.READ, exact=False)
        documents: list[Document] = []
        token = ""
        while True:
            page = await self._list(scope, [collection_id], list(AT_WORK), page_size=LIST_PAGE, page_token=token)
            documents.extend(page.documents)
            token = page.next_page_token
            if not token:
                return documents

    async def download(
        self, scope: Scope, document_id: str, revision: int | None
    ) -> AsyncGenerator[ingestion.DownloadDocumentResponse]:
        """Stream a file back: the document first, then its bytes; None means the searchable revision."""
        request = ingestion.DownloadDocumentRequest(scope=scope, document_id=document_id, revision=revision)
        call = self._ingestion.DownloadDocument(request, timeout=self._transfer_timeout)
        try:
            async for part in call:
                if part.HasField("document"):
                    await self._permissions.document(scope, part.document, Access.READ)
                yield part
        finally:
            call.cancel()

    async def metered(self, scope: Scope, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Pass a file on and charge its bytes."""
        async for part in parts:
            self._quotas.rates.receive(scope.tenant_id, len(part))
            # The contract limits parts to 256 KiB; longer ones are split instead of refused.
            for start in range(0, len(part), PART_BYTES):
                yield part[start : start + PART_BYTES]

    async def _list(
        self, scope: Scope, collections: list[str], states: list[DocumentState.ValueType], **more: object
    ) -> ingestion.ListDocumentsResponse:
        request = ingestion.ListDocumentsRequest(scope=scope, collection_ids=collections, states=states, **more)  # type: ignore[arg-type]
        page: ingestion.ListDocumentsResponse = await self._ingestion.ListDocuments(request, timeout=self._timeout)
        readable = await self._permissions.readable(scope, {document.collection_id for document in page.documents})
        if any(document.collection_id not in readable for document in page.documents):
            # Deleted in the meantime.
            kept = [document for document in page.documents if document.collection_id in readable]
            del page.documents[:]
            page.documents.extend(kept)
        return page


def check_metadata(metadata: edge.UploadMetadata) -> None:
    """Raise InvalidArgument for a file without a name, or with metadata that is reserved."""
    if not metadata.filename:
        raise InvalidArgument.field("metadata.filename", "must be given")
    refuse_reserved(metadata.metadata, "metadata.metadata")


def upload_head(
    metadata: edge.UploadMetadata, collection: Collection, allowed: Allowance, origin: Mapping[str, str] | None = None
) -> ingestion.UploadMetadata:
    """Return what ingestion is to know about a file: its uploader's description, the limits, and when it expires.

    An item of a source does not expire by the collection's time to live: it goes when its source no longer has it.
    """
    given = metadata.metadata if metadata.HasField("metadata") else None
    ttl = metadata.ttl.ToTimedelta().total_seconds() if metadata.HasField("ttl") else None
    head = ingestion.UploadMetadata(
        collection_id=collection.id,
        filename=metadata.filename,
        tags=metadata.tags,
        metadata=given if origin is None else with_origin(given, origin),
        source_type=metadata.source_type,
        allow_duplicate=metadata.allow_duplicate,
        max_documents=collection.settings.max_documents,
        max_tenant_documents=allowed.documents,
        max_tenant_bytes=allowed.bytes,
        size_bytes=metadata.size_bytes if metadata.HasField("size_bytes") else None,
        sha256=metadata.sha256,
        request_id=metadata.request_id,
        ttl=metadata.ttl if metadata.HasField("ttl") else None,
    )
    if origin is None and (expires := expiry(collection, ttl)) is not None:
        head.expire_time.FromDatetime(expires)
    return head


LONGEST_TTL = 3_153_600_000
"""Seconds; collections' settings have the same limit."""


def expiry(collection: Collection, ttl_seconds: float | None, now: datetime | None = None) -> datetime | None:
    """Return when an upload expires: after its own time, else after the collection's; None for never."""
    counting = collection.effective_settings if collection.HasField("effective_settings") else collection.settings
    if ttl_seconds is None and counting.HasField("ttl"):
        ttl_seconds = counting.ttl.ToTimedelta().total_seconds()
    if ttl_seconds is None:
        return None
    if not 0 < ttl_seconds <= LONGEST_TTL:
        raise InvalidArgument.field("ttl", "must be positive, and at most 100 years")
    return datetime.fromtimestamp((now or datetime.now(UTC)).timestamp() + ttl_seconds, UTC)


def _needs_job(response: ingestion.UploadDocumentResponse) -> bool:
    """Return whether a stored file needs a job: also one whose first response was lost before its job was enqueued."""
    return not response.duplicate or response.document.state == DOCUMENT_STATE_UPLOADED


class Chunks:
    """Reads chunks for callers with read access to their collection."""

    def __init__(self, stages: Stages, documents: Documents, permissions: Permissions, timeout: float) -> None:
        self._indexing = stages.indexing
        self._documents = documents
        self._permissions = permissions
        self._timeout = timeout

    async def get(self, scope: Scope, chunk_id: str) -> Chunk:
        """Return one chunk; raises NotFound(CHUNK_NOT_FOUND)."""
        if not chunk_id:
            raise InvalidArgument.field("chunk_id", "must be given")
        request = indexing.GetChunkRequest(scope=scope, chunk_id=chunk_id)
        chunk: Chunk = (await self._indexing.GetChunk(request, timeout=self._timeout)).chunk
        await self._permissions.chunk(scope, chunk)
        return chunk

    async def page(self, scope: Scope, request: edge.ListChunksRequest) -> indexing.ListChunksResponse:
        """Return a page of a document's chunks; raises NotFound for the document or for the revision's chunks."""
        document = await self._documents.get(scope, request.document_id)
        wanted = indexing.ListChunksRequest(
            scope=scope,
            collection_id=document.collection_id,
            document_id=document.id,
            revision=request.revision if request.HasField("revision") else None,
            page_size=request.page_size,
            page_token=request.page_token,
        )
        try:
            page: indexing.ListChunksResponse = await self._indexing.ListChunks(wanted, timeout=self._timeout)
        except NotFound as error:
            if error.reason != "COLLECTION_NOT_FOUND":
                raise
            raise document_missing(document.id) from None  # its collection was deleted or hidden in between
        return page
