"""The table of shared conversations and answers."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import uuid4

from footnote.edge.v1.conversations_pb2 import SharedConversation
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_ASSISTANT
from footnote_database.transactions import utc
from footnote_kit.errors import FailedPrecondition, NotFound
from sqlalchemy import and_, delete, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.messages import CURRENT, mine, touch
from footnote_edge.adapters.tables import ConversationRow, MessageRow, ShareRow
from footnote_edge.conversations.ports import Shared

MOST = 100
"""Answers of one conversation that are shared by themselves at once."""
_ANSWER = and_(MessageRow.id == ShareRow.answer_id, CURRENT)
_OPEN = or_(ShareRow.answer_id.is_(None), MessageRow.id.is_not(None))
"""Not a share of an answer that another one has replaced."""


class ShareTable:
    """Shares conversations and answers of one user, and finds shared ones of a tenant."""

    def __init__(self, database: Database) -> None:
        self._sessions = database.sessions

    async def share(self, scope: Scope, conversation_id: str, collection_ids: Sequence[str]) -> SharedConversation:
        """Share a conversation with its current messages, and the ids of its collections.

        Raises NotFound if it is not the user's.
        """
        async with self._sessions.begin() as session:
            await touch(session, scope, conversation_id, used=False)
            # Each message is marked: neither sequences, which SQLite reuses, nor the clocks of several replicas order
            # messages reliably.
            mark = update(MessageRow).where(MessageRow.conversation_id == conversation_id).values(shared=CURRENT)
            await session.execute(mark.execution_options(synchronize_session=False))
            return await _put(session, conversation_id, None, collection_ids)

    async def share_answer(
        self, scope: Scope, conversation_id: str, answer_id: str, collection_ids: Sequence[str]
    ) -> SharedConversation:
        """Share one answer with its question, under the same conditions.

        Raises NotFound if the conversation is not the user's or has no such answer now, FailedPrecondition if `MOST`
        other answers are shared.
        """
        async with self._sessions.begin() as session:
            await touch(session, scope, conversation_id, used=False)
            answers = (
                MessageRow.conversation_id == conversation_id,
                MessageRow.role == MESSAGE_ROLE_ASSISTANT,
                CURRENT,
            )
            if await session.scalar(select(MessageRow.id).where(MessageRow.id == answer_id, *answers)) is None:
                raise NotFound(f"Answer '{answer_id}' not found in this conversation", reason="MESSAGE_NOT_FOUND")
            others = select(func.count()).select_from(ShareRow).join(MessageRow, MessageRow.id == ShareRow.answer_id)
            used = await session.scalar(others.where(*answers, ShareRow.answer_id != answer_id)) or 0
            if used >= MOST:
                raise FailedPrecondition(
                    f"{MOST} answers of this conversation are shared; share all of it, or stop sharing one answer.",
                    reason="QUOTA_EXCEEDED",
                    metadata={"quota": "shared_answers", "limit": str(MOST), "used": str(used)},
                )
            return await _put(session, conversation_id, answer_id, collection_ids)

    async def unshare(self, scope: Scope, conversation_id: str, answer_id: str = "") -> None:
        """End every sharing of a conversation, or that of one answer; raises NotFound if it is not the user's."""
        async with self._sessions.begin() as session:
            await touch(session, scope, conversation_id, used=False)
            gone = delete(ShareRow).where(ShareRow.conversation_id == conversation_id)
            await session.execute(gone.where(ShareRow.answer_id == answer_id) if answer_id else gone)

    async def of_conversation(self, scope: Scope, conversation_id: str) -> list[SharedConversation]:
        """Return how the user's conversation and its answers are shared, oldest first."""
        query = select(ShareRow, ConversationRow).join(ConversationRow).outerjoin(MessageRow, _ANSWER)
        query = query.where(*mine(scope, conversation_id), _OPEN).order_by(ShareRow.share_time)
        async with self._sessions() as session:
            return [_shared(*row) for row in (await session.execute(query)).all()]

    async def get(self, tenant_id: str, share_id: str) -> Shared | None:
        """Return a shared conversation or answer of a tenant."""
        query = select(ShareRow, ConversationRow).join(ConversationRow)
        query = query.where(ShareRow.id == share_id, ConversationRow.tenant_id == tenant_id)
        async with self._sessions() as session:
            found = (await session.execute(query)).one_or_none()
            if found is None:
                return None
            share, conversation = found
            of_it = (MessageRow.conversation_id == conversation.id, CURRENT)
            if share.answer_id is None:
                ids = list(await session.scalars(select(MessageRow.id).where(*of_it, MessageRow.shared)))
            else:
                answer = select(MessageRow.id, MessageRow.question_id).where(MessageRow.id == share.answer_id, *of_it)
                row = (await session.execute(answer)).one_or_none()
                if row is None:
                    return None  # another answer has replaced it
                ids = [one for one in row if one is not None]
        collection_ids = tuple(json.loads(share.collection_ids))
        return Shared(_shared(share, conversation), conversation.id, collection_ids, tuple(ids))


async def _put(
    session: AsyncSession, conversation_id: str, answer_id: str | None, asked: Sequence[str]
) -> SharedConversation:
    of_it = ShareRow.answer_id.is_(None) if answer_id is None else ShareRow.answer_id == answer_id
    row = await session.scalar(select(ShareRow).where(ShareRow.conversation_id == conversation_id, of_it))
    if row is None:
        row = ShareRow(id=uuid4().hex, conversation_id=conversation_id, answer_id=answer_id)
        session.add(row)
    row.collection_ids, row.share_time = json.dumps(list(asked)), datetime.now(UTC)
    # Read in this transaction: another call may end the sharing right after it.
    return _shared(row, await session.get_one(ConversationRow, conversation_id))


def _shared(share: ShareRow, conversation: ConversationRow) -> SharedConversation:
    found = SharedConversation(share_id=share.id, user_id=conversation.user_id)
    if share.answer_id is None:
        found.title = conversation.title
    else:
        found.answer_id = share.answer_id  # not the title, which other questions may have made
    found.share_time.FromDatetime(utc(share.share_time))
    return found
