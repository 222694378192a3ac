"""Regenerates or edits a question of a conversation: determines the replaced messages, and replaces them atomically."""

from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_USER
from footnote_kit.errors import Aborted, InvalidArgument, NotFound
from sqlalchemy import delete, exists, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.messages import CURRENT, answer_row, place_of, question_row, standing, storing, touch
from footnote_edge.adapters.origins import note
from footnote_edge.adapters.payloads import asked_of_row
from footnote_edge.adapters.tables import MessageRow
from footnote_edge.conversations.origins import Origin
from footnote_edge.conversations.ports import AlreadyStored, Regeneration

_AT_ONCE = 1000
"""Ids per statement, below the databases' limits on parameters."""


class RegenerationTable:
    """Finds the question to answer again, and replaces its messages atomically."""

    def __init__(self, database: Database) -> None:
        self._sessions = database.sessions

    async def regenerated(self, scope: Scope, message_id: str) -> Regeneration:
        """Return the question that a message is or answers; raises Aborted for a replaced answer."""
        async with self._sessions() as session:
            named = await _named(session, scope, message_id)
            if named.superseded_by is not None:
                raise Aborted(f"Answer '{message_id}' was replaced by '{named.superseded_by}' already; name that one.")
            question = named
            if named.role != MESSAGE_ROLE_USER:
                question = await _named(session, scope, named.question_id or message_id)
            return await _turn(session, question, None)

    async def edited(self, scope: Scope, message_id: str) -> Regeneration:
        """Return the question that a message is, with all messages to remove."""
        async with self._sessions() as session:
            question = await _named(session, scope, message_id)
            if question.role != MESSAGE_ROLE_USER:
                raise InvalidArgument.field(
                    "message_id", "is an answer: regenerate it, or edit the question, which its question_id names"
                )
            return await _turn(session, question, await _tail(session, question))

    async def replace(
        self,
        scope: Scope,
        turn: Regeneration,
        question: tuple[str, AskRequest],
        answer: ConversationMessage,
        topic: str,
        origins: set[Origin],
        *,
        local_only: bool,
    ) -> tuple[str, ...]:
        """Put an answer, and an edited question by id and request, in place; return the ids of removed messages.

        `local_only` marks the conversation, permanently, as holding texts that must stay on this machine. Raises
        Aborted if the messages to replace have changed, AlreadyStored if this very answer exists already.
        """
        async with storing(self._sessions) as session:
            local_only_among = {"local_only": True} if local_only else {}
            now = await touch(session, scope, turn.conversation_id, **local_only_among)
            if await session.scalar(select(exists().where(MessageRow.id == answer.id))):
                raise AlreadyStored
            row = await session.scalar(select(MessageRow).where(MessageRow.id == turn.question_id))
            if row is None:
                raise _changed()
            new = answer_row(scope, turn.conversation_id, answer, topic, now)
            if turn.tail is None:
                last = await _replace_answer(session, turn, row, new)
                gone: tuple[str, ...] = (turn.replaced,) if turn.replaced else ()
            else:
                last, gone = True, turn.tail
                if await _tail(session, row) != turn.tail:
                    raise _changed()
                for start in range(0, len(gone), _AT_ONCE):
                    batch = gone[start : start + _AT_ONCE]
                    await session.execute(delete(MessageRow).where(MessageRow.id.in_(batch)))
                session.add(question_row(scope, turn.conversation_id, *question, now))
                await session.flush()
                session.add(new)
            await note(session, {answer.id: origins})
            if last:
                await touch(session, scope, turn.conversation_id, topic=topic)
        return gone


async def _replace_answer(session: AsyncSession, turn: Regeneration, question: MessageRow, new: MessageRow) -> bool:
    """Replace an answer, or add the first one; return whether no later question exists."""
    current = await _current_answer(session, turn.question_id)
    if (current.id if current is not None else "") != turn.replaced:
        raise _changed()
    later = exists().where(
        MessageRow.conversation_id == turn.conversation_id,
        MessageRow.role == MESSAGE_ROLE_USER,
        standing > place_of(question),
    )
    last = not await session.scalar(select(later))
    if current is not None:
        new.place = place_of(current)
        change = update(MessageRow).where(MessageRow.id == current.id).values(superseded_by=new.id)
        await session.execute(change)
    elif not last:
        new.place = place_of(question)
    session.add(new)
    return last


async def _turn(session: AsyncSession, question: MessageRow, tail: tuple[str, ...] | None) -> Regeneration:
    current = await _current_answer(session, question.id)
    before = (
        select(MessageRow.topic, MessageRow.id)
        .where(
            MessageRow.conversation_id == question.conversation_id,
            MessageRow.role != MESSAGE_ROLE_USER,
            CURRENT,
            standing < place_of(question),
        )
        .order_by(standing.desc(), MessageRow.sequence.desc())
        .limit(1)
    )
    topic, topic_of = (await session.execute(before)).one_or_none() or ("", "")
    asked = asked_of_row(question)
    asked.question = question.text
    return Regeneration(
        conversation_id=question.conversation_id or "",
        question_id=question.id,
        asked=asked,
        topic=topic,
        topic_of=topic_of,
        replaced=current.id if current is not None else "",
        tail=tail,
    )


async def _named(session: AsyncSession, scope: Scope, message_id: str) -> MessageRow:
    """Return a message of one of the user's conversations."""
    if not message_id:
        raise InvalidArgument.field("message_id", "must be given")
    query = select(MessageRow).where(
        MessageRow.id == message_id,
        MessageRow.tenant_id == scope.tenant_id,
        MessageRow.user_id == scope.user_id,
        MessageRow.conversation_id.is_not(None),
    )
    found = await session.scalar(query)
    if found is None:
        raise NotFound(f"Message '{message_id}' not found", reason="MESSAGE_NOT_FOUND")
    return found


async def _current_answer(session: AsyncSession, question_id: str) -> MessageRow | None:
    query = select(MessageRow).where(MessageRow.question_id == question_id, CURRENT).limit(1)
    return (await session.scalars(query)).one_or_none()


async def _tail(session: AsyncSession, question: MessageRow) -> tuple[str, ...]:
    """Return a question and all later messages of its conversation, except answers to earlier questions."""
    query = (
        select(MessageRow.id, MessageRow.role, MessageRow.question_id)
        .where(MessageRow.conversation_id == question.conversation_id, standing >= place_of(question))
        .order_by(MessageRow.sequence)
    )
    rows = (await session.execute(query)).all()
    questions = {None, *(row.id for row in rows if row.role == MESSAGE_ROLE_USER)}
    return tuple(row.id for row in rows if row.role == MESSAGE_ROLE_USER or row.question_id in questions)


def _changed() -> Aborted:
    return Aborted("The conversation was changed meanwhile; nothing of this call is kept. Read it again.")
