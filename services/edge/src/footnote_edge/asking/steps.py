"""The steps before generation, each with its fallback when its stage fails: the answer continues and reports it."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from footnote.augmentation.v1 import augmentation_service_pb2 as augmentation
from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.generation.v1 import generation_service_pb2 as generation
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.retrieval.v1 import retrieval_service_pb2 as retrieval
from footnote.stages.v1.passage_pb2 import ScoredChunk
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.answer_pb2 import (
    DEGRADATION_REASON_STORE_UNAVAILABLE,
    PIPELINE_STAGE_AUGMENTATION,
    PIPELINE_STAGE_EDGE,
    PIPELINE_STAGE_GENERATION,
    PIPELINE_STAGE_INGESTION,
    PIPELINE_STAGE_RETRIEVAL,
    AnswerManifest,
    ChatMessage,
    Citation,
    Source,
    Usage,
)
from footnote.types.v1.collection_pb2 import GenerationSettings
from footnote.types.v1.reasons_pb2 import (
    QUERY_REWRITING_NONE,
    QUERY_STRATEGY_FIRST_MESSAGE,
    QUERY_STRATEGY_FOLLOW_UP,
    QUERY_STRATEGY_UNPLANNED,
    QueryStrategy,
)
from footnote.types.v1.table_pb2 import TableComputation
from footnote_kit.enum_words import enum_word
from footnote_kit.errors import FailedPrecondition, FootnoteError, InvalidArgument, PermissionDenied
from footnote_kit.logs import get_logger
from footnote_kit.origins import leading_to, origin_of

from footnote_edge.asking import computed, fallback
from footnote_edge.asking.answering import QuestionTimings, degrades
from footnote_edge.asking.deadlines import Deadline
from footnote_edge.asking.windows import Windows
from footnote_edge.ports import Stages

_log = get_logger(__name__)
_COMPUTE_SECONDS = 15.0
_WRITE_SECONDS = 20.0
_WRITINGS = 2
"""Statements that a model writes for one question: the first, and one repair."""
_MOST_COMPUTED = 2000
"""Maximum characters of a question that is computed from tables."""


@dataclass(frozen=True, slots=True)
class Found:
    """Chunks, documents that the question names, and `blind`: no search could look at the documents."""

    chunks: Sequence[Any] = ()
    named: Sequence[str] = ()
    blind: bool = False


def could_not_look(found: retrieval.RetrieveResponse) -> bool:
    """Return whether a search is empty because the store did not answer."""
    return not found.chunks and any(one.reason == DEGRADATION_REASON_STORE_UNAVAILABLE for one in found.degradations)


STRATEGY_LABELS = {
    QUERY_STRATEGY_FIRST_MESSAGE: "first message (raw query)",
    QUERY_STRATEGY_FOLLOW_UP: "follow-up (contextualized topic)",
}
"""Log labels of search strategies; other strategies use the names of their values."""


class Steps:
    """Plan, retrieve and build for one question; times and degradations go to its ledger."""

    def __init__(
        self, stages: Stages, windows: Windows, scope: Scope, ledger: QuestionTimings, deadline: Deadline
    ) -> None:
        self._stages = stages
        self._windows = windows
        self._scope = scope
        self._ledger = ledger
        self._deadline = deadline

    async def plan(self, question: str, topic: str, history: Sequence[ChatMessage]) -> augmentation.PlanQueryResponse:
        """Return the search plan; without augmentation, a search for the question as asked."""
        request = augmentation.PlanQueryRequest(scope=self._scope, message=question, topic=topic, history=history)
        try:
            with self._ledger.timed(PIPELINE_STAGE_AUGMENTATION, "plan"):
                plan: augmentation.PlanQueryResponse = await self._stages.augmentation.PlanQuery(
                    request, timeout=self._deadline.share(PIPELINE_STAGE_EDGE)
                )
        except FootnoteError as error:
            if not degrades(error):
                raise
            self._ledger.degrade(
                PIPELINE_STAGE_AUGMENTATION, "PLAN_UNAVAILABLE", "The question was searched for as it was asked.", error
            )
            return augmentation.PlanQueryResponse(
                should_retrieve=True,
                query=question,
                strategy=QUERY_STRATEGY_UNPLANNED,
                rewriting=QUERY_REWRITING_NONE,
                topic=topic,
            )
        strategy = enum_word(QueryStrategy.DESCRIPTOR, plan.strategy)
        label = STRATEGY_LABELS.get(plan.strategy, strategy)
        _log.info("query_planned", strategy=label, should_retrieve=plan.should_retrieve)
        return plan

    async def retrieve(
        self, query: str, collections: Sequence[str], asked: AskRequest, manifest: AnswerManifest, bounds: TextBounds
    ) -> Found:
        """Search, and note the scope and settings in the manifest; `bounds` are those of the query's text."""
        request = retrieval.RetrieveRequest(
            scope=self._scope,
            query=query,
            collections=collections,
            settings=asked.retrieval,
            filter=asked.filter if asked.HasField("filter") else None,
            document_ids=asked.document_ids,
            explain=True,
            query_vector=asked.query_vector,
            bounds=bounds,
        )
        began = self._ledger.elapsed()
        try:
            with self._ledger.timed(PIPELINE_STAGE_RETRIEVAL):
                found = await self._stages.retrieval.Retrieve(
                    request, timeout=self._deadline.share(PIPELINE_STAGE_RETRIEVAL)
                )
        except FootnoteError as error:
            if not degrades(error):
                raise
            self._ledger.degrade(
                PIPELINE_STAGE_RETRIEVAL,
                "RETRIEVAL_UNAVAILABLE",
                "Answered without sources: search did not work.",
                error,
            )
            return Found(blind=True)
        self._ledger.include(found.timings, began)
        self._ledger.report(found.degradations)
        blind = could_not_look(found)
        manifest.ClearField("collection_ids")  # those of a search for the question before it was rewritten
        manifest.collection_ids.extend(found.collection_ids)
        if found.HasField("settings"):
            manifest.retrieval.CopyFrom(found.settings)
        return Found(list(found.chunks), list(found.named_document_ids), blind)

    async def compute(
        self, question: str, found: Found, locale: str, settings: GenerationSettings, bounds: TextBounds
    ) -> tuple[TableComputation, Usage]:
        """Return the answer that the found documents' tables give to a question, and what a model's part in it cost.

        The words of the question are read first. Where they do not tell, the answering model writes a statement, and
        repairs it once. Empty where nothing is computed: then passages answer the question. A third-party stage may
        have no tables, or write no statements; that is no degradation.
        """
        documents = computed.documents_of(found.chunks)
        usage = Usage()
        if not documents or len(question) > _MOST_COMPUTED:
            return TableComputation(), usage
        request = ingestion.ComputeAnswerRequest(
            scope=self._scope, question=question, document_ids=documents, locale=locale
        )
        try:
            answer = await self._ask_tables(request)
            tables = answer.tables
            for _ in range(_WRITINGS):
                if answer.computation.confirmed or answer.computation.mixed or not (answer.tables or answer.problem):
                    break
                written = await self._write_query(
                    generation.WriteTableQueryRequest(
                        scope=self._scope, question=question, tables=tables, settings=settings, bounds=bounds,
                        query=request.query, problem=answer.problem,
                    )
                )  # fmt: skip
                usage.prompt_tokens += written.usage.prompt_tokens
                usage.completion_tokens += written.usage.completion_tokens
                if not written.query:
                    break
                request.query = written.query
                answer = await self._ask_tables(request)
                answer.computation.model = written.model
        except FootnoteError as error:
            _log.warning("tables_not_asked", reason=error.reason)
            return TableComputation(), usage
        return answer.computation, usage

    async def _ask_tables(self, request: ingestion.ComputeAnswerRequest) -> ingestion.ComputeAnswerResponse:
        with self._ledger.timed(PIPELINE_STAGE_INGESTION, "compute"):
            answer: ingestion.ComputeAnswerResponse = await self._stages.ingestion.ComputeAnswer(
                request, timeout=min(_COMPUTE_SECONDS, self._deadline.share(PIPELINE_STAGE_INGESTION) / 3)
            )
        return answer

    async def _write_query(self, request: generation.WriteTableQueryRequest) -> generation.WriteTableQueryResponse:
        with self._ledger.timed(PIPELINE_STAGE_GENERATION, "query"):
            written: generation.WriteTableQueryResponse = await self._stages.generation.WriteTableQuery(
                request, timeout=min(_WRITE_SECONDS, self._deadline.share(PIPELINE_STAGE_RETRIEVAL))
            )
        return written

    async def rewrite(
        self, question: str, history: Sequence[ChatMessage], settings: GenerationSettings, bounds: TextBounds
    ) -> generation.RewriteQuestionResponse:
        """Return a follow-up in standalone form, by the answering model; empty where there is none or it fails."""
        request = generation.RewriteQuestionRequest(
            scope=self._scope, question=question, history=history, settings=settings, bounds=bounds
        )
        try:
            with self._ledger.timed(PIPELINE_STAGE_GENERATION, "rewrite"):
                rewritten: generation.RewriteQuestionResponse = await self._stages.generation.RewriteQuestion(
                    request, timeout=self._deadline.share(PIPELINE_STAGE_RETRIEVAL)
                )
        except FootnoteError as error:
            effect = "The question was searched for by rules, which may miss what it leans on."
            self._ledger.degrade(PIPELINE_STAGE_GENERATION, "REWRITE_UNAVAILABLE", effect, error)
            return generation.RewriteQuestionResponse()
        return rewritten

    async def window(self, settings: GenerationSettings, bounds: TextBounds) -> tuple[int, int]:
        """Return the model's context window and answer size in tokens; 0 where unknown."""
        request = generation.ResolveSettingsRequest(scope=self._scope, generation=settings, bounds=bounds)
        try:
            return await self._windows.of(request, self._deadline.share(PIPELINE_STAGE_EDGE))
        except FootnoteError:
            return 0, 0  # the generation call will report the error

    async def allows(self, settings: GenerationSettings, bounds: TextBounds) -> bool:
        """Tell whether the model of these settings may read texts with these bounds; false where unknown."""
        request = generation.ResolveSettingsRequest(scope=self._scope, generation=settings, bounds=bounds)
        try:
            await self._windows.of(request, self._deadline.share(PIPELINE_STAGE_EDGE))
        except FootnoteError:
            return False
        return True

    async def build(
        self, request: augmentation.BuildPromptRequest, *, reranker_named: bool
    ) -> augmentation.BuildPromptResponse:
        """Return the prompt with its sources; without augmentation a minimal one.

        A reranker that cannot be used is left out, unless the caller has named it.
        """
        try:
            return await self._build(request)
        except (FailedPrecondition, InvalidArgument, PermissionDenied) as error:
            if reranker_named or not error.reason.startswith("PROVIDER_"):
                raise
            self._ledger.degrade(
                PIPELINE_STAGE_AUGMENTATION, "RERANKER_FAILED", "Sources are in retrieval's order.", error
            )
            request.rerank.Clear()
            request.rerank.provider = "none"
            return await self._build(request)

    async def _build(self, request: augmentation.BuildPromptRequest) -> augmentation.BuildPromptResponse:
        began = self._ledger.elapsed()
        try:
            with self._ledger.timed(PIPELINE_STAGE_AUGMENTATION):
                built: augmentation.BuildPromptResponse = await self._stages.augmentation.BuildPrompt(
                    request, timeout=self._deadline.share(PIPELINE_STAGE_AUGMENTATION)
                )
        except FootnoteError as error:
            if not degrades(error):
                raise
            self._ledger.degrade(
                PIPELINE_STAGE_AUGMENTATION,
                "AUGMENTATION_UNAVAILABLE",
                "A minimal prompt was used: no reranking, history or memory.",
                error,
            )
            # Counting tokens is CPU work; the event loop must keep serving other answers.
            sources = await asyncio.to_thread(fallback.sources_of, list(request.chunks))
            prompt = fallback.prompt_of(
                request.question,
                sources,
                without_sources=request.without_sources,
                unavailable=request.documents_unavailable,
            )
            return augmentation.BuildPromptResponse(prompt=prompt, sources=sources)
        self._ledger.include(built.timings, began)
        self._ledger.report(built.degradations)
        return built


def name_collections(sources: Sequence[Source], chunks: Sequence[ScoredChunk]) -> None:
    """Set each source's collection, which later access checks use, and its origin."""
    known = {scored.chunk.id: scored.chunk for scored in chunks}
    for source in sources:
        if (chunk := known.get(source.chunk_id)) is None:
            continue
        source.collection_id = source.collection_id or chunk.collection_id
        if (origin := origin_of(chunk.metadata)) is not None:
            source.origin.CopyFrom(origin)


def lead_to_origins(citations: Iterable[Citation], sources: Sequence[Source]) -> None:
    """Link footnotes to the quoted positions in items of sources."""
    origins = {source.number: source.origin for source in sources if source.HasField("origin")}
    for citation in citations:
        if (origin := origins.get(citation.number)) is not None:
            citation.origin.CopyFrom(leading_to(origin, citation.quote))


def prompt_tokens(built: augmentation.BuildPromptResponse) -> int:
    """Return the prompt's tokens as far as known before the model reports them."""
    planned = int(built.token_plan.prompt_tokens)
    return planned or sum(len(message.text) // 4 + 4 for message in built.prompt.messages)
