"""How much is taken on at once: what there is no place for is refused at once, with when to come back.

Calls of a kind that cost alike have a lane: so many are in work, so many more wait, those of tenants in turn. Whoever
could not be served in the time that it would wait is told so when it comes, not when its time is over.
"""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from footnote_kit.context import time_remaining
from footnote_kit.errors import ResourceExhausted
from footnote_kit.telemetry import counter

from footnote_edge.door.limits import ASKS, UPLOADS

WAITING_PER_PLACE = 16
"""Calls that may wait for each that is in work, as long as their turn is likely to come in time."""
TENANTS_PART = 0.75
"""Part of the waiting places that one tenant may have."""
DEADLINES_PART = 0.5
"""Part of a call's deadline that it may spend waiting."""
_LEARNING = 0.1  # weight of the newest call in the average time of calls
_LEAST_RETRY = 0.5


@dataclass(frozen=True, slots=True)
class Size:
    """Calls in work at once, and the longest that one waits for it, in seconds."""

    at_once: int
    patience: float


class Lane:
    """Calls of one kind."""

    def __init__(self, kind: str, size: Size, clock: Callable[[], float] = time.monotonic) -> None:
        self._kind = kind
        self._size = size
        self._clock = clock
        self._places = size.at_once * WAITING_PER_PLACE
        self._working = 0
        self._waiting = 0
        self._lines: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._seconds = 0.0

    @property
    def waiting(self) -> int:
        """Calls that wait."""
        return self._waiting

    def check(self, tenant: str) -> None:
        """Raise ResourceExhausted for a call that would be refused if it came in now."""
        if self._working < self._size.at_once and not self._waiting:
            return
        if self._waiting >= self._places or len(self._lines.get(tenant, ())) >= self._places * TENANTS_PART:
            raise self._refusal("full")
        if self._expected() > self._patience():
            raise self._refusal("slow")

    @asynccontextmanager
    async def working(self, tenant: str) -> AsyncIterator[None]:
        """Wait for a place and hold it; raises ResourceExhausted at once, or when the wait took too long."""
        self.check(tenant)
        if self._working < self._size.at_once and not self._waiting:
            self._working += 1
        else:
            await self._wait(tenant)
        began = self._clock()
        try:
            yield
        finally:
            self._seconds += _LEARNING * (self._clock() - began - self._seconds)
            self._working -= 1
            self._next()

    async def _wait(self, tenant: str) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line = self._lines.setdefault(tenant, deque())
        line.append(turn)
        self._waiting += 1
        try:
            async with asyncio.timeout(self._patience()):
                await turn
        except TimeoutError:
            if not _given(turn):
                raise self._refusal("late") from None
        except asyncio.CancelledError:
            if _given(turn):
                self._working -= 1
                self._next()
            raise
        finally:
            self._waiting -= 1
            if not _given(turn):
                if turn in line:  # it may have been its turn, and passed over, since its time ended
                    line.remove(turn)
                if not line and self._lines.get(tenant) is line:
                    del self._lines[tenant]

    def _next(self) -> None:
        """Give free places to those who wait, a tenant after the other."""
        while self._working < self._size.at_once and self._lines:
            tenant, line = next(iter(self._lines.items()))
            turn = line.popleft()
            if line:
                self._lines.move_to_end(tenant)
            else:
                del self._lines[tenant]
            if not turn.done():
                self._working += 1
                turn.set_result(None)

    def _expected(self) -> float:
        """Return about how long the next one would wait."""
        return (self._waiting + 1) * self._seconds / self._size.at_once

    def _patience(self) -> float:
        left = time_remaining()
        return self._size.patience if left is None else min(self._size.patience, left * DEADLINES_PART)

    def _refusal(self, why: str) -> ResourceExhausted:
        counter("footnote.edge.shed").add(1, {"footnote.kind": self._kind, "footnote.reason": why})
        after = max(_LEAST_RETRY, self._expected())
        return ResourceExhausted(
            f"The service has as much to do as it can; try again in {after:.1f} s.",
            reason="RATE_LIMITED",
            retry_after=after,
        )


class Admission:
    """The lanes: questions, uploads, and everything else that ends by itself."""

    def __init__(self, asks: Size, uploads: Size, others: Size) -> None:
        self._asks, self._uploads = Lane("asks", asks), Lane("uploads", uploads)
        self._others = Lane("others", others)

    def lane(self, method: str) -> Lane:
        """Return the lane of a method, by its bare name."""
        if method in ASKS:
            return self._asks
        return self._uploads if method in UPLOADS else self._others


def _given(turn: "asyncio.Future[None]") -> bool:
    return turn.done() and not turn.cancelled()
