"""Recalls the earlier conversations that the question's model may read; `memory_search.py` searches them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import suppress
from dataclasses import replace

from footnote.retrieval.v1.retrieval_service_pb2 import SearchMemoryResponse
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_EDGE, PIPELINE_STAGE_RETRIEVAL
from footnote.types.v1.collection_pb2 import GenerationSettings
from footnote_kit.errors import FootnoteError, NotFound
from footnote_providers.egress.egress import together

from footnote_edge.asking.memory_search import without
from footnote_edge.asking.question import Draft, Question, QuestionSettings, Remembered
from footnote_edge.collections.bounds import UNKNOWN
from footnote_edge.conversations.message_bounds import bounds_of

_KEPT_HERE = "Earlier conversations about collections that keep their texts on this machine were left out."
_REFUSED = "Earlier conversations whose collections do not allow this model were left out."


async def add_memory(question: Question, draft: Draft) -> Draft:
    """Wait for memory; start its search now if it was waiting for a rewritten question that did not come."""
    question.manifest.planned(draft.plan, "" if draft.text == question.text else draft.text)
    remembered = await (draft.recalling or question.tasks.start(recall_memory(question, draft)))
    question.manifest.remembered(remembered.memory)
    settings = await draft.settings
    question.manifest.settings(settings.prompt, settings.rerank, settings.model)
    return replace(draft, remembered=remembered)


async def recall_memory(question: Question, draft: Draft) -> Remembered:
    """Return memory about the draft's text, or that of a replayed answer."""
    settings = await draft.settings
    with question.timings.timed(PIPELINE_STAGE_RETRIEVAL, "memory"):
        if question.replayed is not None:
            found = await question.tools.memory_search.of_answer(question.scope, question.replayed.memory_message_ids)
        else:
            found = await question.tools.memory_search.search(
                question.scope,
                draft.text,
                conversation_id=question.request.conversation_id,
                enabled=_is_wanted(question, draft),
                bounds=settings.bounds,
                timeout=question.deadline.share(PIPELINE_STAGE_RETRIEVAL),
            )
        remembered = await _readable(question, settings, found)
    question.timings.report(remembered.memory.degradations)
    return remembered


def _is_wanted(question: Question, draft: Draft) -> bool:
    """Return whether to use memory: as the request says, else in conversations only."""
    if question.request.HasField("use_memory"):
        return question.request.use_memory
    return draft.thread.conversation is not None


async def _readable(question: Question, settings: QuestionSettings, found: SearchMemoryResponse) -> Remembered:
    """Return the memory that the model may read.

    Generation decides about each message as it does about the whole prompt.
    """
    bounds = settings.bounds
    if not found.source_messages:
        return Remembered(found, bounds)
    conversations = question.tools.conversations
    if not bounds.local_only:
        kept = await conversations.local_only_among({one.conversation_id for one in found.source_messages})
        found = without(
            found, [one.message_id for one in found.source_messages if one.conversation_id in kept], _KEPT_HERE
        )
    known, refused = await _bounds(question, found), []
    for message_id in (one.message_id for one in found.source_messages):
        both = together([bounds, known.get(message_id, UNKNOWN)])
        if both == bounds or await _allows(question, settings.model, both):
            bounds = both
        else:
            refused.append(message_id)
    found = without(found, refused, _REFUSED)
    origins = await conversations.messages.origins.of(one.message_id for one in found.source_messages)
    return Remembered(found, bounds, frozenset().union(*origins.values()))


async def _bounds(question: Question, found: SearchMemoryResponse) -> dict[str, TextBounds]:
    """Return the bounds of each message found, without those of conversations that were deleted meanwhile."""
    conversations = defaultdict[str, list[str]](list)
    for one in found.source_messages:
        conversations[one.conversation_id].append(one.message_id)
    tools, seconds = question.tools, question.deadline.share(PIPELINE_STAGE_EDGE)
    each: dict[str, TextBounds] = {}

    async def add(conversation_id: str, ids: list[str]) -> None:
        with suppress(NotFound):
            made = await bounds_of(
                tools.conversations, tools.bounds, question.scope, conversation_id, ids, seconds=seconds
            )
            each.update(made.each)

    await asyncio.gather(*(add(conversation_id, ids) for conversation_id, ids in conversations.items()))
    return each


async def _allows(question: Question, model: GenerationSettings, bounds: TextBounds) -> bool:
    """Return whether a model may read texts with these bounds; false where unknown."""
    try:
        await question.answerer(model, bounds)
    except FootnoteError:
        return False
    return True
