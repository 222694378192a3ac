"""Adaptive polling of watches: the interval grows while nothing changes."""

import time
from collections.abc import Callable

GROWTH, MOST_TIMES = 2.0, 8.0
"""Growth factor of the interval, and its maximum as a multiple of the shortest, where all changes are local."""


class PollTimer:
    """The polling timer of one watch."""

    def __init__(self, least: float, *, alone: bool, clock: Callable[[], float]) -> None:
        self._least = least
        self._alone = alone
        self._clock = clock
        self._pause = least
        self._looked = float("-inf")

    def look(self, moved_at: float, works_here: bool = False) -> bool:
        """Tell whether to poll now, and record the poll; at once after a change whose result is not known here.

        Work in this process notifies its watches, so `works_here` allows longer intervals. Other replicas may still
        change the document.
        """
        now = self._clock()
        if moved_at >= self._looked:
            self._pause = self._least
        elif now < self._looked + (self._pause if self._alone or works_here else self._least):
            return False
        else:
            self._pause = min(self._pause * GROWTH, self._least * MOST_TIMES)
        self._looked = now
        return True

    def now(self) -> None:
        """Make the next `look` return true."""
        self._looked = float("-inf")


class AdaptivePolling:
    """Makes polling timers: every `least` seconds, at longer intervals if this process is `alone` with its jobs."""

    def __init__(self, least: float, *, alone: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._least = least
        self._alone = alone
        self._clock = clock

    def begin(self) -> PollTimer:
        """Return the timer of a new watch; its first poll is due at once."""
        return PollTimer(self._least, alone=self._alone, clock=self._clock)
