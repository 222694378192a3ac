"""Plans a question's search, and has a follow-up rewritten by the model beside the search by rules."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from footnote.augmentation.v1.augmentation_service_pb2 import PlanQueryRequest, PlanQueryResponse
from footnote.generation.v1.generation_service_pb2 import RewriteQuestionRequest, RewriteQuestionResponse
from footnote.types.v1.answer_pb2 import (
    PIPELINE_STAGE_AUGMENTATION,
    PIPELINE_STAGE_EDGE,
    PIPELINE_STAGE_GENERATION,
    PIPELINE_STAGE_RETRIEVAL,
    Usage,
)
from footnote.types.v1.reasons_pb2 import (
    QUERY_REWRITING_MODEL,
    QUERY_REWRITING_NONE,
    QUERY_STRATEGY_FIRST_MESSAGE,
    QUERY_STRATEGY_FOLLOW_UP,
    QUERY_STRATEGY_UNPLANNED,
    QueryStrategy,
)
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger
from footnote_kit.printable import enum_word
from footnote_kit.usages import usage_in
from footnote_text.intents import table_words

from footnote_edge.asking.memory import recall_memory
from footnote_edge.asking.question import Draft, Question
from footnote_edge.asking.side_calls import charged
from footnote_edge.asking.timings import degrades

_log = get_logger(__name__)
_REWRITING_AFTER, _REWRITING_MOST = 0.4, 1.0
"""Seconds that a rewritten question is waited for: after the search by rules, and after that search began."""

_MESSAGES, _READ = 8, 600
"""Messages of the history that a rewriting reads, and characters of each, as `footnote_generation`'s `rewriting`."""

STRATEGY_LABELS = {
    QUERY_STRATEGY_FIRST_MESSAGE: "first message (raw query)",
    QUERY_STRATEGY_FOLLOW_UP: "follow-up (contextualized topic)",
}
"""Log labels of search strategies; other strategies use the names of their values."""


async def plan(question: Question, draft: Draft) -> Draft:
    """Plan the search, and begin to rewrite a follow-up or to search memory, which waits for a rewritten question."""
    planned = question.replayed.plan if question.replayed else await _planned(question, draft)
    draft = replace(draft, plan=planned, text=str(planned.question) or question.text)
    tasks = question.tasks
    rewriting = tasks.start(_rewrite(question, draft)) if _leans_on_history(question, draft) else None
    recalling = None if rewriting else tasks.start(recall_memory(question, draft))
    return replace(draft, rewriting=rewriting, recalling=recalling)


async def _planned(question: Question, draft: Draft) -> PlanQueryResponse:
    """Return the plan; without augmentation, a search for the question as asked."""
    thread = draft.thread
    topic = thread.conversation.topic if thread.conversation is not None else ""
    request = PlanQueryRequest(scope=question.scope, message=question.text, topic=topic, history=thread.past.messages)
    try:
        with question.timings.timed(PIPELINE_STAGE_AUGMENTATION, "plan"):
            planned: PlanQueryResponse = await question.tools.stages.augmentation.PlanQuery(
                request, timeout=question.deadline.share(PIPELINE_STAGE_EDGE)
            )
    except FootnoteError as error:
        if not degrades(error):
            raise
        effect = "The question was searched as it was asked."
        question.timings.degrade(PIPELINE_STAGE_AUGMENTATION, "PLAN_UNAVAILABLE", effect, error)
        return PlanQueryResponse(
            should_retrieve=True,
            query=question.text,
            strategy=QUERY_STRATEGY_UNPLANNED,
            rewriting=QUERY_REWRITING_NONE,
            topic=topic,
        )
    strategy = enum_word(QueryStrategy.DESCRIPTOR, planned.strategy)
    label = STRATEGY_LABELS.get(planned.strategy, strategy)
    _log.info("query_planned", strategy=label, should_retrieve=planned.should_retrieve)
    return planned


def _leans_on_history(question: Question, draft: Draft) -> bool:
    """Return whether a search is for a follow-up; rules find some messages complete in themselves."""
    complete = not draft.plan.question and draft.plan.strategy != QUERY_STRATEGY_UNPLANNED
    if question.replayed is not None or complete or not draft.plan.should_retrieve:
        return False
    return bool(draft.thread.past.messages) and not draft.thread.all_deleted


async def _rewrite(question: Question, draft: Draft) -> tuple[str, Usage]:
    """Return a follow-up in standalone form by the answering model, "" if it makes none, and what that cost."""
    settings = await asyncio.shield(draft.settings)  # this task may be cancelled, and the whole question needs them
    request = RewriteQuestionRequest(
        scope=question.scope,
        question=question.text,
        history=draft.thread.past.messages,
        settings=settings.model,
        bounds=settings.bounds,
    )
    try:
        with question.timings.timed(PIPELINE_STAGE_GENERATION, "rewrite"):
            call = question.tools.stages.generation.RewriteQuestion(
                request, timeout=question.deadline.share(PIPELINE_STAGE_RETRIEVAL)
            )
            rewritten: RewriteQuestionResponse = await charged(question, draft, call, _size(request))
    except FootnoteError as error:
        effect = "The follow-up was completed by rules, which may miss what it refers to."
        question.timings.degrade(PIPELINE_STAGE_GENERATION, "REWRITE_UNAVAILABLE", effect, error)
        return "", usage_in(error)
    return str(rewritten.question), rewritten.usage


def _size(request: RewriteQuestionRequest) -> int:
    """Return about how many characters a model reads of a follow-up: generation shortens the history."""
    texts = [request.question, *(one.text for one in request.history[-_MESSAGES:])]
    return sum(min(len(text), _READ) for text in texts)


async def with_rewriting(question: Question, draft: Draft, search_began: float) -> Draft:
    """Return the draft with the rewritten question as its text and plan, if that comes soon after a search by rules.

    `search_began` is in `time.perf_counter` seconds. Memory is searched by the text that counts from then on.
    """
    if draft.rewriting is None:
        return draft
    now = time.perf_counter()
    timeout = max(0.0, min(search_began + _REWRITING_MOST - now, _REWRITING_AFTER))
    done, _ = await asyncio.wait([draft.rewriting], timeout=timeout)
    if not done:
        draft.rewriting.cancel()
        return draft
    text, usage = await draft.rewriting
    draft = replace(draft, usage=draft.usage_with(usage))
    if not text:
        return draft
    planned = PlanQueryResponse()
    planned.CopyFrom(draft.plan)
    planned.query = planned.topic = text
    planned.rewriting = QUERY_REWRITING_MODEL
    del planned.table_words[:]
    planned.table_words.extend(table_words(text))
    draft = replace(draft, plan=planned, text=text)
    return replace(draft, recalling=question.tasks.start(recall_memory(question, draft)))
