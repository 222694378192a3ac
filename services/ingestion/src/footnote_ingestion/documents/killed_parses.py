"""Which files' parsers the system killed, how often, and when each is tried again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from cachetools import LRUCache

MOST_RETRIES, WINDOW_SECONDS = 5, 3600.0
"""Retries of a file in a row, and the seconds in which they count."""
PAUSES = (10.0, 30.0, 90.0, 270.0, 810.0)
"""Seconds before each retry: the memory that was lacking is free by then, if other work took it."""
_MOST_FILES = 4096


class KilledParses:
    """Counts the kills of each file's parser in this process, by the key of the file."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kills: LRUCache[str, list[float]] = LRUCache(_MOST_FILES)
        self._alone = asyncio.Lock()

    def note_kill(self, key: str) -> float | None:
        """Count a kill and return the seconds until the next attempt; None when the attempts are used up."""
        now = self._clock()
        kills = [kill for kill in self._kills.get(key, []) if now - kill < WINDOW_SECONDS] + [now]
        if len(kills) > MOST_RETRIES:
            self.forget(key)
            return None
        self._kills[key] = kills
        return PAUSES[len(kills) - 1]

    def counts(self, key: str) -> bool:
        """Return whether a file's parser was killed and the file has not been parsed since."""
        return key in self._kills

    def forget(self, key: str) -> None:
        """Forget a file: it was parsed, has failed, or is given up."""
        self._kills.pop(key, None)

    @asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        """Let one file at a time be parsed of those whose parser was killed; others do not wait."""
        if key not in self._kills:
            yield
            return
        async with self._alone:
            yield
