"""What is kept of a question and its answer, in the conversation that it belongs to or by itself."""

from collections.abc import Awaitable, Callable, Iterator

from footnote.edge.v1.answers_pb2 import AskCompleted, AskResponse, SourcesEvent
from footnote.edge.v1.conversations_pb2 import Conversation, ConversationMessage
from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_EDGE
from footnote.types.v1.provider_pb2 import TextBounds
from footnote.types.v1.scope_pb2 import Scope
from footnote_kit.errors import FootnoteError, NotFound
from footnote_kit.logs import get_logger
from sqlalchemy.exc import IntegrityError

from footnote_edge.answering import Ledger
from footnote_edge.answers import Answers
from footnote_edge.bounds import UNKNOWN
from footnote_edge.conversations import Conversations
from footnote_edge.jobs import Jobs

_log = get_logger(__name__)


class Keeper:
    """Stores questions and answers; the answer's way goes on where that fails, and says so."""

    def __init__(self, conversations: Conversations, answers: Answers, jobs: Jobs) -> None:
        self._conversations = conversations
        self._answers = answers
        self._jobs = jobs

    async def question(
        self,
        scope: Scope,
        conversation: Conversation | None,
        question: str,
        bounds: Callable[[], Awaitable[TextBounds]],
        question_id: str,
    ) -> None:
        """Add what the user said to its conversation, where there is one, and only once under its id."""
        if conversation is None:
            return
        try:
            bound = await bounds()
        except FootnoteError:
            pass  # the question fails by it elsewhere; what was said is kept nevertheless
        else:
            if bound.local_only and bound != UNKNOWN and not conversation.local_only:
                await self._conversations.keep_here(scope, conversation.id)
        await self._conversations.add_question(scope, conversation.id, question, question_id)

    async def answer(
        self, scope: Scope, conversation: Conversation | None, completed: AskCompleted, topic: str, ledger: Ledger
    ) -> AskCompleted:
        """Store an answer under its id, by itself or in its conversation, and return it.

        Where an answer was stored under this id in the meantime, that one is returned.
        """
        message = ConversationMessage(
            id=completed.answer.id,
            text=completed.answer.text,
            answer=completed.answer,
            sources=completed.sources,
            manifest=completed.manifest,
            trace_id=completed.trace_id,
            degradations=ledger.degradations,
        )
        try:
            with ledger.timed(PIPELINE_STAGE_EDGE, "store"):
                if conversation is None:
                    await self._answers.keep(scope, message)
                else:
                    completed.conversation_id = conversation.id
                    await self._conversations.add_answer(scope, conversation.id, message, topic)
                    self._jobs.remember(scope, conversation.id, message.id)
        except IntegrityError:
            return finished(await self._answers.get(scope, message.id))
        except Exception as error:
            # The caller has the answer already; that it was not kept must not take it away again.
            _log.error("answer_not_stored", answer_id=message.id, error=type(error).__name__)
            ledger.degrade(
                PIPELINE_STAGE_EDGE,
                "ANSWER_NOT_STORED",
                "The answer is not kept: it cannot be found by its id, nor in its conversation.",
            )
        return completed

    async def first(self, scope: Scope, answer_id: str) -> ConversationMessage | None:
        """Return the answer that is stored under an id, None where there is none yet."""
        try:
            return await self._answers.get(scope, answer_id)
        except NotFound:
            return None


def told(message: ConversationMessage) -> Iterator[AskResponse]:
    """Yield the events of a stored answer; its times and its token plan are not kept."""
    yield AskResponse(sources=SourcesEvent(sources=message.sources))
    yield AskResponse(text_delta=message.text)
    for citation in message.answer.citations:
        yield AskResponse(citation=citation)
    yield AskResponse(completed=finished(message))


def finished(message: ConversationMessage) -> AskCompleted:
    """Return a stored answer as the end of one that is being given."""
    return AskCompleted(
        answer=message.answer,
        sources=message.sources,
        degradations=message.degradations,
        manifest=message.manifest,
        trace_id=message.trace_id,
        conversation_id=message.conversation_id,
    )
