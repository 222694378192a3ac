"""Notices that the machine's clock was set."""

import time

STEP = 5.0
"""Seconds by which the clock must have been set to count as set: less is the slow correction of a running clock."""


def offset() -> float:
    """Return Unix time less monotonic time in seconds; it stays as it is until the clock is set."""
    return time.time() - time.monotonic()


def was_set_since(earlier: float) -> bool:
    """Return whether the clock was set after `offset` returned `earlier`; waking from suspension counts too."""
    return abs(offset() - earlier) > STEP
