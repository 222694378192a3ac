"""Looks at documents that many watches share: of those that want the same at the same time one asks, for all."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

MOST_KEPT = 1024
"""Answers that are remembered."""


@dataclass(slots=True)
class _Look(Generic[T]):
    began: float
    answer: "asyncio.Task[T]"


class SharedLooks(Generic[T]):
    """Answers by key, each asked for once by all who want it within `fresh` seconds.

    Who asked may be someone else: whoever takes an answer from here must have been let in before.
    """

    def __init__(self, fresh: float, clock: Callable[[], float]) -> None:
        self._fresh = fresh
        self._clock = clock
        self._looks: OrderedDict[Hashable, _Look[T]] = OrderedDict()

    async def get(self, key: Hashable, since: float, look: Callable[[], Awaitable[T]]) -> T:
        """Return an answer that was asked for at the time `since` or later, and within the time that one is fresh.

        A failure is nobody's but the asker's: the others ask themselves.
        """
        oldest = max(since, self._clock() - self._fresh)
        known = self._looks.get(key)
        if known is not None and known.began >= oldest:
            try:
                return await asyncio.shield(known.answer)
            except asyncio.CancelledError:
                if not known.answer.cancelled():
                    raise
            except Exception:  # its asker has it too, and says so
                pass
        return await self._ask(key, look)

    async def _ask(self, key: Hashable, look: Callable[[], Awaitable[T]]) -> T:
        async def ask() -> T:
            return await look()

        # A task of its own: the others' answer does not go when the asker does.
        task = asyncio.ensure_future(ask())
        task.add_done_callback(_heard)
        mine = self._looks[key] = _Look(self._clock(), task)
        self._looks.move_to_end(key)
        if len(self._looks) > MOST_KEPT:
            self._looks.popitem(last=False)
        try:
            return await asyncio.shield(task)
        except Exception:
            if self._looks.get(key) is mine:
                del self._looks[key]
            raise


def _heard(task: "asyncio.Task[T]") -> None:
    """Take note of a failure, although its asker may be gone."""
    if not task.cancelled():
        task.exception()
