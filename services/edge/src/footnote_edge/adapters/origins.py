"""The tables of messages' origins, and of deleted documents, collections and texts."""

from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from footnote.edge.v1.answers_pb2 import AskRequest
from google.protobuf.message import DecodeError
from sqlalchemy import insert, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import ForgottenRow, MessageOriginRow, MessageRow
from footnote_edge.conversations.origins import Origin

_AT_ONCE = 500
"""Ids per statement."""
_TABLE: Any = MessageOriginRow.__table__  # the table instead of the ORM class, which would track every row


async def note(session: AsyncSession, origins: Mapping[str, Collection[Origin]]) -> None:
    """Write the origins of messages; the messages' rows must exist."""
    rows: dict[tuple[str, str, str], int] = {}
    for message_id, several in origins.items():
        for one in several:
            key = (message_id, one.collection_id, one.document_id)
            rows[key] = max(one.revision, rows.get(key, 0))
    if rows:
        await session.flush()
        names = ("message_id", "collection_id", "document_id", "revision")
        values = [dict(zip(names, (*key, revision), strict=True)) for key, revision in rows.items()]
        await (await session.connection()).execute(insert(_TABLE), values)


class OriginTable:
    """Reads origins of messages, and which of them are deleted."""

    def __init__(self, database: Database) -> None:
        self._sessions = database.sessions

    async def of(self, message_ids: Iterable[str]) -> dict[str, set[Origin]]:
        """Return the origins of messages, by message id; messages without origins are missing."""
        found: defaultdict[str, set[Origin]] = defaultdict(set)
        async for (row,) in self._rows(select(MessageOriginRow), MessageOriginRow.message_id, message_ids):
            found[row.message_id].add(Origin(row.collection_id, row.document_id, row.revision))
        return dict(found)

    async def about(self, message_ids: Iterable[str]) -> dict[str, set[str]]:
        """Return the names and ids of the collections that messages are about, as `conversations.ports.Origins`."""
        ids, columns = set(message_ids), select(MessageRow.id, MessageRow.question_id, MessageRow.asked)
        own = [row async for row in self._rows(columns, MessageRow.id, ids)]
        question_of = {row.id: row.question_id or row.id for row in own}
        questions = set(question_of.values())
        answers = [row async for row in self._rows(columns, MessageRow.question_id, questions)]
        asked = [*own, *[row async for row in self._rows(columns, MessageRow.id, questions - ids)]]
        found = {row.id: _named(row.asked) for row in asked if row.id in questions}
        origins = await self.of(row.id for row in answers)
        for row in answers:
            found.setdefault(row.question_id, set()).update(one.collection_id for one in origins.get(row.id, ()))
        return {one: found.get(question, set()) for one, question in question_of.items()}

    async def deleted(self, message_ids: Iterable[str]) -> set[str]:
        """Return those messages with a deleted origin."""
        query = select(MessageOriginRow.message_id).where(DELETED)
        return {one async for (one,) in self._rows(query, MessageOriginRow.message_id, message_ids)}

    async def gone(self, origins: Collection[Origin], since: datetime | None = None) -> set[str]:
        """Return the ids of deleted documents and collections among the origins, and of rows deleted `since` then."""
        found = await self.noted(name for one in origins for name in (one.collection_id, one.document_id) if name)
        if since is not None:
            found |= {one.document_id for one in await self.rows_gone(origins, since)}
        return found

    async def rows_gone(self, origins: Collection[Origin], since: datetime) -> set[Origin]:
        """Return those origins that are rows with own vectors deleted `since` then."""
        rows = {row_key(one.collection_id, one.document_id): one for one in origins if one.document_id}
        query = select(ForgottenRow.id).where(ForgottenRow.create_time >= since)
        return {rows[one] async for (one,) in self._rows(query, ForgottenRow.id, rows)}

    async def noted(self, ids: Iterable[str]) -> set[str]:
        """Return those ids of documents and collections, and hashes of texts, that are noted as deleted."""
        return {one async for (one,) in self._rows(select(ForgottenRow.id), ForgottenRow.id, ids)}

    async def page(self, after: str, most: int) -> list[tuple[str, str]]:
        """Return collections and documents of all origins: of the next `most` documents after one, by their ids."""
        collection, document = MessageOriginRow.collection_id, MessageOriginRow.document_id
        ids = select(document).where(document > after).distinct().order_by(document).limit(most)
        both = select(collection, document).distinct().order_by(document)
        async with self._sessions() as session:
            there = list(await session.scalars(ids))
            return [(row[0], row[1]) for row in await session.execute(both.where(document.in_(there)))]

    async def _rows(self, query: Any, column: Any, ids: Iterable[str]) -> AsyncIterator[Any]:
        wanted: Sequence[str] = list(dict.fromkeys(ids))
        async with self._sessions() as session:
            for start in range(0, len(wanted), _AT_ONCE):
                for row in await session.execute(query.where(column.in_(wanted[start : start + _AT_ONCE]))):
                    yield row


def row_key(collection_id: str, row_id: str) -> str:
    """Return the id under which a deleted row with own vectors is noted; no caller can choose an id like it."""
    return f"{collection_id}\n{row_id}"


def _named(asked: bytes | None) -> set[str]:
    """Return the collections that a question named; none for one that cannot be read."""
    try:
        return set(AskRequest.FromString(asked or b"").collections)
    except DecodeError:
        return set()


DELETED = (
    select(ForgottenRow.id)
    .where(or_(ForgottenRow.id == MessageOriginRow.document_id, ForgottenRow.id == MessageOriginRow.collection_id))
    .correlate(MessageOriginRow)
    .exists()
)
"""The condition for an origin whose document or collection is deleted."""
