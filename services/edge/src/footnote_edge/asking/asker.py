"""Accepts questions: new, regenerated and edited ones."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from uuid import uuid4

from footnote.edge.v1.answers_pb2 import AskRequest, AskResponse
from footnote.edge.v1.conversations_pb2 import ConversationMessage, EditMessageRequest, RegenerateMessageRequest
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.collection_settings import overlay
from footnote_kit.epochs import EpochReader
from footnote_kit.errors import InvalidArgument
from footnote_providers.egress.egress import Egress

from footnote_edge.asking import request_limits
from footnote_edge.asking.ask import EarlierAnswer, Run
from footnote_edge.asking.deadlines import Deadline
from footnote_edge.asking.entitled import Entitled
from footnote_edge.asking.keeping import Keeper, told
from footnote_edge.asking.recall import Recall
from footnote_edge.asking.tools import Tools
from footnote_edge.asking.windows import Windows
from footnote_edge.collections.bounds import Bounds
from footnote_edge.collections.catalog import Catalog
from footnote_edge.conversations.conversations import Conversations
from footnote_edge.conversations.regeneration import Regeneration, Regenerations
from footnote_edge.gateway.limiting import Limiting
from footnote_edge.gateway.request_ids import Claim, RequestIds
from footnote_edge.ports import Stages
from footnote_edge.settings import Settings
from footnote_edge.system.activity import Counted

_APART = ("include",)
_SETTINGS = ("retrieval", "rerank", "prompt", "generation")


class Asker:
    """Answers questions; one call per question."""

    def __init__(
        self,
        stages: Stages,
        catalog: Catalog,
        conversations: Conversations,
        keeper: Keeper,
        request_ids: RequestIds,
        limiting: Limiting,
        settings: Settings,
        egress: Egress,
        epochs: EpochReader,
        generation_epochs: EpochReader,
        activity: Counted,
        entitled: Entitled,
    ) -> None:
        self.egress = egress
        self.catalog = catalog
        self.conversations = conversations
        self.keeper = keeper
        self.request_ids = request_ids
        self.limiting = limiting
        self.settings = settings
        self.recall = Recall(stages, conversations)
        bounds = Bounds(stages, epochs, settings.call_timeout_seconds)
        windows = Windows(stages, generation_epochs)
        self._tools = Tools(
            stages, bounds, windows, conversations, self.recall, keeper, limiting, settings, egress, activity, entitled
        )
        self._turns = Regenerations(conversations.messages)

    async def ask(
        self, scope: Scope, request: AskRequest, seconds: float, again: EarlierAnswer | None = None
    ) -> AsyncGenerator[AskResponse]:
        """Answer a question within `seconds` as a stream of events, `completed` last.

        A replayed answer (`again`) is not stored. A question already answered under the same request id returns that
        answer.

        Raises InvalidArgument for an empty or too long question, NotFound for an unknown collection or conversation,
        and generation's errors. Closing the stream ends the model's call.
        """
        self._check(scope, request)
        claim = await self.request_ids.claim(scope, request, _APART)
        first = await self._first(scope, claim)
        events = _told(first) if first is not None else self._answer(scope, request, seconds, claim, again=again)
        async with aclosing(events):
            async for event in events:
                yield event

    async def anew(
        self, scope: Scope, request: RegenerateMessageRequest | EditMessageRequest, seconds: float
    ) -> AsyncGenerator[AskResponse]:
        """Answer a regenerated or edited question as `ask` does, and replace the old answer.

        Raises NotFound for a message of another user. Raises InvalidArgument for a message that is no question or an
        invalid text. Raises Aborted when the replaced message changes, even while this call runs.
        """
        claim = await self.request_ids.claim(scope, request, _APART)
        first = await self._first(scope, claim)
        events = _told(first) if first is not None else await self._anew(scope, request, seconds, claim)
        async with aclosing(events):
            async for event in events:
                yield event

    async def _anew(
        self, scope: Scope, request: RegenerateMessageRequest | EditMessageRequest, seconds: float, claim: Claim | None
    ) -> AsyncGenerator[AskResponse]:
        if isinstance(request, EditMessageRequest):
            turn = await self._turns.edited(scope, request.message_id)
            turn.asked.question = request.text
            turn.asked.ClearField("query_vector")
            turn.asked.query_vector.extend(request.query_vector)
        else:
            turn = await self._turns.regenerated(scope, request.message_id)
        for name in _SETTINGS:
            getattr(turn.asked, name).CopyFrom(overlay(getattr(request, name), getattr(turn.asked, name)))
        turn.asked.conversation_id = turn.conversation_id
        self._check(scope, turn.asked, "text" if turn.tail is not None else "question")
        return self._answer(scope, turn.asked, seconds, claim, turn=turn)

    def _check(self, scope: Scope, request: AskRequest, field: str = "question") -> None:
        if not request.question.strip():
            raise InvalidArgument.field(field, "must not be empty")
        limit = self.settings.max_question_characters
        if len(request.question) > limit:
            raise InvalidArgument.field(field, f"must have at most {limit} characters")
        request_limits.check(self.egress, scope, request, request.collections)

    async def _first(self, scope: Scope, claim: Claim | None) -> ConversationMessage | None:
        """Return the stored answer of the same call, if any."""
        return await self.keeper.first(scope, claim.id_of("answer")) if claim is not None else None

    async def _answer(
        self,
        scope: Scope,
        request: AskRequest,
        seconds: float,
        claim: Claim | None,
        *,
        again: EarlierAnswer | None = None,
        turn: Regeneration | None = None,
    ) -> AsyncGenerator[AskResponse]:
        await self.limiting.admit(scope.tenant_id)
        deadline = Deadline.after(seconds)
        run = Run(
            self._tools, scope, request, request.question.strip(), deadline, claim or Claim(uuid4().hex), again, turn
        )
        try:
            async for event in run.events():
                yield event
        finally:
            await run.close()


async def _told(message: ConversationMessage) -> AsyncGenerator[AskResponse]:
    events: Iterable[AskResponse] = told(message)
    for event in events:
        yield event
