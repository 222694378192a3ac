"""What is deleted is gone from stored answers too: from all that were made of it, directly or through others.

An id is noted as deleted before the answers are looked through, and an answer is looked at again once it is stored: of
the two at the same moment one sees the other. What a crash leaves between them is found by `sweep`, and not shown
meanwhile.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.types.v1.answer_pb2 import DEGRADATION_REASON_DOCUMENT_DELETED, PIPELINE_STAGE_EDGE
from footnote_kit.degradations import degradation
from sqlalchemy import ColumnElement, and_, delete, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.earlier_payloads import VERSION
from footnote_edge.adapters.tables import ConversationRow, ForgottenRow, MessageOriginRow, MessageRow
from footnote_edge.conversations.origins import DELETED
from footnote_edge.conversations.payloads import message_of_row

KEPT_DAYS = 30
"""How long a deletion is noted: longer than any answer takes."""
_AT_ONCE = 100
_EFFECT = "This answer was taken out: a document that it was made of was deleted since."


@dataclass(frozen=True, slots=True)
class Forgotten:
    """An answer of a conversation out of which words were taken: memory search must forget it."""

    tenant_id: str
    user_id: str
    conversation_id: str
    message_id: str


class Forgetting:
    """Takes deleted documents and collections out of stored answers, whoever they were given to."""

    def __init__(self, database: Database) -> None:
        self._sessions = database.sessions

    async def documents(self, document_ids: Sequence[str]) -> list[Forgotten]:
        """Take documents out of every answer made of them; return those of conversations. Safe to repeat."""
        await self._note(document_ids)
        return await self._all(MessageOriginRow.document_id.in_(document_ids), document_ids)

    async def collection(self, collection_id: str) -> list[Forgotten]:
        """Take a collection out of every answer made of it, and delete those outside conversations."""
        await self._note([collection_id])
        named = MessageOriginRow.collection_id == collection_id
        made_of_it = select(MessageOriginRow.message_id).where(named)
        alone = (MessageRow.conversation_id.is_(None), MessageRow.id.in_(made_of_it))
        async with self._sessions() as session:
            hashes = [one for one in await session.scalars(select(MessageRow.text_hash).where(*alone)) if one]
        await self._note(hashes)  # so that they are recognised when they are sent back as history
        async with self._sessions.begin() as session:
            await session.execute(delete(MessageRow).where(*alone))
        return await self._all(named, [collection_id])

    async def rows(self, collection_id: str, ids: Sequence[str]) -> list[Forgotten]:
        """Take rows with vectors of their own out of answers; their ids may come back, so that they are not noted."""
        named = and_(MessageOriginRow.collection_id == collection_id, MessageOriginRow.document_id.in_(ids))
        return await self._all(named, ids)

    async def sweep(self) -> list[Forgotten]:
        """Take out what was deleted while an answer was made of it, and drop notes that are old."""
        found: list[Forgotten] = []
        said = (MessageOriginRow.document_id, MessageOriginRow.collection_id)
        while True:
            async with self._sessions.begin() as session:
                rows = (await session.execute(select(*said).where(DELETED).limit(_AT_ONCE))).all()
                ids = {one for row in rows for one in row}
                noted = set(await session.scalars(select(ForgottenRow.id).where(ForgottenRow.id.in_(ids))))
                if not rows:
                    old = ForgottenRow.create_time < datetime.now(UTC) - timedelta(days=KEPT_DAYS)
                    await session.execute(delete(ForgottenRow).where(old))
                    return found
            found += await self._all(or_(*(one.in_(noted) for one in said)), noted)

    async def _note(self, ids: Sequence[str]) -> None:
        """Note that documents or collections are deleted, once each and before anything is taken out."""
        now = datetime.now(UTC)
        for start in range(0, len(ids), _AT_ONCE):
            batch = list(dict.fromkeys(ids[start : start + _AT_ONCE]))
            async with self._sessions.begin() as session:
                known = set(await session.scalars(select(ForgottenRow.id).where(ForgottenRow.id.in_(batch))))
            try:
                async with self._sessions.begin() as session:
                    session.add_all(ForgottenRow(id=one, create_time=now) for one in batch if one not in known)
            except IntegrityError:  # noted by another at the same moment
                for one in batch:
                    with suppress(IntegrityError):
                        async with self._sessions.begin() as session:
                            session.add(ForgottenRow(id=one, create_time=now))

    async def _all(self, named: ColumnElement[bool], ids: Collection[str]) -> list[Forgotten]:
        found: list[Forgotten] = []
        while (batch := await self._some(named, frozenset(ids))) is not None:
            found += batch
        return [one for one in found if one.conversation_id]

    async def _some(self, named: ColumnElement[bool], ids: frozenset[str]) -> list[Forgotten] | None:
        """Take them out of some answers; return those that are as they were read, None where no answer is left.

        Others may delete or replace an answer between its reading and its change: it is read anew then.
        """
        changed = []
        async with self._sessions.begin() as session:
            chosen = set(await session.scalars(select(MessageOriginRow.message_id).where(named).limit(_AT_ONCE)))
            if not chosen:
                return None
            # In one order, so that no two wait for each other.
            query = select(MessageRow).where(MessageRow.id.in_(chosen)).order_by(MessageRow.id)
            for row in (await session.scalars(query)).all():
                if await _take_out(session, row, ids):
                    await _unlink(session, row.id, named, ids)
                    changed.append(Forgotten(row.tenant_id, row.user_id, row.conversation_id or "", row.id))
        return changed


async def _unlink(session: AsyncSession, message_id: str, named: ColumnElement[bool], ids: frozenset[str]) -> None:
    """Drop what an answer was made of that is deleted, but for the collections: the answer goes with these."""
    of_it = (MessageOriginRow.message_id == message_id, named)
    query = select(MessageOriginRow.collection_id).where(*of_it).distinct()
    collections = [one for one in await session.scalars(query) if one and one not in ids]
    drop = delete(MessageOriginRow).where(*of_it)
    await session.execute(drop.execution_options(synchronize_session=False))
    for one in collections:
        await session.merge(MessageOriginRow(message_id=message_id, collection_id=one, document_id="", revision=0))


async def _take_out(session: AsyncSession, row: MessageRow, ids: frozenset[str]) -> bool:
    """Take documents out of an answer, and its topic out of its conversation; tell whether it was as it was read."""
    message = without(message_of_row(row), ids)
    as_read = update(MessageRow).where(MessageRow.id == row.id, MessageRow.payload == row.payload)
    values = {"payload": message.SerializeToString(), "payload_version": VERSION, "text": "", "folded": "", "topic": ""}
    told = as_read.values(**values).execution_options(synchronize_session=False)
    if not (await session.execute(told)).rowcount:  # type: ignore[attr-defined]
        return False
    if row.topic:
        of_it = (ConversationRow.id == row.conversation_id, ConversationRow.topic == row.topic)
        drop = update(ConversationRow).where(*of_it).values(topic="")
        await session.execute(drop.execution_options(synchronize_session=False))
    return True


def without(message: ConversationMessage, ids: Collection[str]) -> ConversationMessage:
    """Return an answer without its words and without the sources that are of some documents or collections.

    That they were looked at stays in its manifest, by ids and hashes alone.
    """
    left = ConversationMessage()
    left.CopyFrom(message)
    wordless(left)
    left.ClearField("sources")
    left.sources.extend(one for one in message.sources if not {one.document_id, one.collection_id} & set(ids))
    if not any(one.reason == DEGRADATION_REASON_DOCUMENT_DELETED for one in left.degradations):
        left.degradations.append(degradation(PIPELINE_STAGE_EDGE, "DOCUMENT_DELETED", _EFFECT))
    return left


def wordless(message: ConversationMessage) -> None:
    """Take out of an answer all words that may be those of what it was made of; those of its question stay."""
    message.text = message.answer.text = ""
    for field in ("citations", "claims", "reliability", "warnings"):
        message.answer.ClearField(field)
    for name in ("query", "full_question", "history"):
        message.manifest.ClearField(name)
