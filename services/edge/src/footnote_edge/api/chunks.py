"""Chunks: get one, list a document's, query by metadata."""

from footnote.edge.v1.documents_pb2 import (
    GetChunkRequest,
    GetChunkResponse,
    ListChunksRequest,
    ListChunksResponse,
    QueryChunksRequest,
    QueryChunksResponse,
)
from footnote.retrieval.v1 import retrieval_service_pb2 as retrieval
from footnote_kit.handler_context import Call

from footnote_edge.api.common import caller
from footnote_edge.api.services import Services
from footnote_edge.documents.views import chunk_of


class ChunksApi:
    """RPCs about chunks."""

    services: Services

    async def GetChunk(self, request: GetChunkRequest, context: Call) -> GetChunkResponse:
        """Return one chunk."""
        return GetChunkResponse(chunk=chunk_of(await self.services.chunks.get(caller(), request.chunk_id)))

    async def ListChunks(self, request: ListChunksRequest, context: Call) -> ListChunksResponse:
        """List the chunks of a document in reading order."""
        page = await self.services.chunks.page(caller(), request)
        return ListChunksResponse(
            chunks=await self.services.views.chunks(page.chunks),
            next_page_token=page.next_page_token,
            total_size=page.total_size,
            revision=page.revision,
        )

    async def QueryChunks(self, request: QueryChunksRequest, context: Call) -> QueryChunksResponse:
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
        return QueryChunksResponse(chunks=chunks, next_page_token=found.next_page_token, total_size=found.total_size)
