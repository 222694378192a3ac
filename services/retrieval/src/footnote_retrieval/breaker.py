"""A circuit breaker: what failed several times in a row is left alone for a while."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from footnote_kit.errors import DeadlineExceeded, FootnoteError, Unavailable
from footnote_kit.logs import get_logger

_log = get_logger("footnote.retrieval.breaker")
T = TypeVar("T")


class Breaker:
    """Guards the calls to a dependency: after `failures` in a row it refuses for `open_seconds`, then lets one try."""

    def __init__(
        self, name: str, failures: int, open_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._name = name
        self._limit = failures
        self._open_seconds = open_seconds
        self._clock = clock
        self._failures = 0
        self._open_until = 0.0
        self._trying = False

    @property
    def open(self) -> bool:
        """Whether calls are refused just now."""
        return self._failures >= self._limit and (self._clock() < self._open_until or self._trying)

    async def call(self, function: Callable[[], Awaitable[T]], timeout: float) -> T:
        """Run a call under a deadline. Unavailable and DeadlineExceeded count as failures of the dependency."""
        if self.open:
            raise Unavailable(f"{self._name} failed {self._failures} times in a row and is left alone for a while")
        trial = self._failures >= self._limit
        self._trying = trial
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
            self._failures = 0  # it answered
            raise
        finally:
            if trial:
                self._trying = False
        if self._failures >= self._limit:
            _log.warning("breaker_closed", dependency=self._name)
        self._failures = 0
        return result

    def _failed(self) -> None:
        self._failures += 1
        if self._failures >= self._limit:
            self._open_until = self._clock() + self._open_seconds
            if self._failures == self._limit:
                _log.warning("breaker_opened", dependency=self._name, failures=self._failures)
