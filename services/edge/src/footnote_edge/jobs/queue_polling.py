"""How often the queues of jobs are looked at: often while jobs come and begin, seldom otherwise.

A look costs a few statements. Twenty a second at each of three queues took an idle deployment more of the processor
than all else that it does.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

from footnote_kit.logs import get_logger
from footnote_kit.periodic import PeriodicTasks

BUSY_SECONDS = 1.0
"""How long a queue is looked at often after the last job that was taken on or begun.

One that waits behind others that take longer begins a seldom look later than it could.
"""
_CHECK_SECONDS = 1.0

_log = get_logger(__name__)


class QueuePolling:
    """The pace of one queue; `change` sets the seconds between two looks."""

    def __init__(
        self,
        name: str,
        change: Callable[[float], Awaitable[None]],
        *,
        busy: float,
        idle: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin busy, as the queue does."""
        self._name = name
        self._change = change
        self._busy, self._idle = busy, idle
        self._clock = clock
        self._until = clock() + BUSY_SECONDS
        self._seconds = busy
        self._changing: asyncio.Task[None] | None = None
        self._rounds = PeriodicTasks(f"pace-{name}", self.look, _CHECK_SECONDS, service="edge", at_once=False)

    async def start(self) -> None:
        """Begin to look for idleness."""
        await self._rounds.start()

    async def close(self) -> None:
        """Change nothing any more."""
        await self._rounds.stop()
        if self._changing is not None:
            self._changing.cancel()
            await asyncio.gather(self._changing, return_exceptions=True)

    def hurry(self) -> None:
        """Note that a job was taken on or begun: those after it shall not wait."""
        self._until = self._clock() + BUSY_SECONDS
        if self._seconds != self._busy and (self._changing is None or self._changing.done()):
            self._changing = asyncio.create_task(self._set(self._busy))

    async def look(self) -> None:
        """Take the time where there was nothing to do lately."""
        resting = self._clock() >= self._until
        if resting and self._seconds == self._busy and (self._changing is None or self._changing.done()):
            await self._set(self._idle)
            if self._clock() < self._until:  # a job came while that was written
                await self._set(self._busy)

    async def _set(self, seconds: float) -> None:
        try:
            await self._change(seconds)
        except Exception as error:  # the pace of before is as good; the next job or round tries again
            _log.warning("pace_not_changed", queue=self._name, error=type(error).__name__)
        else:
            self._seconds = seconds
