"""Places for documents in work: so many at once, and tenants that wait take turns, however many each has waiting."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turns:
    """Places that are given to tenants in turn, within a tenant in the order of asking."""

    def __init__(self, places: int) -> None:
        self._places = self._free = places
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @property
    def idle(self) -> bool:
        """Whether all places are free."""
        return self._free == self._places

    def waiting(self, tenant: str) -> int:
        """Return how many of a tenant wait."""
        return len(self._waiting.get(tenant, ()))

    @asynccontextmanager
    async def place(self, tenant: str) -> AsyncIterator[None]:
        """Hold a place for the time of the block."""
        if self._free:
            self._free -= 1
        else:
            await self._wait(tenant)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, tenant: str) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line = self._waiting.setdefault(tenant, deque())
        line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._pass_on()  # the place came in the same moment
            else:
                line.remove(turn)
                if not line and self._waiting.get(tenant) is line:
                    del self._waiting[tenant]
            raise

    def _pass_on(self) -> None:
        """Give a place to the first of the tenant whose turn it is; to nobody where nobody waits."""
        while self._waiting:
            tenant, line = self._waiting.popitem(last=False)
            turn = line.popleft()
            if line:
                self._waiting[tenant] = line  # behind all others
            if not turn.cancelled():
                turn.set_result(None)
                return
        self._free += 1
