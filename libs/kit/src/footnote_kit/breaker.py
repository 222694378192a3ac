"""Circuit breakers: after several failures in a row, calls to a dependency stop for a while."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from footnote_kit.errors import DeadlineExceeded, FootnoteError, Unavailable
from footnote_kit.logs import get_logger

_log = get_logger("footnote.breaker")
_NEVER = float("-inf")
T = TypeVar("T")


class Breaker:
    """Counts failures in a row; from `failures` on, each failure opens the breaker for `open_seconds`.

    It does not run calls: the caller checks `rest` first and reports the outcome. When the time is over, calls go
    through again, and the first failure reopens the breaker.
    """

    def __init__(self, failures: int, open_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = failures
        self._open_seconds = open_seconds
        self._clock = clock
        self._open_until = _NEVER
        self.failures = 0
        """The current number of failures in a row."""

    @property
    def rest(self) -> float:
        """Seconds until the breaker closes; 0 when it is not open."""
        return max(0.0, self._open_until - self._clock())

    @property
    def tripped(self) -> bool:
        """Whether the breaker opened and no call has succeeded since; it may be closed by now."""
        return self.failures >= self._limit

    def failed(self) -> bool:
        """Count a failure; return whether it reaches the limit, that is, opens the breaker first in this row."""
        self.failures += 1
        if self.failures >= self._limit:
            self._open_until = self._clock() + self._open_seconds
        return self.failures == self._limit

    def answered(self) -> bool:
        """Reset the count after a success; return whether the breaker had tripped."""
        tripped = self.tripped
        self.failures, self._open_until = 0, _NEVER
        return tripped


class Guard:
    """Runs calls under a circuit breaker and a deadline; after the pause a single trial call goes through."""

    def __init__(
        self, name: str, failures: int, open_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._name = name
        self._breaker = Breaker(failures, open_seconds, clock)
        self._trying = False

    @property
    def open(self) -> bool:
        """Whether calls are refused at this moment."""
        return self._breaker.tripped and (self._breaker.rest > 0 or self._trying)

    async def call(self, function: Callable[[], Awaitable[T]], timeout: float) -> T:
        """Run a call under a deadline. Unavailable and DeadlineExceeded count as failures of the dependency."""
        if self.open:
            raise Unavailable(f"{self._name} failed {self._breaker.failures} times in a row; calls to it are paused")
        trial = self._trying = self._breaker.tripped
        try:
            async with asyncio.timeout(timeout):
                result = await function()
        except TimeoutError:
            self._failed()
            raise DeadlineExceeded(f"{self._name} did not answer within {timeout:g} s") from None
        except (Unavailable, DeadlineExceeded):
            self._failed()
            raise
        except FootnoteError:
            self._answered()
            raise
        finally:
            if trial:
                self._trying = False
        self._answered()
        return result

    def _failed(self) -> None:
        if self._breaker.failed():
            _log.warning("breaker_opened", dependency=self._name, failures=self._breaker.failures)

    def _answered(self) -> None:
        if self._breaker.answered():
            _log.warning("breaker_closed", dependency=self._name)
