"""Circuit breakers: what failed several times in a row is left alone for a while."""

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
    """Counts failures in a row; from `failures` on, each one opens it for `open_seconds`.

    It decides nothing: whoever calls asks `rest` before, and tells it of the end. Once its time is over calls go
    through again, and the first failure opens it anew.
    """

    def __init__(self, failures: int, open_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = failures
        self._open_seconds = open_seconds
        self._clock = clock
        self._open_until = _NEVER
        self.failures = 0
        """Failures in a row until now."""

    @property
    def rest(self) -> float:
        """Seconds for which it is still open, 0 when it is not."""
        return max(0.0, self._open_until - self._clock())

    @property
    def tripped(self) -> bool:
        """Whether it was opened and nothing has succeeded since; it may be open no longer."""
        return self.failures >= self._limit

    def failed(self) -> bool:
        """Count a failure; return whether it is the one that opens the breaker for the first time in a row."""
        self.failures += 1
        if self.failures >= self._limit:
            self._open_until = self._clock() + self._open_seconds
        return self.failures == self._limit

    def answered(self) -> bool:
        """Begin the count anew, the dependency has answered; return whether it was given up before."""
        tripped = self.tripped
        self.failures, self._open_until = 0, _NEVER
        return tripped


class Guard:
    """Runs the calls to a dependency under a breaker and a deadline; once its rest is over, a single call tries it."""

    def __init__(
        self, name: str, failures: int, open_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._name = name
        self._breaker = Breaker(failures, open_seconds, clock)
        self._trying = False

    @property
    def open(self) -> bool:
        """Whether calls are refused just now."""
        return self._breaker.tripped and (self._breaker.rest > 0 or self._trying)

    async def call(self, function: Callable[[], Awaitable[T]], timeout: float) -> T:
        """Run a call under a deadline. Unavailable and DeadlineExceeded count as failures of the dependency."""
        if self.open:
            raise Unavailable(
                f"{self._name} failed {self._breaker.failures} times in a row and is left alone for a while"
            )
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
