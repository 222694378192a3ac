"""Retry delays: exponential backoff with jitter, and the delay that a server asks for."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from time import time

_MOST_DOUBLINGS = 62  # the longest pause is reached long before, and a float overflows at 1023
_LONGEST_HEADER = 100
_LATER = 0.1  # share of the requested delay
_ASKED_LEAST = 0.1  # seconds, the least base of that share


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays in seconds that double from `first` to `longest`, with jitter down to a share of `least`.

    The jitter keeps callers that failed together from returning together.
    """

    first: float
    longest: float
    least: float = 0.5

    def pause(self, attempt: int, asked: float = 0.0) -> float:
        """Return the seconds to wait after the `attempt`th failure in a row, counted from 1.

        `asked` is the least delay before jitter, and `longest` caps it too.
        """
        grown = self.first * 2.0 ** min(attempt - 1, _MOST_DOUBLINGS)
        return min(self.longest, max(grown, asked)) * random.uniform(self.least, 1.0)


def no_sooner(asked: float) -> float:
    """Return the seconds that a server asked for, plus a random extra of up to a tenth to spread callers."""
    return asked + random.uniform(0.0, _LATER) * max(asked, _ASKED_LEAST)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds, 0 or more, that response headers ask a client to wait; None when unreadable or absent.

    `Retry-After` is a number of seconds or an HTTP date; the finer `Retry-After-Ms` takes precedence. The mapping is
    an HTTP client's case-insensitive headers, or has lower-case names.
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
        # HTTP dates are in GMT; a date without a zone means GMT too.
        return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - time())
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
