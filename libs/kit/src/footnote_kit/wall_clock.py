"""Unix time on a machine whose clock may be set at any moment."""

import time

STEP = 5.0
"""Seconds by which the clock must have been set to count as set: less is the slow correction of a running clock."""


class WallClock:
    """Notices between two calls that the clock was set, by comparing it with one that only runs forward."""

    __slots__ = ("_before", "_keep", "_offset", "_until")

    def __init__(self, keep: float) -> None:
        """Remember the clock as it ran for `keep` seconds after it was set."""
        self._keep = keep
        self._offset: float | None = None
        self._before, self._until = 0.0, 0.0

    def moments(self) -> tuple[float, ...]:
        """Return the Unix time; while a clock that was set is remembered, also the time by the clock as it ran."""
        now, steady = time.time(), time.monotonic()
        offset = now - steady
        if self._offset is not None and abs(offset - self._offset) > STEP:
            self._before, self._until = self._offset, steady + self._keep
        self._offset = offset
        return (now, steady + self._before) if steady < self._until else (now,)
