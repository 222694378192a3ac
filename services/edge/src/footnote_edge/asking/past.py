"""A question's history as far as its asker may still read it, and the history's origins."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_ASSISTANT, ChatMessage

from footnote_edge.conversations.messages import Messages
from footnote_edge.conversations.origins import Origin, hash_of


@dataclass(frozen=True, slots=True)
class Past:
    """Earlier messages, oldest first; the ids of stored ones; and whether the history is complete."""

    messages: list[ChatMessage] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    origins: set[Origin] = field(default_factory=set)
    whole: bool = True

    @property
    def collections(self) -> set[str]:
        """Ids of the collections that the messages derive from."""
        return {one.collection_id for one in self.origins}


async def of_conversation(messages: Messages, scope: Scope, conversation_id: str, most: int, before: str) -> Past:
    """Return the last messages of a conversation before a question."""
    earlier = await messages.history(scope, conversation_id, most, before)
    ids = [one.id for one in earlier.messages]
    origins = set[Origin]().union(*(await messages.origins.of(ids)).values())
    return Past([ChatMessage(role=one.role, text=one.text) for one in earlier.messages], ids, origins, earlier.whole)


async def given(messages: Messages, scope: Scope, history: Sequence[ChatMessage]) -> Past:
    """Return a caller's history without answers that it may no longer read.

    An answer is recognised by its whole text; the caller's own text is kept.
    """
    hashes = [hash_of(one.text) for one in history if one.role == MESSAGE_ROLE_ASSISTANT]
    repeated = await messages.repeated(scope, hashes) if hashes else {}
    ids = [message_id for several in repeated.values() for message_id in several]
    unreadable = await messages.unreadable(scope, ids) if ids else set[str]()
    deleted = await messages.origins.noted(hashes) if hashes else set()
    deleted |= {digest for digest, several in repeated.items() if several & unreadable}
    kept = [one for one in history if hash_of(one.text) not in deleted]
    left = [message_id for message_id in ids if message_id not in unreadable]
    origins = set[Origin]().union(*(await messages.origins.of(left)).values()) if left else set()
    return Past(kept, [], origins, len(kept) == len(history))
