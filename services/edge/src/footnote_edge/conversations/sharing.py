"""Conversations and answers that a user shares with users of the tenant who may read their collections."""

from collections.abc import Sequence

from footnote.edge.v1.conversations_pb2 import ConversationMessage, SharedConversation
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import DEGRADATION_REASON_DOCUMENT_DELETED, DEGRADATION_REASON_SOURCES_WITHHELD
from footnote_kit.errors import InvalidArgument, NotFound
from footnote_kit.paging import Page
from google.protobuf.message import Message

from footnote_edge.conversations.messages import Messages
from footnote_edge.conversations.ports import StoredShares
from footnote_edge.conversations.withholding import Withholding

_OF_MESSAGE = ("manifest", "trace_id", "conversation_id", "versions", "superseded_by", "degradations")
_OF_ANSWER = ("provider", "model", "usage", "warnings")
_OF_COMPUTATION = ("query", "model")
_TAKEN_OUT = (DEGRADATION_REASON_DOCUMENT_DELETED, DEGRADATION_REASON_SOURCES_WITHHELD)
"""Reasons for which an answer has no words, which its reader must know."""


class Sharing:
    """Shares conversations, and reads shared ones with the reader's own permissions."""

    def __init__(self, stored: StoredShares, messages: Messages, withholding: Withholding) -> None:
        self._stored = stored
        self._messages = messages
        self._withholding = withholding

    async def share(
        self, scope: Scope, conversation_id: str, collection_ids: Sequence[str], answer_id: str = ""
    ) -> SharedConversation:
        """Share the user's conversation so far with users who may read its collections.

        With an answer's id, share only that answer with its question.
        """
        if answer_id:
            return await self._stored.share_answer(scope, conversation_id, answer_id, collection_ids)
        return await self._stored.share(scope, conversation_id, collection_ids)

    async def unshare(self, scope: Scope, conversation_id: str, answer_id: str = "") -> None:
        """End every sharing of the user's conversation, or that of one answer."""
        _check_given("conversation_id", conversation_id)
        await self._stored.unshare(scope, conversation_id, answer_id)

    async def of_conversation(self, scope: Scope, conversation_id: str) -> list[SharedConversation]:
        """Return how the user's conversation and its answers are shared, oldest first."""
        return await self._stored.of_conversation(scope, conversation_id)

    async def read(
        self, scope: Scope, share_id: str, page: Page
    ) -> tuple[SharedConversation, list[ConversationMessage], str, int]:
        """Return a shared conversation or answer, a page of its messages, the next page's token, and the total.

        Raises NotFound where the caller may not read a collection that it used, and Unavailable while that cannot be
        checked.
        """
        _check_given("share_id", share_id)
        found = await self._stored.get(scope.tenant_id, share_id)
        if found is None or not await self._withholding.may_read_all(scope, found.message_ids, found.collection_ids):
            raise _missing(share_id)
        messages, token, total = await self._messages.page(scope, found.conversation_id, page, shared=found)
        return found.shared, [bare(one) for one in messages], token, total


def bare(message: ConversationMessage) -> ConversationMessage:
    """Return a message without fields for its user only: how it was made, and its other versions."""
    bare = ConversationMessage()
    bare.CopyFrom(message)
    _clear(bare, _OF_MESSAGE)
    if bare.HasField("answer"):
        _clear(bare.answer, _OF_ANSWER)
    if bare.answer.HasField("computation"):
        _clear(bare.answer.computation, _OF_COMPUTATION)
    bare.degradations.extend(one for one in message.degradations if one.reason in _TAKEN_OUT)
    return bare


def _clear(message: Message, names: Sequence[str]) -> None:
    for name in names:
        message.ClearField(name)


def _check_given(field: str, value: str) -> None:
    if not value:
        raise InvalidArgument.field(field, "must be given")


def _missing(share_id: str) -> NotFound:
    return NotFound(f"Shared conversation '{share_id}' not found", reason="CONVERSATION_NOT_FOUND")
