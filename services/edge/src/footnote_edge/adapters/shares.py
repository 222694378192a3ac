"""The table of shared conversations."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import uuid4

from footnote.edge.v1.conversations_pb2 import SharedConversation
from footnote.stages.v1.scope_pb2 import Scope
from footnote_database.times import utc
from sqlalchemy import delete, select, update

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.messages import CURRENT, mine, touch
from footnote_edge.adapters.tables import ConversationRow, MessageRow, ShareRow
from footnote_edge.conversations.ports import Shared


class ShareTable:
    """Shares conversations of one user, and finds shared ones of a tenant."""

    def __init__(self, database: Database) -> None:
        self._sessions = database.sessions

    async def share(self, scope: Scope, conversation_id: str, collection_ids: Sequence[str]) -> None:
        """Share a conversation with all that is said in it now, and the ids of the collections that it asks.

        Raises NotFound if it is not the user's.
        """
        async with self._sessions.begin() as session:
            await touch(session, scope, conversation_id, used=False)
            # Each message is marked: neither sequences, which SQLite uses again, nor the clocks of several replicas
            # tell what was said before.
            mark = update(MessageRow).where(MessageRow.conversation_id == conversation_id).values(shared=CURRENT)
            await session.execute(mark.execution_options(synchronize_session=False))
            row = await session.scalar(select(ShareRow).where(ShareRow.conversation_id == conversation_id))
            if row is None:
                row = ShareRow(id=uuid4().hex, conversation_id=conversation_id)
                session.add(row)
            row.collection_ids, row.share_time = json.dumps(list(collection_ids)), datetime.now(UTC)

    async def unshare(self, scope: Scope, conversation_id: str) -> None:
        """End the sharing, if any; raises NotFound if the conversation is not the user's."""
        async with self._sessions.begin() as session:
            await touch(session, scope, conversation_id, used=False)
            await session.execute(delete(ShareRow).where(ShareRow.conversation_id == conversation_id))

    async def of_conversation(self, scope: Scope, conversation_id: str) -> SharedConversation | None:
        """Return how the user's conversation is shared."""
        query = select(ShareRow, ConversationRow).join(ConversationRow).where(*mine(scope, conversation_id))
        async with self._sessions() as session:
            found = (await session.execute(query)).one_or_none()
        return None if found is None else _shared(*found)

    async def get(self, tenant_id: str, share_id: str) -> Shared | None:
        """Return a shared conversation of a tenant."""
        query = select(ShareRow, ConversationRow).join(ConversationRow)
        query = query.where(ShareRow.id == share_id, ConversationRow.tenant_id == tenant_id)
        async with self._sessions() as session:
            found = (await session.execute(query)).one_or_none()
            if found is None:
                return None
            share, conversation = found
            of_it = (MessageRow.conversation_id == conversation.id, MessageRow.shared, CURRENT)
            ids = list(await session.scalars(select(MessageRow.id).where(*of_it)))
        collection_ids = tuple(json.loads(share.collection_ids))
        return Shared(_shared(share, conversation), conversation.id, collection_ids, tuple(ids))


def _shared(share: ShareRow, conversation: ConversationRow) -> SharedConversation:
    found = SharedConversation(share_id=share.id, title=conversation.title, user_id=conversation.user_id)
    found.share_time.FromDatetime(utc(share.share_time))
    return found
