"""Polling of watches: the interval grows while nothing changes, and simultaneous watches share one request.

`MissingVectors` polls what no event tells of: chunks that are searchable by words and have no vector yet.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from cachetools import LRUCache
from footnote.internal.indexing.v1alpha1.upkeep_service_pb2 import CountMissingVectorsRequest
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.errors import NotOffered
from footnote_kit.telemetry import untraced

from footnote_edge.ports import Stages

GROWTH, MOST_TIMES = 2.0, 8.0
"""Growth factor of the interval, and its maximum as a multiple of the shortest, where all changes are local."""


class PollTimer:
    """The polling timer of one watch."""

    def __init__(self, least: float, *, alone: bool, clock: Callable[[], float]) -> None:
        self._least = least
        self._alone = alone
        self._clock = clock
        self._pause = least
        self._looked = float("-inf")

    def fires(self, moved_at: float, works_here: bool = False) -> bool:
        """Return whether to poll now, and record the poll; at once after a change whose result is not known here.

        Work in this process notifies its watches, so `works_here` allows longer intervals. Other replicas may still
        change the document.
        """
        now = self._clock()
        if moved_at >= self._looked:
            self._pause = self._least
        elif now < self._looked + (self._pause if self._alone or works_here else self._least):
            return False
        else:
            self._pause = min(self._pause * GROWTH, self._least * MOST_TIMES)
        self._looked = now
        return True

    def now(self) -> None:
        """Make the timer fire at its next check."""
        self._looked = float("-inf")


class AdaptivePolling:
    """Makes polling timers: every `least` seconds, at longer intervals if this process is `alone` with its jobs."""

    def __init__(self, least: float, *, alone: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._least = least
        self._alone = alone
        self._clock = clock

    def begin(self) -> PollTimer:
        """Return the timer of a new watch; its first poll is due at once."""
        return PollTimer(self._least, alone=self._alone, clock=self._clock)


T = TypeVar("T")

MOST_KEPT = 1024
"""Number of cached answers."""


@dataclass(slots=True)
class _Look(Generic[T]):
    began: float
    answer: "asyncio.Task[T]"


class SharedPolls(Generic[T]):
    """A cache of answers by key; callers within `fresh` seconds share one request.

    The request may run under another caller's identity: check access before reading an answer here.
    """

    def __init__(self, fresh: float, clock: Callable[[], float]) -> None:
        self._fresh = fresh
        self._clock = clock
        self._looks: LRUCache[Hashable, _Look[T]] = LRUCache(MOST_KEPT)

    async def get(self, key: Hashable, since: float, look: Callable[[], Awaitable[T]]) -> T:
        """Return an answer requested at `since` or later and still fresh, else ask for one.

        A failure goes only to its own asker: the other callers ask again.
        """
        oldest = max(since, self._clock() - self._fresh)
        known = self._looks.get(key)
        if known is not None and known.began >= oldest:
            try:
                return await asyncio.shield(known.answer)
            except asyncio.CancelledError:
                if not known.answer.cancelled():
                    raise
            except Exception:  # the original asker reports it
                pass
        return await self._ask(key, look)

    async def _ask(self, key: Hashable, look: Callable[[], Awaitable[T]]) -> T:
        async def ask() -> T:
            return await look()

        # A separate task: the shared answer survives the cancellation of its asker.
        task = asyncio.ensure_future(ask())
        task.add_done_callback(_heard)
        mine = self._looks[key] = _Look(self._clock(), task)
        try:
            return await asyncio.shield(task)
        except Exception:
            if self._looks.get(key) is mine:
                del self._looks[key]
            raise


def _heard(task: "asyncio.Task[T]") -> None:
    """Retrieve the exception, since the asker may have been cancelled."""
    if not task.cancelled():
        task.exception()


_PAGE = 1000


class MissingVectors:
    """Asks indexing how many vectors documents lack; watches of the same document or collection share a call.

    A third-party indexing stage may not count them: then no vector is missing.
    """

    def __init__(self, stages: Stages, fresh: float, timeout: float) -> None:
        self._upkeep = stages.indexing_upkeep
        self._timeout = timeout
        self._looks: SharedPolls[Mapping[str, int]] = SharedPolls(fresh, time.monotonic)

    async def of(
        self, scope: Scope, collection_id: str, document_id: str = "", since: float = 0.0
    ) -> Mapping[str, int]:
        """Return the counts by document id, of one document or of all in a collection; those with none are left out.

        The answer was requested at `since` or later. Check access first: another caller's answer may be shared. Raises
        the errors of indexing.
        """

        async def ask() -> Mapping[str, int]:
            request = CountMissingVectorsRequest(
                scope=scope, collection_id=collection_id, document_id=document_id, page_size=_PAGE
            )
            missing: dict[str, int] = {}
            while True:
                try:
                    found = await self._upkeep.CountMissingVectors(request, timeout=self._timeout, metadata=untraced())
                except NotOffered:
                    return {}
                missing.update((one.document_id, one.chunks_without_vector) for one in found.documents)
                request.page_token = found.next_page_token
                if not request.page_token:
                    return missing

        return await self._looks.get((scope.tenant_id, collection_id, document_id), since, ask)
