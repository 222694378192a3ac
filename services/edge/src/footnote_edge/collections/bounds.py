"""Bounds of a question's texts: its collections, and whether these keep their texts on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Collection as Collected
from collections.abc import Sequence
from typing import TypeAlias

from cachetools import LRUCache
from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.collection_pb2 import Collection
from footnote_kit.access import access_of
from footnote_kit.caches import EpochCache
from footnote_kit.epochs import EpochReader, received
from footnote_kit.errors import FootnoteError, InvalidArgument, NotFound
from footnote_providers.egress.egress import of_collection, together

from footnote_edge.ports import Stages

UNKNOWN = TextBounds(local_only=True, because="the collections' settings, which cannot be read now")
"""Used while indexing is down and the collections are not cached: no text may leave by mistake."""

CONVERSATION = TextBounds(
    local_only=True, because="this conversation, which used collections that keep their texts on this machine"
)
"""Bounds of the messages of a conversation marked as local."""
FREE = TextBounds()
_MOST_KEPT = 1024
_MOST_COLLECTIONS = 20_000

_Key: TypeAlias = tuple[bytes, tuple[str, ...]]
_Found: TypeAlias = tuple[list[Collection], TextBounds]


class CollectionBounds:
    """Finds the collections of a question; remembers their bounds for when indexing is down.

    Asks indexing once per epoch of its collections, so any change counts for the next question. Collection counts are
    not needed here.
    """

    def __init__(self, stages: Stages, epochs: EpochReader, timeout: float) -> None:
        self._indexing = stages.indexing
        self._timeout = timeout
        self._last: LRUCache[_Key, TextBounds] = LRUCache(_MOST_KEPT)
        self._cache: EpochCache[_Key, _Found] = EpochCache(
            epochs, _MOST_KEPT, most_parts=_MOST_COLLECTIONS, parts=lambda found: len(found[0])
        )

    async def find(self, scope: Scope, names: Sequence[str]) -> tuple[list[Collection], TextBounds]:
        """Return the named collections, or every visible one if none is named, and the bounds of texts about them.

        Raises NotFound for a collection that the caller may not see.
        """
        key = _key(scope, names)
        if (known := self._cache.get(key)) is not None:
            return known
        epoch, found = await self._ask(scope, names)
        bounds = together(map(of_collection, found))
        self._cache.keep(key, epoch, (found, bounds))
        self._last[key] = bounds
        return found, bounds

    async def _ask(self, scope: Scope, names: Sequence[str]) -> tuple[str, list[Collection]]:
        """Return the collections, and the epoch in which the result is valid; "" for none."""
        if not names:
            request = indexing.ResolveCollectionsRequest(scope=scope)
            resolved, valid = await received(self._indexing.ResolveCollections(request, timeout=self._timeout))
            return valid.collections, list(resolved.collections)
        if not all(names):
            raise InvalidArgument.field("collections", "must not name an empty one")
        requests = [indexing.GetCollectionRequest(scope=scope, collection=name) for name in names]
        calls = (received(self._indexing.GetCollection(one, timeout=self._timeout)) for one in requests)
        answers = await asyncio.gather(*calls)
        epochs = {valid.collections for _, valid in answers}
        return epochs.pop() if len(epochs) == 1 else "", [answer.collection for answer, _ in answers]

    async def about(self, scope: Scope, collection_ids: Collected[str]) -> TextBounds:
        """Return the bounds of texts derived from collections; the strictest if one cannot be looked up."""
        if not collection_ids:
            return FREE
        ids = sorted(collection_ids)
        try:
            return (await self.find(scope, ids))[1]
        except FootnoteError:
            return self.last_known(scope, ids)

    async def named(self, scope: Scope, name_or_id: str) -> TextBounds | None:
        """Like `about`, for one collection by the name or id that a stored text knows; None if there is none."""
        try:
            return (await self.find(scope, [name_or_id]))[1]
        except NotFound:
            return None
        except FootnoteError:
            return self.last_known(scope, [name_or_id])

    async def every(self, scope: Scope) -> TextBounds:
        """Like `about`, for a stored text of a user that may be about any collection that they see.

        A job does not know the user's groups: what is shared with one counts, and others' private collections do not.
        """
        try:
            found = (await self.find(scope, []))[0]
        except FootnoteError:
            return self.last_known(scope, [])
        return await asyncio.to_thread(_together_seen, scope, found)

    def last_known(self, scope: Scope, names: Sequence[str]) -> TextBounds:
        """Return the last known bounds of these collections; the strictest if there are none."""
        return self._last.get(_key(scope, names), UNKNOWN)


def _together_seen(scope: Scope, collections: Sequence[Collection]) -> TextBounds:
    """Return the bounds of the collections that a scope's user may see, if in all groups that these are shared with."""
    seen = []
    for one in collections:
        groups = [grant.group for grant in one.grants if grant.group]
        if access_of(Scope(tenant_id=scope.tenant_id, user_id=scope.user_id, groups=groups), one):
            seen.append(of_collection(one))
    return together(seen)


def _key(scope: Scope, names: Sequence[str]) -> _Key:
    return scope.SerializeToString(deterministic=True), tuple(names)
