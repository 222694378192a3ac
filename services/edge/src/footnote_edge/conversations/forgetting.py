"""What is deleted is gone from stored answers too: their words, quotes and sources that came of a document."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_EDGE
from footnote_kit.degradations import degradation
from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import MessageDocumentRow, MessageRow
from footnote_edge.conversations.payloads import message_of_payload

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
        while (batch := await self._some(document_ids)) is not None:
            found += batch
        return [one for one in found if one.conversation_id]

    async def _some(self, document_ids: Sequence[str]) -> list[Forgotten] | None:
        """Take them out of some answers; return those that are as they were read, None where no answer is left.

        Others may delete or replace an answer between its reading and its change: it is read anew then.
        """
        named = MessageDocumentRow.document_id.in_(document_ids)
        changed = []
        async with self._sessions.begin() as session:
            ids = set(await session.scalars(select(MessageDocumentRow.message_id).where(named).limit(_AT_ONCE)))
            if not ids:
                return None
            # In one order, so that no two wait for each other.
            query = select(MessageRow).where(MessageRow.id.in_(ids)).order_by(MessageRow.id)
            for row in (await session.scalars(query)).all():
                message = without(message_of_payload(row.payload), document_ids)
                as_read = update(MessageRow).where(MessageRow.id == row.id, MessageRow.payload == row.payload)
                values = {
                    "payload": message.SerializeToString(), "text": message.text, "folded": message.text.casefold()
                }  # fmt: skip
                told = as_read.values(**values).execution_options(synchronize_session=False)
                if not (await session.execute(told)).rowcount:  # type: ignore[attr-defined]
                    continue
                links = delete(MessageDocumentRow).where(MessageDocumentRow.message_id == row.id, named)
                await session.execute(links.execution_options(synchronize_session=False))
                changed.append(Forgotten(row.tenant_id, row.user_id, row.conversation_id or "", row.id))
        return changed


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
