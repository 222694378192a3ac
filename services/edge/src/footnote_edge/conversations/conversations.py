"""Conversations of one user: create, list, change, delete; `messages` holds their content."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC
from uuid import uuid4

from footnote.edge.v1.conversations_pb2 import Conversation
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.breaker import Breaker
from footnote_kit.errors import Aborted, DeadlineExceeded, FootnoteError, InvalidArgument, Unavailable
from footnote_kit.logs import get_logger
from footnote_kit.paging import Page, fitting

from footnote_edge.collections.names import PAUSE_SECONDS, Ask
from footnote_edge.conversations.messages import Messages
from footnote_edge.conversations.ports import (
    Regenerations,
    StoredConversations,
    StoredMessages,
    StoredShares,
    conversation_missing,
)
from footnote_edge.conversations.search import ConversationSearch
from footnote_edge.conversations.sharing import Sharing
from footnote_edge.conversations.withholding import Withholding

MAX_TITLE = 200
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Change:
    """New values; None leaves a value as it is. Collections are the names given to them, by id."""

    title: str | None = None
    collections: Mapping[str, str] | None = None


class Conversations:
    """Reads and writes the conversations of one user at a time, as if no others existed.

    They name their collections by id, since a name may change or go to another collection; `shown` is for people.
    """

    def __init__(
        self,
        stored: StoredConversations,
        messages: StoredMessages,
        regenerations: Regenerations,
        shares: StoredShares,
        withholding: Withholding,
        names: Ask,
    ) -> None:
        self._stored = stored
        self._names = names
        self._silent = Breaker(1, PAUSE_SECONDS)
        self.regenerations = regenerations
        self.messages = Messages(messages, withholding)
        self.sharing = Sharing(shares, self.messages, withholding)
        self._search = ConversationSearch(stored, messages, self.messages.unreadable)

    async def create(
        self, scope: Scope, title: str, collections: Mapping[str, str], conversation_id: str = ""
    ) -> Conversation:
        """Create a conversation, once under its id, which is generated if empty; an empty title is filled in later."""
        conversation_id = conversation_id or uuid4().hex
        made = await self._stored.add(scope, conversation_id, _checked_title(title), collections)
        return made or await self.get(scope, conversation_id)  # created by a repeat of this call

    async def get(self, scope: Scope, conversation_id: str) -> Conversation:
        """Return a conversation; raises NotFound when it is not this user's."""
        if not conversation_id:
            raise InvalidArgument.field("conversation_id", "must be given")
        if (found := await self._stored.get(scope, conversation_id)) is None:
            raise conversation_missing(conversation_id)
        return (await self._readable(scope, [found]))[0]

    async def page(self, scope: Scope, page: Page, query: str = "") -> tuple[list[Conversation], str, int]:
        """Return a page of conversations, most recently used first; the next page's token; the total.

        A `query` returns only conversations that contain it, without a total.
        """
        if query:
            found, more = await self._search.page(scope, page, query)
            counts, total = await self._stored.counts([one.id for one in found]), 0
            for one in found:
                one.message_count = counts.get(one.id, 0)
        else:
            found, more, total = await self._stored.page(scope, page.position, page.size)
        found = await self.shown(scope, await self._readable(scope, found))
        shown = fitting(found)
        last = found[shown - 1] if shown < len(found) else more
        token = page.token((last.update_time.ToDatetime(UTC).isoformat(), last.id)) if last is not None else ""
        return found[:shown], token, total

    async def _readable(self, scope: Scope, found: list[Conversation]) -> list[Conversation]:
        """Return conversations, without topics that derive from answers the user can no longer read."""
        last = await self.messages.last_answers([one.id for one in found if one.topic])
        unreadable = await self.messages.unreadable(scope, list(last.values())) if last else ()
        for one in found:
            if last.get(one.id) in unreadable:
                one.topic = ""
        return found

    async def shown(self, scope: Scope, found: list[Conversation]) -> list[Conversation]:
        """Return conversations with the current names of those collections that the user named and can still read.

        Others are as the user named them, and so are all while their names cannot be looked up.
        """
        if not (naming := [one.id for one in found if one.collections]):
            return found
        given = await self._stored.named(naming)
        ids = {one for names in given.values() for one, name in names.items() if name != one}
        current: Mapping[str, str] = {}
        if not self._silent.rest:
            try:
                current = await self._names(scope, sorted(ids))
            except (Unavailable, DeadlineExceeded):
                self._silent.failed()
            except FootnoteError as error:  # a missing name must not fail a call
                _log.warning("collection_names_refused", reason=error.reason)
        for one in found:
            if named := given.get(one.id):
                one.collections[:] = [name if name == key else current.get(key, name) for key, name in named.items()]
        return found

    async def named(self, scope: Scope, conversation_id: str) -> dict[str, str]:
        """Return the names that the user gave to a conversation's collections, by id; raises NotFound as `get`."""
        await self.get(scope, conversation_id)
        return (await self._stored.named([conversation_id])).get(conversation_id, {})

    async def change(self, scope: Scope, conversation_id: str, change: Change, etag: str = "") -> Conversation:
        """Change a conversation and return it; raises Aborted if its etag differs from `etag`; empty matches any."""
        before = await self.get(scope, conversation_id)
        check_etag(before, etag)
        values: dict[str, str] = {}
        if change.title is not None:
            values["title"] = _checked_title(change.title)
        if change.collections is not None:
            values["collections"] = json.dumps(dict(change.collections))
        if values and not await self._stored.change(scope, before, values, unchanged=bool(etag)):
            raise conversation_missing(conversation_id) if not etag else _conflict()
        return await self.get(scope, conversation_id)

    async def set_title(self, scope: Scope, conversation_id: str, title: str, question_id: str) -> None:
        """Give an untitled conversation a title made of a question, with which it goes; a person's own title stays."""
        await self._stored.set_title(scope, conversation_id, _checked_title(title), question_id)

    async def delete(self, scope: Scope, conversation: Conversation, etag: str = "") -> None:
        """Delete a conversation with its messages and their feedback; raises Aborted if its etag differs."""
        if not await self._stored.delete(scope, conversation, unchanged=bool(etag)):
            raise conversation_missing(conversation.id) if not etag else _conflict()

    async def restrict_to_local(self, scope: Scope, conversation_id: str) -> None:
        """Mark the conversation, permanently, as holding texts that must stay on this machine."""
        await self._stored.restrict_to_local(scope, conversation_id)

    async def local_only_among(self, conversation_ids: Collection[str]) -> set[str]:
        """Return those conversations that hold texts that must stay on this machine."""
        return await self._stored.local_only_among(conversation_ids)

    async def first_question(self, conversation_id: str) -> tuple[str, str] | None:
        """Return id and text of an untitled conversation's first question; None if it has a title or is deleted."""
        return await self._stored.first_question(conversation_id)


def _checked_title(title: str) -> str:
    title = " ".join(title.replace("\0", " ").split())
    if len(title) > MAX_TITLE:
        raise InvalidArgument.field("title", f"must have at most {MAX_TITLE} characters")
    return title


def check_etag(conversation: Conversation, etag: str) -> None:
    """Raise Aborted if a conversation's etag differs; empty matches any."""
    if etag not in ("", conversation.etag):
        raise _conflict()


def _conflict() -> Aborted:
    return Aborted("The conversation was changed by another call; read it again")
