"""Messages of conversations: their payloads, read in order, add, and track whether memory search holds them."""

import contextlib
from collections.abc import AsyncIterator, Collection, Sequence
from datetime import UTC, datetime

from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import (
    FINISH_REASON_INTERRUPTED,
    MESSAGE_ROLE_ASSISTANT,
    MESSAGE_ROLE_USER,
    PIPELINE_STAGE_EDGE,
    MessageRole,
)
from footnote_database.transactions import utc
from footnote_kit.degradations import degradation
from footnote_kit.errors import Aborted
from footnote_kit.logs import get_logger
from footnote_kit.paging import Page, fitting
from google.protobuf.message import DecodeError
from sqlalchemy import ColumnElement, and_, exists, func, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker
from sqlalchemy.orm import aliased

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.earlier_payloads import VERSION
from footnote_edge.adapters.origins import note
from footnote_edge.adapters.tables import ConversationRow, MessageRow
from footnote_edge.conversations.origins import Origin, hash_of
from footnote_edge.conversations.ports import AlreadyStored, Shared, conversation_missing

standing = func.coalesce(MessageRow.place, MessageRow.sequence)
"""The position of a message in its conversation; messages at one position are ordered by `sequence`."""
LATEST = MessageRow.superseded_by.is_(None)
"""The answer to its question that counts, wherever the question is."""
PRESENT = MessageRow.branch.is_(None)
"""In its conversation, not put aside by an edit."""
CURRENT = and_(LATEST, PRESENT)


class MessageTable:
    """Reads and writes messages, with all their words."""

    def __init__(self, database: Database) -> None:
        self._sessions = database.sessions

    async def page(
        self, conversation_id: str, page: Page, *, superseded: bool = False, shared: Shared | None = None
    ) -> tuple[list[ConversationMessage], str, int]:
        """Return a page of a conversation's messages, oldest first; the next page's token; the total.

        Includes replaced answers if `superseded`; only messages that are shared, if `shared`.
        """
        wanted = [MessageRow.conversation_id == conversation_id, PRESENT if superseded else CURRENT]
        if shared is not None:
            # A conversation may have too many messages to name; an answer and its question are two.
            one = bool(shared.shared.answer_id)
            wanted.append(MessageRow.id.in_(shared.message_ids) if one else MessageRow.shared.is_(True))
        query = select(MessageRow).where(*wanted).order_by(standing, MessageRow.sequence).limit(page.size + 1)
        if page.position is not None:
            place, last = page.position
            query = query.where(or_(standing > place, and_(standing == place, MessageRow.sequence > last)))
        async with self._sessions() as session:
            rows = (await session.scalars(query)).all()
            total = await session.scalar(select(func.count()).select_from(MessageRow).where(*wanted))
            versions = await _versions(session, conversation_id, {row.fork for row in rows if row.fork})
        messages = [message_of(row) for row in rows]
        for row, message in zip(rows, messages, strict=True):
            message.versions.extend(versions.get(row.fork or "", ()))
        shown = min(page.size, fitting(messages))
        last_row = rows[shown - 1] if shown < len(rows) else None
        token = page.token((place_of(last_row), last_row.sequence)) if last_row is not None else ""
        return messages[:shown], token, total or 0

    async def of_user(
        self, scope: Scope, message_ids: Collection[str], *, answers_only: bool = False
    ) -> list[ConversationMessage]:
        """Return the user's messages by id, in any order."""
        query = select(MessageRow).where(
            MessageRow.id.in_(message_ids), MessageRow.tenant_id == scope.tenant_id, MessageRow.user_id == scope.user_id
        )
        if answers_only:
            query = query.where(MessageRow.role == MESSAGE_ROLE_ASSISTANT)
        async with self._sessions() as session:
            return [message_of(row) for row in await session.scalars(query)]

    async def last_answers(self, conversation_ids: Sequence[str]) -> dict[str, str]:
        """Return the id of the last answer in each conversation, by its place there."""
        order = (standing.desc(), MessageRow.sequence.desc())
        rank = func.row_number().over(partition_by=MessageRow.conversation_id, order_by=order).label("rank")
        wanted = MessageRow.conversation_id.in_(conversation_ids), MessageRow.role == MESSAGE_ROLE_ASSISTANT, CURRENT
        ranked = select(MessageRow.conversation_id, MessageRow.id, rank).where(*wanted).subquery()
        query = select(ranked.c.conversation_id, ranked.c.id).where(ranked.c.rank == 1)
        async with self._sessions() as session:
            return {row[0] or "": row[1] for row in (await session.execute(query)).all()}

    async def repeated(self, scope: Scope, hashes: Sequence[str]) -> dict[str, set[str]]:
        """Return the ids of the user's answers whose text hashes are given, by hash."""
        query = select(MessageRow.id, MessageRow.text_hash).where(
            MessageRow.text_hash.in_(hashes),
            MessageRow.tenant_id == scope.tenant_id,
            MessageRow.user_id == scope.user_id,
        )
        found: dict[str, set[str]] = {}
        async with self._sessions() as session:
            for message_id, digest in await session.execute(query):
                found.setdefault(str(digest), set()).add(message_id)
        return found

    async def current(self, message_ids: Collection[str]) -> set[str]:
        """Return those messages that still have their words, belong to a conversation, and are not replaced."""
        query = select(MessageRow.id).where(
            MessageRow.id.in_(message_ids), MessageRow.conversation_id.is_not(None), CURRENT, MessageRow.text != ""
        )
        async with self._sessions() as session:
            return set((await session.scalars(query)).all())

    async def history(self, conversation_id: str, limit: int, before: str) -> list[ConversationMessage]:
        """Return the last `limit` messages of a conversation or, if `before` is given and exists, those before it."""
        other = aliased(MessageRow)
        place = select(func.coalesce(other.place, other.sequence)).where(other.id == before).scalar_subquery()
        query = (
            select(MessageRow)
            .where(MessageRow.conversation_id == conversation_id, CURRENT, or_(place.is_(None), standing < place))
            .order_by(standing.desc(), MessageRow.sequence.desc())
            .limit(limit)
        )
        async with self._sessions() as session:
            rows = (await session.scalars(query)).all()
        return [message_of(row) for row in reversed(rows)]

    async def add_question(self, scope: Scope, conversation_id: str, message_id: str, asked: AskRequest) -> None:
        """Add the user's message, once under its id; it stays even if the answer fails."""
        async with self._sessions() as session:
            if await session.scalar(select(MessageRow.id).where(MessageRow.id == message_id)) is not None:
                return
        with contextlib.suppress(IntegrityError):  # a repeat of this call added it concurrently
            async with self._sessions.begin() as session:
                now = await touch(session, scope, conversation_id)
                session.add(question_row(scope, conversation_id, message_id, asked, now))

    async def add_answer(
        self, scope: Scope, conversation_id: str, answer: ConversationMessage, topic: str, origins: set[Origin]
    ) -> None:
        """Add an answer under its id, with its origins and the topic for the next question.

        Raises Aborted if its question was deleted or answered concurrently, AlreadyStored if it exists already.
        """
        async with storing(self._sessions) as session:
            now = await touch(session, scope, conversation_id)
            if await session.scalar(select(MessageRow.id).where(MessageRow.id == answer.id)) is None:
                await _drop_broken_off(session, answer.question_id)
                await _check_open(session, answer.question_id)
            row = answer_row(scope, conversation_id, answer, topic, now)
            # A question that was put aside meanwhile keeps its answer with it.
            row.branch = await session.scalar(select(MessageRow.branch).where(MessageRow.id == answer.question_id))
            later = await _asked_later(session, conversation_id, answer.question_id)
            if later is None and row.branch is None:
                await touch(session, scope, conversation_id, topic=topic)
            elif later is not None:
                row.place = later  # an answer stays with its question, whichever of two was answered first
            session.add(row)
            await note(session, {answer.id: origins})

    async def unembedded(self, conversation_id: str) -> list[ConversationMessage]:
        """Return the messages that are not marked as held by memory search, oldest first."""
        query = (
            select(MessageRow)
            .where(MessageRow.conversation_id == conversation_id, MessageRow.embed_time.is_(None), CURRENT)
            .order_by(MessageRow.sequence)
        )
        async with self._sessions() as session:
            return [message_of(row) for row in await session.scalars(query)]

    async def unremembered(self, before: datetime, most: int) -> tuple[list[tuple[str, str, str]], datetime | None]:
        """Return tenant, user and id of conversations with messages older than a time that memory does not hold.

        Those with the newest ones come first; then the time with which to ask for the rest, None if there is none.
        """
        columns = (MessageRow.tenant_id, MessageRow.user_id, MessageRow.conversation_id, MessageRow.create_time)
        limit = 20 * most
        newest = (
            select(*columns)
            .where(
                MessageRow.embed_time.is_(None),
                CURRENT,
                MessageRow.conversation_id.is_not(None),
                MessageRow.create_time < before,
            )
            .order_by(MessageRow.create_time.desc())
            .limit(limit)
        )
        found: dict[tuple[str, str, str], None] = {}
        async with self._sessions() as session:
            rows = (await session.execute(newest)).all()
        for tenant, user, conversation, moment in rows:
            found[tenant, user, str(conversation)] = None
            if len(found) == most:
                return list(found), utc(moment)
        return list(found), utc(rows[-1][-1]) if len(rows) == limit else None

    async def mark_embedded(self, message_ids: Sequence[str], embedder: str = "", *, embedded: bool = True) -> set[str]:
        """Mark messages as held by memory, with this embedder's vectors, or not; return which had vectors before."""
        moment, these = datetime.now(UTC) if embedded else None, MessageRow.id.in_(message_ids)
        async with self._sessions.begin() as session:
            before = await session.scalars(select(MessageRow.id).where(these, MessageRow.embedder.is_not(None)))
            await session.execute(update(MessageRow).where(these).values(embed_time=moment, embedder=embedder or None))
            return set(before)

    async def unmark_embedded_by_others(self, embedder: str) -> int:
        """Mark messages that another embedder embedded as not held; returns how many. They keep its name."""
        count, last = 0, 0
        theirs = select(MessageRow.sequence).where(MessageRow.embedder != embedder, MessageRow.embed_time.is_not(None))
        while True:
            async with self._sessions.begin() as session:
                batch = theirs.where(MessageRow.sequence > last).order_by(MessageRow.sequence).limit(1000)
                if not (found := list(await session.scalars(batch))):
                    return count
                change = update(MessageRow).where(MessageRow.sequence.in_(found), MessageRow.embedder != embedder)
                await session.execute(change.values(embed_time=None))
            count, last = count + len(found), found[-1]

    async def conversations_with(self, conversation_ids: Sequence[str], text: str, *, answers: bool) -> set[str]:
        """Return those conversations with a question, or any message with `answers`, that contains a text."""
        query = select(MessageRow.conversation_id).distinct().where(*_saying(conversation_ids, text))
        if not answers:
            query = query.where(MessageRow.role != MESSAGE_ROLE_ASSISTANT)
        async with self._sessions() as session:
            return {one for one in await session.scalars(query) if one is not None}

    async def answers_with(self, conversation_ids: Sequence[str], text: str) -> list[tuple[str, str]]:
        """Return conversation and id of answers that contain a text."""
        query = select(MessageRow.conversation_id, MessageRow.id).where(
            *_saying(conversation_ids, text), MessageRow.role == MESSAGE_ROLE_ASSISTANT
        )
        async with self._sessions() as session:
            return [(row[0] or "", row[1]) for row in await session.execute(query)]


def _saying(conversation_ids: Sequence[str], text: str) -> tuple[ColumnElement[bool], ...]:
    contains = MessageRow.folded.contains(text, autoescape=True)
    return MessageRow.conversation_id.in_(conversation_ids), CURRENT, contains


@contextlib.asynccontextmanager
async def storing(sessions: async_sessionmaker[AsyncSession]) -> AsyncIterator[AsyncSession]:
    """Open a transaction that stores an answer; raises AlreadyStored where its id exists."""
    try:
        async with sessions.begin() as session:
            yield session
    except IntegrityError as error:
        raise AlreadyStored from error


async def touch(
    session: AsyncSession, scope: Scope, conversation_id: str, *, used: bool = True, **values: object
) -> datetime:
    """Lock a conversation until the transaction ends, and note that it is `used`.

    Call this first in a transaction, so that later reads see the newest state. Raises NotFound if it is not this
    user's.
    """
    now = datetime.now(UTC)
    values["update_time"] = now if used else ConversationRow.update_time
    change = update(ConversationRow).where(*mine(scope, conversation_id)).values(**values)
    if not (await session.execute(change)).rowcount:  # type: ignore[attr-defined]
        raise conversation_missing(conversation_id)
    return now


def mine(scope: Scope, conversation_id: str) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for a conversation with that id that belongs to the user."""
    return (
        ConversationRow.id == conversation_id,
        ConversationRow.tenant_id == scope.tenant_id,
        ConversationRow.user_id == scope.user_id,
    )


def place_of(row: MessageRow) -> int:
    """Return a message's position."""
    return row.sequence if row.place is None else row.place


def message_of(row: MessageRow) -> ConversationMessage:
    """Return a message as the contract has it."""
    message = message_of_row(row)
    message.question_id, message.superseded_by = row.question_id or "", row.superseded_by or ""
    return message


def question_row(scope: Scope, conversation_id: str, message_id: str, asked: AskRequest, now: datetime) -> MessageRow:
    """Return the row of a question; it keeps the request for a later regeneration."""
    text = asked.question.strip()
    message = ConversationMessage(id=message_id, conversation_id=conversation_id, role=MESSAGE_ROLE_USER, text=text)
    kept = AskRequest()
    kept.CopyFrom(asked)
    for name in ("question", "conversation_id", "history", "include", "request_id"):
        kept.ClearField(name)
    return _row(scope, conversation_id, message, now, asked=kept.SerializeToString())


def answer_row(
    scope: Scope, conversation_id: str, answer: ConversationMessage, topic: str, now: datetime
) -> MessageRow:
    """Return the row of a conversation's answer."""
    answer.role, answer.conversation_id = MESSAGE_ROLE_ASSISTANT, conversation_id
    more = {"question_id": answer.question_id, "topic": topic, "text_hash": hash_of(answer.text)}
    return _row(scope, conversation_id, answer, now, **more)


def _row(scope: Scope, conversation_id: str, message: ConversationMessage, now: datetime, **more: object) -> MessageRow:
    message.create_time.FromDatetime(now)
    return MessageRow(
        id=message.id,
        conversation_id=conversation_id,
        tenant_id=scope.tenant_id,
        user_id=scope.user_id,
        role=message.role,
        text=message.text,
        folded=message.text.casefold(),
        payload=message.SerializeToString(),
        create_time=now,
        **more,
    )


async def _drop_broken_off(session: AsyncSession, question_id: str) -> None:
    """Delete a broken-off answer to a question: a complete one takes its place."""
    rows = await session.scalars(select(MessageRow).where(MessageRow.question_id == question_id, LATEST))
    for row in rows:
        if message_of(row).answer.finish_reason == FINISH_REASON_INTERRUPTED:
            await session.delete(row)
    await session.flush()


async def _versions(session: AsyncSession, conversation_id: str, forks: Collection[str]) -> dict[str, list[str]]:
    """Return the ids of all versions of questions, oldest first, by what they share."""
    found: dict[str, list[str]] = {}
    if forks:
        shared = (MessageRow.conversation_id == conversation_id, MessageRow.fork.in_(forks))
        query = select(MessageRow.fork, MessageRow.id).where(*shared).order_by(MessageRow.sequence)
        for fork, message_id in await session.execute(query):
            found.setdefault(str(fork), []).append(message_id)
    return found


async def _asked_later(session: AsyncSession, conversation_id: str, question_id: str) -> int | None:
    """Return a question's position if another one was asked after it, else None."""
    question = await session.scalar(select(MessageRow).where(MessageRow.id == question_id))
    if question is None:
        return None
    later = exists().where(
        MessageRow.conversation_id == conversation_id,
        MessageRow.role == MESSAGE_ROLE_USER,
        PRESENT,
        standing > place_of(question),
    )
    return place_of(question) if await session.scalar(select(later)) else None


async def _check_open(session: AsyncSession, question_id: str) -> None:
    """Raise Aborted if a question is deleted or answered."""
    asked = await session.scalar(select(exists().where(MessageRow.id == question_id)))
    answered = await session.scalar(select(exists().where(MessageRow.question_id == question_id, LATEST)))
    if answered or not asked:
        raise Aborted("Another call changed or answered the question; read the conversation again.")


_log = get_logger(__name__)
_EFFECT = "This message is shown as its text alone: its sources and checks cannot be read."
_DETAIL = "They were stored by an earlier release, or are damaged; `footnote admin doctor` says how many are."


def message_of_row(row: MessageRow) -> ConversationMessage:
    """Return a conversation's message, or a standalone answer."""
    if row.payload_version == VERSION:
        try:
            return ConversationMessage.FromString(row.payload)
        except DecodeError:
            _log.error("message_not_readable", message_id=row.id)
    message = ConversationMessage(
        id=row.id, conversation_id=row.conversation_id or "", role=MessageRole.ValueType(row.role), text=row.text
    )
    message.create_time.FromDatetime(row.create_time)
    message.degradations.append(degradation(PIPELINE_STAGE_EDGE, "SOURCES_WITHHELD", _EFFECT, _DETAIL))
    return message


def asked_of_row(row: MessageRow) -> AskRequest:
    """Return a question's request; if it cannot be read, a request with its text alone."""
    try:
        return AskRequest.FromString(row.asked or b"")
    except DecodeError:
        _log.error("question_not_readable", message_id=row.id)
        return AskRequest()
