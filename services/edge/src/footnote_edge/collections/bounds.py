"""What binds the texts of a question: which collections it is about, and whether these keep their texts here."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.provider_pb2 import TextBounds
from footnote.types.v1.scope_pb2 import Scope

from footnote_edge.adapters.stages import Stages
from footnote_edge.collections.binding import bounds_of
from footnote_edge.collections.catalog import Catalog

UNKNOWN = TextBounds(local_only=True, because="the collections' settings, which cannot be read just now")
"""While indexing does not answer and the collections were not asked about before: nothing leaves by mistake."""

_MOST_KEPT = 1024


class Bounds:
    """Finds the collections of a question; remembers what bound them for when indexing does not answer."""

    def __init__(self, stages: Stages, catalog: Catalog, timeout: float) -> None:
        self._indexing = stages.indexing
        self._catalog = catalog
        self._timeout = timeout
        self._kept: OrderedDict[tuple[bytes, tuple[str, ...]], TextBounds] = OrderedDict()

    async def find(self, scope: Scope, names: Sequence[str]) -> tuple[list[Collection], TextBounds]:
        """Return the collections named, every visible one where none is, and what binds texts about them.

        Raises NotFound for a collection that the caller may not see.
        """
        if names:
            found = await asyncio.gather(*(self._catalog.get(scope, name) for name in names))
        else:
            request = indexing.ResolveCollectionsRequest(scope=scope)
            resolved = await self._indexing.ResolveCollections(request, timeout=self._timeout)
            found = [one.collection for one in resolved.collections]
        bounds = bounds_of(found)
        key = _key(scope, names)
        self._kept[key] = bounds
        self._kept.move_to_end(key)
        if len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return list(found), bounds

    def last_known(self, scope: Scope, names: Sequence[str]) -> TextBounds:
        """Return what bound these collections when they were last asked about; the strictest when they never were."""
        return self._kept.get(_key(scope, names), UNKNOWN)


def _key(scope: Scope, names: Sequence[str]) -> tuple[bytes, tuple[str, ...]]:
    return scope.SerializeToString(deterministic=True), tuple(names)
