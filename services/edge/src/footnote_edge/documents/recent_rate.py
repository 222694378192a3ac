"""The rate of work over the last minute, from counters that are read now and then."""

from collections import deque

WINDOW_SECONDS = 60.0
LEAST_SECONDS = 10.0
"""Shorter observations give no rate: one large document or one pause would decide it."""


class RecentRate:
    """Adds up what counters gained while work waited; several processes may each have a counter, read in turn."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[float, int]] = {}
        self._gains: deque[tuple[float, int]] = deque()

    def note(self, now: float, count: int, *, waiting: bool, counter: str = "") -> None:
        """Note a counter's value at `now`, in seconds of the monotonic clock; a fall in value is no work.

        The minute begins anew when nothing waits: an idle time must not lower the rate of the work after it.
        """
        while self._gains and self._gains[0][0] < now - WINDOW_SECONDS:
            self._gains.popleft()
        self._last = {name: one for name, one in self._last.items() if one[0] >= now - WINDOW_SECONDS}
        gained = max(0, count - self._last[counter][1]) if counter in self._last else 0
        self._last[counter] = (now, count)
        if not waiting:
            self._gains.clear()
        self._gains.append((now, gained))

    def per_second(self) -> float | None:
        """Return the rate, or None if work has not waited for long enough to know it."""
        if not self._gains:
            return None
        first, last = self._gains[0][0], self._gains[-1][0]
        if last - first < LEAST_SECONDS:
            return None
        # The first gain came before the time that is measured.
        return (sum(gained for _, gained in self._gains) - self._gains[0][1]) / (last - first)


def remaining(waiting: int | None, rate: float | None) -> float | None:
    """Return the seconds until nothing waits, if the rate stays; None if that is unknown."""
    return waiting / rate if waiting and rate else None
