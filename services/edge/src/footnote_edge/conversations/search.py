"""Lists conversations, most recently used first, and searches them by text."""

import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC

from footnote.edge.v1.conversations_pb2 import Conversation
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.access import sees_all
from footnote_kit.errors import InvalidArgument
from footnote_kit.paging import Page

from footnote_edge.conversations.ports import StoredConversations, StoredMessages

WINDOW = 100
"""Conversations per statement."""
MOST_LOOKED_THROUGH = 2000
MOST_SECONDS = 2.0
"""Seconds after which a page ends with the results so far."""
_ANSWERS = 20
"""Answers per check, each with its sources."""

Unreadable = Callable[[Scope, Sequence[str]], Awaitable[set[str]]]
"""Returns those answers of a user that have no words left."""


class ConversationSearch:
    """Searches conversations by title and by messages that their user may read."""

    def __init__(self, stored: StoredConversations, messages: StoredMessages, unreadable: Unreadable) -> None:
        self._stored = stored
        self._messages = messages
        self._unreadable = unreadable

    async def page(self, scope: Scope, page: Page, query: str) -> tuple[list[Conversation], Conversation | None]:
        """Return conversations that contain a text, ignoring case, and the last one examined while there are more."""
        if "\0" in query:
            raise InvalidArgument.field("query", "must not have a NUL character")
        needle, position, until = query.casefold(), page.position, time.monotonic() + MOST_SECONDS
        found: list[Conversation] = []
        more: Conversation | None = None
        looked_through = 0
        while looked_through < MOST_LOOKED_THROUGH and time.monotonic() < until:
            rows, more = await self._stored.listed(scope, position, WINDOW)
            titled = {row.id for row in rows if needle in row.title.casefold()}
            holding = titled | await self._said(scope, [row.id for row in rows if row.id not in titled], needle)
            for index, row in enumerate(rows):
                if row.id in holding:
                    found.append(row)
                if len(found) == page.size:
                    return found, row if more is not None or index + 1 < len(rows) else None
            if more is None:
                return found, None
            position = more.update_time.ToDatetime(UTC), more.id
            looked_through += len(rows)
        return found, more

    async def _said(self, scope: Scope, conversation_ids: Sequence[str], needle: str) -> set[str]:
        """Return those conversations with a readable message that contains a text."""
        found = await self._messages.conversations_with(conversation_ids, needle, answers=sees_all(scope))
        if not sees_all(scope):
            found |= await self._answered(scope, [one for one in conversation_ids if one not in found], needle)
        return found

    async def _answered(self, scope: Scope, conversation_ids: Sequence[str], needle: str) -> set[str]:
        """Return those conversations with a readable answer that contains it; a hit in a withheld one would leak."""
        waiting = await self._messages.answers_with(conversation_ids, needle)
        found: set[str] = set()
        while waiting:
            batch, waiting = waiting[:_ANSWERS], waiting[_ANSWERS:]
            hidden = await self._unreadable(scope, [one for _, one in batch])
            found |= {conversation_id for conversation_id, one in batch if one not in hidden}
            waiting = [pair for pair in waiting if pair[0] not in found]
        return found
