"""Streams the answer: its sources, the text as it is written, and the last event after it is stored."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from typing import TypeAlias

from footnote.augmentation.v1.augmentation_service_pb2 import BuildPromptResponse
from footnote.edge.v1.answers_pb2 import AskResponse, SourcesEvent
from footnote.generation.v1.generation_service_pb2 import GenerateCompleted, GenerateRequest
from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_GENERATION, Citation, Source
from footnote_kit.errors import DeadlineExceeded, FootnoteError, Internal
from footnote_kit.origins import leading_to

from footnote_edge.asking.question import Draft, Question, without_sources
from footnote_edge.asking.storing import in_background, store_answer, store_partial, store_task
from footnote_edge.asking.timings import stage_began
from footnote_edge.conversations.origins import Origin

_Words: TypeAlias = AsyncGenerator[AskResponse | GenerateCompleted]
"""Events of an answer, and its end as the last item."""


async def deliver(question: Question, draft: Draft) -> AsyncGenerator[AskResponse]:
    """Yield the sources, the answer as it is written, and `completed`.

    An interrupted answer is stored as far as it was written, also when its caller has left; a whole one as it is.
    """
    yield AskResponse(sources=SourcesEvent(sources=draft.built.sources))
    await draft.recording
    yield stage_began(PIPELINE_STAGE_GENERATION)
    await question.meter.charge_prompt(0 if draft.computed is not None else _prompt_tokens(draft.built))
    said, answered = "", GenerateCompleted()
    words = _as_stream(question, draft, draft.computed) if draft.computed is not None else _generated(question, draft)
    try:
        async with aclosing(words) as items:
            async for item in items:
                if isinstance(item, GenerateCompleted):
                    answered = item
                    continue
                said += item.text_delta
                yield item
    except FootnoteError as error:
        question.meter.take_back()
        async with store_task(question, store_partial(question, draft, said, error)) as stored:
            await asyncio.shield(stored)
        raise
    except (asyncio.CancelledError, GeneratorExit):
        in_background(question, store_partial(question, draft, said, None))
        raise
    answered.answer.warnings.extend(draft.warnings)
    async with store_task(question, store_answer(question, draft, answered)) as completed:
        yield question.timings.stage_ended(PIPELINE_STAGE_GENERATION)
        yield AskResponse(completed=await asyncio.shield(completed))


async def _as_stream(question: Question, draft: Draft, computed: GenerateCompleted) -> _Words:
    """Yield a computed answer as if a model had produced it at once."""
    answer = computed.answer
    _lead_to_origins(answer.citations, draft.built.sources)
    question.timings.saw_token()
    yield AskResponse(text_delta=answer.text)
    for citation in answer.citations:
        yield AskResponse(citation=citation)
    yield computed


async def _generated(question: Question, draft: Draft) -> _Words:
    """Yield words and citations as the model produces them; closing it ends the model's call.

    The caller's access is checked meanwhile: the answer ends with the first refusal.
    """
    settings = await draft.settings
    sources, asked = draft.built.sources, question.request
    request = GenerateRequest(
        scope=question.scope,
        prompt=draft.built.prompt,
        sources=sources,
        question=draft.text,
        settings=settings.model,
        locale=draft.built.prompt.locale,
        without_sources=without_sources(question, draft),
        documents_unavailable=draft.found.unavailable,
        bounds=draft.remembered.bounds,
        own_instructions=[one for one in (asked.instructions.strip(), asked.prompt.system_prompt.strip()) if one],
    )
    call = question.tools.stages.generation.Generate(request, timeout=_time_left(question))
    refused: FootnoteError | None = None

    def end(refusal: FootnoteError) -> None:
        nonlocal refused
        refused = refusal
        call.cancel()

    origins = draft.origins | _named_collections(question, draft)
    watch = question.tasks.start(question.tools.access_check.watch(question.scope, origins, question.asked_at, end))
    completed: GenerateCompleted | None = None
    try:
        with question.timings.timed(PIPELINE_STAGE_GENERATION):
            async for event in call:
                if event.HasField("text_delta"):
                    question.timings.saw_token()
                    yield AskResponse(text_delta=event.text_delta)
                elif event.HasField("citation"):
                    _lead_to_origins([event.citation], sources)
                    yield AskResponse(citation=event.citation)
                elif event.HasField("claims_revised"):
                    _lead_to_origins(event.claims_revised.citations, sources)
                    yield AskResponse(claims_revised=event.claims_revised)
                elif event.HasField("usage"):
                    question.meter.charge_total(event.usage)
                elif event.HasField("completed"):
                    completed = event.completed
                    answer = completed.answer
                    _lead_to_origins([*answer.citations, answer.nearest], sources)
                    question.meter.charge_total(answer.usage)
    except (FootnoteError, asyncio.CancelledError):
        if refused is not None:
            raise refused from None
        raise
    finally:
        watch.cancel()
        call.cancel()
    if completed is None:
        raise Internal("The answer ended without its last event")
    question.timings.report(completed.degradations)
    yield completed


def _named_collections(question: Question, draft: Draft) -> set[Origin]:
    """Return the explicitly named collections: without access to one of them the question loses its subject."""
    searched = question.manifest.manifest.collection_ids
    return {Origin(one, "") for one in searched} if draft.thread.collections else set()


def _time_left(question: Question) -> float:
    remaining = question.deadline.remaining()
    if remaining <= 0:
        raise DeadlineExceeded("The question's deadline passed before the model was called.")
    return remaining


def _lead_to_origins(citations: Iterable[Citation], sources: Sequence[Source]) -> None:
    """Link footnotes to the quoted positions in items of sources."""
    origins = {source.number: source.origin for source in sources if source.HasField("origin")}
    for citation in citations:
        if (origin := origins.get(citation.number)) is not None:
            citation.origin.CopyFrom(leading_to(origin, citation.quote))


def _prompt_tokens(built: BuildPromptResponse) -> int:
    """Return the prompt's tokens as far as known before the model reports them."""
    planned = int(built.token_plan.prompt_tokens)
    return planned or sum(len(message.text) // 4 + 4 for message in built.prompt.messages)
