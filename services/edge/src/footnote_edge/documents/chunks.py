"""Chunks at the public API: one by id, and those of a document."""

from footnote.edge.v1 import documents_pb2 as edge
from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.stages.v1.passage_pb2 import Chunk
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.access import document_missing
from footnote_kit.errors import InvalidArgument, NotFound

from footnote_edge.collections.permissions import Permissions
from footnote_edge.documents.documents import Documents
from footnote_edge.ports import Stages


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
