"""Checks callers' access to collections with indexing, which holds the grants, and caches it briefly.

Only granted access is cached. A collection just created or shared is visible at once; a withdrawn one disappears
after `FRESH_SECONDS`; and guessed ids never fill the cache.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from cachetools import LRUCache
from footnote.indexing.v1.indexing_service_pb2 import AuthorizeCollectionsRequest, CollectionAccess
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import ACCESS_WRITE

from footnote_kit.access import Access, is_system, sees_all
from footnote_kit.breaker import Breaker
from footnote_kit.caches import BoundedCache, EpochCache
from footnote_kit.epochs import EpochReader, received
from footnote_kit.errors import DeadlineExceeded, Unavailable

FRESH_SECONDS = 1.0
"""Seconds for which a cached answer counts as fresh."""
KNOWN_SECONDS = 300.0
"""Seconds for which a cached answer is still used while indexing does not respond."""
ASK_SECONDS = 5.0
_PAUSE_SECONDS = 1.0  # pause after indexing failed to respond, if an older answer suffices
_MOST_KEPT = 20_000
_MOST_LISTS = 256
_MOST_LISTED = 500_000
_BATCH = 1000
_NEVER = float("-inf")

Ask = Callable[[Scope, Sequence[str]], Awaitable[Mapping[str, Access]]]
"""Returns a scope's access to collections by id; without ids, to all visible ones. Hidden collections are left out."""


class AccessLookup:
    """Calls the indexing service through a stub, once per epoch of its collections where `epochs` is readable."""

    def __init__(self, stub: Any, epochs: EpochReader) -> None:
        self._stub = stub
        self._responses: EpochCache[tuple[bytes, str], Mapping[str, Access]] = EpochCache(epochs, _MOST_KEPT)

    async def __call__(self, scope: Scope, ids: Sequence[str]) -> Mapping[str, Access]:
        """Return a scope's access to collections; for a single one from the cache if nothing has changed."""
        if len(ids) != 1:
            found: dict[str, Access] = {}
            for start in range(0, max(len(ids), 1), _BATCH):
                found |= (await self._ask(scope, ids[start : start + _BATCH]))[1]
            return found
        return await self._responses.get_or_ask((_who(scope), ids[0]), lambda: self._ask(scope, ids))

    async def _ask(self, scope: Scope, ids: Sequence[str]) -> tuple[str, Mapping[str, Access]]:
        request = AuthorizeCollectionsRequest(scope=scope, collection_ids=ids)
        response, epochs = await received(self._stub.AuthorizeCollections(request, timeout=ASK_SECONDS))
        return epochs.collections, {one.collection_id: _access(one) for one in response.collections}


def _access(given: CollectionAccess) -> Access:
    if given.may_manage:
        return Access.MANAGE
    return Access.WRITE if given.access == ACCESS_WRITE else Access.READ


class Authorizer:
    """Returns a scope's access; for administrators and services without a call."""

    def __init__(self, ask: Ask, clock: Callable[[], float] = time.monotonic) -> None:
        self._ask = ask
        self._clock = clock
        self._cache: LRUCache[tuple[bytes, str], tuple[float, Access]] = LRUCache(_MOST_KEPT)
        self._asking: dict[tuple[bytes, tuple[str, ...]], tuple[float, asyncio.Task[dict[str, Access]]]] = {}
        self._lists: BoundedCache[bytes, tuple[float, frozenset[str]]] = BoundedCache(
            _MOST_LISTS, _MOST_LISTED, lambda held: len(held[1])
        )
        self._silent = Breaker(1, _PAUSE_SECONDS, clock)
        self._forgotten: LRUCache[str, float] = LRUCache(_MOST_KEPT)

    async def access(self, scope: Scope, collection_id: str, *, exact: bool = False) -> Access:
        """Return a scope's access to a collection; NONE for a hidden or absent one.

        While indexing does not respond, an answer of the last minutes is used, unless the result must be `exact`.
        Raises Unavailable when there is none.
        """
        return (await self.several(scope, [collection_id], exact=exact))[collection_id]

    async def several(self, scope: Scope, ids: Iterable[str], *, exact: bool = False) -> dict[str, Access]:
        """Return a scope's access to each of these collections, with one call for all unknown ones."""
        wanted = list(dict.fromkeys(ids))
        if sees_all(scope):
            return dict.fromkeys(wanted, Access.MANAGE)
        who = _who(scope)
        known = {} if exact else self._known(scope, who, wanted, self._good_for())
        unknown = [one for one in wanted if one not in known]
        if unknown and exact:
            known.update(await self._learn(scope, who, unknown, exact=True))
        elif unknown:
            known.update(await self._learn_once(scope, who, unknown))
        return {one: known.get(one, Access.NONE) for one in wanted}

    async def exists(self, scope: Scope, collection_id: str) -> bool:
        """Return whether a collection exists, for scopes with all rights; True while indexing does not respond."""
        if is_system(scope) or self.silent:
            return True
        try:
            found = await self._ask(scope, [collection_id])
        except (Unavailable, DeadlineExceeded):
            self._silent.failed()
            return True
        self._silent.answered()
        return collection_id in found

    async def visible(self, scope: Scope) -> frozenset[str] | None:
        """Return the ids of all collections that a scope may read; None for a scope that may read all."""
        if sees_all(scope):
            return None
        who, now = _who(scope), self._clock()
        asked, listed = self._lists.get(who, (_NEVER, frozenset[str]()))
        if asked <= self._forgotten.get(scope.tenant_id, _NEVER):
            asked = _NEVER
        if now - asked < self._good_for():
            return listed
        try:
            found = frozenset(await self._ask(scope, []))
        except (Unavailable, DeadlineExceeded) as error:
            self._silent.failed()
            if now - asked < KNOWN_SECONDS:
                return listed
            raise _unknown(error) from error
        self._lists[who] = (now, found)
        return found

    @property
    def silent(self) -> bool:
        """Whether indexing has just failed to respond, so that another call would only wait."""
        return self._silent.rest > 0

    def forget(self, tenant_id: str) -> None:
        """Discard cached access to a tenant's collections, because this process changed one of them."""
        self._forgotten[tenant_id] = self._clock()

    def _good_for(self) -> float:
        return KNOWN_SECONDS if self.silent else FRESH_SECONDS

    def _known(self, scope: Scope, who: bytes, ids: Sequence[str], seconds: float) -> dict[str, Access]:
        now, since = self._clock(), self._forgotten.get(scope.tenant_id, _NEVER)
        found: dict[str, Access] = {}
        for one in ids:
            asked, access = self._cache.get((who, one), (_NEVER, Access.NONE))
            if now - asked < seconds and asked > since:
                found[one] = access
        return found

    async def _learn_once(self, scope: Scope, who: bytes, ids: list[str]) -> dict[str, Access]:
        """Call indexing, or share a call in flight for the same rights and ids; each waiter retries a failed call."""
        key = (who, tuple(ids))
        begun, asking = self._asking.get(key, (_NEVER, None))
        if asking is not None and begun > self._forgotten.get(scope.tenant_id, _NEVER):
            await asyncio.wait([asking])
            if not asking.cancelled() and asking.exception() is None:
                return dict(asking.result())
            return await self._learn(scope, who, ids, exact=False)
        mine = asyncio.ensure_future(self._learn(scope, who, ids, exact=False))
        self._asking[key] = (self._clock(), mine)
        try:
            return dict(await mine)
        finally:
            if self._asking.get(key, (0.0, None))[1] is mine:
                del self._asking[key]

    async def _learn(self, scope: Scope, who: bytes, ids: list[str], *, exact: bool) -> dict[str, Access]:
        asked = self._clock()
        try:
            answer = await self._ask(scope, ids)
        except (Unavailable, DeadlineExceeded) as error:
            self._silent.failed()
            known = {} if exact else self._known(scope, who, ids, KNOWN_SECONDS)
            if len(known) < len(ids):
                raise _unknown(error) from error
            return known
        self._silent.answered()
        for one in ids:
            if one in answer:
                self._cache[who, one] = (asked, answer[one])
            else:
                self._cache.pop((who, one), None)
        return dict(answer)


def _who(scope: Scope) -> bytes:
    """Return all that the answer depends on: tenant, user, roles and groups."""
    return scope.SerializeToString(deterministic=True)


def _unknown(error: Unavailable | DeadlineExceeded) -> Unavailable:
    return Unavailable(
        "Your access cannot be checked now. Try again in a moment.",
        reason="STAGE_UNAVAILABLE",
        metadata=error.metadata,
        retry_after=error.retry_after or 2.0,
    )
