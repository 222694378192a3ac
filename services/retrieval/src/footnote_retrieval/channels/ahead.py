"""Work begun ahead of an answer that is nearly always what it was the last time."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

_HEAD_START = 3  # turns of the event loop: what the work sends out itself shall be on its way before the question

Answer = TypeVar("Answer")
Result = TypeVar("Result")


class Ahead(Generic[Answer]):
    """Asks anew each time, and meanwhile works on the last answer: its result counts only if the new answer is equal.

    What came of an older answer is never returned, so nothing can be seen in the result that the new answer forbids.
    """

    def __init__(self, keep: int = 1024) -> None:
        """Keep the last answers to so many questions."""
        self._answers: OrderedDict[Hashable, Answer] = OrderedDict()
        self._keep = keep

    async def run(
        self,
        question: Hashable,
        ask: Callable[[], Awaitable[Answer]],
        work: Callable[[Answer], Awaitable[Result]],
        early: Callable[[Answer], bool] = lambda _: True,
    ) -> Result:
        """Return `await work(await ask())`, begun early where the question was asked before and `early` says so."""
        if question not in self._answers or not early(self._answers[question]):
            return await work(self._learn(question, await ask()))
        known = self._answers[question]
        begun = asyncio.ensure_future(work(known))
        try:
            for _ in range(_HEAD_START):
                await asyncio.sleep(0)
            answer = await ask()
            if answer == known:
                self._answers.move_to_end(question)
                return await begun
        except BaseException:
            self._answers.pop(question, None)
            raise
        finally:
            await _end(begun)
        return await work(self._learn(question, answer))

    def _learn(self, question: Hashable, answer: Answer) -> Answer:
        self._answers[question] = answer
        if len(self._answers) > self._keep:
            self._answers.popitem(last=False)
        return answer


async def _end(begun: asyncio.Future[Result]) -> None:
    """Stop work that nobody waits for, and take note of an error in it, which is nobody's either."""
    begun.cancel()
    await asyncio.wait([begun])
    if not begun.cancelled():
        begun.exception()
