"""Replays an answer from its manifest and lists the differences."""

import json
from collections.abc import Sequence
from contextlib import aclosing

from footnote.augmentation.v1.augmentation_service_pb2 import PlanQueryResponse
from footnote.edge.v1.answers_pb2 import AnswerDifference, AskCompleted, AskRequest
from footnote.edge.v1.answers_pb2 import AnswerDifferenceKind as Kind
from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import (
    FINISH_REASON_ANSWERED_WITHOUT_SOURCES,
    AnswerManifest,
    ChatMessage,
    FinishReason,
    ManifestSource,
)
from footnote_kit.errors import FailedPrecondition, Internal
from footnote_kit.printable import enum_word
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from footnote_edge.asking.asker import Asker
from footnote_edge.asking.question import EarlierAnswer
from footnote_edge.conversations.answers import Answers

_SETTINGS = {
    "retrieval": Kind.ANSWER_DIFFERENCE_KIND_RETRIEVAL_SETTINGS,
    "rerank": Kind.ANSWER_DIFFERENCE_KIND_RERANK_SETTINGS,
    "prompt": Kind.ANSWER_DIFFERENCE_KIND_PROMPT_SETTINGS,
    "generation": Kind.ANSWER_DIFFERENCE_KIND_GENERATION_SETTINGS,
}


async def replay(
    asker: Asker, answers: Answers, scope: Scope, answer_id: str, seconds: float
) -> tuple[AskCompleted, list[AnswerDifference]]:
    """Answer again by an answer's manifest, memory included; return the new answer and the differences.

    Raises NotFound for an answer of another caller, and the errors of `ask`.
    """
    message = await answers.get(scope, answer_id)
    then = message.manifest
    earlier = await asker.conversations.messages.named(scope, then.history_message_ids)
    request = AskRequest(
        question=then.question,
        collections=await _there(asker, scope, then),
        history=[*then.history, *(ChatMessage(role=one.role, text=one.text) for one in earlier.messages)],
        filter=then.filter if then.HasField("filter") else None,
        document_ids=then.document_ids,
        retrieval=then.retrieval,
        rerank=then.rerank,
        prompt=then.prompt,
        generation=then.generation,
        query_vector=then.query_vector,
        instructions=then.instructions,
    )
    # An answer made without a search is replayed without one, whatever the planner decides today.
    searched = message.answer.finish_reason != FINISH_REASON_ANSWERED_WITHOUT_SOURCES or bool(then.sources)
    plan = PlanQueryResponse(
        should_retrieve=searched,
        query=then.query,
        strategy=then.query_strategy,
        rewriting=then.query_rewriting,
        question=then.full_question,
        table_words=then.table_words,
    )
    earlier_answer = EarlierAnswer(
        plan, then.memory_message_ids, then.local_only, every_collection=not then.collections
    )
    async with aclosing(asker.ask(scope, request, seconds, earlier_answer)) as events:
        async for event in events:
            if event.HasField("completed"):
                gone = [] if earlier.whole else [_gone(then.history_message_ids, earlier.messages)]
                return event.completed, [*gone, *differences(message, event.completed)]
    raise Internal("The answer ended without its last event")


def differences(before: ConversationMessage, after: AskCompleted) -> list[AnswerDifference]:
    """Return the differences, causes before the text, ordered by kind."""
    then, now = before.manifest, after.manifest
    pairs = [
        (Kind.ANSWER_DIFFERENCE_KIND_PROVIDER, then.provider, now.provider),
        (Kind.ANSWER_DIFFERENCE_KIND_MODEL, then.model, now.model),
        (Kind.ANSWER_DIFFERENCE_KIND_COLLECTIONS, ", ".join(then.collection_ids), ", ".join(now.collection_ids)),
        *((kind, _shown(getattr(then, name)), _shown(getattr(now, name))) for name, kind in _SETTINGS.items()),
        (Kind.ANSWER_DIFFERENCE_KIND_MEMORY, ", ".join(then.memory_message_ids), ", ".join(now.memory_message_ids)),
        (Kind.ANSWER_DIFFERENCE_KIND_TEMPLATE, then.template_version, now.template_version),
        (Kind.ANSWER_DIFFERENCE_KIND_PROMPT, then.prompt_hash, now.prompt_hash),
        (
            Kind.ANSWER_DIFFERENCE_KIND_FINISH_REASON,
            enum_word(FinishReason.DESCRIPTOR, before.answer.finish_reason),
            enum_word(FinishReason.DESCRIPTOR, after.answer.finish_reason),
        ),
        (Kind.ANSWER_DIFFERENCE_KIND_TEXT, before.answer.text, after.answer.text),
    ]
    found = [AnswerDifference(kind=kind, before=old, after=new) for kind, old, new in pairs if old != new]
    return sorted([*found, *_sources(then.sources, now.sources)], key=lambda one: one.kind)


def _sources(then: Sequence[ManifestSource], now: Sequence[ManifestSource]) -> list[AnswerDifference]:
    found = []
    for index in range(max(len(then), len(now))):
        old = _source(then[index]) if index < len(then) else ""
        new = _source(now[index]) if index < len(now) else ""
        if old != new:
            found.append(
                AnswerDifference(kind=Kind.ANSWER_DIFFERENCE_KIND_SOURCE, source=index + 1, before=old, after=new)
            )
    return found


def _source(source: ManifestSource) -> str:
    # For the reader, equal words under a new revision's id are the same passage; for the record they are not.
    return f"{source.chunk_id} ({source.text_hash[:12]})"


def _shown(settings: Message) -> str:
    return json.dumps(MessageToDict(settings, preserving_proto_field_name=True), sort_keys=True)


def _gone(ids: Sequence[str], left: Sequence[ConversationMessage]) -> AnswerDifference:
    kind = Kind.ANSWER_DIFFERENCE_KIND_HISTORY
    return AnswerDifference(kind=kind, before=", ".join(ids), after=", ".join(one.id for one in left))


async def _there(asker: Asker, scope: Scope, then: AnswerManifest) -> Sequence[str]:
    """Return the collections searched then that the caller can still see, or those named then if none were noted."""
    if not then.collection_ids:
        return list(then.collections)
    visible = await asker.collections.visible(scope)
    left = [one for one in then.collection_ids if one in visible]
    if not left:
        raise FailedPrecondition("None of this answer's collections can be searched any more.")
    return left
