"""How a call's time grows with its input, measured so that a busy machine does not count."""

from __future__ import annotations

import gc
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import inf
from types import FrameType

GROWTH = 2.5
"""The most that a doubled input may take, as a multiple."""
FLOOR = 0.003
"""Seconds below which growth is ignored: work that quick at the largest size blocks no caller."""
_TRIES = 3
_CLEAR = 3.5
_REFERENCE = 0.001
"""Seconds of CPU time that `_reference` took on the machine on which bounds per thousand characters were chosen."""
_HOPELESS = 6.0
"""Growth at which one more doubling may take for ever, unless the last was quick: a cube's is 8."""


class TooSlow(Exception):
    """Stopped by the timer."""


@dataclass(frozen=True, slots=True)
class Growth:
    """What one input did to one call."""

    what: str
    operation: str
    input: str
    size: int
    """Characters of the doubled input."""
    seconds: float
    """CPU time for the doubled input, less where the machine is slower than that on which bounds were chosen."""
    ratio: float
    """As a multiple of the time for half of it; infinite when it had to be stopped at every size."""

    @property
    def per_kilobyte(self) -> float:
        """Milliseconds for a thousand characters."""
        return 1e6 * self.seconds / self.size

    def fails(self, most_per_kilobyte: float) -> bool:
        """Whether it grows too fast, or is too slow however it grows."""
        return self.seconds > FLOOR and (self.ratio > GROWTH or self.per_kilobyte > most_per_kilobyte)

    def row(self) -> dict[str, object]:
        """Return it for the table."""
        return {**asdict(self), "ms_per_1000": round(self.per_kilobyte, 3)}


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise TooSlow after so much CPU time; `re` looks for signals while it matches."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    collecting = gc.isenabled()
    gc.disable()  # what runs while memory is collected would swallow the exception
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        if collecting:
            gc.enable()


def once(call: Callable[[str], object], text: str, limit: float) -> float:
    """Return the CPU seconds of one call; infinite when it takes longer than `limit`."""
    try:
        with _limited(limit):
            start = time.thread_time()
            try:
                call(text)
            except TooSlow:
                raise
            except Exception:  # a refusal is an answer; that it comes quickly is all we ask
                pass
            return time.thread_time() - start
    except TooSlow:
        return inf


def best(call: Callable[[str], object], text: str, limit: float, tries: int = _TRIES) -> float:
    """Return the least of several times: others on the machine can only make it longer."""
    return min(once(call, text, limit) for _ in range(tries))


def rising(call: Callable[[str], object], make: Callable[[int], str], sizes: Sequence[int], limit: float) -> float:
    """Return the time at the last size, or at the first that takes longer than `limit`.

    `re` looks for signals only while it backtracks in one place, so a search that is slow in many cannot be stopped;
    small sizes first, and none is met that takes for ever.
    """
    seconds = 0.0
    for size in sizes:
        seconds = once(call, make(size), limit)
        if seconds > limit:
            break
    return seconds


def _reference() -> None:
    words: dict[str, int] = {}
    for number in range(200):
        for word in re.findall(r"\w+", f"The Polaris tracker {number} weighs 12.8 kg, if the battery is registered."):
            words[word.casefold()] = words.get(word, 0) + len(word)


def slowness() -> float:
    """Return how many times slower than that of the bounds this machine is at present, at least 1."""
    return max(1.0, best(lambda _: _reference(), "", 1.0, 5) / _REFERENCE)


def growth(
    what: str, operation: str, call: Callable[[str], object], name: str, make: Callable[[int], str], size: int
) -> Growth:
    """Measure the last doubling up to `size`, or up to where the call takes too long."""
    limit = 0.1
    length = min(32, size)
    # Twice, because at its first call a function may load what it needs.
    while length < size and any(once(call, make(length), limit) <= limit for _ in range(2)):
        length *= 2
    long, half = make(length), make(length // 2)
    seconds = before = inf
    for look in range(3):
        # One that looks bad is looked at again: a neighbour that wakes between the two makes any ratio. The two sizes
        # take turns, so that a busy machine slows both down alike, and each keeps the least of all its times.
        for _ in range(_TRIES if look == 0 or seconds < limit else 1):
            seconds = min(seconds, once(call, long, 1.0))
            before = min(before, once(call, half, 1.0))
        ratio = seconds / max(before, 1e-7) if seconds < inf else inf
        if ratio <= GROWTH or seconds <= FLOOR or seconds == inf or (look and seconds > limit and ratio > _CLEAR):
            break
    # A square goes on growing four-fold. Memory that no longer fits a cache makes one doubling dear, and no more; so
    # does a text that is long enough to be cut for the first time, or a processor that was twice as quick while the
    # half was measured, however clear the ratio looked.
    while ratio > GROWTH and seconds < (10 * limit if ratio < _HOPELESS else limit):
        length *= 2
        before, seconds = seconds, best(call, make(length), 5.0, 2)
        ratio = min(ratio, seconds / before)
    if seconds == inf:
        seconds = 1.0
    elif seconds > FLOOR:
        seconds /= slowness()
    return Growth(what, operation, name, len(make(length)), seconds, ratio)
