"""Rows of text with the caller's own vectors."""

from footnote.edge.v1.vectors_pb2 import (
    AddVectorsRequest,
    AddVectorsResponse,
    DeleteVectorsRequest,
    DeleteVectorsResponse,
    GetVectorRequest,
    GetVectorResponse,
    ListVectorsRequest,
    ListVectorsResponse,
)
from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote_kit.access import Access
from footnote_kit.context import Call
from footnote_kit.origins import refuse_reserved

from footnote_edge.api.services import Services, caller

ROW_SECONDS = 0.1
"""Seconds that a row adds to the timeout: twenty times what it takes on an idle machine."""


class VectorsApi:
    """RPCs about own vectors."""

    services: Services

    async def AddVectors(self, request: AddVectorsRequest, context: Call) -> AddVectorsResponse:
        """Add rows, replacing those with the same ids."""
        scope = caller()
        collection = await self.services.collections.get(scope, request.collection, Access.WRITE)
        claim = await self.services.request_ids.claim(scope, request)
        for index, row in enumerate(request.rows):
            refuse_reserved(row.metadata, f"rows[{index}].metadata")
        wanted = indexing.AddVectorsRequest(scope=scope, collection=collection.id, rows=request.rows)
        if claim is not None:
            for number, row in enumerate(wanted.rows):
                row.id = row.id or claim.ordered_id_of(number)
        limit = self.services.settings.call_timeout_seconds + ROW_SECONDS * len(wanted.rows)
        added = await self.services.stages.indexing.AddVectors(wanted, timeout=limit)
        return AddVectorsResponse(count=added.count, ids=added.ids)

    async def GetVector(self, request: GetVectorRequest, context: Call) -> GetVectorResponse:
        """Return one row."""
        wanted = indexing.GetVectorRequest(
            scope=caller(),
            collection=request.collection,
            vector_id=request.vector_id,
            include_vector=request.include_vector,
        )
        found = await self.services.stages.indexing.GetVector(
            wanted, timeout=self.services.settings.call_timeout_seconds
        )
        return GetVectorResponse(row=found.row)

    async def ListVectors(self, request: ListVectorsRequest, context: Call) -> ListVectorsResponse:
        """List rows."""
        wanted = indexing.ListVectorsRequest(
            scope=caller(),
            collection=request.collection,
            filter=request.filter if request.HasField("filter") else None,
            page_size=request.page_size,
            page_token=request.page_token,
            include_vectors=request.include_vectors,
        )
        page = await self.services.stages.indexing.ListVectors(
            wanted, timeout=self.services.settings.call_timeout_seconds
        )
        return ListVectorsResponse(rows=page.rows, next_page_token=page.next_page_token)

    async def DeleteVectors(self, request: DeleteVectorsRequest, context: Call) -> DeleteVectorsResponse:
        """Delete rows."""
        scope = caller()
        collection = await self.services.collections.get(scope, request.collection, Access.WRITE)
        wanted = indexing.DeleteVectorsRequest(
            scope=scope, collection=collection.id, ids=request.ids, allow_missing=request.allow_missing
        )
        return DeleteVectorsResponse(deleted=await self.services.row_deletion.delete(wanted))
