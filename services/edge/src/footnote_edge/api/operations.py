"""Long-running operations: begin, get, watch, cancel."""

from collections.abc import AsyncIterator
from contextlib import aclosing

from footnote.edge.v1 import operations_pb2 as pb
from footnote.edge.v1.collections_pb2 import DeleteCollectionRequest, DeleteCollectionResponse
from footnote.edge.v1.documents_pb2 import ReindexDocumentsRequest, ReindexDocumentsResponse
from footnote_kit.handler_context import Call

from footnote_edge.api.common import caller
from footnote_edge.api.services import Services


class OperationsApi:
    """RPCs that begin operations, and those about them."""

    services: Services

    async def ReindexDocuments(self, request: ReindexDocumentsRequest, context: Call) -> ReindexDocumentsResponse:
        """Index documents again: named ones, a whole collection, or its failed ones."""
        return ReindexDocumentsResponse(operation=await self.services.operations.reindex(caller(), request))

    async def DeleteCollection(self, request: DeleteCollectionRequest, context: Call) -> DeleteCollectionResponse:
        """Hide a collection and begin to delete it."""
        return DeleteCollectionResponse(operation=await self.services.operations.delete_collection(caller(), request))

    async def GetOperation(self, request: pb.GetOperationRequest, context: Call) -> pb.GetOperationResponse:
        """Return one operation."""
        return pb.GetOperationResponse(operation=await self.services.operations.get(caller(), request.operation_id))

    async def ListOperations(self, request: pb.ListOperationsRequest, context: Call) -> pb.ListOperationsResponse:
        """List operations, newest first."""
        return await self.services.operations.page(caller(), request)

    async def WatchOperation(
        self, request: pb.WatchOperationRequest, context: Call
    ) -> AsyncIterator[pb.WatchOperationResponse]:
        """Stream an operation until it has ended."""
        async with aclosing(self.services.operations.watch(caller(), request.operation_id)) as moves:
            async for operation in moves:
                yield pb.WatchOperationResponse(operation=operation)

    async def CancelOperation(self, request: pb.CancelOperationRequest, context: Call) -> pb.CancelOperationResponse:
        """Cancel an operation."""
        return pb.CancelOperationResponse(
            operation=await self.services.operations.cancel(caller(), request.operation_id)
        )
