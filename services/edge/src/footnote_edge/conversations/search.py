"""Lists conversations, most recently used first, and searches them by text."""

import time
from collections.abc import Sequence

from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_ASSISTANT
from footnote_kit.access import sees_all
from footnote_kit.errors import InvalidArgument
from footnote_kit.paging import Page, Position
from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from footnote_edge.adapters.tables import ConversationRow, MessageRow
from footnote_edge.conversations.messages import CURRENT, Messages

WINDOW = 100
"""Conversations per statement."""
MOST_LOOKED_THROUGH = 2000
MOST_SECONDS = 2.0
"""Seconds after which a page ends with the results so far."""
_ANSWERS = 20
"""Answers per check, each with its sources."""

Rows = tuple[list[ConversationRow], ConversationRow | None]


class ConversationSearch:
    """Searches conversations by title and by messages that their user may read."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages

    async def page(self, scope: Scope, page: Page, query: str) -> Rows:
        """Return conversations that contain a text, ignoring case, and the last one examined while there are more."""
        if "\0" in query:
            raise InvalidArgument.field("query", "must not have a NUL character")
        needle, position, until = query.casefold(), page.position, time.monotonic() + MOST_SECONDS
        found: list[ConversationRow] = []
        more: ConversationRow | None = None
        looked_through = 0
        while looked_through < MOST_LOOKED_THROUGH and time.monotonic() < until:
            async with self._messages.sessions() as session:
                rows, more = await listed(session, scope, position, WINDOW)
            titled = {row.id for row in rows if needle in row.title.casefold()}
            holding = titled | await self._said(scope, [row.id for row in rows if row.id not in titled], needle)
            for index, row in enumerate(rows):
                if row.id in holding:
                    found.append(row)
                if len(found) == page.size:
                    return found, row if more is not None or index + 1 < len(rows) else None
            if more is None:
                return found, None
            position = more.update_time, more.id
            looked_through += len(rows)
        return found, more

    async def _said(self, scope: Scope, conversation_ids: Sequence[str], needle: str) -> set[str]:
        """Return those conversations with a readable message that contains a text."""
        said = (CURRENT, MessageRow.folded.contains(needle, autoescape=True))
        by_anybody = [] if sees_all(scope) else [MessageRow.role != MESSAGE_ROLE_ASSISTANT]
        asked = select(MessageRow.conversation_id).distinct()
        query = asked.where(MessageRow.conversation_id.in_(conversation_ids), *said, *by_anybody)
        async with self._messages.sessions() as session:
            found = {one for one in (await session.scalars(query)).all() if one is not None}
        if by_anybody:
            left = [one for one in conversation_ids if one not in found]
            found |= await self._answered(scope, left, said)
        return found

    async def _answered(
        self, scope: Scope, conversation_ids: Sequence[str], said: Sequence[ColumnElement[bool]]
    ) -> set[str]:
        """Return those conversations with a readable answer that contains it; a hit in a withheld one would leak."""
        query = select(MessageRow.conversation_id, MessageRow.id).where(
            MessageRow.conversation_id.in_(conversation_ids), MessageRow.role == MESSAGE_ROLE_ASSISTANT, *said
        )
        async with self._messages.sessions() as session:
            waiting = [(row[0] or "", row[1]) for row in (await session.execute(query)).all()]
        found: set[str] = set()
        while waiting:
            batch, waiting = waiting[:_ANSWERS], waiting[_ANSWERS:]
            hidden = await self._messages.unreadable(scope, [one for _, one in batch])
            found |= {conversation_id for conversation_id, one in batch if one not in hidden}
            waiting = [pair for pair in waiting if pair[0] not in found]
        return found


def users(scope: Scope) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for the user's conversations."""
    return ConversationRow.tenant_id == scope.tenant_id, ConversationRow.user_id == scope.user_id


async def listed(session: AsyncSession, scope: Scope, position: Position | None, most: int) -> Rows:
    """Return the user's conversations after a position, most recently used first; the last one if more follow."""
    query = (
        select(ConversationRow)
        .where(*users(scope))
        .order_by(ConversationRow.update_time.desc(), ConversationRow.id)
        .limit(most + 1)
    )
    if position is not None:
        moment, last = position
        same = and_(ConversationRow.update_time == moment, ConversationRow.id > last)
        query = query.where(or_(ConversationRow.update_time < moment, same))
    rows = list((await session.scalars(query)).all())
    return rows[:most], rows[most - 1] if len(rows) > most else None
