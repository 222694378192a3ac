"""Searches the documents for a question."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from footnote.retrieval.v1.retrieval_service_pb2 import RetrieveRequest, RetrieveResponse
from footnote.stages.v1.passage_pb2 import ScoredChunk
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.answer_pb2 import DEGRADATION_REASON_STORE_UNAVAILABLE, PIPELINE_STAGE_RETRIEVAL
from footnote_kit.errors import FootnoteError
from footnote_providers.egress.egress import together

from footnote_edge.asking.planning import with_rewriting
from footnote_edge.asking.question import Draft, Found, Question, wants_search
from footnote_edge.asking.timings import degrades
from footnote_edge.collections.bounds import CONVERSATION, FREE

_MOST_QUERY = 8000
"""Characters of a query that retrieval accepts; a follow-up in full, or a question of a higher limit, may have more."""
_WITHOUT = "Answered without sources: search did not work."
_BY_RULES = "The follow-up was searched as rules complete it: the search for its rewritten form did not work."


def can_search(question: Question, draft: Draft) -> bool:
    """Return whether the question needs a search, and there is a collection left to search."""
    return wants_search(question, draft) and not draft.thread.all_deleted


async def search(question: Question, draft: Draft) -> Draft:
    """Search by the plan; again by the rewritten question, where the model has made one in time.

    The passages of the first search stay if the second one fails.
    """
    began = time.perf_counter()
    found = await _retrieve(question, draft, _WITHOUT)
    by_rules = draft.plan
    draft = await with_rewriting(question, draft, began)
    if draft.plan.query != by_rules.query:
        again = await _retrieve(question, draft, _WITHOUT if found.unavailable else _BY_RULES)
        if again.unavailable and not found.unavailable:
            draft = replace(draft, plan=by_rules)
        else:
            if not again.unavailable:
                question.timings.withdraw(_WITHOUT)
            found = again
    if not found.unavailable and question.replayed is None:
        seconds = time.perf_counter() - began
        question.tools.activity.searched(question.scope.tenant_id, seconds, bool(found.chunks))
    return replace(draft, found=found)


async def below_floor(question: Question, draft: Draft) -> Sequence[ScoredChunk]:
    """Return the passages that were left out because all scored below the floor; none on failure, or if some did not.

    A row of a table says little of what is asked of the whole table, so that its score does not say whether that
    table answers.
    """
    if not draft.found.below_floor:
        return ()
    request = await _request(question, draft)
    request.settings.min_score = 0.0
    timeout = question.deadline.share(PIPELINE_STAGE_RETRIEVAL)
    try:
        return (await question.tools.stages.retrieval.Retrieve(request, timeout=timeout)).chunks
    except FootnoteError as error:
        if not degrades(error):
            raise
        return ()


async def _request(question: Question, draft: Draft) -> RetrieveRequest:
    asked = question.request
    return RetrieveRequest(
        scope=question.scope,
        query=(draft.plan.query or question.text)[:_MOST_QUERY],
        collections=draft.thread.collections,
        settings=asked.retrieval,
        filter=asked.filter if asked.HasField("filter") else None,
        document_ids=asked.document_ids,
        explain=True,
        query_vector=asked.query_vector,
        bounds=_bounds_of_query(question, draft),
        every_collection=question.replayed is not None and question.replayed.every_collection,
    )


async def _retrieve(question: Question, draft: Draft, effect: str) -> Found:
    """Return the passages found; none, and the `effect` of that as a degradation, where search does not work."""
    timings = question.timings
    request = await _request(question, draft)
    began = timings.elapsed()
    try:
        with timings.timed(PIPELINE_STAGE_RETRIEVAL):
            found: RetrieveResponse = await question.tools.stages.retrieval.Retrieve(
                request, timeout=question.deadline.share(PIPELINE_STAGE_RETRIEVAL)
            )
    except FootnoteError as error:
        if not degrades(error):
            raise
        timings.degrade(PIPELINE_STAGE_RETRIEVAL, "RETRIEVAL_UNAVAILABLE", effect, error)
        return Found(unavailable=True)
    timings.include(found.timings, began)
    timings.report(found.degradations)
    question.manifest.searched(found)
    none = not found.chunks and found.score_floor > 0
    return Found(list(found.chunks), list(found.named_document_ids), store_unavailable(found), none)


def _bounds_of_query(question: Question, draft: Draft) -> TextBounds:
    """Return the bounds of a query beyond the collections searched: it may repeat the conversation's history."""
    of_history = draft.thread.past.bounds if draft.plan.query != question.text else FREE
    return together([of_history, CONVERSATION]) if draft.thread.local_only else of_history


def store_unavailable(found: RetrieveResponse) -> bool:
    """Return whether a search is empty because the store did not answer."""
    return not found.chunks and any(one.reason == DEGRADATION_REASON_STORE_UNAVAILABLE for one in found.degradations)
