"""The context of a question: its conversation, the readable history, and the existing collections."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from footnote.edge.v1.conversations_pb2 import Conversation
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_ASSISTANT, PIPELINE_STAGE_EDGE, ChatMessage
from footnote_kit.errors import FootnoteError, NotFound
from footnote_providers.egress.egress import together

from footnote_edge.asking.timings import QuestionTimings
from footnote_edge.collections.bounds import CollectionBounds
from footnote_edge.conversations.conversations import Conversations
from footnote_edge.conversations.message_bounds import bounds_of
from footnote_edge.conversations.messages import Messages
from footnote_edge.conversations.origins import Origin, hash_of


@dataclass(frozen=True, slots=True)
class EarlierMessages:
    """Earlier messages, oldest first; the ids of stored ones; their bounds; and whether the history is complete."""

    messages: list[ChatMessage] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    origins: set[Origin] = field(default_factory=set)
    bounds: TextBounds = field(default_factory=TextBounds)
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Thread:
    """The context of a question: its conversation, if any, the readable history, and the collections to search."""

    conversation: Conversation | None
    past: EarlierMessages
    collections: Sequence[str]
    local_only: bool
    """Whether the texts of the conversation, or of the replayed answer, must stay on this machine."""
    all_deleted: bool = False
    """Whether all collections of the conversation are deleted."""


async def of_conversation(
    conversations: Conversations,
    bounds: CollectionBounds,
    scope: Scope,
    conversation_id: str,
    most: int,
    before: str,
    seconds: float,
) -> EarlierMessages:
    """Return the last messages of a conversation before a question, without those about collections that are gone."""
    messages = conversations.messages
    earlier = await messages.history(scope, conversation_id, most, before)
    ids = [one.id for one in earlier.messages]
    found = await bounds_of(conversations, bounds, scope, conversation_id, ids, seconds=seconds)
    kept = [one for one in earlier.messages if one.id not in found.gone]
    ids = [one.id for one in kept]
    origins = set[Origin]().union(*(await messages.origins.of(ids)).values())
    about = together({id(one): one for one in map(found.each.__getitem__, ids)}.values())
    texts = [ChatMessage(role=one.role, text=one.text) for one in kept]
    return EarlierMessages(texts, ids, origins, about, earlier.whole)


async def given(
    messages: Messages, bounds: CollectionBounds, scope: Scope, history: Sequence[ChatMessage]
) -> EarlierMessages:
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
    about = await bounds.about(scope, {one.collection_id for one in origins})
    return EarlierMessages(kept, [], origins, about, len(kept) == len(history))


async def still_there(
    bounds: CollectionBounds, scope: Scope, names: Sequence[str], timings: QuestionTimings
) -> list[str]:
    """Return the collections that exist and are visible to the caller; reports missing ones.

    Returns all of them while they cannot be looked up.
    """
    try:
        await bounds.find(scope, names)
    except NotFound:
        pass
    except FootnoteError:
        return list(names)
    else:
        return list(names)
    looks = await asyncio.gather(*(bounds.find(scope, [name]) for name in names), return_exceptions=True)
    left = [name for name, look in zip(names, looks, strict=True) if not isinstance(look, NotFound)]
    effect = "Deleted collections of this conversation were left out."
    if not left:
        effect = "All collections of this conversation are deleted: name others, or start a new conversation."
    timings.degrade(PIPELINE_STAGE_EDGE, "COLLECTION_GONE", effect)
    return left
