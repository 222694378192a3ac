"""RPCs for collections, and for the runs of golden questions that they keep."""

from footnote.edge.v1 import evaluations_pb2 as pb
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
from footnote_kit.context import Call
from footnote_kit.errors import NotFound
from footnote_kit.paging import Page, sequence

from footnote_edge.api.services import Services, caller


class CollectionsApi:
    """RPCs about collections."""

    services: Services

    async def CreateCollection(self, request: CreateCollectionRequest, context: Call) -> CreateCollectionResponse:
        """Create a collection."""
        return CreateCollectionResponse(collection=await self.services.collections.create_once(caller(), request))

    async def GetCollection(self, request: GetCollectionRequest, context: Call) -> GetCollectionResponse:
        """Return one collection."""
        scope = caller()
        found = await self.services.collections.described(scope, request.collection)
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
        collection = await self.services.collections.update(scope, request)
        operation = await self.services.operations.reindex_outdated(scope, collection) if request.reindex else None
        return UpdateCollectionResponse(collection=collection, operation=operation)


class EvaluationsApi:
    """RPCs about runs of golden questions."""

    services: Services

    async def CreateEvaluationRun(
        self, request: pb.CreateEvaluationRunRequest, context: Call
    ) -> pb.CreateEvaluationRunResponse:
        """Keep a run."""
        scope, evaluations = caller(), self.services.evaluations
        collection_id = await evaluations.writable(scope, request.collection)
        created = await self.services.request_ids.once(
            scope,
            request,
            lambda wanted: evaluations.create(scope, collection_id, request.run, wanted),
            lambda made: evaluations.get(scope, made),
        )
        created.ClearField("questions")
        return pb.CreateEvaluationRunResponse(run=created)

    async def GetEvaluationRun(self, request: pb.GetEvaluationRunRequest, context: Call) -> pb.GetEvaluationRunResponse:
        """Return one run with its questions."""
        return pb.GetEvaluationRunResponse(run=await self.services.evaluations.get(caller(), request.run_id))

    async def ListEvaluationRuns(
        self, request: pb.ListEvaluationRunsRequest, context: Call
    ) -> pb.ListEvaluationRunsResponse:
        """List a collection's runs, newest first."""
        scope = caller()
        page = Page.of(scope, request, kinds=(sequence,))
        found, token, total = await self.services.evaluations.page(scope, request.collection, page)
        return pb.ListEvaluationRunsResponse(runs=found, next_page_token=token, total_size=total)

    async def DeleteEvaluationRun(
        self, request: pb.DeleteEvaluationRunRequest, context: Call
    ) -> pb.DeleteEvaluationRunResponse:
        """Delete a run."""
        try:
            await self.services.evaluations.delete(caller(), request.run_id)
        except NotFound:
            if not request.allow_missing:
                raise
        return pb.DeleteEvaluationRunResponse()
