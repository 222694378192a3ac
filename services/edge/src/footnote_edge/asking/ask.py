"""A question's way through the online stages: plan, retrieve, build the prompt, generate, also when one fails.

Up to generation every failure degrades the answer and is reported in it (EDG-5); a failing generation fails the call.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from footnote.augmentation.v1 import augmentation_service_pb2 as augmentation
from footnote.edge.v1.answers_pb2 import AskCompleted, AskRequest, AskResponse, SourcesEvent, StageEvent
from footnote.edge.v1.conversations_pb2 import Conversation
from footnote.generation.v1 import generation_service_pb2 as generation
from footnote.retrieval.v1.retrieval_service_pb2 import SearchMemoryResponse
from footnote.types.v1.answer_pb2 import (
    PIPELINE_STAGE_AUGMENTATION,
    PIPELINE_STAGE_EDGE,
    PIPELINE_STAGE_GENERATION,
    PIPELINE_STAGE_RETRIEVAL,
    Answer,
    ChatMessage,
    FinishReason,
    PipelineStage,
    Source,
)
from footnote.types.v1.chunk_pb2 import ScoredChunk
from footnote.types.v1.collection_pb2 import CollectionSettings
from footnote.types.v1.provider_pb2 import TextBounds
from footnote.types.v1.scope_pb2 import Scope
from footnote_kit import names
from footnote_kit.errors import DeadlineExceeded, FootnoteError, Internal
from footnote_kit.telemetry import counter, current_trace_id
from footnote_kit.timings import duration
from opentelemetry import trace

from footnote_edge.asking import precedence
from footnote_edge.asking.answering import Ledger, degrades
from footnote_edge.asking.deadlines import Deadline
from footnote_edge.asking.manifests import Record
from footnote_edge.asking.recall import without
from footnote_edge.asking.steps import Found, Steps
from footnote_edge.asking.tools import Tools
from footnote_edge.collections.binding import of_conversation
from footnote_edge.conversations.turns import Turn
from footnote_edge.door.limiting import Tab
from footnote_edge.door.request_ids import Claim

T = TypeVar("T")
_Settings: TypeAlias = tuple[CollectionSettings, TextBounds]


@dataclass(frozen=True, slots=True)
class Again:
    """What an answer was made with before, in place of what would be found out now."""

    plan: augmentation.PlanQueryResponse
    memory_message_ids: Sequence[str]
    local_only: bool


class Run:
    """One question on its way; its answer is added to its conversation, or with a `turn` put in another's place."""

    def __init__(
        self,
        tools: Tools,
        scope: Scope,
        request: AskRequest,
        question: str,
        deadline: Deadline,
        claim: Claim,
        again: Again | None,
        turn: Turn | None,
    ) -> None:
        self._claim = claim
        self._again = again
        self._turn = turn
        self._tools = tools
        self._stages = tools.stages
        self._scope = scope
        self._request = request
        self._question = question
        self._deadline = deadline
        self._ledger = Ledger()
        self._steps = Steps(tools.stages, scope, self._ledger, deadline)
        self._tab = Tab(tools.limiting, scope.tenant_id, scope.user_id)
        self._tasks: list[asyncio.Task[Any]] = []
        self._answered: generation.GenerateCompleted | None = None
        self._conversation: Conversation | None = None
        self._history: list[ChatMessage] = list(request.history)
        self._collections: list[str] = list(request.collections)
        self._record = Record(request, question)

    async def events(self) -> AsyncGenerator[AskResponse]:
        """Yield what happens."""
        await self._open_conversation()
        # Beside each other: memory, the collections' settings and the record of the question, while we plan and search.
        in_conversation = self._conversation is not None
        use_memory = self._request.use_memory if self._request.HasField("use_memory") else in_conversation
        settings = self._beside(self._collection_settings())
        memory = self._beside(self._remember(use_memory, settings))
        recorded = self._beside(self._record_question(settings))

        topic = self._conversation.topic if self._conversation is not None else ""
        plan = self._again.plan if self._again else await self._steps.plan(self._question, topic, self._history)
        self._record.planned(plan)
        # Whoever brings a vector wants the documents to be searched by it.
        retrieves = plan.should_retrieve or bool(self._request.query_vector)
        found = Found(blind=not retrieves)
        if retrieves:
            yield _began(PIPELINE_STAGE_RETRIEVAL)
            found = await self._steps.retrieve(
                plan.query or self._question, self._collections, self._request, self._record.manifest
            )
            yield self._ended(PIPELINE_STAGE_RETRIEVAL)

        remembered = await memory
        self._record.remembered(remembered)
        of_collections, bounds = await settings
        asked = (self._request.prompt, self._request.rerank, self._request.generation)
        prompt_settings, rerank, model = asked if self._again else precedence.effective(*asked, of_collections)
        self._record.settings(prompt_settings, rerank, model)
        yield _began(PIPELINE_STAGE_AUGMENTATION)
        built = await self._steps.build(
            augmentation.BuildPromptRequest(
                scope=self._scope,
                question=self._question,
                chunks=found.chunks,
                history=self._history,
                memory_context=remembered.context,
                prompt=prompt_settings,
                rerank=rerank,
                named_document_ids=found.named,
                without_sources=found.blind,
                bounds=bounds,
            )
        )
        yield self._ended(PIPELINE_STAGE_AUGMENTATION)
        _name_collections(built.sources, found.chunks)
        yield AskResponse(sources=SourcesEvent(sources=built.sources))
        await recorded

        request = generation.GenerateRequest(
            scope=self._scope,
            prompt=built.prompt,
            sources=built.sources,
            question=self._question,
            settings=model,
            locale=built.prompt.locale,
            without_sources=found.blind,
            documents_unavailable=found.blind and retrieves,
            bounds=bounds,
        )
        yield _began(PIPELINE_STAGE_GENERATION)
        await self._tab.begin(_prompt_tokens(built))
        async with aclosing(self._generated(request)) as words:
            async for event in words:
                yield event
        yield self._ended(PIPELINE_STAGE_GENERATION)
        yield AskResponse(completed=await self._completed(plan, built, bounds))

    async def close(self) -> None:
        """End what still runs beside."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _generated(self, request: generation.GenerateRequest) -> AsyncGenerator[AskResponse]:
        """Yield words and citations as the model gives them, and keep the end; leaving it ends the model's call."""
        call = self._stages.generation.Generate(request, timeout=self._left())
        try:
            with self._ledger.timed(PIPELINE_STAGE_GENERATION):
                async for event in call:
                    if event.HasField("text_delta"):
                        self._ledger.saw_token()
                        yield AskResponse(text_delta=event.text_delta)
                    elif event.HasField("citation"):
                        yield AskResponse(citation=event.citation)
                    elif event.HasField("usage"):
                        self._tab.so_far(event.usage)
                    elif event.HasField("completed"):
                        self._answered = event.completed
                        self._tab.so_far(event.completed.answer.usage)
        finally:
            call.cancel()
        if self._answered is None:
            raise Internal("The answer ended without its end")
        self._ledger.report(self._answered.degradations)

    async def _completed(
        self,
        plan: augmentation.PlanQueryResponse,
        built: augmentation.BuildPromptResponse,
        bounds: TextBounds,
    ) -> AskCompleted:
        """Return the last event, after keeping the answer in its conversation."""
        assert self._answered is not None
        answer = self._answered.answer
        completed = AskCompleted(
            answer=answer,
            sources=built.sources,
            token_plan=built.token_plan,
            manifest=self._record.finish(built, self._answered, local_only=bounds.local_only),
            trace_id=current_trace_id(),
        )
        if self._ledger.first_token is not None:
            completed.time_to_first_token.CopyFrom(duration(self._ledger.first_token))
        if self._again is None:
            kept = await self._keep(completed, plan.topic, bounds)
            if kept is not completed:  # the same call, repeated meanwhile, was answered before
                return kept
        completed.degradations.extend(self._ledger.degradations)
        completed.timings.extend(self._ledger.timings)
        self._count(answer)
        return completed

    async def _record_question(self, settings: "asyncio.Task[_Settings]") -> None:
        if self._turn is not None:
            return  # it is there; what becomes of it is decided together with its answer
        await self._tools.keeper.question(
            self._scope, self._conversation, self._request, lambda: _bounds(settings), self._question_id()
        )

    async def _keep(self, completed: AskCompleted, topic: str, bounds: TextBounds) -> AskCompleted:
        """Store the answer in its place and return it, or the one that the same call has stored meanwhile."""
        keeper = self._tools.keeper
        completed.answer.id = self._claim.id_of("answer")
        if self._conversation is not None:
            completed.question_id = self._question_id()
        if self._turn is not None:
            return await keeper.anew(self._scope, self._turn, self._request, completed, topic, bounds, self._ledger)
        return await keeper.answer(self._scope, self._conversation, completed, topic, self._ledger)

    def _question_id(self) -> str:
        if self._turn is not None and self._turn.tail is None:
            return self._turn.question_id
        return self._claim.id_of("question")

    def _beside(self, work: Awaitable[T]) -> "asyncio.Task[T]":
        task = asyncio.ensure_future(work)
        self._tasks.append(task)
        return task

    def _left(self) -> float:
        remaining = self._deadline.remaining()
        if remaining <= 0:
            raise DeadlineExceeded("The time given to the question ran out before the model was asked.")
        return remaining

    async def _open_conversation(self) -> None:
        conversation_id = self._request.conversation_id
        if not conversation_id:
            return
        conversations = self._tools.conversations
        with self._ledger.timed(PIPELINE_STAGE_EDGE, "history"):
            self._conversation = await conversations.get(self._scope, conversation_id)
            if self._turn is not None:
                self._conversation.topic = self._turn.topic
            before = self._turn.question_id if self._turn is not None else self._claim.id_of("question")
            earlier = await conversations.messages.history(
                self._scope, conversation_id, self._tools.settings.history_messages, before
            )
        self._history = [ChatMessage(role=one.role, text=one.text) for one in earlier.messages]
        if not earlier.whole:
            self._ledger.degrade(
                PIPELINE_STAGE_EDGE,
                "HISTORY_WITHHELD",
                "Earlier answers from collections that you cannot read were left out.",
            )
        self._record.conversation(self._conversation.collections, [one.id for one in earlier.messages])
        self._collections = list(self._record.manifest.collections)
        trace.get_current_span().set_attribute(names.CONVERSATION_ID, conversation_id)

    async def _remember(self, wanted: bool, settings: "asyncio.Task[_Settings]") -> SearchMemoryResponse:
        bounds = (await settings)[1]
        with self._ledger.timed(PIPELINE_STAGE_RETRIEVAL, "memory"):
            if self._again is not None:
                found = await self._tools.recall.again(self._scope, self._again.memory_message_ids)
            else:
                found = await self._tools.recall.search(
                    self._scope,
                    self._question,
                    conversation_id=self._request.conversation_id,
                    enabled=wanted,
                    bounds=bounds,
                    timeout=self._deadline.share(PIPELINE_STAGE_RETRIEVAL),
                )
            if found.source_messages and not bounds.local_only:
                theirs = {message.conversation_id for message in found.source_messages}
                found = without(found, await self._tools.conversations.kept_here(theirs))
        self._ledger.report(found.degradations)
        return found

    async def _collection_settings(self) -> _Settings:
        """Return the settings of the collections, and what binds texts about them."""
        names, finder = self._collections, self._tools.bounds
        problem: FootnoteError | None = None
        try:
            with self._ledger.timed(PIPELINE_STAGE_EDGE, "settings"):
                async with asyncio.timeout(self._deadline.share(PIPELINE_STAGE_EDGE)):
                    found, bounds = await finder.find(self._scope, names)
            settings = precedence.shared_settings(found)
        except (TimeoutError, FootnoteError) as error:
            if isinstance(error, FootnoteError):
                if not degrades(error):
                    raise
                problem = error
            self._ledger.degrade(
                PIPELINE_STAGE_EDGE, "SETTINGS_UNAVAILABLE", "The deployment's settings were used.", problem
            )
            settings, bounds = CollectionSettings(), finder.last_known(self._scope, names)
        kept_here = self._conversation.local_only if self._conversation is not None else False
        if (kept_here or (self._again is not None and self._again.local_only)) and not bounds.local_only:
            mixed = TextBounds()
            mixed.CopyFrom(bounds)
            mixed.MergeFrom(of_conversation(True))
            bounds = mixed
        return settings, bounds

    def _ended(self, stage: PipelineStage.ValueType) -> AskResponse:
        return AskResponse(stage=StageEvent(stage=stage, finished=True, duration=self._ledger.duration_of(stage)))

    def _count(self, answer: Answer) -> None:
        reason = FinishReason.Name(answer.finish_reason).removeprefix("FINISH_REASON_").lower()
        counter("footnote.edge.asks").add(1, {"finish_reason": reason})


async def _bounds(settings: "asyncio.Task[_Settings]") -> TextBounds:
    return (await settings)[1]


def _name_collections(sources: Sequence[Source], chunks: Sequence[ScoredChunk]) -> None:
    """Say of each source which collection it is from: by that it is decided who may see it later."""
    known = {scored.chunk.id: scored.chunk.collection_id for scored in chunks}
    for source in sources:
        source.collection_id = source.collection_id or known.get(source.chunk_id, "")


def _prompt_tokens(built: augmentation.BuildPromptResponse) -> int:
    """Return what the model is about to read, as far as is known before it says so itself."""
    planned = int(built.token_plan.prompt_tokens)
    return planned or sum(len(message.text) // 4 + 4 for message in built.prompt.messages)


def _began(stage: PipelineStage.ValueType) -> AskResponse:
    return AskResponse(stage=StageEvent(stage=stage))
