"""How long to wait before what failed is tried again: pauses that grow, and what a server asks for."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from time import time

_MOST_DOUBLINGS = 62  # beyond it the longest pause is reached whatever the first was, and a float ends at 1023
_LONGEST_HEADER = 100
_LATER = 0.1  # of what was asked for
_ASKED_LEAST = 0.1  # seconds that this share is of at least


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses in seconds that double from `first` to `longest`, each shortened by chance down to a share of `least`.

    By chance, so that callers who failed together do not come back together.
    """

    first: float
    longest: float
    least: float = 0.5

    def pause(self, attempt: int, asked: float = 0.0) -> float:
        """Return the seconds to wait after the `attempt`th failure in a row, counted from 1.

        `asked` lifts a pause that would be shorter, up to `longest`.
        """
        grown = self.first * 2.0 ** min(attempt - 1, _MOST_DOUBLINGS)
        return min(self.longest, max(grown, asked)) * random.uniform(self.least, 1.0)


def no_sooner(asked: float) -> float:
    """Return a pause of the seconds that a server asked for, or a little more, each caller differently."""
    return asked + random.uniform(0.0, _LATER) * max(asked, _ASKED_LEAST)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds, 0 or more, that a response's headers ask to wait; None when they say nothing readable.

    `Retry-After` is a number of seconds or an HTTP date; the finer `Retry-After-Ms` goes before it. The mapping is one
    of an HTTP client, whose names have no case, or has small letters.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "")[:_LONGEST_HEADER]
    seconds = _number(value)
    return seconds if seconds is not None else _until(value)


def _number(value: str) -> float | None:
    try:
        number = float(value[:_LONGEST_HEADER])
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _until(date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
        # HTTP dates are of Greenwich; one that names no zone means it, too.
        return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - time())
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
