"""The steps before generation, each with what is done when its stage fails: the answer goes on and says so."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from footnote.augmentation.v1 import augmentation_service_pb2 as augmentation
from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.retrieval.v1 import retrieval_service_pb2 as retrieval
from footnote.types.v1.answer_pb2 import (
    DEGRADATION_REASON_STORE_UNAVAILABLE,
    PIPELINE_STAGE_AUGMENTATION,
    PIPELINE_STAGE_EDGE,
    PIPELINE_STAGE_RETRIEVAL,
    AnswerManifest,
    ChatMessage,
)
from footnote.types.v1.reasons_pb2 import QUERY_REWRITING_NONE, QUERY_STRATEGY_UNPLANNED, QueryStrategy
from footnote.types.v1.scope_pb2 import Scope
from footnote_kit.enum_words import enum_word
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger

from footnote_edge.adapters.stages import Stages
from footnote_edge.asking import fallback
from footnote_edge.asking.answering import Ledger, degrades
from footnote_edge.asking.deadlines import Deadline

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """Chunks, documents that the question names, and whether there was no search that could see."""

    chunks: Sequence[Any] = ()
    named: Sequence[str] = ()
    blind: bool = False


class Steps:
    """Plan, retrieve, build: for one question, whose times and degradations go to its ledger."""

    def __init__(self, stages: Stages, scope: Scope, ledger: Ledger, deadline: Deadline) -> None:
        self._stages = stages
        self._scope = scope
        self._ledger = ledger
        self._deadline = deadline

    async def plan(self, question: str, topic: str, history: Sequence[ChatMessage]) -> augmentation.PlanQueryResponse:
        """Return what to search for, and whether to; without augmentation the question as it was asked."""
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
        _log.info("query_planned", strategy=strategy, should_retrieve=plan.should_retrieve)
        return plan

    async def retrieve(
        self, query: str, collections: Sequence[str], asked: AskRequest, manifest: AnswerManifest
    ) -> Found:
        """Search, and note in the manifest where and by which settings."""
        request = retrieval.RetrieveRequest(
            scope=self._scope,
            query=query,
            collections=collections,
            settings=asked.retrieval,
            where=asked.where,
            filter=asked.filter if asked.HasField("filter") else None,
            document_ids=asked.document_ids,
            explain=True,
            query_vector=asked.query_vector,
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
        blind = not found.chunks and any(
            one.reason == DEGRADATION_REASON_STORE_UNAVAILABLE for one in found.degradations
        )
        manifest.collection_ids.extend(found.collection_ids)
        if found.HasField("settings"):
            manifest.retrieval.CopyFrom(found.settings)
        return Found(list(found.chunks), list(found.named_document_ids), blind)

    async def build(self, request: augmentation.BuildPromptRequest) -> augmentation.BuildPromptResponse:
        """Return the prompt with its sources; without augmentation a minimal one."""
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
            # Counting tokens is work for the processor; the loop has other answers to serve meanwhile.
            sources = await asyncio.to_thread(fallback.sources_of, list(request.chunks))
            prompt = fallback.prompt_of(request.question, sources)
            return augmentation.BuildPromptResponse(prompt=prompt, sources=sources)
        self._ledger.include(built.timings, began)
        self._ledger.report(built.degradations)
        return built
