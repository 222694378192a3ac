"""Search, answers and feedback."""

import time
from collections.abc import AsyncIterator
from contextlib import aclosing

from footnote.edge.v1.answers_pb2 import (
    RATING_UP,
    AnswerPart,
    AskRequest,
    AskResponse,
    CreateFeedbackRequest,
    CreateFeedbackResponse,
    DeleteAnswerRequest,
    DeleteAnswerResponse,
    DeleteFeedbackRequest,
    DeleteFeedbackResponse,
    GetAnswerManifestRequest,
    GetAnswerManifestResponse,
    GetAnswerRequest,
    GetAnswerResponse,
    ListFeedbackRequest,
    ListFeedbackResponse,
    ReplayAnswerRequest,
    ReplayAnswerResponse,
    SearchRequest,
    SearchResponse,
)
from footnote.retrieval.v1 import retrieval_service_pb2 as retrieval
from footnote_kit.context import Call
from footnote_kit.errors import InvalidArgument, NotFound
from footnote_kit.paging import Page, sequence
from footnote_kit.telemetry import current_trace_id

from footnote_edge.api.answer_parts import STORED, requested_parts, trim
from footnote_edge.api.services import Services, caller, seconds
from footnote_edge.asking.replay import replay
from footnote_edge.asking.searching import store_unavailable


class AnswersApi:
    """RPCs about questions and their answers."""

    services: Services

    async def Search(self, request: SearchRequest, context: Call) -> SearchResponse:
        """Find the chunks that best match a query."""
        await self.services.quotas.admit(caller().tenant_id, request.query, caller().user_id)
        began = time.perf_counter()
        found = await self.services.stages.retrieval.Retrieve(
            retrieval.RetrieveRequest(
                scope=caller(),
                query=request.query,
                collections=request.collections,
                settings=request.settings if request.HasField("settings") else None,
                page_token=request.page_token,
                filter=request.filter if request.HasField("filter") else None,
                document_ids=request.document_ids,
                language=request.language,
                explain=request.explain,
                query_vector=request.query_vector,
            ),
            timeout=seconds(self.services.settings.call_timeout_seconds),
        )
        if not store_unavailable(found):
            self.services.activity.searched(caller().tenant_id, time.perf_counter() - began, bool(found.chunks))
        response = SearchResponse(
            strategy=found.strategy,
            strategy_choice=found.strategy_choice,
            query_language=found.query_language,
            degradations=found.degradations,
            timings=found.timings,
            total_candidates=found.total_candidates,
            next_page_token=found.next_page_token,
            score_floor=found.score_floor,
            trace_id=current_trace_id(),
        )
        await self.services.views.show(found.chunks, response)
        return response

    async def Ask(self, request: AskRequest, context: Call) -> AsyncIterator[AskResponse]:
        """Answer a question as a stream of events."""
        limit = seconds(self.services.settings.ask_timeout_seconds)
        async with aclosing(
            requested_parts(self.services.asker.ask(caller(), request, limit), request.include)
        ) as events:
            async for event in events:
                yield event

    async def GetAnswer(self, request: GetAnswerRequest, context: Call) -> GetAnswerResponse:
        """Return a stored answer."""
        if not_stored := set(request.include) - STORED:
            names = ", ".join(sorted(AnswerPart.Name(part) for part in not_stored))
            raise InvalidArgument.field("include", f"has no {names} here; GetAnswerManifest returns the manifest")
        found = await self.services.answers.get(caller(), request.answer_id)
        question, expiry = found.manifest.question, self.services.answers.expiry(found)
        trim(found, request.include)
        response = GetAnswerResponse(
            answer=found.answer,
            question=question,
            sources=found.sources,
            degradations=found.degradations,
            conversation_id=found.conversation_id,
            trace_id=found.trace_id,
            create_time=found.create_time,
        )
        if expiry is not None:
            response.expire_time.FromDatetime(expiry)
        return response

    async def GetAnswerManifest(self, request: GetAnswerManifestRequest, context: Call) -> GetAnswerManifestResponse:
        """Return the manifest of a stored answer."""
        found = await self.services.answers.get(caller(), request.answer_id)
        return GetAnswerManifestResponse(manifest=found.manifest)

    async def DeleteAnswer(self, request: DeleteAnswerRequest, context: Call) -> DeleteAnswerResponse:
        """Delete a stored answer, its feedback, and its entries in memory."""
        scope = caller()
        try:
            conversation_id, gone = await self.services.answers.delete(scope, request.answer_id)
        except NotFound:
            if not request.allow_missing:
                raise
        else:
            self.services.jobs.remove_from_memory(scope, conversation_id, gone)
        return DeleteAnswerResponse()

    async def ReplayAnswer(self, request: ReplayAnswerRequest, context: Call) -> ReplayAnswerResponse:
        """Answer again from a stored answer's manifest and report the differences."""
        limit = seconds(self.services.settings.ask_timeout_seconds)
        completed, differences = await replay(
            self.services.asker, self.services.answers, caller(), request.answer_id, limit
        )
        trim(completed, request.include)
        return ReplayAnswerResponse(completed=completed, identical=not differences, differences=differences)

    async def CreateFeedback(self, request: CreateFeedbackRequest, context: Call) -> CreateFeedbackResponse:
        """Record a verdict on an answer or on one of its citations."""
        recorded = await self.services.feedback.record(
            caller(), request.answer_id, request.citation, request.rating, request.comment
        )
        self.services.activity.add(
            caller().tenant_id, {"ratings_up" if recorded.rating == RATING_UP else "ratings_down": 1}
        )
        return CreateFeedbackResponse(feedback=recorded)

    async def DeleteFeedback(self, request: DeleteFeedbackRequest, context: Call) -> DeleteFeedbackResponse:
        """Withdraw the caller's verdict on an answer or on one of its citations."""
        await self.services.feedback.withdraw(caller(), request.answer_id, request.citation)
        return DeleteFeedbackResponse()

    async def ListFeedback(self, request: ListFeedbackRequest, context: Call) -> ListFeedbackResponse:
        """List feedback, newest first."""
        scope = caller()
        page = Page.of(scope, request, kinds=(sequence,))
        found, token, total = await self.services.feedback.page(scope, request.rating, page, request.conversation_id)
        return ListFeedbackResponse(feedback=found, next_page_token=token, total_size=total)
