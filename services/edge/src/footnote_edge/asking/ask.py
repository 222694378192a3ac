"""Runs one question through the online stages: plan, retrieve, build the prompt, generate.

Before generation every failure degrades the answer and is reported in it (EDG-5); a failed generation fails the call.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from footnote.augmentation.v1 import augmentation_service_pb2 as augmentation
from footnote.edge.v1.answers_pb2 import AskCompleted, AskRequest, AskResponse, SourcesEvent, StageEvent
from footnote.edge.v1.conversations_pb2 import Conversation
from footnote.generation.v1 import generation_service_pb2 as generation
from footnote.retrieval.v1.retrieval_service_pb2 import SearchMemoryResponse
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.answer_pb2 import (
    FINISH_REASON_INTERRUPTED,
    PIPELINE_STAGE_AUGMENTATION,
    PIPELINE_STAGE_EDGE,
    PIPELINE_STAGE_GENERATION,
    PIPELINE_STAGE_RETRIEVAL,
    Answer,
    FinishReason,
    PipelineStage,
    Usage,
)
from footnote.types.v1.collection_pb2 import (
    CollectionSettings,
    GenerationSettings,
    PromptSettings,
    RerankSettings,
)
from footnote.types.v1.reasons_pb2 import QUERY_REWRITING_MODEL, QUERY_STRATEGY_UNPLANNED
from footnote.types.v1.table_pb2 import TableComputation
from footnote_kit import names
from footnote_kit.errors import DeadlineExceeded, FootnoteError, Internal, NotFound
from footnote_kit.telemetry import counter, current_trace_id
from footnote_kit.timings import duration
from footnote_providers.egress.bounds import together
from footnote_text.table_words import table_words
from opentelemetry import trace

from footnote_edge.asking import computed as computed_answers
from footnote_edge.asking import past, precedence, request_limits
from footnote_edge.asking.answering import QuestionTimings, degrades
from footnote_edge.asking.binding import memory_for
from footnote_edge.asking.deadlines import Deadline
from footnote_edge.asking.manifests import Record
from footnote_edge.asking.missing_collections import still_there
from footnote_edge.asking.past import Past
from footnote_edge.asking.steps import Found, Steps, lead_to_origins, name_collections, prompt_tokens
from footnote_edge.asking.tools import Tools
from footnote_edge.collections.bounds import CONVERSATION
from footnote_edge.conversations.origins import Origin, of_sources
from footnote_edge.conversations.regeneration import Regeneration
from footnote_edge.gateway.limiting import UsageMeter
from footnote_edge.gateway.request_ids import Claim

T = TypeVar("T")
_REWRITING_AFTER, _REWRITING_MOST = 0.4, 1.0
"""Seconds that a rewritten question is waited for: after the search by rules, and after that search began."""
_Settings: TypeAlias = tuple[CollectionSettings, TextBounds]


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    """Inputs of an earlier answer, used in place of fresh ones."""

    plan: augmentation.PlanQueryResponse
    memory_message_ids: Sequence[str]
    local_only: bool


class Run:
    """One question in progress; its answer extends its conversation or, with a `turn`, replaces another answer."""

    def __init__(
        self,
        tools: Tools,
        scope: Scope,
        request: AskRequest,
        question: str,
        deadline: Deadline,
        claim: Claim,
        again: EarlierAnswer | None,
        turn: Regeneration | None,
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
        self._ledger = QuestionTimings()
        self._steps = Steps(tools.stages, tools.windows, scope, self._ledger, deadline)
        self._tab = UsageMeter(tools.limiting, scope.tenant_id, scope.user_id)
        self._tasks: list[asyncio.Task[Any]] = []
        self._recording: asyncio.Task[None] | None = None
        """The storing of the question."""
        self._answered: generation.GenerateCompleted | None = None
        self._conversation: Conversation | None = None
        self._collections: list[str] = list(request.collections)
        self._past = Past()
        self._origins: set[Origin] = set()
        """Origins of the prompt's texts."""
        self._kept_here = again is not None and again.local_only
        self._record = Record(request, question)
        self._nowhere = False
        """Whether all collections of the conversation are deleted."""
        self._said = ""
        self._found = False
        """Whether the search found passages."""
        self._usage_beside = Usage()
        self._refused: FootnoteError | None = None
        """The reason why the answer must stop."""

    async def events(self) -> AsyncGenerator[AskResponse]:
        """Yield the answer's events."""
        await self._open_conversation()
        # Concurrently: load the collections' settings and store the question while planning; search memory, by the
        # meaning of a follow-up, during retrieval.
        settings = self._beside(self._collection_settings())
        self._recording = self._beside(self._record_question(lambda: settings))

        topic = self._conversation.topic if self._conversation is not None else ""
        plan = self._again.plan if self._again else await self._steps.plan(self._question, topic, self._past.messages)
        question = str(plan.question) or self._question
        rewriting = self._rewriting(plan, settings)
        in_conversation = self._conversation is not None
        use_memory = self._request.use_memory if self._request.HasField("use_memory") else in_conversation
        memory = None if rewriting else self._beside(self._remember(question, use_memory, settings))
        window = self._beside(self._window(settings))
        # A caller that sends a vector wants a document search by it.
        retrieves = plan.should_retrieve or bool(self._request.query_vector)
        found = Found(blind=not retrieves or self._nowhere)
        if retrieves and not self._nowhere:
            yield _began(PIPELINE_STAGE_RETRIEVAL)
            began = time.perf_counter()
            found = await self._retrieve(plan)
            if rewriting and (rewritten := await self._rewritten(rewriting, began)):
                searched, question = plan.query, rewritten
                plan.query = plan.topic = rewritten
                plan.rewriting = QUERY_REWRITING_MODEL
                del plan.table_words[:]
                plan.table_words.extend(table_words(rewritten))
                memory = self._beside(self._remember(question, use_memory, settings))
                found = found if rewritten == searched else await self._retrieve(plan)
            self._searched(time.perf_counter() - began, found)
            yield self._ended(PIPELINE_STAGE_RETRIEVAL)
        self._record.planned(plan, "" if question == self._question else question)

        memory = memory or self._beside(self._remember(question, use_memory, settings))
        remembered, of_prompt = await memory
        self._record.remembered(remembered)
        of_collections, bounds = await settings
        prompt_settings, rerank, model = self._effective(of_collections)
        self._record.settings(prompt_settings, rerank, model)
        yield _began(PIPELINE_STAGE_AUGMENTATION)
        context_window, answer_tokens = await window
        built = await self._steps.build(
            augmentation.BuildPromptRequest(
                scope=self._scope,
                question=question,
                chunks=found.chunks,
                history=self._past.messages,
                memory_context=remembered.context,
                prompt=prompt_settings,
                rerank=rerank,
                named_document_ids=found.named,
                without_sources=found.blind,
                documents_unavailable=found.blind and retrieves,
                instructions=self._request.instructions,
                context_window=context_window,
                answer_tokens=answer_tokens,
                bounds=bounds,
            ),
            reranker_named=bool(self._request.rerank.provider),
        )
        yield self._ended(PIPELINE_STAGE_AUGMENTATION)
        name_collections(built.sources, found.chunks)
        computed, spent = TableComputation(), Usage()
        if plan.table_words or (context_window and computed_answers.begins_with_table(found.chunks)):
            computed, spent = await self._steps.compute(question, found, built.prompt.locale, model, of_prompt)
        self._spent_beside(spent)
        by_tables = computed.confirmed and not (computed.doubts and model.strict)
        if by_tables:
            made, added = computed_answers.answer_of(computed, built.sources, found.chunks, built.prompt.locale)
            built.sources.extend(added)
            self._answered = generation.GenerateCompleted(answer=made)
        self._origins |= of_sources(built.sources)
        yield AskResponse(sources=SourcesEvent(sources=built.sources))
        await self._recording

        request = generation.GenerateRequest(
            scope=self._scope,
            prompt=built.prompt,
            sources=built.sources,
            question=question,
            settings=model,
            locale=built.prompt.locale,
            without_sources=found.blind,
            documents_unavailable=found.blind and retrieves,
            bounds=of_prompt,
        )
        yield _began(PIPELINE_STAGE_GENERATION)
        await self._tab.begin(0 if by_tables else prompt_tokens(built))
        try:
            async with aclosing(self._computed(request) if by_tables else self._generated(request)) as words:
                async for event in words:
                    yield event
        except FootnoteError as error:
            await self._keep_what_was_said(built, plan.topic, error)
            raise
        except (asyncio.CancelledError, GeneratorExit):
            self._tools.keeper.beside(self._keep_what_was_said(built, plan.topic, None))
            raise
        yield self._ended(PIPELINE_STAGE_GENERATION)
        if computed.mixed:
            assert self._answered is not None
            self._answered.answer.warnings.append(f"Nothing was computed: the numbers are in {computed.mixed}.")
        yield AskResponse(completed=await self._completed(plan, built, bounds))

    async def close(self) -> None:
        """Cancel the concurrent tasks; a question not stored yet is stored in the background."""
        unrecorded = self._recording is not None and not self._recording.done()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if unrecorded:
            self._tools.keeper.beside(self._record_question(self._collection_settings))

    async def _computed(self, request: generation.GenerateRequest) -> AsyncGenerator[AskResponse]:
        """Yield a computed answer as if a model had produced it at once."""
        assert self._answered is not None
        answer = self._answered.answer
        lead_to_origins(answer.citations, request.sources)
        self._ledger.saw_token()
        self._said = answer.text
        yield AskResponse(text_delta=answer.text)
        for citation in answer.citations:
            yield AskResponse(citation=citation)

    async def _generated(self, request: generation.GenerateRequest) -> AsyncGenerator[AskResponse]:
        """Yield words and citations as the model produces them, and keep the end; closing it ends the model's call."""
        call = self._stages.generation.Generate(request, timeout=self._left())

        def end(refusal: FootnoteError) -> None:
            self._refused = refusal
            call.cancel()

        watch = self._beside(self._tools.entitled.watch(self._scope, self._origins | self._named(), end))
        try:
            with self._ledger.timed(PIPELINE_STAGE_GENERATION):
                async for event in call:
                    if event.HasField("text_delta"):
                        self._ledger.saw_token()
                        self._said += event.text_delta
                        yield AskResponse(text_delta=event.text_delta)
                    elif event.HasField("citation"):
                        lead_to_origins([event.citation], request.sources)
                        yield AskResponse(citation=event.citation)
                    elif event.HasField("claims_revised"):
                        lead_to_origins(event.claims_revised.citations, request.sources)
                        yield AskResponse(claims_revised=event.claims_revised)
                    elif event.HasField("usage"):
                        self._tab.so_far(event.usage)
                    elif event.HasField("completed"):
                        self._answered = event.completed
                        answer = event.completed.answer
                        lead_to_origins([*answer.citations, answer.nearest], request.sources)
                        self._tab.so_far(event.completed.answer.usage)
        except (FootnoteError, asyncio.CancelledError):
            if self._refused is not None:
                raise self._refused from None
            raise
        finally:
            watch.cancel()
            call.cancel()
        if self._answered is None:
            raise Internal("The answer ended without its end")
        self._ledger.report(self._answered.degradations)

    def _named(self) -> set[Origin]:
        """Return the explicitly named collections: without access to one of them the question loses its subject."""
        return {Origin(one, "") for one in self._record.manifest.collection_ids} if self._collections else set()

    async def _completed(
        self,
        plan: augmentation.PlanQueryResponse,
        built: augmentation.BuildPromptResponse,
        bounds: TextBounds,
    ) -> AskCompleted:
        """Store the answer in its conversation and return the last event."""
        assert self._answered is not None
        answer = self._answered.answer
        answer.usage.prompt_tokens += self._usage_beside.prompt_tokens
        answer.usage.completion_tokens += self._usage_beside.completion_tokens
        completed = AskCompleted(
            answer=answer,
            sources=built.sources,
            token_plan=built.token_plan,
            manifest=self._record.finish(built, self._answered, self._origins, local_only=bounds.local_only),
            trace_id=current_trace_id(),
        )
        if self._ledger.first_token is not None:
            completed.time_to_first_token.CopyFrom(duration(self._ledger.first_token))
        if self._again is None:
            kept = await self._keep(completed, plan.topic, bounds)
            if kept is not completed:  # a concurrent repeat of this call has stored its answer first
                return kept
        completed.degradations.extend(self._ledger.degradations)
        completed.timings.extend(self._ledger.timings)
        self._count(answer)
        return completed

    def _searched(self, seconds: float, found: Found) -> None:
        if found.blind or self._again is not None:
            return
        self._found = bool(found.chunks)
        self._tools.activity.searched(self._scope.tenant_id, seconds, self._found)

    def _spent_beside(self, usage: Usage) -> None:
        """Count the tokens of a model call beside the answer's own."""
        self._tab.beside(usage)
        self._usage_beside.prompt_tokens += usage.prompt_tokens
        self._usage_beside.completion_tokens += usage.completion_tokens

    def _rewriting(
        self, plan: augmentation.PlanQueryResponse, settings: "asyncio.Task[_Settings]"
    ) -> "asyncio.Task[str] | None":
        """Begin to rewrite a follow-up beside its search by rules; None for a message that the rules call complete."""
        complete = not plan.question and plan.strategy != QUERY_STRATEGY_UNPLANNED
        if self._again is not None or complete or not plan.should_retrieve or not self._past.messages or self._nowhere:
            return None
        return self._beside(self._in_full(settings))

    async def _in_full(self, settings: "asyncio.Task[_Settings]") -> str:
        """Return the question in standalone form by the answering model, "" if it makes none."""
        of_collections, bounds = await settings
        rewritten = await self._steps.rewrite(
            self._question, self._past.messages, self._effective(of_collections)[2], bounds
        )
        self._spent_beside(rewritten.usage)
        return str(rewritten.question)

    async def _rewritten(self, rewriting: "asyncio.Task[str]", began: float) -> str:
        """Return the rewritten question, "" if it does not come soon after the search that began at `began`."""
        now = time.perf_counter()
        done, _ = await asyncio.wait(
            [rewriting], timeout=max(0.0, min(began + _REWRITING_MOST - now, _REWRITING_AFTER))
        )
        if done:
            return await rewriting
        rewriting.cancel()
        return ""

    async def _retrieve(self, plan: augmentation.PlanQueryResponse) -> Found:
        return await self._steps.retrieve(
            plan.query or self._question,
            self._collections,
            self._request,
            self._record.manifest,
            await self._bounds_of_query(plan.query),
        )

    async def _window(self, settings: "asyncio.Task[_Settings]") -> tuple[int, int]:
        of_collections, bounds = await settings
        return await self._steps.window(self._effective(of_collections)[2], bounds)

    def _effective(
        self, of_collections: CollectionSettings
    ) -> tuple[PromptSettings, RerankSettings, GenerationSettings]:
        asked = (self._request.prompt, self._request.rerank, self._request.generation)
        return asked if self._again else precedence.effective(*asked, of_collections)

    async def _keep_what_was_said(
        self, built: augmentation.BuildPromptResponse, topic: str, error: FootnoteError | None
    ) -> None:
        """Store the partial text of a broken-off answer; a regenerated answer leaves the old one in place.

        `error` is None where the caller has left: then nothing failed, and no degradation is reported.
        """
        if self._conversation is None or self._turn is not None or not self._said.strip():
            return
        if error is not None:
            effect = "The answer broke off; this is what was said until then."
            self._ledger.degrade(PIPELINE_STAGE_GENERATION, "ANSWER_CUT", effect, error)
        answer = Answer(
            id=self._claim.id_of("partial"), text=self._said.strip(), finish_reason=FINISH_REASON_INTERRUPTED
        )
        partial = AskCompleted(
            answer=answer, sources=built.sources, trace_id=current_trace_id(), question_id=self._question_id()
        )
        with suppress(NotFound):  # an origin was deleted: then nothing of the answer is kept
            await self._tools.keeper.answer(
                self._scope, self._conversation, partial, topic, self._origins, self._ledger
            )

    async def _record_question(self, settings: Callable[[], Awaitable[_Settings]]) -> None:
        if self._turn is not None:
            return  # already stored; its fate is decided together with its answer
        await self._tools.keeper.question(
            self._scope, self._conversation, self._request, lambda: _bounds(settings()), self._question_id()
        )

    async def _keep(self, completed: AskCompleted, topic: str, bounds: TextBounds) -> AskCompleted:
        """Store the answer in its place and return it, or return the one that a repeat of this call stored first."""
        keeper = self._tools.keeper
        completed.answer.id = self._claim.id_of("answer")
        if self._conversation is not None:
            completed.question_id = self._question_id()
        if self._turn is not None:
            return await keeper.anew(
                self._scope, self._turn, self._request, completed, topic, bounds, self._origins, self._ledger
            )
        return await keeper.answer(self._scope, self._conversation, completed, topic, self._origins, self._ledger)

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
        conversations = self._tools.conversations
        with self._ledger.timed(PIPELINE_STAGE_EDGE, "history"):
            if conversation_id:
                self._conversation = await conversations.get(self._scope, conversation_id)
                self._kept_here = self._conversation.local_only
                if self._turn is not None:
                    hidden = await conversations.messages.unreadable(self._scope, [self._turn.topic_of])
                    self._conversation.topic = "" if hidden else self._turn.topic
                before = self._turn.question_id if self._turn is not None else self._claim.id_of("question")
                most = self._tools.settings.history_messages
                self._past = await past.of_conversation(
                    conversations.messages, self._scope, conversation_id, most, before
                )
            else:
                self._past = await past.given(conversations.messages, self._scope, self._request.history)
        self._origins |= self._past.origins
        if not self._past.whole:
            self._ledger.degrade(
                PIPELINE_STAGE_EDGE, "HISTORY_WITHHELD", "Earlier answers that you cannot read any more were left out."
            )
        self._record.history(self._past)
        if self._conversation is None:
            return
        self._record.conversation(self._conversation.collections)
        self._collections = list(self._record.manifest.collections)
        if self._collections and not self._request.collections:
            finder, named = self._tools.bounds, self._collections
            self._collections = await still_there(finder, self._scope, named, self._ledger)
            self._nowhere = not self._collections
        trace.get_current_span().set_attribute(names.CONVERSATION_ID, conversation_id)

    async def _bounds_of_query(self, query: str) -> TextBounds:
        """Return the bounds of a query beyond the collections searched: it may repeat the conversation's history."""
        repeats = self._past.collections if query != self._question else ()
        of_history = await self._tools.bounds.about(self._scope, repeats)
        return together([of_history, CONVERSATION]) if self._kept_here else of_history

    async def _remember(
        self, question: str, wanted: bool, settings: "asyncio.Task[_Settings]"
    ) -> tuple[SearchMemoryResponse, TextBounds]:
        """Return memory that the model may read, and the bounds of all texts in the prompt."""
        of_collections, bounds = await settings
        with self._ledger.timed(PIPELINE_STAGE_RETRIEVAL, "memory"):
            if self._again is not None:
                found = await self._tools.recall.again(self._scope, self._again.memory_message_ids)
            else:
                found = await self._tools.recall.search(
                    self._scope,
                    question,
                    conversation_id=self._request.conversation_id,
                    enabled=wanted,
                    bounds=bounds,
                    timeout=self._deadline.share(PIPELINE_STAGE_RETRIEVAL),
                )
            model = self._effective(of_collections)[2]
            found, bounds, origins = await memory_for(self._tools, self._steps, self._scope, model, found, bounds)
            self._origins |= origins
        self._ledger.report(found.degradations)
        return found, bounds

    async def _collection_settings(self) -> _Settings:
        """Return the collections' settings and the bounds of texts about them."""
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
        # Rules about collections apply whether the request, the conversation or nothing names them.
        request_limits.check(self._tools.egress, self._scope, self._request, bounds.collections)
        parts = [bounds, await finder.about(self._scope, self._past.collections)]
        return settings, together([*parts, CONVERSATION] if self._kept_here else parts)

    def _ended(self, stage: PipelineStage.ValueType) -> AskResponse:
        return AskResponse(stage=StageEvent(stage=stage, finished=True, duration=self._ledger.duration_of(stage)))

    def _count(self, answer: Answer) -> None:
        reason = FinishReason.Name(answer.finish_reason).removeprefix("FINISH_REASON_").lower()
        counter("footnote.edge.asks").add(1, {"finish_reason": reason})
        if self._again is None:
            self._tools.activity.answered(self._scope.tenant_id, answer, self._found)


async def _bounds(settings: Awaitable[_Settings]) -> TextBounds:
    return (await settings)[1]


def _began(stage: PipelineStage.ValueType) -> AskResponse:
    return AskResponse(stage=StageEvent(stage=stage))
