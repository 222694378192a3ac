"""Stores a question and its answer, complete or partial; a failure is reported in the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from footnote.edge.v1.answers_pb2 import AskCompleted, AskResponse, SourcesEvent
from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.generation.v1.generation_service_pb2 import GenerateCompleted
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.answer_pb2 import (
    FINISH_REASON_INTERRUPTED,
    PIPELINE_STAGE_EDGE,
    PIPELINE_STAGE_GENERATION,
    Answer,
    FinishReason,
)
from footnote_kit.errors import Aborted, FootnoteError, NotFound
from footnote_kit.logs import get_logger
from footnote_kit.printable import enum_word
from footnote_kit.telemetry import counter, current_trace_id
from footnote_kit.timings import duration
from footnote_kit.usages import add_usage

from footnote_edge.asking.question import Draft, Question, QuestionSettings
from footnote_edge.asking.thread import Thread
from footnote_edge.asking.timings import QuestionTimings
from footnote_edge.collections.bounds import UNKNOWN
from footnote_edge.conversations.ports import AlreadyStored
from footnote_edge.jobs.retrying import until_available

STORE_WAIT_SECONDS, _LONGEST_PAUSE = 5.0, 1.0
"""Retry a failed store for this many seconds, and pause at most this many between tries."""
T = TypeVar("T")

_log = get_logger(__name__)


async def store_question(
    question: Question, thread: Thread, settings: Callable[[], Awaitable[QuestionSettings]]
) -> None:
    """Add the question to its conversation, if any, and only once under its id.

    A regenerated question is there already, and changes with its answer.
    """
    conversation, conversations = thread.conversation, question.tools.conversations
    if conversation is None or question.regeneration is not None:
        return
    try:
        bounds = (await settings()).bounds
    except FootnoteError:
        pass  # the error fails the question elsewhere; the user's message is stored all the same
    else:
        if _stays(bounds) and not conversation.local_only:
            await conversations.restrict_to_local(question.scope, conversation.id)
    await conversations.messages.add_question(question.scope, conversation.id, question.id, question.request)


async def store_answer(question: Question, draft: Draft, answered: GenerateCompleted) -> AskCompleted:
    """Store the answer in its conversation and return the last event; a replayed answer is not stored."""
    answer, timings = answered.answer, question.timings
    add_usage(answer.usage, draft.usage)
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
        completed.answer.id = question.ids.id_of("answer")
        if draft.thread.conversation is not None:
            completed.question_id = question.id
        stored = await _store(question, draft, completed)
        if stored is not completed:  # a concurrent repeat of this call has stored its answer first
            return stored
    completed.degradations.extend(timings.degradations)
    completed.timings.extend(timings.timings)
    _count(question, draft, answer)
    return completed


async def store_partial(question: Question, draft: Draft, said: str, error: FootnoteError | None) -> None:
    """Store the partial text of an interrupted answer; a regeneration leaves the old answer in place.

    `error` is None where the caller has left: then nothing failed, and no degradation is reported.
    """
    conversation = draft.thread.conversation
    if conversation is None or question.regeneration is not None or not said.strip():
        return
    if error is not None:
        effect = "The answer was interrupted; this is the text until then."
        question.timings.degrade(PIPELINE_STAGE_GENERATION, "ANSWER_CUT", effect, error)
    answer = Answer(id=question.ids.id_of("partial"), text=said.strip(), finish_reason=FINISH_REASON_INTERRUPTED)
    partial = AskCompleted(
        answer=answer, sources=draft.built.sources, trace_id=current_trace_id(), question_id=question.id
    )
    with suppress(NotFound):  # an origin was deleted: then nothing of the answer is kept
        await _store(question, draft, partial)


@asynccontextmanager
async def store_task(question: Question, store: Coroutine[Any, Any, T]) -> AsyncIterator[asyncio.Task[T]]:
    """Begin a store, and yield its task to await under a shield; it ends in the background if its caller leaves."""
    task = asyncio.create_task(store)
    try:
        yield task
    except (asyncio.CancelledError, GeneratorExit):
        in_background(question, task)
        raise


def in_background(question: Question, work: Awaitable[object]) -> None:
    """Finish a store after its caller has left; an error is logged."""
    question.tools.jobs.store_in_background(_logged(work))


async def _logged(work: Awaitable[object]) -> None:
    try:
        await work
    except Exception as error:
        _log.error("left_not_stored", error=type(error).__name__)


async def _store(question: Question, draft: Draft, completed: AskCompleted) -> AskCompleted:
    """Store an answer with its origins under its id, and return it.

    Returns the answer that a repeat of this call has stored under this id first. Raises NotFound when an origin was
    deleted or is unreadable for the caller: then nothing of the answer is kept. Raises Aborted when a conversation has
    changed and nothing is left to replace.
    """
    tools, scope, timings = question.tools, question.scope, question.timings
    message = _message(completed, timings)
    try:
        with timings.timed(PIPELINE_STAGE_EDGE, "store"):
            refusal = await _refusal(question, draft)
            if refusal is None:
                await _write(question, draft, completed, message)
    except AlreadyStored:
        return completed_of(await _until_available(lambda: tools.answers.get(scope, message.id)))
    except Exception as error:
        if isinstance(error, Aborted) and question.regeneration is not None:
            raise
        _not_stored(completed, timings, error)
        return completed
    if refusal is not None:
        raise refusal
    await _check_again(question, draft)
    return completed


async def _write(question: Question, draft: Draft, completed: AskCompleted, message: ConversationMessage) -> None:
    """Write an answer in its place: that of the messages it replaces, its conversation, or by itself."""
    tools, scope, topic, origins = question.tools, question.scope, draft.plan.topic, draft.origins
    conversation, regeneration, new = draft.thread.conversation, question.regeneration, (question.id, message.id)
    if regeneration is not None:
        completed.conversation_id = changed = regeneration.conversation_id
        regenerations, asked = tools.conversations.regenerations, (completed.question_id, question.request)
        stays = _stays((await draft.settings).bounds)
        gone = await _until_available(
            lambda: regenerations.replace(scope, regeneration, asked, message, topic, origins, local_only=stays)
        )
        tools.jobs.store_in_memory(scope, changed, message.id, new)
        tools.jobs.remove_from_memory(scope, changed, gone)
    elif conversation is not None:
        completed.conversation_id = extended = conversation.id
        messages = tools.conversations.messages
        await _until_available(lambda: messages.add_answer(scope, extended, message, topic, origins))
        tools.jobs.store_in_memory(scope, extended, message.id, new)
    else:
        await _until_available(lambda: tools.answers.keep(scope, message, origins))


async def _refusal(question: Question, draft: Draft) -> NotFound | None:
    """Return why nothing of the answer may be kept, if so: an origin is deleted, or unreadable for the caller."""
    try:
        check = question.tools.withholding.check
        await _until_available(lambda: check(question.scope, draft.origins, question.asked_at))
    except NotFound as refusal:
        return refusal
    return None


async def _check_again(question: Question, draft: Draft) -> None:
    """Raise NotFound and remove the answer if an origin was deleted during the store.

    Passes over a database that stays away: the answer is stored, and every later read of it repeats the check.
    """
    tools = question.tools
    try:
        refusal = await _refusal(question, draft)
    except FootnoteError as error:
        _log.warning("answer_not_checked_again", error=type(error).__name__)
        return
    if refusal is not None:
        forgotten = await tools.forgetting.sweep()
        for one in await tools.withholding.origins.rows_gone(draft.origins, question.asked_at):
            forgotten += await tools.forgetting.rows_noted(one.collection_id, [one.document_id])
        tools.jobs.remove_forgotten_from_memory(forgotten)
        raise refusal


async def _until_available(operation: Callable[[], Awaitable[T]]) -> T:
    """Retry briefly while the database is unavailable: the caller has the text, but no stored answer."""

    def enough(error: FootnoteError, waited: float) -> None:
        if waited > STORE_WAIT_SECONDS:
            raise error

    return await until_available(operation, _LONGEST_PAUSE, give_up=enough)


def _message(completed: AskCompleted, timings: QuestionTimings) -> ConversationMessage:
    return ConversationMessage(
        id=completed.answer.id,
        text=completed.answer.text,
        answer=completed.answer,
        sources=completed.sources,
        manifest=completed.manifest,
        trace_id=completed.trace_id,
        degradations=timings.degradations,
        question_id=completed.question_id,
    )


def _stays(bounds: TextBounds) -> bool:
    """Return whether texts about the collections stay on this machine; false if these could not be looked up."""
    return bounds.local_only and bounds != UNKNOWN


def _not_stored(completed: AskCompleted, timings: QuestionTimings, error: Exception) -> None:
    """Report that an answer is not stored; the caller keeps what it has received."""
    _log.error("answer_not_stored", answer_id=completed.answer.id, error=type(error).__name__)
    timings.degrade(
        PIPELINE_STAGE_EDGE,
        "ANSWER_NOT_STORED",
        "The answer is not stored: it cannot be found by its id or in its conversation.",
    )


def _count(question: Question, draft: Draft, answer: Answer) -> None:
    reason = enum_word(FinishReason.DESCRIPTOR, answer.finish_reason).lower()
    counter("footnote.edge.asks").add(1, {"finish_reason": reason})
    if question.replayed is None:
        question.tools.activity.answered(question.scope.tenant_id, answer, bool(draft.found.chunks))


def events_of(message: ConversationMessage) -> Iterator[AskResponse]:
    """Yield the events of a stored answer; its times and its token plan are not stored."""
    yield AskResponse(sources=SourcesEvent(sources=message.sources))
    yield AskResponse(text_delta=message.text)
    for citation in message.answer.citations:
        yield AskResponse(citation=citation)
    yield AskResponse(completed=completed_of(message))


def completed_of(message: ConversationMessage) -> AskCompleted:
    """Return a stored answer as the last event of a stream."""
    return AskCompleted(
        answer=message.answer,
        sources=message.sources,
        degradations=message.degradations,
        manifest=message.manifest,
        trace_id=message.trace_id,
        conversation_id=message.conversation_id,
        question_id=message.question_id,
    )
