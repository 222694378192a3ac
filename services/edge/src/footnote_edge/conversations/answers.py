"""Stored answers by id: those in conversations, and standalone ones, which expire."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_ASSISTANT
from footnote_kit.errors import InvalidArgument, NotFound
from sqlalchemy import delete, insert, or_, select, update

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import MessageRow
from footnote_edge.adapters.together import Together
from footnote_edge.conversations.messages import message_of, touch
from footnote_edge.conversations.origins import Origin, hash_of, note
from footnote_edge.conversations.withholding import Withholding

_TABLE: Any = MessageRow.__table__  # the table instead of the ORM class, which would track every row


@dataclass(frozen=True, slots=True)
class _Kept:
    """An answer to store: its row and its origins."""

    row: dict[str, Any]
    origins: set[Origin]


class Answers:
    """Reads answers of one user at a time, as if no others existed; stores standalone answers."""

    def __init__(self, database: Database, withholding: Withholding, keep_days: float) -> None:
        self._sessions = database.sessions
        self._withholding = withholding
        self._keep = timedelta(days=keep_days)
        self._kept: Together[_Kept] = Together(self._store)

    async def keep(self, scope: Scope, answer: ConversationMessage, origins: set[Origin]) -> None:
        """Store a standalone answer under its id, with its origins."""
        if not self._keep:
            return
        now = datetime.now(UTC)
        answer.role = MESSAGE_ROLE_ASSISTANT
        answer.create_time.FromDatetime(now)
        row = {
            "id": answer.id,
            "tenant_id": scope.tenant_id,
            "user_id": scope.user_id,
            "role": answer.role,
            "text": answer.text,
            "text_hash": hash_of(answer.text),
            "payload": answer.SerializeToString(),
            "create_time": now,
        }
        await self._kept.add(_Kept(row, origins))

    async def _store(self, answers: Sequence["_Kept"]) -> None:
        """Write answers, all of them or none, with one statement per table."""
        async with self._sessions.begin() as session:
            await (await session.connection()).execute(insert(_TABLE), [one.row for one in answers])
            await note(session, {one.row["id"]: one.origins for one in answers})

    async def get(self, scope: Scope, answer_id: str) -> ConversationMessage:
        """Return an answer as the user may see it now; raises NotFound for a foreign or expired one, or a question."""
        if not answer_id:
            raise InvalidArgument.field("answer_id", "must be given")
        query = select(MessageRow).where(
            MessageRow.id == answer_id,
            MessageRow.tenant_id == scope.tenant_id,
            MessageRow.user_id == scope.user_id,
            MessageRow.role == MESSAGE_ROLE_ASSISTANT,
            or_(MessageRow.conversation_id.is_not(None), MessageRow.create_time > datetime.now(UTC) - self._keep),
        )
        async with self._sessions() as session:
            row = (await session.scalars(query)).one_or_none()
        if row is None:
            raise _missing(answer_id)
        return (await self._withholding.shown(scope, [message_of(row)]))[0]

    async def delete(self, scope: Scope, answer_id: str) -> tuple[str, list[str]]:
        """Delete an answer and, if it is the current one of a question, those that it has replaced.

        Returns its conversation, "" for none, and the ids removed from it. Raises NotFound as `get` does.
        """
        conversation_id = (await self.get(scope, answer_id)).conversation_id
        async with self._sessions.begin() as session:
            if conversation_id:
                await touch(session, scope, conversation_id, used=False)
            this = MessageRow.id == answer_id
            row = await session.scalar(select(MessageRow).where(this))
            gone = delete(MessageRow).where(this)
            if row is not None and row.question_id and row.superseded_by is None:
                gone = delete(MessageRow).where(MessageRow.question_id == row.question_id)
            elif row is not None:
                before = update(MessageRow).where(MessageRow.superseded_by == answer_id)
                await session.execute(before.values(superseded_by=row.superseded_by))
            ids = list((await session.scalars(gone.returning(MessageRow.id))).all())
        if not ids:
            raise _missing(answer_id)
        return conversation_id, ids if conversation_id else []

    def expiry(self, answer: ConversationMessage) -> datetime | None:
        """Return when an answer is deleted; None when it stays with its conversation."""
        if answer.conversation_id:
            return None
        return answer.create_time.ToDatetime(UTC) + self._keep

    async def sweep(self) -> int:
        """Delete expired standalone answers; return how many there were."""
        old = MessageRow.create_time <= datetime.now(UTC) - self._keep
        async with self._sessions.begin() as session:
            done = await session.execute(delete(MessageRow).where(MessageRow.conversation_id.is_(None), old))
        return int(done.rowcount)  # type: ignore[attr-defined]


def _missing(answer_id: str) -> NotFound:
    return NotFound(f"Answer '{answer_id}' not found", reason="ANSWER_NOT_FOUND")
