"""Resilience of calls to a remote provider: retries, backoff, shared pauses, rate limit, circuit breaker.

All callers of an endpoint in this process share one `EndpointLimiter`, so that a "slow down" to one slows all.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic
from typing import TypeVar

from footnote_kit import transient_errors
from footnote_kit.backoff import Backoff, no_sooner
from footnote_kit.breaker import Breaker
from footnote_kit.errors import FootnoteError, Unavailable


class RetryableFailure(Exception):
    """A failure worth a retry: 429, 5xx, a refused or broken connection, a timeout, an unreadable response.

    `retry_after` is the delay in seconds that the provider asked for, None without one. `status` is the HTTP status,
    0 without one. `for_others` says what failed where the message has the provider's own words.
    """

    def __init__(
        self, message: str, retry_after: float | None = None, status: int = 0, *, for_others: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self._for_others = for_others
        self.retry_after = retry_after
        self.status = status

    @property
    def kind(self) -> str:
        """What failed, for callers other than the one whose texts the provider's message may be about."""
        return f"HTTP {self.status}" if self.status else self._for_others or self.message

    @property
    def throttled(self) -> bool:
        """Whether all callers of the provider should slow down."""
        return self.status == 429


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Policy:
    """Retry and rate limits of a provider; times in seconds."""

    attempts: int = 3
    first_backoff: float = 0.5
    longest_backoff: float = 8.0
    longest_retry_after: float = 60.0
    requests_per_minute: int = 0
    breaker_failures: int = 5
    breaker_open: float = 15.0


class EndpointLimiter:
    """Paces calls to one endpoint, and stops them while it is known to be down."""

    def __init__(self, name: str, policy: Policy, clock: Callable[[], float] = monotonic) -> None:
        self.name = name
        self.policy = policy
        self._clock = clock
        self._not_before = 0.0
        self._next_slot = 0.0
        self._turn = asyncio.Lock()
        self._breaker = Breaker(policy.breaker_failures, policy.breaker_open, lambda: self._clock())
        self._backoff = Backoff(policy.first_backoff, policy.longest_backoff)
        self._last_error = ""

    async def call(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Make the call, retrying on `RetryableFailure`; after the last attempt raise Unavailable(PROVIDER_FAILED)."""
        self._check_breaker()
        for number in range(1, self.policy.attempts + 1):
            await self._wait_for_turn()
            try:
                result = await attempt()
            except RetryableFailure as error:
                if number == self.policy.attempts:
                    self._last_error = error.kind
                    self._breaker.failed()
                    raise self._failed(str(error), number) from error
                await self._back_off(error, number)
            except FootnoteError:
                # An error response is a response: the endpoint is up.
                self._breaker.answered()
                raise
            else:
                self._breaker.answered()
                return result
        raise AssertionError("at least one attempt is made")

    def _check_breaker(self) -> None:
        if wait := self._breaker.rest:
            raise Unavailable(
                f"{self.name} is left alone for {wait:.0f} s after repeated failures, the last: {self._last_error}",
                reason="PROVIDER_FAILED",
                retry_after=wait,
                metadata={transient_errors.WAITING: transient_errors.PROVIDER},
            )

    def _failed(self, message: str, attempts: int) -> Unavailable:
        return Unavailable(
            f"{self.name} failed after {attempts} attempts: {message}",
            reason="PROVIDER_FAILED",
            metadata={transient_errors.WAITING: transient_errors.PROVIDER},
        )

    async def _wait_for_turn(self) -> None:
        """Wait out a pause that the provider asked for, and for a slot of the rate limit."""
        if self.policy.requests_per_minute <= 0:
            await self._wait_until(self._not_before)
            return
        # One caller at a time waits for the next slot, so that a caller who gives up takes none.
        async with self._turn:
            start = max(self._clock(), self._not_before, self._next_slot)
            await self._wait_until(start)
            self._next_slot = start + 60.0 / self.policy.requests_per_minute

    async def _wait_until(self, moment: float) -> None:
        if (wait := moment - self._clock()) > 0:
            await asyncio.sleep(wait)

    async def _back_off(self, error: RetryableFailure, number: int) -> None:
        if error.retry_after is not None:
            wait = no_sooner(min(error.retry_after, self.policy.longest_retry_after))
        else:
            wait = self._backoff.pause(number)
        if error.throttled:
            self._not_before = max(self._not_before, self._clock() + wait)
        else:
            await asyncio.sleep(wait)
