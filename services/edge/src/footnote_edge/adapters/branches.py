"""Versions of a question: an edit puts one aside with the messages after it, and a restore brings it back.

Versions share `fork`. `branch` of a message put aside is the id of the question with which it was. Messages before a
question cannot change unless the question is put aside too, so a version always fits.
"""

from collections.abc import Sequence

from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_USER
from footnote_kit.errors import Aborted, InvalidArgument, NotFound
from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from footnote_edge.adapters.messages import CURRENT, PRESENT, place_of, standing
from footnote_edge.adapters.tables import MessageRow, ShareRow
from footnote_edge.conversations.ports import Restored

_AT_ONCE = 1000
"""Ids per statement, below the databases' limits on parameters."""


async def put_aside(session: AsyncSession, question: MessageRow, tail: Sequence[str]) -> None:
    """Move a question and the messages after it out of their conversation, as a version of that question.

    They are removed from shares permanently: a restore brings them back to the conversation only.
    """
    question.fork = question.fork or question.id
    await session.flush()
    for batch in _batches(tail):
        await session.execute(
            update(MessageRow).where(MessageRow.id.in_(batch)).values(branch=question.id, shared=False)
        )
        await session.execute(delete(ShareRow).where(ShareRow.answer_id.in_(batch)))


async def remove(session: AsyncSession, question: MessageRow, tail: Sequence[str]) -> None:
    """Delete a question and the messages after it, with what was put aside for questions among those after it."""
    doomed, own = list(tail), question.fork or ""
    of_it = MessageRow.conversation_id == question.conversation_id
    while doomed:
        forks = set[str]()
        for batch in _batches(doomed):
            others = select(MessageRow.fork).where(MessageRow.id.in_(batch), MessageRow.fork != own)
            forks |= {one for one in await session.scalars(others) if one is not None}
            await session.execute(delete(MessageRow).where(MessageRow.id.in_(batch)))
        heads = select(MessageRow.id).where(of_it, MessageRow.fork.in_(forks))
        doomed = list(await session.scalars(select(MessageRow.id).where(of_it, MessageRow.branch.in_(heads))))


async def swap(session: AsyncSession, question: MessageRow) -> tuple[Restored, str]:
    """Bring a version back and put the current one aside; return both, and the conversation's new topic."""
    if question.branch != question.id:
        raise Aborted(f"Message '{question.id}' is put aside with another one: restore '{question.branch}' first.")
    of_it = MessageRow.conversation_id == question.conversation_id
    other = await session.scalar(select(MessageRow).where(of_it, MessageRow.fork == question.fork, PRESENT))
    if other is None:
        raise Aborted(f"The place of message '{question.id}' is put aside too: restore a question before it first.")
    aside = await tail_of(session, other)
    await put_aside(session, other, aside)
    back = tuple(await session.scalars(select(MessageRow.id).where(of_it, MessageRow.branch == question.id)))
    for batch in _batches(back):
        # Memory search has deleted them: embed them again.
        chosen = update(MessageRow).where(MessageRow.id.in_(batch))
        await session.execute(chosen.values(branch=None, embed_time=None))
    last = (
        select(MessageRow.topic)
        .where(of_it, MessageRow.role != MESSAGE_ROLE_USER, CURRENT)
        .order_by(standing.desc(), MessageRow.sequence.desc())
        .limit(1)
    )
    return Restored(question.conversation_id or "", back, aside), await session.scalar(last) or ""


def _batches(ids: Sequence[str]) -> list[Sequence[str]]:
    return [ids[start : start + _AT_ONCE] for start in range(0, len(ids), _AT_ONCE)]


async def find_message(session: AsyncSession, scope: Scope, message_id: str) -> MessageRow:
    """Return a message of one of the user's conversations, or put aside there."""
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


async def tail_of(session: AsyncSession, question: MessageRow) -> tuple[str, ...]:
    """Return a question and all later messages of its conversation, except answers to earlier questions."""
    query = (
        select(MessageRow.id, MessageRow.role, MessageRow.question_id)
        .where(MessageRow.conversation_id == question.conversation_id, PRESENT, standing >= place_of(question))
        .order_by(MessageRow.sequence)
    )
    rows = (await session.execute(query)).all()
    questions = {None, *(row.id for row in rows if row.role == MESSAGE_ROLE_USER)}
    return tuple(row.id for row in rows if row.role == MESSAGE_ROLE_USER or row.question_id in questions)
