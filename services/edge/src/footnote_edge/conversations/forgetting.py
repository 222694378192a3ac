"""What is deleted is gone from stored answers too: their words, quotes and sources that came of a document."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_EDGE
from footnote_kit.degradations import degradation
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import MessageDocumentRow, MessageRow

_AT_ONCE = 100
_EFFECT = "What this answer took from a document that was deleted since was taken out."


@dataclass(frozen=True, slots=True)
class Forgotten:
    """An answer of a conversation out of which words were taken: memory search must forget it."""

    tenant_id: str
    user_id: str
    conversation_id: str
    message_id: str


async def note_documents(session: AsyncSession, message: ConversationMessage) -> None:
    """Note which documents an answer came of; its row must be there already."""
    await session.flush()
    ids = sorted({source.document_id for source in message.sources if source.document_id})
    session.add_all(MessageDocumentRow(message_id=message.id, document_id=one) for one in ids)


class Forgetting:
    """Takes deleted documents out of stored answers, whoever they were given to."""

    def __init__(self, database: Database) -> None:
        self._sessions = database.sessions

    async def documents(self, document_ids: Sequence[str]) -> list[Forgotten]:
        """Take documents out of every answer that came of them; return those of conversations. Safe to repeat."""
        found: list[Forgotten] = []
        while batch := await self._some(document_ids):
            found += batch
        return [one for one in found if one.conversation_id]

    async def _some(self, document_ids: Sequence[str]) -> list[Forgotten]:
        named = MessageDocumentRow.document_id.in_(document_ids)
        async with self._sessions.begin() as session:
            links = (await session.scalars(select(MessageDocumentRow).where(named).limit(_AT_ONCE))).all()
            ids = {link.message_id for link in links}
            rows = (await session.scalars(select(MessageRow).where(MessageRow.id.in_(ids)))).all()
            for row in rows:
                message = without(ConversationMessage.FromString(row.payload), document_ids)
                row.payload, row.text, row.folded = message.SerializeToString(), message.text, message.text.casefold()
            for link in links:
                await session.delete(link)
        return [Forgotten(row.tenant_id, row.user_id, row.conversation_id or "", row.id) for row in rows]


def without(message: ConversationMessage, document_ids: Iterable[str]) -> ConversationMessage:
    """Return an answer without what came of some documents; one that cites them loses its words, which may be theirs.

    That they were looked at stays in its manifest, by ids and hashes alone.
    """
    gone = set(document_ids)
    numbers = {source.number for source in message.sources if source.document_id in gone}
    shown = ConversationMessage()
    shown.CopyFrom(message)
    shown.ClearField("sources")
    shown.sources.extend(one for one in message.sources if one.document_id not in gone)
    if any(one.number in numbers for one in message.answer.citations) or not message.answer.citations:
        # Without a citation nobody can tell what its words rest on.
        shown.text = shown.answer.text = ""
        for field in ("citations", "claims", "reliability", "warnings"):
            shown.answer.ClearField(field)
    shown.degradations.append(degradation(PIPELINE_STAGE_EDGE, "DOCUMENT_DELETED", _EFFECT))
    return shown
