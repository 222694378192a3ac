"""Withholds words of stored answers that derive from documents their reader can no longer read."""

from collections.abc import Collection, Sequence
from datetime import datetime

from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import (
    MESSAGE_ROLE_ASSISTANT,
    PIPELINE_STAGE_EDGE,
)
from footnote_kit.access import sees_all
from footnote_kit.degradations import degradation
from footnote_kit.errors import NotFound, Unavailable

from footnote_edge.collections.permissions import Permissions
from footnote_edge.conversations.origins import Origin, without, without_prompt, wordless
from footnote_edge.conversations.ports import Origins

_EFFECT = "This answer is withheld: it uses documents in collections that you can no longer read."
_UNKNOWN = "This answer is withheld while your access to its collections cannot be checked."


class Withholding:
    """Checks the origins of stored answers."""

    def __init__(self, permissions: Permissions, origins: Origins) -> None:
        self._permissions = permissions
        self.origins = origins

    async def shown(self, scope: Scope, messages: Sequence[ConversationMessage]) -> list[ConversationMessage]:
        """Return messages as the caller may read them: one with an unreadable origin has no words.

        Its degradations say so, and name only the sources and collections that the caller may read. Nothing derived
        from a deleted document is readable. If a document's collection is unknown, only administrators may read it.
        """
        ids = [one.id for one in messages if one.role == MESSAGE_ROLE_ASSISTANT]
        if not ids:
            return list(messages)
        origins, deleted = await self.origins.of(ids), await self.origins.deleted(ids)
        gone = await self.origins.gone({one for message_id in deleted for one in origins[message_id]})
        shown = [without(one, gone) if one.id in deleted else one for one in messages]
        if sees_all(scope):
            return shown
        named = {one.collection_id for several in origins.values() for one in several}
        named |= {collection_id for message in messages for collection_id in message.manifest.collection_ids}
        if not named:
            return shown
        try:
            readable, effect = await self._permissions.readable(scope, named), _EFFECT
        except Unavailable:
            readable, effect = set(), _UNKNOWN
        return [_shown(one, origins.get(one.id, set()), readable, effect) for one in shown]

    async def may_read_all(self, scope: Scope, message_ids: Sequence[str], collection_ids: Collection[str]) -> bool:
        """Return whether the caller may read these collections and all of the messages; raises Unavailable if unknown.

        Unlike `check` it never passes what it cannot look up.
        """
        several = (await self.origins.of(message_ids)).values()
        named = {one.collection_id for origins in several for one in origins} | set(collection_ids)
        return not named or named <= await self._permissions.readable(scope, named)

    async def check(self, scope: Scope, origins: set[Origin], since: datetime) -> None:
        """Raise NotFound if a document is deleted or in a collection that the caller cannot read now.

        A row with own vectors counts as deleted if it was `since` the question was asked: its id may be in use again.

        Skips the check while it cannot be done: every later read of the answer repeats it.
        """
        if await self.origins.gone(origins, since):
            raise NotFound("A document that this answer uses was deleted; ask again.", reason="DOCUMENT_NOT_FOUND")
        named = {one.collection_id for one in origins if one.collection_id}
        try:
            readable = named if sees_all(scope) or not named else await self._permissions.readable(scope, named)
        except Unavailable:
            return
        if not named <= readable:
            raise NotFound(
                "You can no longer read a collection that this answer uses; ask again without it.",
                reason="COLLECTION_NOT_FOUND",
            )


def _shown(message: ConversationMessage, origins: set[Origin], readable: set[str], effect: str) -> ConversationMessage:
    hidden = {one.collection_id for one in origins} - readable
    if not hidden and readable.issuperset(message.manifest.collection_ids):
        return message
    shown = ConversationMessage()
    shown.CopyFrom(message)
    searched = [one for one in message.manifest.collection_ids if one in readable]
    shown.manifest.ClearField("collection_ids")
    shown.manifest.collection_ids.extend(searched)
    without_prompt(shown)
    if not hidden:
        return shown  # collections that were searched without results
    wordless(shown)
    for holder, field in ((shown, "sources"), (shown.manifest, "sources"), (shown.manifest, "origins")):
        left = [one for one in getattr(holder, field) if one.collection_id in readable]
        holder.ClearField(field)  # type: ignore[arg-type]
        getattr(holder, field).extend(left)
    shown.degradations.append(degradation(PIPELINE_STAGE_EDGE, "SOURCES_WITHHELD", effect))
    return shown
