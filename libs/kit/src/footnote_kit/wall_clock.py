"""Notices that the machine's clock was set, and keeps a step ahead from deleting what is not old."""

import time
from datetime import UTC, datetime

from footnote_kit.logs import get_logger

STEP = 5.0
"""Seconds by which the clock must have been set to count as set: less is the slow correction of a running clock."""

DOUBT = 3600.0
"""Seconds for which a clock must have kept a step ahead before anything is deleted by it."""

_log = get_logger("footnote.kit.wall_clock")


def offset() -> float:
    """Return Unix time less monotonic time in seconds; it stays as it is until the clock is set."""
    return time.time() - time.monotonic()


def was_set_since(earlier: float) -> bool:
    """Return whether the clock was set after `offset` returned `earlier`; waking from suspension counts too."""
    return abs(offset() - earlier) > STEP


class DeletionClock:
    """The time by which things become old enough to be deleted for good.

    A clock that is set ahead by mistake would make everything old, and setting it back brings nothing back. So a time
    ahead of what has passed is believed only after the clock has kept it for an hour. A clock set back is believed at
    once. What a process finds at its start, it believes: it knows nothing else.
    """

    def __init__(self) -> None:
        self._believed = self._seen = _offset_of_boot()
        self._since = _since_boot()

    def now(self) -> float:
        """Return the current Unix time in seconds, or an earlier one while the clock's step ahead is in doubt."""
        offset, passed = _offset_of_boot(), _since_boot()
        if abs(offset - self._seen) > STEP:
            self._since = passed
            if offset > self._believed + STEP:
                _log.warning("clock_set_ahead", seconds=round(offset - self._believed), deletions_wait_seconds=DOUBT)
        self._seen = offset
        if offset <= self._believed + STEP or passed - self._since >= DOUBT:
            self._believed = offset
        return passed + self._believed


def _since_boot() -> float:
    """Return seconds since the machine was started, suspension included where the system counts it."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


def _offset_of_boot() -> float:
    return time.time() - _since_boot()


_deletions = DeletionClock()


def deletion_time() -> float:
    """Return the Unix time in seconds to compare ages with before a deletion for good; see DeletionClock."""
    return _deletions.now()


def deletion_datetime() -> datetime:
    """Return `deletion_time` in UTC."""
    return datetime.fromtimestamp(deletion_time(), UTC)
