"""Speculative execution on the last known answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from cachetools import LRUCache

_HEAD_START = 3  # turns of the event loop, so that the speculative work sends its requests first

Answer = TypeVar("Answer")
Result = TypeVar("Result")


class Speculation(Generic[Answer]):
    """Asks again each time, while working on the last answer; that result counts only if the new answer is equal.

    Results from an older answer are never returned, so they cannot show what the new answer forbids. Speculation starts
    only after the same answer came twice: while a collection changes, each search would run twice.
    """

    def __init__(self, keep: int = 1024) -> None:
        """Keep the last answers to at most `keep` questions."""
        self._answers: LRUCache[Hashable, tuple[Answer, bool]] = LRUCache(keep)
        """The last answer to each question, and whether it equalled the one before."""

    async def run(
        self,
        question: Hashable,
        ask: Callable[[], Awaitable[Answer]],
        work: Callable[[Answer], Awaitable[Result]],
        early: Callable[[Answer], bool] = lambda _: True,
    ) -> Result:
        """Return `await work(await ask())`; work starts early if the answer looks stable and `early` allows it."""
        known, lasting = self._answers.get(question, (None, False))
        if known is None or not lasting or not early(known):
            return await work(self._learn(question, await ask()))
        begun = asyncio.ensure_future(work(known))
        try:
            for _ in range(_HEAD_START):
                await asyncio.sleep(0)
            answer = await ask()
            if answer == known:
                return await begun
        except BaseException:
            self._answers.pop(question, None)
            raise
        finally:
            await _end(begun)
        return await work(self._learn(question, answer))

    def _learn(self, question: Hashable, answer: Answer) -> Answer:
        before = self._answers.pop(question, None)
        self._answers[question] = (answer, before is not None and before[0] == answer)
        return answer


async def _end(begun: asyncio.Future[Result]) -> None:
    """Cancel work whose result is not needed, and retrieve its exception, so that asyncio does not log it."""
    begun.cancel()
    await asyncio.wait([begun])
    if not begun.cancelled():
        begun.exception()
