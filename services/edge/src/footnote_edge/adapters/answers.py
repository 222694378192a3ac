"""The table of messages as answers by id, standalone ones among them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_ASSISTANT
from sqlalchemy import delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.group_commit import GroupCommit
from footnote_edge.adapters.messages import message_of, touch
from footnote_edge.adapters.origins import note
from footnote_edge.adapters.tables import MessageRow
from footnote_edge.conversations.origins import Origin, hash_of
from footnote_edge.conversations.ports import AlreadyStored

_TABLE: Any = MessageRow.__table__  # the table instead of the ORM class, which would track every row


@dataclass(frozen=True, slots=True)
class _NewAnswer:
    """An answer to store: its row and its origins."""

    row: dict[str, Any]
    origins: set[Origin]


class AnswerTable:
    """Reads and writes answers of one user at a time."""

    def __init__(self, database: Database) -> None:
        self._sessions = database.sessions
        self._commits: GroupCommit[_NewAnswer] = GroupCommit(self._store)

    async def add(self, scope: Scope, answer: ConversationMessage, origins: set[Origin]) -> None:
        """Store a standalone answer with its origins; raises AlreadyStored."""
        row = {
            "id": answer.id,
            "tenant_id": scope.tenant_id,
            "user_id": scope.user_id,
            "role": answer.role,
            "text": answer.text,
            "text_hash": hash_of(answer.text),
            "payload": answer.SerializeToString(),
            "create_time": answer.create_time.ToDatetime(UTC),
        }
        try:
            await self._commits.add(_NewAnswer(row, origins))
        except IntegrityError as error:
            raise AlreadyStored from error

    async def _store(self, answers: Sequence["_NewAnswer"]) -> None:
        """Write answers, all of them or none, with one statement per table."""
        async with self._sessions.begin() as session:
            await (await session.connection()).execute(insert(_TABLE), [one.row for one in answers])
            await note(session, {one.row["id"]: one.origins for one in answers})

    async def get(self, scope: Scope, answer_id: str, since: datetime) -> ConversationMessage | None:
        """Return an answer of the user: of a conversation, or a standalone one made after a time."""
        query = select(MessageRow).where(
            MessageRow.id == answer_id,
            MessageRow.tenant_id == scope.tenant_id,
            MessageRow.user_id == scope.user_id,
            MessageRow.role == MESSAGE_ROLE_ASSISTANT,
            or_(MessageRow.conversation_id.is_not(None), MessageRow.create_time > since),
        )
        async with self._sessions() as session:
            row = (await session.scalars(query)).one_or_none()
        return None if row is None else message_of(row)

    async def delete(self, scope: Scope, answer_id: str, conversation_id: str) -> list[str]:
        """Delete an answer and those that it has replaced; return the ids of what was deleted."""
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
            return list((await session.scalars(gone.returning(MessageRow.id))).all())

    async def sweep(self, before: datetime) -> int:
        """Delete standalone answers made before a time; return how many there were."""
        old = (MessageRow.conversation_id.is_(None), MessageRow.create_time <= before)
        async with self._sessions.begin() as session:
            done = await session.execute(delete(MessageRow).where(*old))
        return int(done.rowcount)  # type: ignore[attr-defined]
