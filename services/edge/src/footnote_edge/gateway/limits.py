"""What edge admits: rates by tenant, open watches by user, and concurrent calls by kind.

Rates are per minute: requests, uploads, uploaded bytes and model tokens. Each replica admits its part of a rate, so
that all of them together keep it without coordination at each call. Clients or gateways must balance the load between
the replicas. `footnote_kit.admission` describes the kinds of limits.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from footnote_kit.admission.concurrency import ConcurrencyLimiter, Machine, Size
from footnote_kit.admission.fair_shares import ProcessorMeter
from footnote_kit.admission.token_bucket import RateLimiter
from footnote_kit.errors import ResourceExhausted

from footnote_edge.settings import Settings

BURST_SECONDS = 10.0
"""Seconds of unused allowance that a tenant may save up for a burst."""

_WATCH_AGAIN_SECONDS = 5.0
UPLOADS = frozenset({"UploadDocument", "UploadDocuments", "ReplaceDocument"})
ASKS = frozenset({"Ask", "RegenerateMessage", "EditMessage"})
"""Calls that answer a question."""


class RateLimits:
    """The deployment's limits."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        def bucket(per_minute: float, burst_seconds: float) -> RateLimiter:
            return RateLimiter(per_minute / 60, per_minute / 60 * burst_seconds, clock)

        self._requests = bucket(settings.requests_per_minute, BURST_SECONDS)
        self._uploads = bucket(settings.uploads_per_minute, BURST_SECONDS)
        self._bytes = bucket(settings.upload_bytes_per_minute, 60.0)
        self._tokens = bucket(settings.tokens_per_minute, 60.0)

    def divide(self, replicas: int) -> None:
        """Set the number of replicas that share the limits."""
        for one in (self._requests, self._uploads, self._bytes, self._tokens):
            one.divide(replicas)

    def enter(self, tenant: str, method: str) -> None:
        """Admit a call; raises ResourceExhausted with the time to wait if the tenant has used up its share."""
        _check("requests", self._requests.wait(tenant))
        if method in UPLOADS:
            # The cost of a file or an answer is known only at its end: it may begin while any allowance is left.
            _check("bytes uploaded", self._bytes.wait(tenant, 0.0))
            _check("uploads", self._uploads.wait(tenant))
        if method in ASKS:
            _check("tokens", self._tokens.wait(tenant, 0.0))

    def receive(self, tenant: str, size: int) -> None:
        """Charge uploaded bytes."""
        self._bytes.charge(tenant, size)

    def more_uploads(self, tenant: str, files: int) -> None:
        """Charge the files of a call after its first, which `enter` has charged."""
        self._uploads.charge(tenant, files)

    def spend(self, tenant: str, tokens: int) -> None:
        """Charge an answer's tokens."""
        self._tokens.charge(tenant, tokens)


class Watches:
    """Counts each user's open watches; at most `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: Counter[tuple[str, str]] = Counter()
        self._too_many = ResourceExhausted(
            f"You have {most} open watches, which is the maximum; close one, or watch a whole collection with "
            "WatchDocuments instead of its documents.",
            metadata={"quota": "watches_per_user", "limit": str(most)},
            retry_after=_WATCH_AGAIN_SECONDS,
        )

    def check(self, tenant: str, user: str) -> None:
        """Raise ResourceExhausted if the user has the maximum number of watches open."""
        if self._open[tenant, user] >= self._most:
            # One shared exception: a repeated refusal must cost as little as possible.
            raise self._too_many.with_traceback(None)

    @contextmanager
    def one(self, tenant: str, user: str) -> Iterator[None]:
        """Count a watch during the block; raises ResourceExhausted if the user has the maximum number open."""
        self.check(tenant, user)
        key = (tenant, user)
        self._open[key] += 1
        try:
            yield
        finally:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]


class Admission:
    """The lanes: questions, uploads, and all other calls that end by themselves."""

    def __init__(
        self, asks: Size, uploads: Size, others: Size, *, iteration: Callable[[], float], processor: Callable[[], float]
    ) -> None:
        """Take the lanes' sizes, the event loop's iteration and the services' processor time in seconds."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        machine = Machine(iteration, ProcessorMeter(processor), cores)
        self._asks, self._uploads, self._others = (
            ConcurrencyLimiter(kind, size, machine=machine)
            for kind, size in (("asks", asks), ("uploads", uploads), ("others", others))
        )

    def lane(self, method: str) -> ConcurrencyLimiter:
        """Return a method's lane, by its bare name."""
        if method in ASKS:
            return self._asks
        return self._uploads if method in UPLOADS else self._others


def _check(what: str, wait: float) -> None:
    if wait > 0:
        raise ResourceExhausted(f"Too many {what}; try again in {wait:.1f} s.", reason="RATE_LIMITED", retry_after=wait)
