"""When a watch looks for itself: at what was not told here, seldom, and ever more seldom while nothing else happens."""

import time
from collections.abc import Callable

GROWTH, MOST_TIMES = 2.0, 8.0
"""Pauses grow so, up to so many times the least one, where all that happens is told in this process."""


class Due:
    """Of one watch: whether it is time to look."""

    def __init__(self, least: float, *, alone: bool, clock: Callable[[], float]) -> None:
        self._least = least
        self._alone = alone
        self._clock = clock
        self._pause = least
        self._looked = float("-inf")

    def look(self, moved_at: float, works_here: bool = False) -> bool:
        """Tell whether to look now, and count on it; at once after a move of which it is not known where it led.

        Who works on a document tells of it; other replicas, if there are any, may change it meanwhile all the same.
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
        """Have the next question answered with yes."""
        self._looked = float("-inf")


class Seldom:
    """How often the watches of a process look: every `least` seconds, more seldom where it is `alone` with its jobs."""

    def __init__(self, least: float, *, alone: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._least = least
        self._alone = alone
        self._clock = clock

    def begin(self) -> Due:
        """Return when a new watch looks: first at once."""
        return Due(self._least, alone=self._alone, clock=self._clock)
