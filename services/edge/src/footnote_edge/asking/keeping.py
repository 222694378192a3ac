"""Stores a question and its answer, in a conversation or standalone."""

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from functools import partial
from typing import Any, TypeVar

from footnote.edge.v1.answers_pb2 import AskCompleted, AskRequest, AskResponse, SourcesEvent
from footnote.edge.v1.conversations_pb2 import Conversation, ConversationMessage
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_EDGE
from footnote_kit.errors import Aborted, FootnoteError, NotFound
from footnote_kit.logs import get_logger

from footnote_edge.asking.timings import QuestionTimings
from footnote_edge.collections.bounds import UNKNOWN
from footnote_edge.conversations.answers import Answers
from footnote_edge.conversations.conversations import Conversations
from footnote_edge.conversations.origins import Origin
from footnote_edge.conversations.ports import AlreadyStored, Forgetting, Regeneration
from footnote_edge.conversations.withholding import Withholding
from footnote_edge.jobs.jobs import Jobs
from footnote_edge.jobs.waiting import until_available

STORE_PATIENCE, _LONGEST_PAUSE = 5.0, 1.0
"""Retry a failed store for this many seconds, and pause at most this many between tries."""
T = TypeVar("T")

_log = get_logger(__name__)


class Keeper:
    """Stores questions and answers; when that fails, the answer continues and reports it."""

    def __init__(
        self,
        conversations: Conversations,
        answers: Answers,
        jobs: Jobs,
        withholding: Withholding,
        forgetting: Forgetting,
    ) -> None:
        self._withholding = withholding
        self._forgetting = forgetting
        self._conversations = conversations
        self._regenerations = conversations.regenerations
        self._answers = answers
        self._jobs = jobs

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Finish a store in the background after its caller has left; an error is logged."""
        self._jobs.beside(_logged(work))

    async def question(
        self,
        scope: Scope,
        conversation: Conversation | None,
        asked: AskRequest,
        bounds: Callable[[], Awaitable[TextBounds]],
        question_id: str,
    ) -> None:
        """Add the user's message to its conversation, if any, and only once under its id."""
        if conversation is None:
            return
        try:
            bound = await bounds()
        except FootnoteError:
            pass  # the error fails the question elsewhere; the user's message is stored all the same
        else:
            if _stays(bound) and not conversation.local_only:
                await self._conversations.keep_here(scope, conversation.id)
        await self._conversations.messages.add_question(scope, conversation.id, question_id, asked)

    async def answer(
        self,
        scope: Scope,
        conversation: Conversation | None,
        completed: AskCompleted,
        topic: str,
        origins: set[Origin],
        timings: QuestionTimings,
    ) -> AskCompleted:
        """Store an answer with its origins under its id, standalone or in its conversation, and return it.

        Returns an answer that was stored under this id in the meantime. Raises NotFound when an origin was deleted or
        is unreadable for the caller: then nothing of the answer is kept.
        """
        await self._withholding.check(scope, origins)
        message = _message(completed, timings)
        try:
            with timings.timed(PIPELINE_STAGE_EDGE, "store"):
                if conversation is None:
                    await _patiently(lambda: self._answers.keep(scope, message, origins))
                else:
                    completed.conversation_id = named = conversation.id
                    messages = self._conversations.messages
                    await _patiently(lambda: messages.add_answer(scope, named, message, topic, origins))
                    self._jobs.remember(scope, named, message.id)
        except AlreadyStored:
            return finished(await self._answers.get(scope, message.id))
        except Exception as error:
            _not_stored(completed, timings, error)
        else:
            await self._look_again(scope, origins)
        return completed

    async def _look_again(self, scope: Scope, origins: set[Origin]) -> None:
        """Raise NotFound and remove the answer if an origin was deleted during the store."""
        try:
            await self._withholding.check(scope, origins)
        except NotFound:
            self._jobs.leave_all(await self._forgetting.sweep())
            raise

    async def replace(
        self,
        scope: Scope,
        regeneration: Regeneration,
        asked: AskRequest,
        completed: AskCompleted,
        topic: str,
        bounds: TextBounds,
        origins: set[Origin],
        timings: QuestionTimings,
    ) -> AskCompleted:
        """Store an answer in place of the messages that its regeneration replaces, and return it.

        Returns this very answer if it was stored in the meantime. Raises Aborted when the conversation has changed and
        nothing is left to replace, NotFound as `answer` does.
        """
        await self._withholding.check(scope, origins)
        message = _message(completed, timings)
        completed.conversation_id = regeneration.conversation_id
        question = (completed.question_id, asked)
        try:
            with timings.timed(PIPELINE_STAGE_EDGE, "store"):
                stays = _stays(bounds)
                replace = partial(
                    self._regenerations.replace,
                    scope,
                    regeneration,
                    question,
                    message,
                    topic,
                    origins,
                    local_only=stays,
                )
                gone = await _patiently(replace)
                self._jobs.remember(scope, regeneration.conversation_id, message.id)
                self._jobs.leave(scope, regeneration.conversation_id, gone)
        except AlreadyStored:
            return finished(await self._answers.get(scope, message.id))
        except Aborted:
            raise
        except Exception as error:
            _not_stored(completed, timings, error)
        else:
            await self._look_again(scope, origins)
        return completed

    async def first(self, scope: Scope, answer_id: str) -> ConversationMessage | None:
        """Return the answer stored under an id, None if there is none yet."""
        try:
            return await self._answers.get(scope, answer_id)
        except NotFound:
            return None


async def _logged(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except Exception as error:
        _log.error("left_not_stored", error=type(error).__name__)


async def _patiently(operation: Callable[[], Awaitable[T]]) -> T:
    """Retry briefly while the database is away: the caller has the words, and would lose the rest."""

    def enough(error: FootnoteError, waited: float) -> None:
        if waited > STORE_PATIENCE:
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
    """Tell whether texts about the collections stay on this machine; false if these could not be looked up."""
    return bounds.local_only and bounds != UNKNOWN


def _not_stored(completed: AskCompleted, timings: QuestionTimings, error: Exception) -> None:
    """Report that an answer is not stored; the caller keeps what it has received."""
    _log.error("answer_not_stored", answer_id=completed.answer.id, error=type(error).__name__)
    timings.degrade(
        PIPELINE_STAGE_EDGE,
        "ANSWER_NOT_STORED",
        "The answer is not kept: it cannot be found by its id, nor in its conversation.",
    )


def events_of(message: ConversationMessage) -> Iterator[AskResponse]:
    """Yield the events of a stored answer; its times and its token plan are not stored."""
    yield AskResponse(sources=SourcesEvent(sources=message.sources))
    yield AskResponse(text_delta=message.text)
    for citation in message.answer.citations:
        yield AskResponse(citation=citation)
    yield AskResponse(completed=finished(message))


def finished(message: ConversationMessage) -> AskCompleted:
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
