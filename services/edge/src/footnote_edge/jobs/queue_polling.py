"""Adaptive polling of job queues: fast while jobs arrive and start, slow when idle.

A poll costs a few statements. Twenty a second at each of three queues used more processor time in an idle deployment
than all its other work.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

from footnote_kit.logs import get_logger
from footnote_kit.periodic import PeriodicTasks

BUSY_SECONDS = 1.0
"""Seconds of fast polling after the last job was enqueued or started.

A job queued behind longer ones may start up to one slow interval late.
"""
_CHECK_SECONDS = 1.0

_log = get_logger(__name__)


class QueuePolling:
    """The polling interval of one queue; `change` sets it in seconds."""

    def __init__(
        self,
        name: str,
        change: Callable[[float], Awaitable[None]],
        *,
        busy: float,
        idle: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start with the fast interval, as the queue does."""
        self._name = name
        self._change = change
        self._busy, self._idle = busy, idle
        self._clock = clock
        self._until = clock() + BUSY_SECONDS
        self._seconds = busy
        self._changing: asyncio.Task[None] | None = None
        self._rounds = PeriodicTasks(
            f"pace-{name}", self.slow_down_if_idle, _CHECK_SECONDS, service="edge", at_once=False
        )

    async def start(self) -> None:
        """Start to check for idleness."""
        await self._rounds.start()

    async def close(self) -> None:
        """Stop all changes."""
        await self._rounds.stop()
        if self._changing is not None:
            self._changing.cancel()
            await asyncio.gather(self._changing, return_exceptions=True)

    def hurry(self) -> None:
        """Poll fast, as a job was enqueued or started and more may follow."""
        self._until = self._clock() + BUSY_SECONDS
        if self._seconds != self._busy and (self._changing is None or self._changing.done()):
            self._changing = asyncio.create_task(self._set(self._busy))

    async def slow_down_if_idle(self) -> None:
        """Poll slowly if there was no recent work."""
        resting = self._clock() >= self._until
        if resting and self._seconds == self._busy and (self._changing is None or self._changing.done()):
            await self._set(self._idle)
            if self._clock() < self._until:  # a job arrived during the write
                await self._set(self._busy)

    async def _set(self, seconds: float) -> None:
        try:
            await self._change(seconds)
        except Exception as error:  # keep the old interval; the next job or round tries again
            _log.warning("pace_not_changed", queue=self._name, error=type(error).__name__)
        else:
            self._seconds = seconds
