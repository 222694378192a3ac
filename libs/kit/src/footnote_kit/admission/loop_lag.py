"""Measures event loop lag: how late the loop runs its timers because something blocked it.

Lag also grows when other processes take the processor. The processor time of one iteration does not: it tells how much
the loop itself has to do.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from footnote_kit.telemetry import histogram, observe

EVERY = 0.1
WINDOW = 60.0
"""Length in seconds of the window that `worst` covers; it may be a sixth longer."""
_PARTS = 6
_WEIGHT = 0.3
_watched: dict[asyncio.AbstractEventLoop, LoopLag] = {}


class LoopLag:
    """Measures one event loop ten times a second while at least one service uses it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.wanted = 0
        self.average = 0.0
        """Seconds, an exponential moving average; the last half second weighs most."""
        self.iteration = 0.0
        """Processor seconds of one iteration, an exponential moving average of one iteration in each measurement."""
        self.worst = 0.0
        """Seconds, the longest of the last minute."""
        self.listeners: list[Callable[[LoopLag], None]] = []
        """Callbacks, run on the loop after each measurement."""
        self._lags = histogram("footnote.event_loop.lag")
        self._parts = deque([0.0], _PARTS + 1)
        self._turn = loop.time() + WINDOW / _PARTS
        self._due = loop.time() + EVERY
        self._timer = loop.call_at(self._due, self._look)

    def _look(self) -> None:
        now = self._loop.time()
        late = max(0.0, now - self._due)
        self._lags.record(late)
        self.average += _WEIGHT * (late - self.average)
        while now >= self._turn:
            self._parts.append(0.0)
            self._turn += WINDOW / _PARTS
        self._parts[-1] = max(self._parts[-1], late)
        self.worst = max(self._parts)
        for notify in self.listeners:
            notify(self)
        self._due = now + EVERY
        self._timer = self._loop.call_at(self._due, self._look)
        self._loop.call_soon(self._came_round, time.thread_time())

    def _came_round(self, began: float) -> None:
        self.iteration += _WEIGHT * (time.thread_time() - began - self.iteration)

    def end(self) -> None:
        """Stop measuring."""
        self._timer.cancel()


def watch() -> LoopLag:
    """Start to measure the running loop, or share the measurement that other services on it already started."""
    loop = asyncio.get_running_loop()
    if loop not in _watched:
        _watched[loop] = LoopLag(loop)
        observe("footnote.event_loop.worst", lambda: max((one.worst for one in list(_watched.values())), default=0.0))
    _watched[loop].wanted += 1
    return _watched[loop]


def recent() -> float:
    """Return the recent average lag of the running loop in seconds; 0 when it is not measured."""
    lag = _watched.get(asyncio.get_running_loop())
    return lag.average if lag is not None else 0.0


def iteration() -> float:
    """Return the recent average processor time of one iteration of the running loop in seconds; 0 when unmeasured."""
    lag = _watched.get(asyncio.get_running_loop())
    return lag.iteration if lag is not None else 0.0


def unwatch() -> None:
    """Release what `watch` returned; the last release stops the measurement."""
    loop = asyncio.get_running_loop()
    lag = _watched.get(loop)
    if lag is None:
        return
    lag.wanted -= 1
    if lag.wanted <= 0:
        lag.end()
        del _watched[loop]
