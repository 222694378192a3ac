"""How much is taken on at once: what there is no place for is refused at once, with when to come back.

Calls of a kind that cost alike have a lane: so many are in work, so many more wait, those of tenants in turn. Whoever
could not be served in the time that it would wait is told so when it comes, not when its time is over; and whoever was
let into the line when less was known of what calls cost, as soon as more is.

Newcomers are seen in between what is done for those in work, so that the more of these there are, the later a refusal
comes. Few are begun at first, and more while the event loop keeps up: calls that wait for a model burden no loop, and
are soon as many as may be; of those that keep the processors busy, more at once would be served no sooner.
"""

import asyncio
import os
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from footnote_kit.context import time_remaining
from footnote_kit.errors import ResourceExhausted
from footnote_kit.telemetry import counter

from footnote_edge.gateway.limits import ASKS, UPLOADS
from footnote_edge.gateway.shares import Division

WAITING_PER_PLACE = 16
"""Calls that may wait for each that is in work, as long as their turn is likely to come in time."""
TENANTS_PART = 0.75
"""Part of the waiting places that one tenant may have."""
DEADLINES_PART = 0.5
"""Part of a call's deadline that it may spend waiting."""
LEAST_AT_ONCE = 16
"""Calls in work that are begun however late the event loop comes, and by so many more each time that it does not."""
LATE_SECONDS = 0.03
"""How late it comes, on average, when it has enough to do."""
LOOK_SECONDS = 0.1
"""Between two decisions about that; the loop is measured as often."""
_LEARNING = 0.1  # weight of the newest call in the averages, of the first ones more
_LEAST_RETRY = 0.5
_THINNED = 16  # refused at the end of one call, at most: the loop has more to do


@dataclass(frozen=True, slots=True)
class Size:
    """Calls in work at once, and the longest that one waits for it, in seconds."""

    at_once: int
    patience: float


@dataclass(frozen=True, slots=True)
class Machine:
    """What calls are done with: how late the event loop comes, in seconds, and the processors."""

    lag: Callable[[], float] = lambda: 0.0
    division: Division = field(default_factory=lambda: Division(lambda: 0.0))
    """Of the processor time of all services here, among the calls of all lanes."""
    cores: int = 1


class Lane:
    """Calls of one kind."""

    def __init__(
        self, kind: str, size: Size, clock: Callable[[], float] = time.monotonic, machine: Machine | None = None
    ) -> None:
        self._kind = kind
        self._size = size
        self._clock = clock
        self._machine = machine or Machine()
        self._places = size.at_once * WAITING_PER_PLACE
        self._room = min(size.at_once, LEAST_AT_ONCE)
        self._timer: asyncio.TimerHandle | None = None
        self._working = 0
        self._waiting = 0
        self._lines: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._known = 0
        self._seconds = 0.0
        self._cost = 0.0

    @property
    def waiting(self) -> int:
        """Calls that wait."""
        return self._waiting

    def check(self, tenant: str) -> None:
        """Raise ResourceExhausted for a call that would be refused if it came in now."""
        if self._working < self._room and not self._waiting:
            return
        if self._waiting >= self._places or len(self._lines.get(tenant, ())) >= self._places * TENANTS_PART:
            raise self._refusal("full")
        if self._expected() > self._patience():
            raise self._refusal("slow")

    @asynccontextmanager
    async def working(self, tenant: str) -> AsyncIterator[None]:
        """Wait for a place and hold it; raises ResourceExhausted at once, or when the wait took too long."""
        self.check(tenant)
        if self._working < self._room and not self._waiting:
            self._working += 1
        else:
            await self._wait(tenant)
        began, had = self._clock(), self._machine.division.enter()
        try:
            yield
        finally:
            self._learn(self._clock() - began, self._machine.division.leave() - had)
            self._working -= 1
            self._next()
            self._thin_out()

    def _learn(self, seconds: float, cost: float) -> None:
        """Take a call into the averages of how long one takes, and of its seconds of a processor."""
        self._known += 1
        weight = max(_LEARNING, 1 / self._known)
        self._seconds += weight * (seconds - self._seconds)
        self._cost += weight * (cost - self._cost)

    async def _wait(self, tenant: str) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line = self._lines.setdefault(tenant, deque())
        line.append(turn)
        self._waiting += 1
        self._look_later()
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
            if not turn.done() or turn.cancelled():
                if turn in line:  # it may have been its turn, and passed over, since its time ended
                    line.remove(turn)
                if not line and self._lines.get(tenant) is line:
                    del self._lines[tenant]

    def _next(self) -> None:
        """Give free places to those who wait, a tenant after the other."""
        while self._working < self._room and self._lines:
            tenant, line = next(iter(self._lines.items()))
            turn = line.popleft()
            if line:
                self._lines.move_to_end(tenant)
            else:
                del self._lines[tenant]
            if not turn.done():
                self._working += 1
                turn.set_result(None)

    def _thin_out(self) -> None:
        """Refuse the last of the longest lines as long as there are more than can be served in time."""
        each = self._each()
        beyond = sum(map(len, self._lines.values())) - int(self._size.patience / each) if each else 0
        for _ in range(min(beyond, _THINNED)):
            if not self._lines:
                break
            tenant, line = max(reversed(self._lines.items()), key=lambda one: len(one[1]))  # of equals the last
            turn = line.pop()
            if not line:
                del self._lines[tenant]
            if not turn.done():
                turn.set_exception(self._refusal("slow"))

    def _look_later(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        """Make more room or less, by how the event loop keeps up, as long as anybody waits."""
        self._timer = None
        if self._machine.lag() > LATE_SECONDS:
            self._room = max(min(self._size.at_once, LEAST_AT_ONCE), self._room // 2)
        elif self._working >= self._room:
            self._room = min(self._size.at_once, self._room + LEAST_AT_ONCE)
        self._next()
        if self._lines:
            self._look_later()

    def _each(self) -> float:
        """Return the seconds after which one more has been served: by the places there are, or the processors."""
        return max(self._seconds / self._size.at_once, self._cost / self._machine.cores)

    def _expected(self) -> float:
        """Return about how long the next one would wait."""
        return (self._waiting + 1) * self._each()

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

    def __init__(
        self, asks: Size, uploads: Size, others: Size, *, lag: Callable[[], float], processor: Callable[[], float]
    ) -> None:
        """Take the sizes of the lanes, how late this event loop comes, and a count of the services' processor time."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        machine = Machine(lag, Division(processor), cores)
        self._asks, self._uploads, self._others = (
            Lane(kind, size, machine=machine)
            for kind, size in (("asks", asks), ("uploads", uploads), ("others", others))
        )

    def lane(self, method: str) -> Lane:
        """Return the lane of a method, by its bare name."""
        if method in ASKS:
            return self._asks
        return self._uploads if method in UPLOADS else self._others


def _given(turn: "asyncio.Future[None]") -> bool:
    return turn.done() and not turn.cancelled()
