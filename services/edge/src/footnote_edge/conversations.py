"""Conversations and their messages: what was said, by whom, and how each answer came about."""

import contextlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

from footnote.edge.v1.conversations_pb2 import Conversation, ConversationMessage
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_ASSISTANT, MESSAGE_ROLE_USER, MemoryMessage
from footnote.types.v1.scope_pb2 import Scope
from footnote_kit.errors import InvalidArgument, NotFound
from footnote_kit.paging import Page, fitting
from sqlalchemy import ColumnElement, and_, delete, func, or_, select, update
from sqlalchemy.exc import IntegrityError

from footnote_edge.database import Database, utc
from footnote_edge.tables import ConversationRow, MessageRow
from footnote_edge.withholding import Withholding, is_withheld

MAX_TITLE = 200


@dataclass(frozen=True, slots=True)
class Said:
    """Messages, and whether none of them had to be left out or is gone."""

    messages: list[ConversationMessage]
    whole: bool


class Conversations:
    """Reads and writes the conversations of one user at a time; those of others do not exist for it."""

    def __init__(self, database: Database, withholding: Withholding) -> None:
        self._sessions = database.sessions
        self._withholding = withholding

    async def create(self, scope: Scope, title: str, collections: Sequence[str]) -> Conversation:
        """Create a conversation; an empty title is filled in after the first message."""
        now = datetime.now(UTC)
        row = ConversationRow(
            id=uuid4().hex,
            tenant_id=scope.tenant_id,
            user_id=scope.user_id,
            title=_checked_title(title),
            collections=json.dumps(list(collections)),
            topic="",
            local_only=False,
            create_time=now,
            update_time=now,
        )
        async with self._sessions.begin() as session:
            session.add(row)
        return _conversation(row, 0)

    async def get(self, scope: Scope, conversation_id: str) -> Conversation:
        """Return a conversation; raises NotFound when it is not this user's."""
        count = select(func.count()).where(MessageRow.conversation_id == conversation_id).scalar_subquery()
        query = select(ConversationRow, count).where(*_mine(scope, conversation_id))
        async with self._sessions() as session:
            found = (await session.execute(query)).one_or_none()
        if found is None:
            raise _missing(conversation_id)
        return _conversation(found[0], found[1])

    async def page(self, scope: Scope, page: Page) -> tuple[list[Conversation], str, int]:
        """Return a page of conversations, the most recently used first; the next page's token; how many there are."""
        mine = (ConversationRow.tenant_id == scope.tenant_id, ConversationRow.user_id == scope.user_id)
        count = select(func.count()).where(MessageRow.conversation_id == ConversationRow.id).scalar_subquery()
        query = (
            select(ConversationRow, count)
            .where(*mine)
            .order_by(ConversationRow.update_time.desc(), ConversationRow.id)
            .limit(page.size + 1)
        )
        if page.position is not None:
            time, last = _moment(page.position[0]), str(page.position[1])
            same = and_(ConversationRow.update_time == time, ConversationRow.id > last)
            query = query.where(or_(ConversationRow.update_time < time, same))
        async with self._sessions() as session:
            rows = (await session.execute(query)).all()
            total = await session.scalar(select(func.count()).select_from(ConversationRow).where(*mine))
        found = [_conversation(row, messages) for row, messages in rows]
        shown = min(page.size, fitting(found))
        last_row = rows[shown - 1][0] if shown < len(rows) else None
        token = page.token((last_row.update_time.isoformat(), last_row.id)) if last_row is not None else ""
        return found[:shown], token, total or 0

    async def rename(self, scope: Scope, conversation_id: str, title: str, *, only_untitled: bool = False) -> None:
        """Give a conversation a title; with `only_untitled` one that a person has given stays."""
        if not title.strip():
            raise InvalidArgument.field("title", "must not be empty")
        statement = update(ConversationRow).where(*_mine(scope, conversation_id)).values(title=_checked_title(title))
        if only_untitled:
            statement = statement.where(ConversationRow.title == "")
        async with self._sessions.begin() as session:
            changed = (await session.execute(statement)).rowcount  # type: ignore[attr-defined]
        if not changed and not only_untitled:
            raise _missing(conversation_id)

    async def delete(self, scope: Scope, conversation_id: str) -> None:
        """Delete a conversation with its messages and their feedback."""
        async with self._sessions.begin() as session:
            statement = delete(ConversationRow).where(*_mine(scope, conversation_id))
            if not (await session.execute(statement)).rowcount:  # type: ignore[attr-defined]
                raise _missing(conversation_id)

    async def messages(
        self, scope: Scope, conversation_id: str, page: Page
    ) -> tuple[list[ConversationMessage], str, int]:
        """Return a page of messages, oldest first; the next page's token; how many there are."""
        await self.get(scope, conversation_id)
        mine = MessageRow.conversation_id == conversation_id
        query = select(MessageRow).where(mine).order_by(MessageRow.sequence).limit(page.size + 1)
        if page.position is not None:
            query = query.where(MessageRow.sequence > page.position[0])
        async with self._sessions() as session:
            rows = (await session.scalars(query)).all()
            total = await session.scalar(select(func.count()).select_from(MessageRow).where(mine))
        messages = [_message(row) for row in rows]
        shown = min(page.size, fitting(messages))
        token = page.token((rows[shown - 1].sequence,)) if shown < len(rows) else ""
        return await self._withholding.shown(scope, messages[:shown]), token, total or 0

    async def unreadable(self, scope: Scope, message_ids: Sequence[str]) -> set[str]:
        """Return those messages of the user whose words come of collections that it can no longer read."""
        query = select(MessageRow).where(
            MessageRow.id.in_(message_ids),
            MessageRow.tenant_id == scope.tenant_id,
            MessageRow.user_id == scope.user_id,
            MessageRow.role == MESSAGE_ROLE_ASSISTANT,
        )
        async with self._sessions() as session:
            rows = (await session.scalars(query)).all()
        shown = await self._withholding.shown(scope, [_message(row) for row in rows])
        return {message.id for message in shown if is_withheld(message) and not message.text}

    async def history(self, scope: Scope, conversation_id: str, limit: int, before: str = "") -> Said:
        """Return the last `limit` messages of a conversation, or those before one of them, where that is there."""
        last = select(MessageRow.sequence).where(MessageRow.id == before).scalar_subquery()
        query = (
            select(MessageRow)
            .where(MessageRow.conversation_id == conversation_id, or_(last.is_(None), MessageRow.sequence < last))
            .order_by(MessageRow.sequence.desc())
            .limit(limit)
        )
        async with self._sessions() as session:
            rows = (await session.scalars(query)).all()
        return await self._said(scope, list(reversed(rows)))

    async def named(self, scope: Scope, message_ids: Sequence[str]) -> Said:
        """Return messages of the user's by their ids, in that order, those that are still there."""
        query = select(MessageRow).where(
            MessageRow.id.in_(message_ids), MessageRow.tenant_id == scope.tenant_id, MessageRow.user_id == scope.user_id
        )
        async with self._sessions() as session:
            rows = {row.id: row for row in (await session.scalars(query)).all()}
        said = await self._said(scope, [rows[one] for one in message_ids if one in rows])
        return Said(said.messages, said.whole and len(rows) == len(set(message_ids)))

    async def _said(self, scope: Scope, rows: Sequence[MessageRow]) -> Said:
        shown = await self._withholding.shown(scope, [_message(row) for row in rows])
        kept = [message for message in shown if message.text or not is_withheld(message)]
        return Said(kept, len(kept) == len(shown))

    async def add_question(self, scope: Scope, conversation_id: str, text: str, message_id: str) -> None:
        """Add what the user said, once under its id; nothing said is lost if the answer fails."""
        query = select(MessageRow.id).where(MessageRow.id == message_id)
        async with self._sessions() as session:
            if await session.scalar(query) is not None:
                return
        message = ConversationMessage(id=message_id, role=MESSAGE_ROLE_USER, text=text)
        with contextlib.suppress(IntegrityError):  # said at the same time, by the same call repeated
            await self._add(scope, conversation_id, message, None)

    async def add_answer(self, scope: Scope, conversation_id: str, answer: ConversationMessage, topic: str) -> None:
        """Add an answer, under the id it has, together with the topic for the next question."""
        answer.role = MESSAGE_ROLE_ASSISTANT
        await self._add(scope, conversation_id, answer, topic)

    async def _add(self, scope: Scope, conversation_id: str, message: ConversationMessage, topic: str | None) -> None:
        now = datetime.now(UTC)
        message.conversation_id = conversation_id
        message.create_time.FromDatetime(now)
        values: dict[str, object] = {"update_time": now} if topic is None else {"update_time": now, "topic": topic}
        async with self._sessions.begin() as session:
            touch = update(ConversationRow).where(*_mine(scope, conversation_id)).values(**values)
            if not (await session.execute(touch)).rowcount:  # type: ignore[attr-defined]
                raise _missing(conversation_id)
            session.add(
                MessageRow(
                    id=message.id,
                    conversation_id=conversation_id,
                    tenant_id=scope.tenant_id,
                    user_id=scope.user_id,
                    role=message.role,
                    text=message.text,
                    payload=message.SerializeToString(),
                    create_time=now,
                )
            )

    async def keep_here(self, scope: Scope, conversation_id: str) -> None:
        """Note, for good, that the conversation holds texts that stay on this machine."""
        statement = update(ConversationRow).where(*_mine(scope, conversation_id)).values(local_only=True)
        async with self._sessions.begin() as session:
            await session.execute(statement)

    async def kept_here(self, conversation_ids: Collection[str]) -> set[str]:
        """Return those of the conversations that hold texts that stay on this machine."""
        query = select(ConversationRow.id).where(
            ConversationRow.id.in_(conversation_ids), ConversationRow.local_only.is_(True)
        )
        async with self._sessions() as session:
            return set((await session.scalars(query)).all())

    async def unembedded(self, conversation_id: str) -> list[MemoryMessage]:
        """Return the messages that memory search does not hold yet, oldest first."""
        query = (
            select(MessageRow)
            .where(MessageRow.conversation_id == conversation_id, MessageRow.embed_time.is_(None))
            .order_by(MessageRow.sequence)
        )
        async with self._sessions() as session:
            rows = (await session.scalars(query)).all()
        return [_memory(row) for row in rows]

    async def mark_embedded(self, message_ids: Sequence[str]) -> None:
        """Note that memory search holds these messages."""
        async with self._sessions.begin() as session:
            chosen = MessageRow.id.in_(message_ids)
            await session.execute(update(MessageRow).where(chosen).values(embed_time=datetime.now(UTC)))

    async def first_question(self, conversation_id: str) -> str | None:
        """Return the first thing the user said while the conversation has no title; None when it has one or is gone."""
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


def _mine(scope: Scope, conversation_id: str) -> tuple[ColumnElement[bool], ...]:
    return (
        ConversationRow.id == conversation_id,
        ConversationRow.tenant_id == scope.tenant_id,
        ConversationRow.user_id == scope.user_id,
    )


def _moment(text: str | int) -> datetime:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError as error:
        raise InvalidArgument.field("page_token", "is not one that was given out") from error


def _missing(conversation_id: str) -> NotFound:
    return NotFound(f"Conversation '{conversation_id}' not found", reason="CONVERSATION_NOT_FOUND")


def _checked_title(title: str) -> str:
    title = " ".join(title.split())
    if len(title) > MAX_TITLE:
        raise InvalidArgument.field("title", f"must have at most {MAX_TITLE} characters")
    return title


def _conversation(row: ConversationRow, messages: int) -> Conversation:
    conversation = Conversation(
        id=row.id,
        title=row.title,
        collections=json.loads(row.collections),
        topic=row.topic,
        message_count=messages,
        local_only=row.local_only,
    )
    conversation.create_time.FromDatetime(utc(row.create_time))
    conversation.update_time.FromDatetime(utc(row.update_time))
    return conversation


def _message(row: MessageRow) -> ConversationMessage:
    return ConversationMessage.FromString(row.payload)


def _memory(row: MessageRow) -> MemoryMessage:
    message = MemoryMessage(
        message_id=row.id,
        conversation_id=row.conversation_id or "",
        role=row.role,  # type: ignore[arg-type]
        text=row.text,
    )
    message.create_time.FromDatetime(utc(row.create_time))
    return message
