"""Runs of golden questions that a collection keeps."""

from footnote.edge.v1 import evaluations_pb2 as pb
from footnote_kit.errors import NotFound
from footnote_kit.handler_context import Call
from footnote_kit.paging import Page, sequence

from footnote_edge.api.common import caller
from footnote_edge.api.services import Services


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
