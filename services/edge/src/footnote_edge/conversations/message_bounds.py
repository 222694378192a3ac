"""Bounds of stored messages: those of the collections that each is about, questions included."""

from __future__ import annotations

from collections.abc import Sequence

from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote_providers.egress.egress import together

from footnote_edge.collections.bounds import CONVERSATION, CollectionBounds
from footnote_edge.conversations.conversations import Conversations


async def bounds_of(
    conversations: Conversations,
    collection_bounds: CollectionBounds,
    scope: Scope,
    conversation_id: str,
    message_ids: Sequence[str],
) -> dict[str, TextBounds]:
    """Return the bounds of a conversation's messages: those of the collections that each is about.

    A question has no sources: it is about the collections that it or its conversation names, and those of its answer.
    One that names none, in a conversation that does not either, may be about any unless its answer says. Raises
    NotFound for a conversation that the user does not have.
    """
    if not message_ids:
        return {}
    marked = [CONVERSATION] if await conversations.local_only_among([conversation_id]) else []
    named = await conversations.named(scope, conversation_id)
    about = await conversations.messages.origins.about(message_ids)
    names = {one: sorted({*about.get(one, ()), *named}) for one in message_ids}
    every = set[str]().union(*names.values())
    known = {one: await collection_bounds.named(scope, one, named.get(one, one)) for one in every}
    if not all(names.values()):
        known[""] = await collection_bounds.every(scope)
    return {one: together([*marked, *(known[name] for name in several or [""])]) for one, several in names.items()}
