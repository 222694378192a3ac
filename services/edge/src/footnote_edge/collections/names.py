"""Collection names by id, for documents' public form."""

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from cachetools import LRUCache
from footnote.indexing.v1.indexing_service_pb2 import AuthorizeCollectionsRequest
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.breaker import Breaker
from footnote_kit.errors import DeadlineExceeded, FootnoteError, Unavailable
from footnote_kit.logs import get_logger

FRESH_SECONDS = 10.0
"""Seconds for which a collection renamed on another replica may keep its old name here."""
PAUSE_SECONDS = 2.0
"""Seconds before indexing is asked again after a failure."""
ASK_SECONDS = 2.0
MOST_KEPT = 20_000
_BATCH = 1000
_NEVER = float("-inf")

Ask = Callable[[Scope, Sequence[str]], Awaitable[Mapping[str, str]]]
"""Returns the names of those collections that a scope may read."""

_log = get_logger(__name__)


def asking(stub: Any) -> Ask:
    """Return a function that asks the indexing service behind a stub."""

    async def ask(scope: Scope, ids: Sequence[str]) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for start in range(0, len(ids), _BATCH):
            request = AuthorizeCollectionsRequest(scope=scope, collection_ids=ids[start : start + _BATCH])
            response = await stub.AuthorizeCollections(request, timeout=ASK_SECONDS)
            found.update((one.collection_id, one.name) for one in response.collections)
        return found

    return ask


class CollectionNames:
    """Caches names briefly, by tenant instead of caller, since a name grants no right.

    The caller must be known to have read access to the collections. While indexing is down, the cache serves old names,
    or "" if there are none.
    """

    def __init__(self, ask: Ask, clock: Callable[[], float] = time.monotonic) -> None:
        self._ask = ask
        self._clock = clock
        self._cache: LRUCache[tuple[str, str], tuple[float, str]] = LRUCache(MOST_KEPT)
        self._forgotten: LRUCache[str, float] = LRUCache(MOST_KEPT)
        self._silent = Breaker(1, PAUSE_SECONDS, clock)

    async def one(self, scope: Scope, collection_id: str) -> str:
        """Return the name of a collection, "" if it is deleted or cannot be looked up."""
        return (await self.several(scope, [collection_id])).get(collection_id, "")

    async def several(self, scope: Scope, ids: Iterable[str]) -> dict[str, str]:
        """Return the known names of collections by their ids."""
        now, tenant = self._clock(), scope.tenant_id
        since = self._forgotten.get(tenant, _NEVER)
        known: dict[str, str] = {}
        old: list[str] = []
        for one in dict.fromkeys(ids):
            asked, name = self._cache.get((tenant, one), (_NEVER, ""))
            if name:
                known[one] = name
            if now - asked >= FRESH_SECONDS or asked <= since:
                old.append(one)
        if not old or self._silent.rest:
            return known
        try:
            found = await self._ask(scope, old)
        except (Unavailable, DeadlineExceeded) as error:
            self._silent.failed()
            _log.debug("collection_names_unknown", reason=error.reason)
            return known
        except FootnoteError as error:  # a missing name must not fail a call
            _log.warning("collection_names_refused", reason=error.reason)
            return known
        for one in old:
            if one in found:
                known[one] = found[one]
                self._cache[tenant, one] = (now, found[one])
        return known

    def forget(self, tenant_id: str) -> None:
        """Refresh a tenant's names after a local change; the old ones serve while indexing is down."""
        self._forgotten[tenant_id] = self._clock()
