"""Stored answers as their reader may see them now: what came of collections that it can no longer read is left out."""

from collections.abc import Sequence

from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.types.v1.answer_pb2 import DEGRADATION_REASON_SOURCES_WITHHELD, PIPELINE_STAGE_EDGE
from footnote.types.v1.scope_pb2 import Scope
from footnote_kit.access import sees_all
from footnote_kit.degradations import degradation
from footnote_kit.errors import Unavailable

from footnote_edge.collections.permissions import Permissions

_EFFECT = "What this answer took from collections that you can no longer read is withheld."
_UNKNOWN = "What this answer took from collections is withheld while it cannot be looked up whether you may read them."


class Withholding:
    """Looks at the collection of every source of stored answers."""

    def __init__(self, permissions: Permissions) -> None:
        self._permissions = permissions

    async def shown(self, scope: Scope, messages: Sequence[ConversationMessage]) -> list[ConversationMessage]:
        """Return messages without the sources, quotes, citations and manifest entries that the caller may not read.

        An answer that cites one of them loses its words as well, since they may be the source's own. Each says so in
        its degradations. Sources whose collection is not known are nobody's but an administrator's.
        """
        named = {collection_id for message in messages for _, collection_id in _origins(message)}
        named |= {collection_id for message in messages for collection_id in message.manifest.collection_ids}
        if not named or sees_all(scope):
            return list(messages)
        try:
            readable, effect = await self._permissions.readable(scope, named), _EFFECT
        except Unavailable:
            readable, effect = set(), _UNKNOWN
        return [message if named <= readable else _shown(message, readable, effect) for message in messages]


def is_withheld(message: ConversationMessage) -> bool:
    """Tell whether something of a message was left out."""
    return any(one.reason == DEGRADATION_REASON_SOURCES_WITHHELD for one in message.degradations)


def came_of(message: ConversationMessage) -> set[str]:
    """Return the ids of the collections that a message came of."""
    return {collection_id for _, collection_id in _origins(message) if collection_id}


def _shown(message: ConversationMessage, readable: set[str], effect: str) -> ConversationMessage:
    hidden = {number for number, collection_id in _origins(message) if collection_id not in readable}
    if not hidden and readable.issuperset(message.manifest.collection_ids):
        return message
    shown = ConversationMessage()
    shown.CopyFrom(message)
    if message.manifest.collection_ids:
        shown.manifest.ClearField("collection_ids")
        shown.manifest.collection_ids.extend(one for one in message.manifest.collection_ids if one in readable)
    if not hidden:
        return shown  # collections that were searched and brought nothing
    shown.ClearField("sources")
    shown.sources.extend(one for one in message.sources if one.number not in hidden)
    shown.manifest.ClearField("sources")
    shown.manifest.sources.extend(one for one in message.manifest.sources if one.number not in hidden)
    if any(one.number in hidden for one in message.answer.citations):
        shown.text = shown.answer.text = ""
        for field in ("citations", "claims", "reliability", "warnings"):
            shown.answer.ClearField(field)
    shown.degradations.append(degradation(PIPELINE_STAGE_EDGE, "SOURCES_WITHHELD", effect))
    return shown


def _origins(message: ConversationMessage) -> list[tuple[int, str]]:
    """Return the number and the collection of everything that an answer rests on."""
    return [
        *((one.number, one.collection_id) for one in message.sources),
        *((one.number, one.collection_id) for one in message.manifest.sources),
    ]
