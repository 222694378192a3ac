"""Concurrency limiters with load shedding: calls beyond the capacity are refused at once, with a time to retry.

Each kind of call has a lane with a number of concurrent calls and a bounded queue, served round-robin by tenant. A
tenant alone may use all places; a few more are kept for tenants that hold none or few, since a call may last. A call
whose expected wait is too long is refused on arrival, not at its deadline. When calls turn out to cost more than
expected, the ends of the longest queues are refused as well.

New calls share the event loop with running ones: gRPC takes four iterations of the loop to accept a call, and calls
that it has not accepted are in no lane and cannot be refused. The longer an iteration, the more calls wait unseen until
their deadlines. Concurrency therefore starts low and grows while iterations are short. Calls that wait for a model do
not load the loop and soon reach the full concurrency; for CPU-bound calls, more concurrency would not serve any sooner.
"""

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from footnote_kit.admission.fair_shares import ProcessorMeter
from footnote_kit.admission.fair_slots import Turn, granted
from footnote_kit.context import time_remaining
from footnote_kit.errors import ResourceExhausted
from footnote_kit.telemetry import counter

WAITING_PER_PLACE = 16
"""Queue places per concurrent call, as long as the expected wait is short enough."""
TENANTS_PART = 0.75
"""Fraction of the queue places that one tenant may use."""
PLACES_PER_SPARE = 8
"""Places for each spare one, which only a tenant that holds fewer places than there are spare ones may take."""
DEADLINES_PART = 0.5
"""Fraction of its deadline that a call may spend waiting."""
LEAST_AT_ONCE = 4
"""Minimum concurrency, however long the event loop's iterations are, and the step by which it grows."""
LONG_ITERATION = 0.001
"""Processor seconds of an event loop's iteration above which concurrency shrinks."""
ADJUST_SECONDS = 0.1
"""Seconds between two adjustments of concurrency; iterations are measured at the same interval."""
_LEARNING = 0.1  # weight of the newest call in the averages; the first calls weigh more
_LEAST_RETRY = 0.5
_THINNED = 16  # refusals per finished call, at most, to keep the event loop free


@dataclass(frozen=True, slots=True)
class Size:
    """Maximum number of concurrent calls, and the longest wait in seconds."""

    at_once: int
    longest_wait: float


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine that calls run on: processor seconds of an event loop's iteration, and processors."""

    iteration: Callable[[], float] = lambda: 0.0
    meter: ProcessorMeter = field(default_factory=lambda: ProcessorMeter(lambda: 0.0))
    """Divides the processor time of all local services among the calls of all lanes."""
    cores: int = 1


class ConcurrencyLimiter:
    """The admission queue of one kind of call."""

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
        self._held: Counter[str] = Counter()
        self._waiting = 0
        self._lines: OrderedDict[str, deque[Turn]] = OrderedDict()
        self._known = 0
        self._seconds = 0.0
        self._cost = 0.0

    @property
    def waiting(self) -> int:
        """Number of waiting calls."""
        return self._waiting

    def check(self, tenant: str) -> None:
        """Raise ResourceExhausted for a call that would be refused if it arrived now."""
        if self._may_begin(tenant):
            return
        if self._waiting >= self._places or len(self._lines.get(tenant, ())) >= self._places * TENANTS_PART:
            raise self._refusal("full")
        if self._expected() > self._timeout():
            raise self._refusal("slow")

    @asynccontextmanager
    async def working(self, tenant: str) -> AsyncIterator[None]:
        """Wait for a place and hold it; raises ResourceExhausted at once, or after too long a wait."""
        self.check(tenant)
        if self._may_begin(tenant):
            self._begin(tenant)
        else:
            await self._wait(tenant)
        began, had = self._clock(), self._machine.meter.enter()
        try:
            yield
        finally:
            self._learn(self._clock() - began, self._machine.meter.leave() - had)
            self._release(tenant)
            self._thin_out()

    def _may_begin(self, tenant: str) -> bool:
        """Return whether a call that arrives now need not wait."""
        if self._working < self._room:
            return not self._waiting
        return tenant not in self._lines and self._has_spare(tenant)

    def _has_spare(self, tenant: str) -> bool:
        """Return whether one of the spare places is for this tenant: they halve with each tenant that takes some."""
        return self._held[tenant] < self._room + self._room // PLACES_PER_SPARE - self._working

    def _begin(self, tenant: str) -> None:
        self._working += 1
        self._held[tenant] += 1

    def _learn(self, seconds: float, cost: float) -> None:
        """Update the average duration and the average processor seconds of a call."""
        self._known += 1
        weight = max(_LEARNING, 1 / self._known)
        self._seconds += weight * (seconds - self._seconds)
        self._cost += weight * (cost - self._cost)

    async def _wait(self, tenant: str) -> None:
        turn: Turn = asyncio.get_running_loop().create_future()
        line = self._lines.setdefault(tenant, deque())
        line.append(turn)
        self._waiting += 1
        self._look_later()
        try:
            if not await granted(turn, self._timeout(), partial(self._release, tenant)):
                raise self._refusal("late")
        finally:
            self._waiting -= 1
            if not turn.done() or turn.cancelled():
                if turn in line:  # after its timeout, `_next` may have popped it and skipped it
                    line.remove(turn)
                if not line and self._lines.get(tenant) is line:
                    del self._lines[tenant]

    def _release(self, tenant: str) -> None:
        self._working -= 1
        self._held[tenant] -= 1
        if not self._held[tenant]:
            del self._held[tenant]
        self._next()

    def _next(self) -> None:
        """Give free places to waiting calls, round-robin by tenant."""
        while (tenant := self._next_tenant()) is not None:
            line = self._lines[tenant]
            turn = line.popleft()
            if line:
                self._lines.move_to_end(tenant)
            else:
                del self._lines[tenant]
            if not turn.done():
                self._begin(tenant)
                turn.set_result(None)

    def _next_tenant(self) -> str | None:
        if self._working < self._room:
            return next(iter(self._lines), None)
        if self._working >= self._room + self._room // PLACES_PER_SPARE:
            return None
        return next(filter(self._has_spare, self._lines), None)

    def _thin_out(self) -> None:
        """Refuse calls at the ends of the longest queues while more wait than can be served in time."""
        each = self._each()
        beyond = sum(map(len, self._lines.values())) - int(self._size.longest_wait / each) if each else 0
        for _ in range(min(beyond, _THINNED)):
            if not self._lines:
                break
            tenant, line = max(reversed(self._lines.items()), key=lambda one: len(one[1]))  # a tie goes to the last
            turn = line.pop()
            if not line:
                del self._lines[tenant]
            if not turn.done():
                turn.set_exception(self._refusal("slow"))

    def _look_later(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(ADJUST_SECONDS, self._look)

    def _look(self) -> None:
        """Adjust concurrency to the length of the event loop's iterations, as long as calls wait."""
        self._timer = None
        if self._machine.iteration() > LONG_ITERATION:
            self._room = max(min(self._size.at_once, LEAST_AT_ONCE), self._room // 2)
        elif self._working >= self._room:
            self._room = min(self._size.at_once, self._room + LEAST_AT_ONCE)
        self._next()
        if self._lines:
            self._look_later()

    def _each(self) -> float:
        """Return the seconds per served call: limited by the places, or by the processors."""
        return max(self._seconds / self._size.at_once, self._cost / self._machine.cores)

    def _expected(self) -> float:
        """Return the expected wait of the next call in seconds."""
        return (self._waiting + 1) * self._each()

    def _timeout(self) -> float:
        left = time_remaining()
        return self._size.longest_wait if left is None else min(self._size.longest_wait, left * DEADLINES_PART)

    def _refusal(self, why: str) -> ResourceExhausted:
        counter("footnote.edge.shed").add(1, {"footnote.kind": self._kind, "footnote.reason": why})
        after = max(_LEAST_RETRY, self._expected())
        return ResourceExhausted(
            f"The service is at its capacity; try again in {after:.1f} s.",
            reason="RATE_LIMITED",
            retry_after=after,
        )
