"""Removes deleted documents and collections from all stored answers that derive from them, directly or indirectly.

A deletion notes the id before it searches the answers; a store checks its answer again afterwards. So of two concurrent
calls, one sees the other. After a crash, `sweep` finds the remainder, which is hidden until then.
"""

import time
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from footnote_kit.wall_clock import deletion_datetime
from sqlalchemy import ColumnElement, and_, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.earlier_payloads import VERSION
from footnote_edge.adapters.messages import message_of_row
from footnote_edge.adapters.origins import row_key
from footnote_edge.adapters.tables import ConversationRow, EvaluationRow, ForgottenRow, MessageOriginRow, MessageRow
from footnote_edge.conversations.origins import without
from footnote_edge.conversations.ports import Forgotten

KEPT_DAYS = 30
"""Days for which a deletion is noted: longer than any answer takes."""
ROWS_KEPT_DAYS = 1
"""Days for rows with own vectors, of which there may be many more, and whose notes only end answers in progress."""
_ROWS_SECONDS = 3600.0
"""Seconds between looks for old notes of rows, which read all notes older than a day."""
_WHOLE_SECONDS, _OVERLAP = 3600.0, timedelta(minutes=10)
"""Seconds between sweeps of all notes, and how far the others look back: clocks of replicas differ."""
_AT_ONCE = 100
_NOTES_AT_ONCE = 500
"""Notes in one transaction, during which edge writes nothing else on SQLite."""


class ForgettingTable:
    """Removes deleted documents and collections from stored answers of all users."""

    def __init__(self, database: Database) -> None:
        self._sessions = database.sessions
        self._rows_due = self._whole_due = 0.0
        self._swept = datetime.now(UTC)
        table: Any = ForgottenRow.__table__
        insert: Any = (sqlite.insert if database.is_sqlite else postgresql.insert)(table)
        noted = {"create_time": insert.excluded.create_time}
        self._noting = insert.on_conflict_do_update(index_elements=["id"], set_=noted)

    async def documents(self, document_ids: Sequence[str]) -> list[Forgotten]:
        """Remove documents from every answer derived from them; return those in conversations. Idempotent."""
        await self._note(document_ids)
        return await self._all(MessageOriginRow.document_id.in_(document_ids), document_ids)

    async def collection(self, collection_id: str) -> list[Forgotten]:
        """Remove a collection from every answer derived from it; delete such standalone answers, and its runs."""
        await self._note([collection_id])
        named = MessageOriginRow.collection_id == collection_id
        made_of_it = select(MessageOriginRow.message_id).where(named)
        alone = (MessageRow.conversation_id.is_(None), MessageRow.id.in_(made_of_it))
        async with self._sessions() as session:
            hashes = [one for one in await session.scalars(select(MessageRow.text_hash).where(*alone)) if one]
        await self._note(hashes)  # so that the answers are recognised when callers send them back as history
        async with self._sessions.begin() as session:
            await session.execute(delete(MessageRow).where(*alone))
            await session.execute(delete(EvaluationRow).where(EvaluationRow.collection_id == collection_id))
        return await self._all(named, [collection_id])

    async def rows(self, collection_id: str, ids: Sequence[str]) -> list[Forgotten]:
        """Remove rows with own vectors, or documents of one collection, from every answer derived from them.

        Callers may use the ids of rows again: only answers in progress are ended by their notes.
        """
        await self._note([row_key(collection_id, one) for one in ids])
        return await self.rows_noted(collection_id, ids)

    async def rows_noted(self, collection_id: str, ids: Sequence[str]) -> list[Forgotten]:
        """Remove what `rows` has noted from answers stored since; ids in use again end no further answer."""
        named = and_(MessageOriginRow.collection_id == collection_id, MessageOriginRow.document_id.in_(ids))
        return await self._all(named, ids)

    async def sweep(self) -> list[Forgotten]:
        """Remove origins that were deleted while an answer was written, and drop old notes.

        From the notes on to the origins of all answers, by an index for either of their columns: all notes at first and
        every hour, else those since the last sweep.
        """
        found: list[Forgotten] = []
        after, began = "", datetime.now(UTC)
        is_whole = time.monotonic() >= self._whole_due
        while notes := await self._notes(after, None if is_whole else self._swept - _OVERLAP):
            after = notes[-1]
            for column in (MessageOriginRow.document_id, MessageOriginRow.collection_id):
                found += await self._all(column.in_(notes), notes)
        self._swept = began
        if is_whole:
            self._whole_due = time.monotonic() + _WHOLE_SECONDS
        await self._drop_old_notes()
        return found

    async def _notes(self, after: str, since: datetime | None) -> list[str]:
        """Return the next noted ids of documents and collections: a page of them."""
        query = select(ForgottenRow.id).where(ForgottenRow.id > after, ForgottenRow.id.not_like("%\n%"))
        if since is not None:
            query = query.where(ForgottenRow.create_time >= since)
        async with self._sessions() as session:
            return list(await session.scalars(query.order_by(ForgottenRow.id).limit(_AT_ONCE)))

    async def _drop_old_notes(self) -> None:
        now = deletion_datetime()
        await self._drop(ForgottenRow.create_time < now - timedelta(days=KEPT_DAYS))
        if time.monotonic() >= self._rows_due:
            of_rows = ForgottenRow.id.contains("\n")
            await self._drop(and_(of_rows, ForgottenRow.create_time < now - timedelta(days=ROWS_KEPT_DAYS)))
            self._rows_due = time.monotonic() + _ROWS_SECONDS

    async def _drop(self, old: ColumnElement[bool]) -> None:
        """Delete notes from the oldest on, some in each transaction."""
        query = select(ForgottenRow.id, ForgottenRow.create_time).where(old)
        query = query.order_by(ForgottenRow.create_time).limit(_NOTES_AT_ONCE)
        page = query
        while True:
            async with self._sessions() as session:
                notes = (await session.execute(page)).all()
            if not notes:
                return
            async with self._sessions.begin() as session:
                ids = ForgottenRow.id.in_([one for one, _ in notes])
                await session.execute(delete(ForgottenRow).where(ids, old))
            page = query.where(ForgottenRow.create_time >= notes[-1][1])  # those before are not read again

    async def _note(self, ids: Sequence[str]) -> None:
        """Note documents, collections or rows as deleted now, before anything is removed."""
        now = datetime.now(UTC)
        every = sorted(set(ids))  # in a fixed order, so that two replicas never deadlock
        for start in range(0, len(every), _NOTES_AT_ONCE):
            notes = [{"id": one, "create_time": now} for one in every[start : start + _NOTES_AT_ONCE]]
            async with self._sessions.begin() as session:
                await (await session.connection()).execute(self._noting, notes)

    async def _all(self, named: ColumnElement[bool], ids: Collection[str]) -> list[Forgotten]:
        found: list[Forgotten] = []
        while (batch := await self._some(named, frozenset(ids))) is not None:
            found += batch
        return [one for one in found if one.conversation_id]

    async def _some(self, named: ColumnElement[bool], ids: frozenset[str]) -> list[Forgotten] | None:
        """Process some answers; return those unchanged since the read, or None if no answer is left.

        A concurrent call may delete or replace an answer between its read and its change: then it is read again.
        """
        changed = []
        async with self._sessions.begin() as session:
            chosen = set(await session.scalars(select(MessageOriginRow.message_id).where(named).limit(_AT_ONCE)))
            if not chosen:
                return None
            # A fixed order prevents deadlocks.
            query = select(MessageRow).where(MessageRow.id.in_(chosen)).order_by(MessageRow.id)
            for row in (await session.scalars(query)).all():
                if await _take_out(session, row, ids):
                    await _unlink(session, row.id, named, ids)
                    changed.append(Forgotten(row.tenant_id, row.user_id, row.conversation_id or "", row.id))
        return changed


async def _unlink(session: AsyncSession, message_id: str, named: ColumnElement[bool], ids: frozenset[str]) -> None:
    """Drop an answer's deleted origins, except collections: the answer is deleted with these."""
    of_it = (MessageOriginRow.message_id == message_id, named)
    query = select(MessageOriginRow.collection_id).where(*of_it).distinct()
    collections = [one for one in await session.scalars(query) if one and one not in ids]
    drop = delete(MessageOriginRow).where(*of_it)
    await session.execute(drop.execution_options(synchronize_session=False))
    for one in collections:
        await session.merge(MessageOriginRow(message_id=message_id, collection_id=one, document_id="", revision=0))


async def _take_out(session: AsyncSession, row: MessageRow, ids: frozenset[str]) -> bool:
    """Remove documents from an answer, and its topic from its conversation; return whether it was unchanged."""
    message = without(message_of_row(row), ids)
    as_read = update(MessageRow).where(MessageRow.id == row.id, MessageRow.payload == row.payload)
    values = {"payload": message.SerializeToString(), "payload_version": VERSION, "text": "", "folded": "", "topic": ""}
    statement = as_read.values(**values).execution_options(synchronize_session=False)
    if not (await session.execute(statement)).rowcount:  # type: ignore[attr-defined]
        return False
    if row.topic:
        of_it = (ConversationRow.id == row.conversation_id, ConversationRow.topic == row.topic)
        drop = update(ConversationRow).where(*of_it).values(topic="")
        await session.execute(drop.execution_options(synchronize_session=False))
    return True
