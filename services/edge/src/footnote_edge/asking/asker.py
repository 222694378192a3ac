"""Accepts questions: new, regenerated and edited ones."""

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from uuid import uuid4

from footnote.edge.v1.answers_pb2 import AskRequest, AskResponse
from footnote.edge.v1.conversations_pb2 import ConversationMessage, EditMessageRequest, RegenerateMessageRequest
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.collection_settings import overlay
from footnote_kit.errors import InvalidArgument, NotFound

from footnote_edge.asking.precedence import check_limits
from footnote_edge.asking.question import EarlierAnswer, Question, Tools
from footnote_edge.asking.steps import answer
from footnote_edge.asking.storing import events_of
from footnote_edge.collections.collections import Collections
from footnote_edge.conversations.ports import Regeneration
from footnote_edge.gateway.request_ids import IdSeed, RequestIds

_IGNORED = ("include",)
_SETTINGS = ("retrieval", "rerank", "prompt", "generation")


class Asker:
    """Answers questions; one call per question."""

    def __init__(self, tools: Tools, collections: Collections, request_ids: RequestIds) -> None:
        self.collections = collections
        self.conversations = tools.conversations
        self.memory_search = tools.memory_search
        self._tools = tools
        self._request_ids = request_ids
        self._regenerations = tools.conversations.regenerations

    async def ask(
        self, scope: Scope, request: AskRequest, seconds: float, replayed: EarlierAnswer | None = None
    ) -> AsyncGenerator[AskResponse]:
        """Answer a question within `seconds` as a stream of events, `completed` last.

        A replayed answer is not stored. A question already answered under the same request id returns that
        answer.

        Raises InvalidArgument for an empty or too long question, NotFound for an unknown collection or conversation,
        and generation's errors. Closing the stream ends the model's call.
        """
        self._check(scope, request)
        ids = await self._request_ids.claim(scope, request, _IGNORED)
        first = await self._first(scope, ids)
        events = _stored(first) if first is not None else self._answer(scope, request, seconds, ids, replayed=replayed)
        async with aclosing(events):
            async for event in events:
                yield event

    async def regenerate(
        self, scope: Scope, request: RegenerateMessageRequest | EditMessageRequest, seconds: float
    ) -> AsyncGenerator[AskResponse]:
        """Answer a regenerated or edited question as `ask` does, and replace the old answer.

        Raises NotFound for a message of another user. Raises InvalidArgument for a message that is no question or an
        invalid text. Raises Aborted when the replaced message changes, even while this call runs.
        """
        ids = await self._request_ids.claim(scope, request, _IGNORED)
        first = await self._first(scope, ids)
        events = _stored(first) if first is not None else await self._regenerated(scope, request, seconds, ids)
        async with aclosing(events):
            async for event in events:
                yield event

    async def _regenerated(
        self, scope: Scope, request: RegenerateMessageRequest | EditMessageRequest, seconds: float, ids: IdSeed | None
    ) -> AsyncGenerator[AskResponse]:
        if isinstance(request, EditMessageRequest):
            regeneration = await self._regenerations.edited(scope, request.message_id, keep=request.keep_replaced)
            asked = regeneration.asked
            asked.question = request.text
            asked.ClearField("query_vector")
            asked.query_vector.extend(request.query_vector)
        else:
            regeneration = await self._regenerations.regenerated(scope, request.message_id)
            asked = regeneration.asked
        for name in _SETTINGS:
            getattr(asked, name).CopyFrom(overlay(getattr(request, name), getattr(asked, name)))
        asked.conversation_id = regeneration.conversation_id
        self._check(scope, asked, "text" if regeneration.tail is not None else "question")
        return self._answer(scope, asked, seconds, ids, regeneration=regeneration)

    def _check(self, scope: Scope, request: AskRequest, field: str = "question") -> None:
        if not request.question.strip():
            raise InvalidArgument.field(field, "must not be empty")
        limit = self._tools.settings.max_question_characters
        if len(request.question) > limit:
            raise InvalidArgument.field(field, f"must have at most {limit} characters")
        check_limits(self._tools.egress, scope, request, request.collections)

    async def _first(self, scope: Scope, ids: IdSeed | None) -> ConversationMessage | None:
        """Return the stored answer of the same call, if any."""
        if ids is not None:
            with suppress(NotFound):
                return await self._tools.answers.get(scope, ids.id_of("answer"))
        return None

    async def _answer(
        self,
        scope: Scope,
        request: AskRequest,
        seconds: float,
        ids: IdSeed | None,
        *,
        replayed: EarlierAnswer | None = None,
        regeneration: Regeneration | None = None,
    ) -> AsyncGenerator[AskResponse]:
        await self._tools.quotas.admit(scope.tenant_id)
        question = Question.of(
            self._tools, scope, request, seconds, ids or IdSeed(uuid4().hex),
            replayed=replayed, regeneration=regeneration,
        )  # fmt: skip
        async with aclosing(answer(question)) as events:
            async for event in events:
                yield event


async def _stored(message: ConversationMessage) -> AsyncGenerator[AskResponse]:
    for event in events_of(message):
        yield event
