"""Conversations of one user: create, list, change, delete; `messages` holds their content."""

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

from footnote.edge.v1.conversations_pb2 import Conversation
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_USER
from footnote_database.times import utc
from footnote_kit.errors import Aborted, InvalidArgument
from footnote_kit.paging import Page, fitting
from sqlalchemy import ColumnElement, delete, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import ConversationRow, MessageRow
from footnote_edge.conversations.messages import CURRENT, Messages, mine, missing
from footnote_edge.conversations.search import ConversationSearch, listed, users
from footnote_edge.conversations.withholding import Withholding

MAX_TITLE = 200


@dataclass(frozen=True, slots=True)
class Change:
    """New values; None leaves a value as it is."""

    title: str | None = None
    collections: Sequence[str] | None = None


class Conversations:
    """Reads and writes the conversations of one user at a time, as if no others existed."""

    def __init__(self, database: Database, withholding: Withholding) -> None:
        self._sessions = database.sessions
        self.messages = Messages(database, withholding)
        self._search = ConversationSearch(self.messages)

    async def create(
        self, scope: Scope, title: str, collections: Sequence[str], conversation_id: str = ""
    ) -> Conversation:
        """Create a conversation, once under its id, which is generated if empty; an empty title is filled in later."""
        now = datetime.now(UTC)
        row = ConversationRow(
            id=conversation_id or uuid4().hex,
            tenant_id=scope.tenant_id,
            user_id=scope.user_id,
            title=_checked_title(title),
            collections=json.dumps(list(collections)),
            topic="",
            local_only=False,
            create_time=now,
            update_time=now,
        )
        try:
            async with self._sessions.begin() as session:
                session.add(row)
        except IntegrityError:  # created by a repeat of this call
            return await self.get(scope, row.id)
        return conversation_of(row, 0)

    async def get(self, scope: Scope, conversation_id: str) -> Conversation:
        """Return a conversation; raises NotFound when it is not this user's."""
        if not conversation_id:
            raise InvalidArgument.field("conversation_id", "must be given")
        count = select(func.count()).where(MessageRow.conversation_id == conversation_id, CURRENT)
        query = select(ConversationRow, count.scalar_subquery()).where(*mine(scope, conversation_id))
        async with self._sessions() as session:
            found = (await session.execute(query)).one_or_none()
        if found is None:
            raise missing(conversation_id)
        return (await self._readable(scope, [conversation_of(found[0], found[1])]))[0]

    async def page(self, scope: Scope, page: Page, query: str = "") -> tuple[list[Conversation], str, int]:
        """Return a page of conversations, most recently used first; the next page's token; the total.

        A `query` returns only conversations that contain it, without a total.
        """
        total: int | None = 0
        if query:
            rows, more = await self._search.page(scope, page, query)
        async with self._sessions() as session:
            if not query:
                rows, more = await listed(session, scope, page.position, page.size)
                total = await session.scalar(select(func.count()).select_from(ConversationRow).where(*users(scope)))
            counts = await _counts(session, [row.id for row in rows])
        found = await self._readable(scope, [conversation_of(row, counts.get(row.id, 0)) for row in rows])
        shown = fitting(found)
        last = rows[shown - 1] if shown < len(rows) else more
        token = page.token((last.update_time.isoformat(), last.id)) if last is not None else ""
        return found[:shown], token, total or 0

    async def _readable(self, scope: Scope, found: list[Conversation]) -> list[Conversation]:
        """Return conversations, without topics that derive from answers the user can no longer read."""
        last = await self.messages.last_answers([one.id for one in found if one.topic])
        unreadable = await self.messages.unreadable(scope, list(last.values())) if last else ()
        for one in found:
            if last.get(one.id) in unreadable:
                one.topic = ""
        return found

    async def change(self, scope: Scope, conversation_id: str, change: Change, etag: str = "") -> Conversation:
        """Change a conversation and return it; raises Aborted if its etag differs from `etag`; empty matches any."""
        before = await self.get(scope, conversation_id)
        check_etag(before, etag)
        values: dict[str, str] = {}
        if change.title is not None:
            values["title"] = _checked_title(change.title)
        if change.collections is not None:
            values["collections"] = json.dumps(list(change.collections))
        async with self._sessions.begin() as session:
            statement = update(ConversationRow).where(*mine(scope, conversation_id), *_as_seen(before, etag))
            if values and not (await session.execute(statement.values(**values))).rowcount:  # type: ignore[attr-defined]
                raise missing(conversation_id) if not etag else _conflict()
        return await self.get(scope, conversation_id)

    async def entitle(self, scope: Scope, conversation_id: str, title: str) -> None:
        """Give an untitled conversation a title; a person's own title stays."""
        chosen = (*mine(scope, conversation_id), ConversationRow.title == "")
        async with self._sessions.begin() as session:
            await session.execute(update(ConversationRow).where(*chosen).values(title=_checked_title(title)))

    async def delete(self, scope: Scope, conversation: Conversation, etag: str = "") -> None:
        """Delete a conversation with its messages and their feedback; raises Aborted if its etag differs."""
        async with self._sessions.begin() as session:
            statement = delete(ConversationRow).where(*mine(scope, conversation.id), *_as_seen(conversation, etag))
            if not (await session.execute(statement)).rowcount:  # type: ignore[attr-defined]
                raise missing(conversation.id) if not etag else _conflict()

    async def keep_here(self, scope: Scope, conversation_id: str) -> None:
        """Mark the conversation, permanently, as holding texts that must stay on this machine."""
        statement = update(ConversationRow).where(*mine(scope, conversation_id)).values(local_only=True)
        async with self._sessions.begin() as session:
            await session.execute(statement)

    async def kept_here(self, conversation_ids: Collection[str]) -> set[str]:
        """Return those conversations that hold texts that must stay on this machine."""
        query = select(ConversationRow.id).where(
            ConversationRow.id.in_(conversation_ids), ConversationRow.local_only.is_(True)
        )
        async with self._sessions() as session:
            return set((await session.scalars(query)).all())

    async def first_question(self, conversation_id: str) -> str | None:
        """Return the first question of an untitled conversation; None if it has a title or is deleted."""
        query = (
            select(MessageRow.text)
            .join(ConversationRow, ConversationRow.id == MessageRow.conversation_id)
            .where(ConversationRow.id == conversation_id, ConversationRow.title == "")
            .where(MessageRow.role == MESSAGE_ROLE_USER)
            .order_by(MessageRow.sequence)
            .limit(1)
        )
        async with self._sessions() as session:
            return (await session.scalars(query)).one_or_none()


def _checked_title(title: str) -> str:
    title = " ".join(title.replace("\0", " ").split())
    if len(title) > MAX_TITLE:
        raise InvalidArgument.field("title", f"must have at most {MAX_TITLE} characters")
    return title


async def _counts(session: AsyncSession, conversation_ids: Sequence[str]) -> dict[str, int]:
    """Return the number of current messages in each conversation."""
    query = (
        select(MessageRow.conversation_id, func.count())
        .where(MessageRow.conversation_id.in_(conversation_ids), CURRENT)
        .group_by(MessageRow.conversation_id)
    )
    return {row[0] or "": row[1] for row in (await session.execute(query)).all()}


def _as_seen(conversation: Conversation, etag: str) -> tuple[ColumnElement[bool], ...]:
    """Return conditions that hold while a conversation is unchanged since the read, if an etag is given."""
    if not etag:
        return ()
    collections = json.dumps(list(conversation.collections))
    return ConversationRow.title == conversation.title, ConversationRow.collections == collections


def check_etag(conversation: Conversation, etag: str) -> None:
    """Raise Aborted if a conversation's etag differs; empty matches any."""
    if etag not in ("", conversation.etag):
        raise _conflict()


def _conflict() -> Aborted:
    return Aborted("The conversation was changed by another call; read it again")


def conversation_of(row: ConversationRow, messages: int) -> Conversation:
    """Return a conversation as the contract has it."""
    conversation = Conversation(
        id=row.id,
        title=row.title,
        collections=json.loads(row.collections),
        topic=row.topic,
        message_count=messages,
        local_only=row.local_only,
        etag=hashlib.sha256(f"{row.id}\0{row.title}\0{row.collections}".encode()).hexdigest()[:32],
    )
    conversation.create_time.FromDatetime(utc(row.create_time))
    conversation.update_time.FromDatetime(utc(row.update_time))
    return conversation
