"""An answer made again from its manifest, and what differs: why an answer came about, and whether it still would."""

from collections.abc import Sequence
from contextlib import aclosing

from footnote.augmentation.v1.augmentation_service_pb2 import PlanQueryResponse
from footnote.edge.v1.answers_pb2 import AnswerDifference, AskCompleted, AskRequest
from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.types.v1.answer_pb2 import (
    FINISH_REASON_ANSWERED_WITHOUT_SOURCES,
    AnswerManifest,
    FinishReason,
    ManifestSource,
)
from footnote.types.v1.collection_pb2 import GenerationSettings
from footnote.types.v1.scope_pb2 import Scope
from footnote_kit.errors import FailedPrecondition, Internal
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError

from footnote_edge.answers import Answers
from footnote_edge.ask import Asker


async def replay(
    asker: Asker, answers: Answers, scope: Scope, answer_id: str, seconds: float
) -> tuple[AskCompleted, list[AnswerDifference]]:
    """Make an answer again: same question, query, collections, model settings and history; return it and what differs.

    Raises NotFound for an answer that is not the caller's, and what `ask` raises.
    """
    message = await answers.get(scope, answer_id)
    then = message.manifest
    request = AskRequest(
        question=then.question,
        collections=then.collections,
        history=await asker.conversations.history_before(scope, answer_id, asker.settings.history_messages),
        generation=_settings(then),
        use_memory=False,
    )
    # An answer that needed no search then is made without one now, whatever the query would be taken for today.
    searched = message.answer.finish_reason != FINISH_REASON_ANSWERED_WITHOUT_SOURCES or bool(then.sources)
    plan = PlanQueryResponse(should_retrieve=searched, query=then.query, strategy=then.query_strategy)
    async with aclosing(asker.ask(scope, request, seconds, plan)) as events:
        async for event in events:
            if event.HasField("completed"):
                return event.completed, differences(message, event.completed)
    raise Internal("The answer ended without its end")


def differences(before: ConversationMessage, after: AskCompleted) -> list[AnswerDifference]:
    """Return what is not as it was, the causes before the text."""
    then, now = before.manifest, after.manifest
    pairs = [
        ("provider", then.provider, now.provider),
        ("model", then.model, now.model),
        ("settings", _shown(then), _shown(now)),
        ("template", then.template_version, now.template_version),
        *_sources(then.sources, now.sources),
        ("prompt", then.prompt_hash, now.prompt_hash),
        (
            "finish reason",
            FinishReason.Name(before.answer.finish_reason).removeprefix("FINISH_REASON_"),
            FinishReason.Name(after.answer.finish_reason).removeprefix("FINISH_REASON_"),
        ),
        ("text", before.answer.text, after.answer.text),
    ]
    return [AnswerDifference(what=what, before=old, after=new) for what, old, new in pairs if old != new]


def _sources(then: Sequence[ManifestSource], now: Sequence[ManifestSource]) -> list[tuple[str, str, str]]:
    found = []
    for index in range(max(len(then), len(now))):
        old = _source(then[index]) if index < len(then) else ""
        new = _source(now[index]) if index < len(now) else ""
        found.append((f"source {index + 1}", old, new))
    return found


def _source(source: ManifestSource) -> str:
    # The same words under the id of a new revision are the same passage for the reader, but not for the record.
    return f"{source.chunk_id} ({source.text_hash[:12]})"


def _shown(manifest: AnswerManifest) -> str:
    return str(dict(sorted(MessageToDict(manifest.settings).items())))


def _settings(manifest: AnswerManifest) -> GenerationSettings:
    try:
        return ParseDict(MessageToDict(manifest.settings), GenerationSettings())
    except ParseError:
        raise FailedPrecondition("The manifest was written by a version whose settings are no longer known.") from None
