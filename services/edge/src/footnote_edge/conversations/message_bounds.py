"""Bounds of stored messages: those of the collections that each is about, questions included."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote_providers.egress.egress import together

from footnote_edge.collections.bounds import CONVERSATION, FREE, CollectionBounds
from footnote_edge.conversations.conversations import Conversations


@dataclass(slots=True)
class MessageBounds:
    """The bounds of messages by their ids, and those messages whose collections no longer exist, or never did."""

    each: dict[str, TextBounds] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)


async def bounds_of(
    conversations: Conversations,
    collection_bounds: CollectionBounds,
    scope: Scope,
    conversation_id: str,
    message_ids: Sequence[str],
    *,
    unnamed_is_any: bool = False,
    seconds: float | None = None,
) -> MessageBounds:
    """Return the bounds of a conversation's messages: those of the collections that each is about.

    A question has no sources: it is about the collections that it or its conversation names, and those of its answer. A
    name that is not found counts where no other is: a rename leaves it behind. A question without any, in a
    conversation that names none either, is free, or about any with `unnamed_is_any`. What is not looked up within
    `seconds` has its last known bounds, or the strictest. Raises NotFound for a conversation that the user lacks.
    """
    result = MessageBounds()
    if not message_ids:
        return result
    marked = [CONVERSATION] if await conversations.local_only_among([conversation_id]) else []
    named = await conversations.named(scope, conversation_id)
    about = await conversations.messages.origins.about(message_ids)
    names = {one: frozenset([*about.get(one, ()), *named]) for one in message_ids}

    async def look(name: str) -> TextBounds | None:
        try:
            async with asyncio.timeout(seconds):
                return await collection_bounds.named(scope, name)
        except TimeoutError:
            return collection_bounds.last_known(scope, [name])

    every = sorted(set[str]().union(*names.values()))
    found = dict(zip(every, await asyncio.gather(*map(look, every)), strict=True))
    unnamed = await collection_bounds.every(scope) if unnamed_is_any and not all(names.values()) else FREE
    joined: dict[frozenset[str], TextBounds] = {}
    for one, several in names.items():
        there = frozenset(name for name in several if found[name] is not None)
        if several and not there:
            result.gone.add(one)
        key = there or several
        if key not in joined:
            parts = [found[name] or TextBounds(collections=[named.get(name, name)]) for name in sorted(key)]
            joined[key] = together([*marked, *(parts or [unnamed])])
        result.each[one] = joined[key]
    return result
