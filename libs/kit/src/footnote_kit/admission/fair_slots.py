"""Fair concurrency slots: tenants take turns, then the users of a tenant, and one tenant cannot hold all slots."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

Turn = asyncio.Future[None]
"""A place in a queue: a result grants it, an exception refuses it."""


def is_granted(turn: Turn) -> bool:
    """Return whether a place was granted."""
    return turn.done() and not turn.cancelled() and turn.exception() is None


async def granted(turn: Turn, seconds: float | None, give_back: Callable[[], None]) -> bool:
    """Wait until a place is granted; return False after the timeout, and raise a refusal's exception.

    A place granted at the same time as the timeout counts; one granted during a cancellation is returned.
    """
    try:
        async with asyncio.timeout(seconds):
            await turn
    except TimeoutError:
        if turn.done() and not turn.cancelled():
            turn.result()
            return True
        return False
    except asyncio.CancelledError:
        if is_granted(turn):
            give_back()
        raise
    return True


SPARE = 1
"""Extra slots beyond the usual ones, each for a tenant that holds none."""

Line = OrderedDict[str, deque[Turn]]
"""One tenant's waiters by user; the user whose turn is next comes first."""


class FairSlots:
    """Grants `size` slots, and `spare` more for tenants without a slot.

    Running work is never interrupted, so the first tenant could hold every slot until its work ends. The spare slots
    shorten the next tenant's wait. A tenant alone can still use all `size` slots.

    A free slot goes to the tenant that holds the fewest. Tenants with equally many take turns, and so do the users of
    a tenant. One user's waiters are served in order.
    """

    def __init__(self, size: int, spare: int = SPARE) -> None:
        self._size, self._spare = size, spare
        self._used = 0
        self._held: Counter[str] = Counter()
        self._held_by_user: Counter[tuple[str, str]] = Counter()
        self._lines: OrderedDict[str, Line] = OrderedDict()

    @property
    def idle(self) -> bool:
        """Whether all slots are free."""
        return not self._used

    def waiting(self, tenant: str, user: str | None = None) -> int:
        """Return the number of a tenant's waiters, or of one of its users'."""
        line = self._lines.get(tenant, Line())
        return sum(len(turns) for name, turns in line.items() if user in (None, name))

    @asynccontextmanager
    async def slot(self, tenant: str, user: str = "") -> AsyncIterator[None]:
        """Wait for a slot and hold it for the length of the block."""
        await self._wait(tenant, user)
        try:
            yield
        finally:
            self._release(tenant, user)

    async def _wait(self, tenant: str, user: str) -> None:
        turn: Turn = asyncio.get_running_loop().create_future()
        self._lines.setdefault(tenant, OrderedDict()).setdefault(user, deque()).append(turn)
        self._grant()
        try:
            await granted(turn, None, lambda: self._release(tenant, user))
        except asyncio.CancelledError:
            self._leave(tenant, user, turn)
            raise

    def _leave(self, tenant: str, user: str, turn: Turn) -> None:
        """Remove an abandoned waiter from the queue, if it is still there."""
        turns = self._lines.get(tenant, Line()).get(user)
        if turns is not None and turn in turns:
            turns.remove(turn)
            self._forget_empty(tenant, user)

    def _forget_empty(self, tenant: str, user: str) -> None:
        line = self._lines[tenant]
        if not line[user]:
            del line[user]
        if not line:
            del self._lines[tenant]

    def _release(self, tenant: str, user: str) -> None:
        self._used -= 1
        self._held[tenant] -= 1
        self._held_by_user[tenant, user] -= 1
        if not self._held[tenant]:
            del self._held[tenant]
        if not self._held_by_user[tenant, user]:
            del self._held_by_user[tenant, user]
        self._grant()

    def _grant(self) -> None:
        """Give the free slots to the next waiters."""
        while (tenant := self._next_tenant()) is not None:
            line = self._lines[tenant]
            user = min(line, key=lambda name: self._held_by_user[tenant, name])
            turn = line[user].popleft()
            if not turn.cancelled():
                self._used += 1
                self._held[tenant] += 1
                self._held_by_user[tenant, user] += 1
                turn.set_result(None)
                self._lines.move_to_end(tenant)
                line.move_to_end(user)
            self._forget_empty(tenant, user)

    def _next_tenant(self) -> str | None:
        """Return the tenant that gets the next slot; None when no slot is free for any waiting tenant."""
        if not self._lines or self._used >= self._size + self._spare:
            return None
        tenant = min(self._lines, key=lambda name: self._held[name])
        return tenant if self._used < self._size or not self._held[tenant] else None
