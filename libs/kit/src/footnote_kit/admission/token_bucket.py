"""Token buckets: a rate with a burst, for one client or for each of many tenants."""

import time
from collections.abc import Callable

from cachetools import LRUCache

TENANTS = 10_000
"""Tenants whose buckets a `RateLimiter` keeps; one that is evicted begins with a full bucket."""


class TokenBucket:
    """A token bucket; a negative level is a debt."""

    __slots__ = ("_at", "burst", "level", "rate")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self.rate, self.burst = rate, burst
        self.level = burst
        self._at = now

    def refill(self, now: float) -> None:
        """Add the tokens that have accrued since the last call."""
        self.level = min(self.burst, self.level + (now - self._at) * self.rate)
        self._at = now

    def take(self, amount: float, now: float) -> bool:
        """Take tokens; return False when the level becomes negative."""
        self.refill(now)
        self.level -= amount
        return self.level >= 0


class RateLimiter:
    """A token bucket for each tenant: `rate` units a second, saved up to `burst` units; rate 0 is unlimited.

    This replica has its part of both, and of a burst at least one unit.
    """

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._whole = rate, burst
        self._rate, self._burst = rate, max(burst, 1.0)
        self._clock = clock
        self._buckets: LRUCache[str, TokenBucket] = LRUCache(TENANTS)

    def divide(self, replicas: int) -> None:
        """Set the number of replicas that share the limit."""
        rate, burst = self._whole
        self._rate, self._burst = rate / replicas, max(burst / replicas, 1.0)

    def wait(self, tenant: str, units: float = 1.0) -> float:
        """Take `units` and return 0, or return the seconds until they are available."""
        if not self._rate:
            return 0.0
        bucket = self._filled(tenant)
        missing = min(units, self._burst) - bucket.level
        if missing > 0:
            return missing / self._rate
        bucket.level -= units
        return 0.0

    def charge(self, tenant: str, units: float) -> None:
        """Take `units` that were already used, even below zero."""
        if self._rate:
            self._filled(tenant).level -= units

    def _filled(self, tenant: str) -> TokenBucket:
        now = self._clock()
        bucket = self._buckets.get(tenant)
        if bucket is None:
            bucket = self._buckets[tenant] = TokenBucket(self._rate, self._burst, now)
        bucket.rate, bucket.burst = self._rate, self._burst
        bucket.refill(now)
        return bucket
