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
    An answer is worked on ahead only where it was the same twice: while a collection changes, each search of it would
    be made twice.
    """

    def __init__(self, keep: int = 1024) -> None:
        """Keep the last answers to so many questions."""
        self._answers: OrderedDict[Hashable, tuple[Answer, bool]] = OrderedDict()
        """The last answer to each question, and whether it was the same as the one before."""
        self._keep = keep

    async def run(
        self,
        question: Hashable,
        ask: Callable[[], Awaitable[Answer]],
        work: Callable[[Answer], Awaitable[Result]],
        early: Callable[[Answer], bool] = lambda _: True,
    ) -> Result:
        """Return `await work(await ask())`, begun early where the answer seems to last and `early` says so."""
        known, lasting = self._answers.get(question, (None, False))
        if known is None or not lasting or not early(known):
            return await work(self._learn(question, await ask()))
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
        before = self._answers.pop(question, None)
        self._answers[question] = (answer, before is not None and before[0] == answer)
        if len(self._answers) > self._keep:
            self._answers.popitem(last=False)
        return answer


async def _end(begun: asyncio.Future[Result]) -> None:
    """Stop work that nobody waits for, and take note of an error in it, which is nobody's either."""
    begun.cancel()
    await asyncio.wait([begun])
    if not begun.cancelled():
        begun.exception()
