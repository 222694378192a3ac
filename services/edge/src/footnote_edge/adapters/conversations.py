"""The table of conversations."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

from footnote.edge.v1.conversations_pb2 import Conversation
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_USER
from footnote_database.transactions import utc
from footnote_kit.paging import Position
from sqlalchemy import ColumnElement, and_, delete, exists, false, func, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.messages import CURRENT, mine
from footnote_edge.adapters.tables import ConversationRow, MessageRow


class ConversationTable:
    """Reads and writes the conversations of one user at a time."""

    def __init__(self, database: Database) -> None:
        self._sessions = database.sessions

    async def add(
        self, scope: Scope, conversation_id: str, title: str, collections: Mapping[str, str]
    ) -> Conversation | None:
        """Create a conversation, with the names given to its collections by id; None if its own id exists."""
        now = datetime.now(UTC)
        row = ConversationRow(
            id=conversation_id,
            tenant_id=scope.tenant_id,
            user_id=scope.user_id,
            title=title,
            collections=json.dumps(dict(collections)),
            topic="",
            local_only=False,
            create_time=now,
            update_time=now,
        )
        try:
            async with self._sessions.begin() as session:
                session.add(row)
        except IntegrityError:
            return None
        return _conversation(row)

    async def get(self, scope: Scope, conversation_id: str) -> Conversation | None:
        """Return a conversation of the user."""
        count = select(func.count()).where(MessageRow.conversation_id == conversation_id, CURRENT)
        query = select(ConversationRow, count.scalar_subquery()).where(*mine(scope, conversation_id))
        async with self._sessions() as session:
            found = (await session.execute(query)).one_or_none()
        return None if found is None else _conversation(found[0], found[1])

    async def page(
        self, scope: Scope, position: Position | None, most: int
    ) -> tuple[list[Conversation], Conversation | None, int]:
        """Return conversations as `listed` does, with their counts of messages; and the total."""
        of_user = select(func.count()).select_from(ConversationRow).where(*_of_user(scope))
        async with self._sessions() as session:
            rows, more = await _listed(session, scope, position, most)
            total = await session.scalar(of_user)
            counts = await _counts(session, [row.id for row in rows])
        found = [_conversation(row, counts.get(row.id, 0)) for row in rows]
        return found, found[-1] if more else None, total or 0

    async def listed(
        self, scope: Scope, position: Position | None, most: int
    ) -> tuple[list[Conversation], Conversation | None]:
        """Return conversations after a position, most recently used first; the last one if more follow."""
        async with self._sessions() as session:
            rows, more = await _listed(session, scope, position, most)
        found = [_conversation(row) for row in rows]
        return found, found[-1] if more else None

    async def counts(self, conversation_ids: Sequence[str]) -> dict[str, int]:
        """Return the number of current messages in each conversation."""
        async with self._sessions() as session:
            return await _counts(session, conversation_ids)

    async def named(self, conversation_ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return the names given to the collections of conversations, by id; an earlier version kept names alone."""
        columns = select(ConversationRow.id, ConversationRow.collections)
        async with self._sessions() as session:
            rows = (await session.execute(columns.where(ConversationRow.id.in_(conversation_ids)))).all()
        kept = {row.id: json.loads(row.collections) for row in rows}
        return {key: named if isinstance(named, dict) else {one: one for one in named} for key, named in kept.items()}

    async def change(self, scope: Scope, seen: Conversation, values: Mapping[str, str], *, unchanged: bool) -> bool:
        """Change a conversation, if it is still as `seen` where `unchanged` is set; return whether it was changed."""
        own = {"titled_of": None} if "title" in values else {}
        async with self._sessions.begin() as session:
            chosen = (*mine(scope, seen.id), *(await _as_seen(session, seen) if unchanged else ()))
            changed = await session.execute(update(ConversationRow).where(*chosen).values(**values, **own))
            return bool(changed.rowcount)  # type: ignore[attr-defined]

    async def set_title(self, scope: Scope, conversation_id: str, title: str, question_id: str) -> None:
        """Give an untitled conversation a title made of one of its questions, if that has not left it meanwhile."""
        there = exists().where(MessageRow.id == question_id, CURRENT)
        chosen = (*mine(scope, conversation_id), ConversationRow.title == "", there)
        async with self._sessions.begin() as session:
            await session.execute(update(ConversationRow).where(*chosen).values(title=title, titled_of=question_id))

    async def delete(self, scope: Scope, seen: Conversation, *, unchanged: bool) -> bool:
        """Delete a conversation with its messages and their feedback, under the same condition as `change`."""
        async with self._sessions.begin() as session:
            chosen = (*mine(scope, seen.id), *(await _as_seen(session, seen) if unchanged else ()))
            return bool((await session.execute(delete(ConversationRow).where(*chosen))).rowcount)  # type: ignore[attr-defined]

    async def restrict_to_local(self, scope: Scope, conversation_id: str) -> None:
        """Mark the conversation, permanently, as holding texts that must stay on this machine."""
        statement = update(ConversationRow).where(*mine(scope, conversation_id)).values(local_only=True)
        async with self._sessions.begin() as session:
            await session.execute(statement)

    async def local_only_among(self, conversation_ids: Collection[str]) -> set[str]:
        """Return those conversations that hold texts that must stay on this machine."""
        query = select(ConversationRow.id).where(
            ConversationRow.id.in_(conversation_ids), ConversationRow.local_only.is_(True)
        )
        async with self._sessions() as session:
            return set((await session.scalars(query)).all())

    async def first_question(self, conversation_id: str) -> tuple[str, str] | None:
        """Return id and text of an untitled conversation's first question; None if it has a title or is deleted."""
        query = (
            select(MessageRow.id, MessageRow.text)
            .join(ConversationRow, ConversationRow.id == MessageRow.conversation_id)
            .where(ConversationRow.id == conversation_id, ConversationRow.title == "")
            .where(MessageRow.role == MESSAGE_ROLE_USER, CURRENT)
            .order_by(MessageRow.sequence)
            .limit(1)
        )
        async with self._sessions() as session:
            row = (await session.execute(query)).one_or_none()
            return None if row is None else (row.id, row.text)


def _of_user(scope: Scope) -> tuple[ColumnElement[bool], ...]:
    return ConversationRow.tenant_id == scope.tenant_id, ConversationRow.user_id == scope.user_id


async def _listed(
    session: AsyncSession, scope: Scope, position: Position | None, most: int
) -> tuple[list[ConversationRow], bool]:
    query = (
        select(ConversationRow)
        .where(*_of_user(scope))
        .order_by(ConversationRow.update_time.desc(), ConversationRow.id)
        .limit(most + 1)
    )
    if position is not None:
        moment, last = position
        same = and_(ConversationRow.update_time == moment, ConversationRow.id > last)
        query = query.where(or_(ConversationRow.update_time < moment, same))
    rows = list((await session.scalars(query)).all())
    return rows[:most], len(rows) > most


async def _counts(session: AsyncSession, conversation_ids: Sequence[str]) -> dict[str, int]:
    query = (
        select(MessageRow.conversation_id, func.count())
        .where(MessageRow.conversation_id.in_(conversation_ids), CURRENT)
        .group_by(MessageRow.conversation_id)
    )
    return {row[0] or "": row[1] for row in (await session.execute(query)).all()}


async def _as_seen(session: AsyncSession, seen: Conversation) -> tuple[ColumnElement[bool], ...]:
    columns = select(ConversationRow.title, ConversationRow.collections).where(ConversationRow.id == seen.id)
    row = (await session.execute(columns)).one_or_none()
    if row is None or _etag(seen.id, row.title, row.collections) != seen.etag:
        return (false(),)
    return ConversationRow.title == row.title, ConversationRow.collections == row.collections


def _etag(conversation_id: str, title: str, collections: str) -> str:
    return hashlib.sha256(f"{conversation_id}\0{title}\0{collections}".encode()).hexdigest()[:32]


def _conversation(row: ConversationRow, messages: int = 0) -> Conversation:
    conversation = Conversation(
        id=row.id,
        title=row.title,
        collections=list(json.loads(row.collections)),
        topic=row.topic,
        message_count=messages,
        local_only=row.local_only,
        etag=_etag(row.id, row.title, row.collections),
    )
    conversation.create_time.FromDatetime(utc(row.create_time))
    conversation.update_time.FromDatetime(utc(row.update_time))
    return conversation
