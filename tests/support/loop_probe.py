"""How long anything held up the event loop of a test."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Held:
    """What a probe saw."""

    longest: float = 0.0
    """CPU seconds of the longest turn of the event loop: the machine's other work does not count."""
    what: str = ""
    """The callback of that turn."""
    lag: float = 0.0
    """Seconds that a timer came late at most: turns, threads that held the interpreter, and the machine."""
    lags: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        return f"longest turn {1000 * self.longest:.1f} ms ({self.what[:120]}), latest timer {1000 * self.lag:.1f} ms"


@asynccontextmanager
async def loop_probe(every: float = 0.005) -> AsyncIterator[Held]:
    """Measure the running event loop inside the block."""
    held = Held()
    mine = threading.get_ident()
    original: Any = asyncio.events.Handle._run  # type: ignore[attr-defined]

    def timed(handle: Any) -> None:
        before = time.thread_time()
        original(handle)
        spent = time.thread_time() - before
        if spent > held.longest and threading.get_ident() == mine:
            held.longest, held.what = spent, repr(handle)

    async def sample() -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + every
            await asyncio.sleep(every)
            held.lags.append(loop.time() - due)
            held.lag = max(held.lag, held.lags[-1])

    asyncio.events.Handle._run = timed  # type: ignore[attr-defined]
    sampler = asyncio.create_task(sample())
    try:
        await asyncio.sleep(0)
        yield held
    finally:
        sampler.cancel()
        asyncio.events.Handle._run = original  # type: ignore[attr-defined]
