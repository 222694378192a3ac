"""Shared polling: watches that want the same data at the same time share one request."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from cachetools import LRUCache

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
