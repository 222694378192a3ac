"""Messages of conversations as their users may read them."""

from collections.abc import Collection, Sequence
from datetime import datetime

from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import (
    FINISH_REASON_INTERRUPTED,
    FINISH_REASON_NO_RELEVANT_CONTENT,
    FINISH_REASON_REFUSED,
    MESSAGE_ROLE_USER,
    MemoryMessage,
)
from footnote_kit.paging import Page

from footnote_edge.conversations.origins import Origin
from footnote_edge.conversations.ports import ReadableMessages, Shared, StoredMessages
from footnote_edge.conversations.withholding import Withholding

_NOT_REMEMBERED = (FINISH_REASON_NO_RELEVANT_CONTENT, FINISH_REASON_REFUSED, FINISH_REASON_INTERRUPTED)


class Messages:
    """Reads and writes the messages of one user at a time, as if no others existed."""

    def __init__(self, stored: StoredMessages, withholding: Withholding) -> None:
        self._stored = stored
        self._withholding = withholding
        self.origins = withholding.origins

    async def page(
        self, scope: Scope, conversation_id: str, page: Page, *, superseded: bool = False, shared: Shared | None = None
    ) -> tuple[list[ConversationMessage], str, int]:
        """Return a page of a conversation's messages, oldest first; the next page's token; the total.

        Includes replaced answers if `superseded`. The conversation must be the user's; or a shared one, with `shared`,
        which leaves only the messages that it shares.
        """
        found, token, total = await self._stored.page(conversation_id, page, superseded=superseded, shared=shared)
        return await self._withholding.shown(scope, found), token, total

    async def unreadable(self, scope: Scope, message_ids: Sequence[str]) -> set[str]:
        """Return those answers of the user that have no words left: withheld, or deleted with their origins."""
        found = await self._stored.of_user(scope, message_ids, answers_only=True)
        return {message.id for message in await self._withholding.shown(scope, found) if not message.text}

    async def last_answers(self, conversation_ids: Sequence[str]) -> dict[str, str]:
        """Return the id of the last answer in each conversation."""
        return await self._stored.last_answers(conversation_ids)

    async def repeated(self, scope: Scope, hashes: Sequence[str]) -> dict[str, set[str]]:
        """Return the ids of the user's answers whose text hashes are given, by hash."""
        return await self._stored.repeated(scope, hashes)

    async def current(self, message_ids: Collection[str]) -> set[str]:
        """Return those messages that still have their words, belong to a conversation, and are not replaced."""
        return await self._stored.current(message_ids)

    async def history(self, scope: Scope, conversation_id: str, limit: int, before: str = "") -> ReadableMessages:
        """Return the last `limit` messages of a conversation or, if `before` is given and exists, those before it."""
        return await self._said(scope, await self._stored.history(conversation_id, limit, before))

    async def named(self, scope: Scope, message_ids: Sequence[str]) -> ReadableMessages:
        """Return the user's messages by id, in that order, as far as they exist."""
        found = {one.id: one for one in await self._stored.of_user(scope, message_ids)}
        said = await self._said(scope, [found[one] for one in message_ids if one in found])
        return ReadableMessages(said.messages, said.whole and len(found) == len(set(message_ids)))

    async def _said(self, scope: Scope, messages: Sequence[ConversationMessage]) -> ReadableMessages:
        shown = await self._withholding.shown(scope, messages)
        kept = [message for message in shown if message.text]
        return ReadableMessages(kept, len(kept) == len(shown))

    async def add_question(self, scope: Scope, conversation_id: str, message_id: str, asked: AskRequest) -> None:
        """Add the user's message, once under its id; it stays even if the answer fails."""
        await self._stored.add_question(scope, conversation_id, message_id, asked)

    async def add_answer(
        self, scope: Scope, conversation_id: str, answer: ConversationMessage, topic: str, origins: set[Origin]
    ) -> None:
        """Add an answer under its id, with its origins and the topic for the next question.

        Raises Aborted if its question was deleted or answered concurrently, AlreadyStored if it exists already.
        """
        await self._stored.add_answer(scope, conversation_id, answer, topic, origins)

    async def unembedded(self, conversation_id: str) -> list[MemoryMessage]:
        """Return the messages that memory search does not hold yet, oldest first; mark those that it never will."""
        found = await self._stored.unembedded(conversation_id)
        if left_out := [message.id for message in found if not _worth_remembering(message)]:
            await self._stored.mark_embedded(left_out)
        return [_memory(message) for message in found if _worth_remembering(message)]

    async def unremembered(self, before: datetime, most: int) -> tuple[list[tuple[str, str, str]], datetime | None]:
        """Return tenant, user and id of conversations with messages older than a time that memory does not hold.

        Those with the newest ones come first; then the time with which to ask for the rest, None if there is none.
        """
        return await self._stored.unremembered(before, most)

    async def mark_embedded(self, message_ids: Sequence[str], embedder: str = "", *, embedded: bool = True) -> set[str]:
        """Mark messages as held by memory search, with vectors of this embedder, or as not held.

        Returns the ids of those that an embedder embedded before.
        """
        return await self._stored.mark_embedded(message_ids, embedder, embedded=embedded)

    async def unmark_embedded_by_others(self, embedder: str) -> int:
        """Mark messages that another embedder embedded as not held; returns how many."""
        return await self._stored.unmark_embedded_by_others(embedder)


def _worth_remembering(message: ConversationMessage) -> bool:
    """Return whether memory should hold a message: not a refusal, a broken-off answer or a wordless one."""
    if message.role == MESSAGE_ROLE_USER:
        return True
    return bool(message.text.strip()) and message.answer.finish_reason not in _NOT_REMEMBERED


def _memory(message: ConversationMessage) -> MemoryMessage:
    return MemoryMessage(
        message_id=message.id,
        conversation_id=message.conversation_id,
        role=message.role,
        text=message.text,
        create_time=message.create_time,
    )
