"""Builds the prompt of a question from its passages, history and memory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from footnote.augmentation.v1.augmentation_service_pb2 import BuildPromptRequest, BuildPromptResponse
from footnote.stages.v1.passage_pb2 import ScoredChunk
from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_AUGMENTATION, Source
from footnote_kit.errors import FailedPrecondition, FootnoteError, InvalidArgument, PermissionDenied
from footnote_kit.origins import origin_of

from footnote_edge.asking import fallback
from footnote_edge.asking.question import Draft, Question, without_sources
from footnote_edge.asking.timings import degrades


async def build_prompt(question: Question, draft: Draft) -> Draft:
    """Build the prompt. A reranker that cannot be used is left out, unless the caller has named it."""
    settings = await draft.settings
    answerer = await draft.answerer
    request = BuildPromptRequest(
        scope=question.scope,
        question=draft.text,
        chunks=draft.found.chunks,
        history=draft.thread.past.messages,
        memory_context=draft.remembered.memory.context,
        prompt=settings.prompt,
        rerank=settings.rerank,
        named_document_ids=draft.found.named,
        without_sources=without_sources(question, draft),
        documents_unavailable=draft.found.unavailable,
        instructions=question.request.instructions,
        context_window=answerer.context_window,
        answer_tokens=answerer.answer_tokens,
        bounds=settings.bounds,
    )
    try:
        built = await _built(question, request)
    except (FailedPrecondition, InvalidArgument, PermissionDenied) as error:
        if question.request.rerank.provider or not error.reason.startswith("PROVIDER_"):
            raise
        effect = "Sources are in retrieval's order."
        question.timings.degrade(PIPELINE_STAGE_AUGMENTATION, "RERANKER_FAILED", effect, error)
        request.rerank.Clear()
        request.rerank.provider = "none"
        built = await _built(question, request)
    _name_collections(built.sources, draft.found.chunks)
    return replace(draft, built=built)


async def _built(question: Question, request: BuildPromptRequest) -> BuildPromptResponse:
    """Return the prompt with its sources; without augmentation a minimal one."""
    timings = question.timings
    began = timings.elapsed()
    try:
        with timings.timed(PIPELINE_STAGE_AUGMENTATION):
            built: BuildPromptResponse = await question.tools.stages.augmentation.BuildPrompt(
                request, timeout=question.deadline.share(PIPELINE_STAGE_AUGMENTATION)
            )
    except FootnoteError as error:
        if not degrades(error):
            raise
        effect = "A minimal prompt was used: no reranking, history or memory."
        timings.degrade(PIPELINE_STAGE_AUGMENTATION, "AUGMENTATION_UNAVAILABLE", effect, error)
        # Counting tokens is CPU work; the event loop must keep serving other answers.
        sources = await asyncio.to_thread(fallback.sources_of, list(request.chunks))
        return BuildPromptResponse(prompt=fallback.prompt_of(request, sources), sources=sources)
    timings.include(built.timings, began)
    timings.report(built.degradations)
    return built


def _name_collections(sources: Sequence[Source], chunks: Sequence[ScoredChunk]) -> None:
    """Set each source's collection, which later access checks use, and its origin."""
    known = {scored.chunk.id: scored.chunk for scored in chunks}
    for source in sources:
        if (chunk := known.get(source.chunk_id)) is None:
            continue
        source.collection_id = source.collection_id or chunk.collection_id
        if (origin := origin_of(chunk.metadata)) is not None:
            source.origin.CopyFrom(origin)
