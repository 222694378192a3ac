"""Regenerates or edits a question of a conversation: determines the replaced messages, and replaces them atomically."""

from collections.abc import Collection
from dataclasses import replace

from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_USER
from footnote_kit.errors import Aborted, InvalidArgument
from sqlalchemy import exists, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from footnote_edge.adapters.branches import find_message, put_aside, remove, swap, tail_of
from footnote_edge.adapters.database import Database
from footnote_edge.adapters.messages import (
    CURRENT,
    LATEST,
    PRESENT,
    answer_row,
    asked_of_row,
    place_of,
    question_row,
    standing,
    storing,
    touch,
)
from footnote_edge.adapters.origins import note
from footnote_edge.adapters.tables import ConversationRow, MessageRow
from footnote_edge.conversations.origins import Origin
from footnote_edge.conversations.ports import AlreadyStored, Regeneration, Restored


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

    async def edited(self, scope: Scope, message_id: str, *, keep: bool) -> Regeneration:
        """Return the question that a message is, with all messages to remove, or to put aside with `keep`."""
        async with self._sessions() as session:
            question = await _named(session, scope, message_id)
            if question.role != MESSAGE_ROLE_USER:
                raise InvalidArgument.field(
                    "message_id", "is an answer: regenerate it, or edit the question, which its question_id names"
                )
            return replace(await _turn(session, question, await tail_of(session, question)), keep=keep)

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
            if row is None or row.branch is not None:
                raise _changed()
            new = answer_row(scope, turn.conversation_id, answer, topic, now)
            if turn.tail is None:
                last = await _replace_answer(session, turn, row, new)
                gone: tuple[str, ...] = (turn.replaced,) if turn.replaced else ()
            else:
                last, gone = True, turn.tail
                if await tail_of(session, row) != turn.tail:
                    raise _changed()
                edited = question_row(scope, turn.conversation_id, *question, now)
                edited.fork = (row.fork or row.id) if turn.keep else row.fork
                await (put_aside if turn.keep else remove)(session, row, turn.tail)
                session.add(edited)
                await session.flush()
                session.add(new)
            await note(session, {answer.id: origins})
            await _untitle(session, scope, turn.conversation_id, gone)
            if last:
                await touch(session, scope, turn.conversation_id, topic=topic)
        return gone

    async def restore(self, scope: Scope, message_id: str) -> Restored:
        """Swap a version of a question that was put aside with the one in its place; raises Aborted where none is."""
        async with self._sessions() as session:
            conversation_id = (await find_message(session, scope, message_id)).conversation_id or ""
        async with self._sessions.begin() as session:
            await touch(session, scope, conversation_id)
            question = await find_message(session, scope, message_id)
            if question.branch is None:
                return Restored(conversation_id)
            swapped, topic = await swap(session, question)
            await touch(session, scope, conversation_id, topic=topic)
            await _untitle(session, scope, conversation_id, swapped.aside)
            return swapped


async def _untitle(session: AsyncSession, scope: Scope, conversation_id: str, left: Collection[str]) -> None:
    """Remove a title made of a question that has left its conversation; the next job makes another one."""
    titled_of = select(ConversationRow.titled_of).where(ConversationRow.id == conversation_id)
    if await session.scalar(titled_of) in left:
        await touch(session, scope, conversation_id, title="", titled_of=None)


async def _replace_answer(session: AsyncSession, turn: Regeneration, question: MessageRow, new: MessageRow) -> bool:
    """Replace an answer, or add the first one; return whether no later question exists."""
    current = await _current_answer(session, turn.question_id)
    if (current.id if current is not None else "") != turn.replaced:
        raise _changed()
    later = exists().where(
        MessageRow.conversation_id == turn.conversation_id,
        MessageRow.role == MESSAGE_ROLE_USER,
        PRESENT,
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
    """Return a message that is in one of the user's conversations now."""
    found = await find_message(session, scope, message_id)
    if found.branch is not None:
        raise Aborted(f"Message '{message_id}' is put aside: restore '{found.branch}' first.")
    return found


async def _current_answer(session: AsyncSession, question_id: str) -> MessageRow | None:
    query = select(MessageRow).where(MessageRow.question_id == question_id, LATEST).limit(1)
    return (await session.scalars(query)).one_or_none()


def _changed() -> Aborted:
    return Aborted("Another call changed the conversation, so this one had no effect. Read it again.")
