"""A fair queue by past usage: while the services are crowded, heavy recent users give way to lighter ones.

The measure is the processor time of all services on this machine, divided among the calls in progress. As long as the
event loop keeps up or no other caller is active, no call waits. A call counts for `MOST_COUNTED` seconds at most, since
a call that waits for a model or for its caller's next bytes loads nothing.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from footnote_kit.admission import loop_lag
from footnote_kit.admission.fair_slots import Turn, granted
from footnote_kit.errors import ResourceExhausted

MOST_COUNTED = 1.0
"""Maximum seconds counted for a call, or for a job's turn."""
HALF_LIFE = 1.0
"""Half-life of past usage, in seconds."""
LESS, LEAST = 0.8, 0.01
"""A caller goes first if its usage is below this fraction of another's, by at least so many seconds."""
RECENT_SECONDS = 2.0
"""Seconds after its last call during which a caller counts as active."""
CROWDED_LAG = 0.015
"""Average event loop lag, in seconds, of any service above which the services are crowded."""
CROWDED_SECONDS = 3.0
"""Seconds for which the state stays crowded, so that waiting calls do not all start at once."""
STARVED_SECONDS = 0.5
"""Seconds after which a waiting call starts anyway if its tenant has none in progress, to prevent starvation."""
_LOOK_SECONDS = 0.05
_MOST_KNOWN = 4096

Key = tuple[str, str]


@dataclass(slots=True)
class _Share:
    """Past usage and calls in progress of a tenant or user."""

    at: float
    had: float = 0.0
    working: int = 0
    waiting: int = 0

    def now(self, now: float) -> float:
        """Return the decayed usage in seconds."""
        if now > self.at:
            self.had *= 0.5 ** ((now - self.at) / HALF_LIFE)
            self.at = now
        return self.had


@dataclass(slots=True)
class _Waiter:
    since: float
    turn: Turn


@dataclass(slots=True)
class _Level:
    """All tenants, or the users of one tenant."""

    shares: dict[str, _Share] = field(default_factory=dict)
    wanted: dict[str, float] = field(default_factory=dict)

    def of(self, name: str, now: float) -> _Share:
        found = self.shares.get(name)
        if found is None:
            if len(self.shares) >= _MOST_KNOWN:
                self._forget(now)
            found = self.shares[name] = _Share(now)
        self.wanted[name] = now
        return found

    def _forget(self, now: float) -> None:
        """Forget inactive callers."""
        for name, share in list(self.shares.items()):
            if not share.working and not share.waiting and now - self.wanted[name] > RECENT_SECONDS:
                del self.shares[name], self.wanted[name]

    def lets(self, name: str, now: float, at_once: int) -> bool:
        """Return whether a caller may start a call beside the others of this level."""
        mine = self.shares[name]
        had = mine.now(now)
        others = [
            other
            for key, other in self.shares.items()
            if other is not mine and (other.working or other.waiting or now - self.wanted[key] < RECENT_SECONDS)
        ]
        less = [other for other in others if other.now(now) < LESS * had - LEAST]
        return not less or (mine.working < at_once and not any(other.working for other in less))


class ProcessorMeter:
    """Divides elapsed processor time among the calls in progress."""

    def __init__(self, processor: Callable[[], float]) -> None:
        self._processor = processor
        self._last = processor()
        self._sum = 0.0
        self._number = 0

    def enter(self) -> float:
        """Count a call; its usage is the result of `leave` minus this result, in seconds."""
        begun = self._passed()
        self._number += 1
        return begun

    def leave(self) -> float:
        """Stop counting a call."""
        ended = self._passed()
        self._number -= 1
        return ended

    def _passed(self) -> float:
        now = self._processor()
        if self._number:
            self._sum += (now - self._last) / self._number
        self._last = now
        return self._sum


class Shares:
    """Starts calls in a fair order; `at_once` limits a tenant's concurrency while lighter tenants are active."""

    def __init__(
        self,
        at_once: int,
        most_waiting: int,
        wait_seconds: float,
        *,
        lag: Callable[[], float] = loop_lag.recent,
        clock: Callable[[], float] = time.monotonic,
        processor: Callable[[], float] = time.process_time,
    ) -> None:
        self._at_once, self._most_waiting, self._wait_seconds = at_once, most_waiting, wait_seconds
        self._lag, self._clock = lag, clock
        self._crowded_until = float("-inf")
        self._meter = ProcessorMeter(processor)
        self._tenants = _Level()
        self._users: dict[str, _Level] = {}
        self._waiters: dict[Key, deque[_Waiter]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def check(self, tenant: str) -> None:
        """Raise ResourceExhausted for a call that its tenant's queue has no place for."""
        share = self._tenants.shares.get(tenant)
        if share is not None and share.waiting >= self._most_waiting:
            raise ResourceExhausted(
                "Too many of your calls are waiting; make fewer at once, and try again.",
                reason="RATE_LIMITED",
                retry_after=1.0,
            )

    @asynccontextmanager
    async def working(self, tenant: str, user: str) -> AsyncIterator["Hold"]:
        """Wait for a turn and account for its work; raises ResourceExhausted if the queue or the wait is too long."""
        self.check(tenant)
        hold = await self._turn((tenant, user), self._wait_seconds)
        try:
            yield hold
        finally:
            hold.end()

    async def job_turn(self, tenant: str, user: str, seconds: float) -> None:
        """Wait for a job's turn, however long it takes, and count it as `seconds` of work."""
        hold = await self._turn((tenant, user), None)
        asyncio.get_running_loop().call_later(seconds, hold.end)

    async def _turn(self, key: Key, seconds: float | None) -> "Hold":
        now = self._clock()
        shares = self._shares(key, now)
        if key not in self._waiters and self._lets(key, now):
            return self._begin(shares)
        waiter = _Waiter(now, asyncio.get_running_loop().create_future())
        line = self._waiters.setdefault(key, deque())
        line.append(waiter)
        for share in shares:
            share.waiting += 1
        self._look_later()
        try:
            if not await granted(waiter.turn, seconds, lambda: self._begin(shares, counted=True).end()):
                raise ResourceExhausted(
                    "The service is busy, and callers that used it less go first; make fewer calls at once.",
                    reason="RATE_LIMITED",
                    retry_after=2.0,
                )
        finally:
            for share in shares:
                share.waiting -= 1
            with suppress(ValueError):
                line.remove(waiter)
            if not line and self._waiters.get(key) is line:
                del self._waiters[key]
        return self._begin(shares, counted=True)

    def _shares(self, key: Key, now: float) -> tuple[_Share, _Share]:
        tenant, user = key
        if len(self._users) > _MOST_KNOWN:
            self._users = {name: level for name, level in self._users.items() if name in self._tenants.shares}
        return self._tenants.of(tenant, now), self._users.setdefault(tenant, _Level()).of(user, now)

    def _begin(self, shares: tuple[_Share, _Share], *, counted: bool = False) -> "Hold":
        if not counted:
            for share in shares:
                share.working += 1
        return Hold(shares, self._clock, self._meter, self._ended)

    def _ended(self) -> None:
        if self._waiters:
            self._look()

    def _lets(self, key: Key, now: float) -> bool:
        if self._lag() > CROWDED_LAG:
            self._crowded_until = now + CROWDED_SECONDS
        if now >= self._crowded_until:
            return True
        tenant, user = key
        users = self._users[tenant]
        return self._tenants.lets(tenant, now, self._at_once) and users.lets(user, now, self._at_once)

    def _look(self) -> None:
        """Start the waiting calls that may start, lightest callers first."""
        now = self._clock()

        def had(key: Key) -> tuple[float, float]:
            tenant, user = self._shares(key, now)
            return tenant.now(now), user.now(now)

        for key in sorted(self._waiters, key=had):
            line = self._waiters[key]
            shares = self._shares(key, now)
            while line:
                starved = now - line[0].since > STARVED_SECONDS and not shares[0].working
                if not (starved or self._lets(key, now)):
                    break
                waiter = line.popleft()
                if not waiter.turn.done():
                    for share in shares:
                        share.working += 1
                    waiter.turn.set_result(None)
            if not line:
                del self._waiters[key]

    def _look_later(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._looked)

    def _looked(self) -> None:
        self._timer = None
        self._look()
        if self._waiters:
            self._look_later()


class Hold:
    """A call in progress, until it ends or reaches the counted maximum."""

    def __init__(
        self,
        shares: tuple[_Share, _Share],
        clock: Callable[[], float],
        meter: ProcessorMeter,
        ended: Callable[[], None],
    ) -> None:
        self._shares, self._clock, self._meter, self._ended = shares, clock, meter, ended
        self._began = meter.enter()
        self._over = False
        self._timer = asyncio.get_running_loop().call_later(MOST_COUNTED, self.end)

    def end(self) -> None:
        """Account for the call and let others start; idempotent."""
        if self._over:
            return
        self._over = True
        self._timer.cancel()
        now, had = self._clock(), self._meter.leave() - self._began
        for share in self._shares:
            share.now(now)
            share.had += had
            share.working -= 1
        self._ended()
