"""Search, answers, conversations, memory and feedback."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from footnote.edge.v1.answers_pb2 import (
    AskRequest,
    AskResponse,
    CreateFeedbackRequest,
    CreateFeedbackResponse,
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
from footnote.edge.v1.conversations_pb2 import (
    CreateConversationRequest,
    CreateConversationResponse,
    DeleteConversationRequest,
    DeleteConversationResponse,
    GetConversationRequest,
    GetConversationResponse,
    ListConversationsRequest,
    ListConversationsResponse,
    ListMessagesRequest,
    ListMessagesResponse,
    SearchMemoryRequest,
    SearchMemoryResponse,
    UpdateConversationRequest,
    UpdateConversationResponse,
)
from footnote.retrieval.v1 import retrieval_service_pb2 as retrieval
from footnote.types.v1.provider_pb2 import TextBounds
from footnote_kit.paging import Page
from footnote_kit.telemetry import current_trace_id

from footnote_edge.answer_parts import trim, wanted
from footnote_edge.api.common import caller, seconds
from footnote_edge.parts import Parts
from footnote_edge.replay import replay


class ChatApi:
    """RPCs about questions and what is said."""

    parts: Parts

    async def Search(self, request: SearchRequest, context: Any) -> SearchResponse:
        """Find the chunks that best match a query."""
        await self.parts.limiting.admit(caller().tenant_id, request.query)
        found = await self.parts.stages.retrieval.Retrieve(
            retrieval.RetrieveRequest(
                scope=caller(),
                query=request.query,
                collections=request.collections,
                settings=request.settings if request.HasField("settings") else None,
                offset=request.offset,
                where=request.where,
                document_ids=request.document_ids,
                language=request.language,
                explain=request.explain,
                query_vector=request.query_vector,
            ),
            timeout=seconds(self.parts.settings.call_timeout_seconds),
        )
        return SearchResponse(
            chunks=await self.parts.public.scored(found.chunks),
            strategy=found.strategy,
            strategy_reason=found.strategy_reason,
            query_language=found.query_language,
            degradations=found.degradations,
            timings=found.timings,
            total_candidates=found.total_candidates,
            trace_id=current_trace_id(),
        )

    async def Ask(self, request: AskRequest, context: Any) -> AsyncIterator[AskResponse]:
        """Answer a question as a stream of events."""
        limit = seconds(self.parts.settings.ask_timeout_seconds)
        async with aclosing(self.parts.asker.ask(caller(), request, limit)) as events:
            async for event in events:
                if not wanted(event, request.include):
                    continue
                if event.HasField("completed"):
                    trim(event.completed, request.include)
                yield event

    async def GetAnswer(self, request: GetAnswerRequest, context: Any) -> GetAnswerResponse:
        """Return a stored answer."""
        found = await self.parts.answers.get(caller(), request.answer_id)
        question, expiry = found.manifest.question, self.parts.answers.expiry(found)
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

    async def GetAnswerManifest(self, request: GetAnswerManifestRequest, context: Any) -> GetAnswerManifestResponse:
        """Return how a stored answer came about."""
        found = await self.parts.answers.get(caller(), request.answer_id)
        return GetAnswerManifestResponse(manifest=found.manifest)

    async def CreateConversation(self, request: CreateConversationRequest, context: Any) -> CreateConversationResponse:
        """Create a conversation."""
        scope = caller()
        await self.parts.catalog.check_all(scope, request.collections)
        created = await self.parts.conversations.create(scope, request.title, request.collections)
        return CreateConversationResponse(conversation=created)

    async def GetConversation(self, request: GetConversationRequest, context: Any) -> GetConversationResponse:
        """Return one conversation."""
        found = await self.parts.conversations.get(caller(), request.conversation_id)
        return GetConversationResponse(conversation=found)

    async def ListConversations(self, request: ListConversationsRequest, context: Any) -> ListConversationsResponse:
        """List the caller's conversations, the most recently used first."""
        scope = caller()
        found, token, total = await self.parts.conversations.page(scope, Page.of(scope, request, places=2))
        return ListConversationsResponse(conversations=found, next_page_token=token, total_size=total)

    async def UpdateConversation(self, request: UpdateConversationRequest, context: Any) -> UpdateConversationResponse:
        """Rename a conversation."""
        scope = caller()
        await self.parts.conversations.rename(scope, request.conversation_id, request.title)
        found = await self.parts.conversations.get(scope, request.conversation_id)
        return UpdateConversationResponse(conversation=found)

    async def DeleteConversation(self, request: DeleteConversationRequest, context: Any) -> DeleteConversationResponse:
        """Delete a conversation with its messages and what memory holds of them."""
        scope = caller()
        await self.parts.conversations.get(scope, request.conversation_id)
        # The job first: were we to die in between, memory would forget and the conversation could be deleted again.
        await self.parts.jobs.forget(scope, request.conversation_id)
        await self.parts.conversations.delete(scope, request.conversation_id)
        return DeleteConversationResponse()

    async def ListMessages(self, request: ListMessagesRequest, context: Any) -> ListMessagesResponse:
        """List a conversation's messages, oldest first."""
        scope = caller()
        page = Page.of(scope, request)
        found, token, total = await self.parts.conversations.messages(scope, request.conversation_id, page)
        for message in found:
            if message.HasField("answer"):
                trim(message, request.include)
        return ListMessagesResponse(messages=found, next_page_token=token, total_size=total)

    async def ReplayAnswer(self, request: ReplayAnswerRequest, context: Any) -> ReplayAnswerResponse:
        """Make a stored answer again and say what differs."""
        limit = seconds(self.parts.settings.ask_timeout_seconds)
        completed, differences = await replay(self.parts.asker, self.parts.answers, caller(), request.answer_id, limit)
        trim(completed, request.include)
        return ReplayAnswerResponse(completed=completed, identical=not differences, differences=differences)

    async def SearchMemory(self, request: SearchMemoryRequest, context: Any) -> SearchMemoryResponse:
        """Find the caller's own past messages."""
        await self.parts.limiting.admit(caller().tenant_id, request.query)
        found = await self.parts.asker.recall.search(
            caller(),
            request.query,
            enabled=request.enabled if request.HasField("enabled") else True,
            max_messages=request.max_messages if request.HasField("max_messages") else None,
            max_tokens=request.max_tokens if request.HasField("max_tokens") else None,
            bounds=TextBounds(),
            timeout=seconds(self.parts.settings.call_timeout_seconds),
        )
        return SearchMemoryResponse(
            context=found.context,
            source_messages=found.source_messages,
            enabled=found.enabled,
            degradations=found.degradations,
        )

    async def CreateFeedback(self, request: CreateFeedbackRequest, context: Any) -> CreateFeedbackResponse:
        """Record a verdict on an answer or on one of its citations."""
        recorded = await self.parts.feedback.record(
            caller(), request.answer_id, request.citation, request.rating, request.comment
        )
        return CreateFeedbackResponse(feedback=recorded)

    async def ListFeedback(self, request: ListFeedbackRequest, context: Any) -> ListFeedbackResponse:
        """List feedback, newest first."""
        scope = caller()
        found, token, total = await self.parts.feedback.page(scope, request.rating, Page.of(scope, request))
        return ListFeedbackResponse(feedback=found, next_page_token=token, total_size=total)
