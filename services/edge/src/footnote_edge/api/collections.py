"""RPCs for collections."""

from footnote.edge.v1.collections_pb2 import (
    CreateCollectionRequest,
    CreateCollectionResponse,
    GetCollectionRequest,
    GetCollectionResponse,
    ListCollectionsRequest,
    ListCollectionsResponse,
    UpdateCollectionRequest,
    UpdateCollectionResponse,
)
from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote_kit.handler_context import Call

from footnote_edge.api.common import caller
from footnote_edge.api.services import Services


class CollectionsApi:
    """RPCs about collections."""

    services: Services

    async def CreateCollection(self, request: CreateCollectionRequest, context: Call) -> CreateCollectionResponse:
        """Create a collection."""
        return CreateCollectionResponse(collection=await self.services.catalog.create_once(caller(), request))

    async def GetCollection(self, request: GetCollectionRequest, context: Call) -> GetCollectionResponse:
        """Return one collection."""
        scope = caller()
        found = await self.services.catalog.described(scope, request.collection)
        asked = await self.services.starters.of(scope, found) if request.with_starter_questions else ()
        return GetCollectionResponse(collection=found, starter_questions=asked)

    async def ListCollections(self, request: ListCollectionsRequest, context: Call) -> ListCollectionsResponse:
        """List the collections that the caller may see."""
        page = await self.services.stages.indexing.ListCollections(
            indexing.ListCollectionsRequest(scope=caller(), page_size=request.page_size, page_token=request.page_token),
            timeout=self.services.settings.call_timeout_seconds,
        )
        return ListCollectionsResponse(
            collections=page.collections, next_page_token=page.next_page_token, total_size=page.total_size
        )

    async def UpdateCollection(self, request: UpdateCollectionRequest, context: Call) -> UpdateCollectionResponse:
        """Change the fields that the mask names."""
        scope = caller()
        collection = await self.services.catalog.update(scope, request)
        operation = await self.services.operations.reindex_outdated(scope, collection) if request.reindex else None
        return UpdateCollectionResponse(collection=collection, operation=operation)
