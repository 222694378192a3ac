"""Documents (upload, download, watch, replace, delete), their chunks, and long-running operations."""

from collections.abc import AsyncIterator
from contextlib import aclosing

from footnote.edge.v1 import documents_pb2 as pb
from footnote.edge.v1 import operations_pb2 as operations
from footnote.edge.v1.collections_pb2 import DeleteCollectionRequest, DeleteCollectionResponse
from footnote.retrieval.v1 import retrieval_service_pb2 as retrieval
from footnote_kit.context import Call
from footnote_kit.errors import FootnoteError
from footnote_kit.status import to_proto

from footnote_edge.api.services import Services, bytes_of, caller, first_of
from footnote_edge.documents.views import chunk_of


class DocumentsApi:
    """RPCs about documents."""

    services: Services

    async def UploadDocument(
        self, request_iterator: AsyncIterator[pb.UploadDocumentRequest], context: Call
    ) -> pb.UploadDocumentResponse:
        """Accept a file; it ends INDEXED or ERROR even after crashes in between."""
        metadata = await first_of(request_iterator)
        scope = caller()
        done = await self.services.uploads.receive(scope, metadata, bytes_of(request_iterator))
        document = await self.services.views.document(scope, done.document)
        return pb.UploadDocumentResponse(document=document, duplicate=done.duplicate, merged=done.merged)

    async def UploadDocuments(
        self, request_iterator: AsyncIterator[pb.UploadDocumentsRequest], context: Call
    ) -> pb.UploadDocumentsResponse:
        """Accept many small files; each is refused alone."""
        scope = caller()
        files = await self.services.many.receive(scope, request_iterator)
        # Here and not where files are stored: the sync of a source is no upload by a caller, and has no rate.
        self.services.quotas.rates.more_uploads(scope.tenant_id, len(files) - 1)
        outcomes = await self.services.many.upload(scope, files)
        stored = [one for one in outcomes if not isinstance(one, FootnoteError)]
        documents = iter(await self.services.views.documents(scope, [one.document for one in stored]))
        response = pb.UploadDocumentsResponse()
        for one in outcomes:
            if isinstance(one, FootnoteError):
                response.files.add(error=to_proto(one))
            else:
                response.files.add().stored.CopyFrom(
                    pb.UploadDocumentResponse(document=next(documents), duplicate=one.duplicate, merged=one.merged)
                )
        return response

    async def ReplaceDocument(
        self, request_iterator: AsyncIterator[pb.ReplaceDocumentRequest], context: Call
    ) -> pb.ReplaceDocumentResponse:
        """Replace a document's file; the old one stays searchable until the new one is indexed."""
        metadata = await first_of(request_iterator)
        scope = caller()
        row, unchanged = await self.services.documents.replace(scope, metadata, bytes_of(request_iterator))
        return pb.ReplaceDocumentResponse(document=await self.services.views.document(scope, row), unchanged=unchanged)

    async def WatchDocument(
        self, request: pb.WatchDocumentRequest, context: Call
    ) -> AsyncIterator[pb.WatchDocumentResponse]:
        """Stream a document's state and progress until it is INDEXED, ERROR or deleted."""
        stream = self.services.watches.document(caller(), request.document_id, request.until_vectors)
        async with aclosing(stream) as moves:
            async for move in moves:
                yield move

    async def WatchDocuments(
        self, request: pb.WatchDocumentsRequest, context: Call
    ) -> AsyncIterator[pb.WatchDocumentsResponse]:
        """Stream the events of a collection's documents."""
        scope = caller()
        collection = await self.services.collections.get(scope, request.collection)
        events = self.services.watches.collection(scope, collection.id, request.until_idle, request.resume_token)
        async with aclosing(events) as responses:
            async for event in responses:
                yield event

    async def ListDocuments(self, request: pb.ListDocumentsRequest, context: Call) -> pb.ListDocumentsResponse:
        """List documents, newest first."""
        scope = caller()
        page = await self.services.documents.page(scope, request)
        documents = await self.services.views.documents(scope, page.documents)
        return pb.ListDocumentsResponse(
            documents=documents, next_page_token=page.next_page_token, total_size=page.total_size
        )

    async def GetDocument(self, request: pb.GetDocumentRequest, context: Call) -> pb.GetDocumentResponse:
        """Return one document."""
        scope = caller()
        row = await self.services.documents.get(scope, request.document_id)
        return pb.GetDocumentResponse(document=await self.services.views.document(scope, row))

    async def DownloadDocument(
        self, request: pb.DownloadDocumentRequest, context: Call
    ) -> AsyncIterator[pb.DownloadDocumentResponse]:
        """Stream the original file."""
        scope = caller()
        revision = request.revision if request.HasField("revision") else None
        async with aclosing(self.services.documents.download(scope, request.document_id, revision)) as parts:
            async for part in parts:
                head = part.HasField("document")
                document = await self.services.views.document(scope, part.document) if head else None
                file = part.file if part.HasField("file") else None
                yield pb.DownloadDocumentResponse(document=document, data=part.data, file=file)

    async def UpdateDocument(self, request: pb.UpdateDocumentRequest, context: Call) -> pb.UpdateDocumentResponse:
        """Change a document's tags, metadata or time of expiry."""
        scope = caller()
        row = await self.services.document_editor.update(scope, request)
        return pb.UpdateDocumentResponse(document=await self.services.views.document(scope, row))

    async def DeleteDocument(self, request: pb.DeleteDocumentRequest, context: Call) -> pb.DeleteDocumentResponse:
        """Delete a document with its chunks and its file."""
        return pb.DeleteDocumentResponse(
            chunks_deleted=await self.services.document_deletion.delete(
                caller(), request.document_id, request.etag, allow_missing=request.allow_missing
            )
        )

    async def CancelDocument(self, request: pb.CancelDocumentRequest, context: Call) -> pb.CancelDocumentResponse:
        """Cancel the processing of a document's newest revision."""
        scope = caller()
        row = await self.services.document_canceller.cancel(scope, request.document_id)
        return pb.CancelDocumentResponse(document=await self.services.views.document(scope, row))


class ChunksApi:
    """RPCs about chunks."""

    services: Services

    async def GetChunk(self, request: pb.GetChunkRequest, context: Call) -> pb.GetChunkResponse:
        """Return one chunk."""
        return pb.GetChunkResponse(chunk=chunk_of(await self.services.chunks.get(caller(), request.chunk_id)))

    async def ListChunks(self, request: pb.ListChunksRequest, context: Call) -> pb.ListChunksResponse:
        """List the chunks of a document in reading order."""
        page = await self.services.chunks.page(caller(), request)
        return pb.ListChunksResponse(
            chunks=await self.services.views.chunks(page.chunks),
            next_page_token=page.next_page_token,
            total_size=page.total_size,
            revision=page.revision,
        )

    async def QueryChunks(self, request: pb.QueryChunksRequest, context: Call) -> pb.QueryChunksResponse:
        """Return chunks by their metadata."""
        found = await self.services.stages.retrieval.QueryChunks(
            retrieval.QueryChunksRequest(
                scope=caller(),
                collection=request.collection,
                filter=request.filter if request.HasField("filter") else None,
                page_size=request.page_size,
                page_token=request.page_token,
                offset=request.offset,
            ),
            timeout=self.services.settings.call_timeout_seconds,
        )
        chunks = await self.services.views.chunks(found.chunks)
        return pb.QueryChunksResponse(chunks=chunks, next_page_token=found.next_page_token, total_size=found.total_size)


class OperationsApi:
    """RPCs that begin operations, and those about them."""

    services: Services

    async def ReindexDocuments(self, request: pb.ReindexDocumentsRequest, context: Call) -> pb.ReindexDocumentsResponse:
        """Index documents again: named ones, a whole collection, or its failed ones."""
        return pb.ReindexDocumentsResponse(operation=await self.services.operations.reindex(caller(), request))

    async def DeleteCollection(self, request: DeleteCollectionRequest, context: Call) -> DeleteCollectionResponse:
        """Hide a collection and begin to delete it."""
        return DeleteCollectionResponse(operation=await self.services.operations.delete_collection(caller(), request))

    async def GetOperation(
        self, request: operations.GetOperationRequest, context: Call
    ) -> operations.GetOperationResponse:
        """Return one operation."""
        return operations.GetOperationResponse(
            operation=await self.services.operations.get(caller(), request.operation_id)
        )

    async def ListOperations(
        self, request: operations.ListOperationsRequest, context: Call
    ) -> operations.ListOperationsResponse:
        """List operations, newest first."""
        return await self.services.operations.page(caller(), request)

    async def WatchOperation(
        self, request: operations.WatchOperationRequest, context: Call
    ) -> AsyncIterator[operations.WatchOperationResponse]:
        """Stream an operation until it has ended."""
        async with aclosing(self.services.operations.watch(caller(), request.operation_id)) as moves:
            async for operation in moves:
                yield operations.WatchOperationResponse(operation=operation)

    async def CancelOperation(
        self, request: operations.CancelOperationRequest, context: Call
    ) -> operations.CancelOperationResponse:
        """Cancel an operation."""
        return operations.CancelOperationResponse(
            operation=await self.services.operations.cancel(caller(), request.operation_id)
        )
