"""Stores the answer of a question, whole or as far as it came."""

from __future__ import annotations

from contextlib import suppress

from footnote.edge.v1.answers_pb2 import AskCompleted
from footnote.generation.v1.generation_service_pb2 import GenerateCompleted
from footnote.types.v1.answer_pb2 import FINISH_REASON_INTERRUPTED, PIPELINE_STAGE_GENERATION, Answer, FinishReason
from footnote_kit.errors import FootnoteError, NotFound
from footnote_kit.telemetry import counter, current_trace_id
from footnote_kit.timings import duration

from footnote_edge.asking.question import Draft, Question


async def complete(question: Question, draft: Draft, answered: GenerateCompleted) -> AskCompleted:
    """Store the answer in its conversation and return the last event; a replayed answer is not stored."""
    answer, timings = answered.answer, question.timings
    answer.usage.prompt_tokens += draft.usage.prompt_tokens
    answer.usage.completion_tokens += draft.usage.completion_tokens
    bounds = (await draft.settings).bounds
    completed = AskCompleted(
        answer=answer,
        sources=draft.built.sources,
        token_plan=draft.built.token_plan,
        manifest=question.manifest.finish(draft.built, answered, draft.origins, local_only=bounds.local_only),
        trace_id=current_trace_id(),
    )
    if timings.first_token is not None:
        completed.time_to_first_token.CopyFrom(duration(timings.first_token))
    if question.replayed is None:
        stored = await _store(question, draft, completed)
        if stored is not completed:  # a concurrent repeat of this call has stored its answer first
            return stored
    completed.degradations.extend(timings.degradations)
    completed.timings.extend(timings.timings)
    _count(question, draft, answer)
    return completed


async def _store(question: Question, draft: Draft, completed: AskCompleted) -> AskCompleted:
    """Store the answer in its place and return it, or return the one that a repeat of this call stored first."""
    keeper, conversation, topic = question.tools.keeper, draft.thread.conversation, draft.plan.topic
    completed.answer.id = question.claim.id_of("answer")
    if conversation is not None:
        completed.question_id = question.id
    if question.regeneration is None:
        return await keeper.answer(question.scope, conversation, completed, topic, draft.origins, question.timings)
    bounds = (await draft.settings).bounds
    return await keeper.replace(
        question.scope, question.regeneration, question.request, completed, topic, bounds, draft.origins,
        question.timings,
    )  # fmt: skip


async def store_partial(question: Question, draft: Draft, said: str, error: FootnoteError | None) -> None:
    """Store the partial text of a broken-off answer; a regenerated answer leaves the old one in place.

    `error` is None where the caller has left: then nothing failed, and no degradation is reported.
    """
    conversation = draft.thread.conversation
    if conversation is None or question.regeneration is not None or not said.strip():
        return
    if error is not None:
        effect = "The answer broke off; this is what was said until then."
        question.timings.degrade(PIPELINE_STAGE_GENERATION, "ANSWER_CUT", effect, error)
    answer = Answer(id=question.claim.id_of("partial"), text=said.strip(), finish_reason=FINISH_REASON_INTERRUPTED)
    partial = AskCompleted(
        answer=answer, sources=draft.built.sources, trace_id=current_trace_id(), question_id=question.id
    )
    with suppress(NotFound):  # an origin was deleted: then nothing of the answer is kept
        await question.tools.keeper.answer(
            question.scope, conversation, partial, draft.plan.topic, draft.origins, question.timings
        )


def _count(question: Question, draft: Draft, answer: Answer) -> None:
    reason = FinishReason.Name(answer.finish_reason).removeprefix("FINISH_REASON_").lower()
    counter("footnote.edge.asks").add(1, {"finish_reason": reason})
    if question.replayed is None:
        question.tools.activity.answered(question.scope.tenant_id, answer, bool(draft.found.chunks))
