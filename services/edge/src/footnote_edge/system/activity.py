"""Activity of each tenant by hour: counts for operators, without names and texts, in the edge's database.

Counts are buffered briefly and written in batches, so that counting delays no call. Hours are in UTC.
"""

import asyncio
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Protocol

from footnote.types.v1.answer_pb2 import (
    FINISH_REASON_NO_RELEVANT_CONTENT,
    VERDICT_NOT_CONFIRMED,
    VERDICT_SUPPORTED,
    VERDICT_UNCITED,
    VERDICT_UNSUPPORTED,
    Answer,
)
from footnote_kit.logs import get_logger
from footnote_kit.periodic import PeriodicTasks
from footnote_kit.telemetry import counter

Key = tuple[str, str, str]
"""A tenant, an hour and a measure."""


class Activity(Protocol):
    """Stored counts; see `adapters.usage.ActivityTable`."""

    async def add(self, items: Mapping[Key, int]) -> None:
        """Add counts, all of them or none."""

    async def since(self, tenant: str, first: datetime) -> dict[str, dict[str, int]]:
        """Return a tenant's counts by hour and measure, from the hour of a time on."""


KEPT_HOURS = 31 * 24
"""Retention of counts in hours."""

FLUSH_SECONDS = 2.0
"""A killed process loses counts of at most this many seconds."""

MOST_PENDING = 20_000
"""Maximum counts by tenant and hour that wait while the database is down; more are dropped."""

BOUNDS_MS = (25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000)
"""Histogram bounds of search times in milliseconds, in visually equal steps."""

VERDICTS = {
    VERDICT_SUPPORTED: "claims_supported",
    VERDICT_NOT_CONFIRMED: "claims_not_confirmed",
    VERDICT_UNSUPPORTED: "claims_unsupported",
    VERDICT_UNCITED: "claims_uncited",
}

_log = get_logger(__name__)


class ActivityCounter:
    """Counts, both buffered and written."""

    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        self._pending: dict[Key, int] = {}
        self._lock = asyncio.Lock()
        self._full = False
        self.rounds = PeriodicTasks("activity", self._write, FLUSH_SECONDS, service="edge", at_once=False)
        """Writes counts in the background; `flush` writes the rest at the end."""

    def add(self, tenant: str, amounts: Mapping[str, int], moment: datetime | None = None) -> None:
        """Add counts for now or for a given time."""
        at = hour(moment or datetime.now(UTC))
        for measure, amount in amounts.items():
            key = (tenant, at, measure)
            if key not in self._pending and len(self._pending) >= MOST_PENDING:
                if not self._full:
                    _log.warning("activity_left_out", most=MOST_PENDING)
                self._full = True
                continue
            self._pending[key] = self._pending.get(key, 0) + amount

    def searched(self, tenant: str, seconds: float, found: bool) -> None:
        """Count a search, its duration, and whether it found a passage."""
        step = bisect_left(BOUNDS_MS, seconds * 1000)
        counter("footnote.edge.searches").add(1)
        self.add(tenant, {"searches": 1, time_measure(step): 1} | ({} if found else _missed()))

    def answered(self, tenant: str, answer: Answer, searched: bool) -> None:
        """Count a finished answer and its claims, and after a successful search, whether its passages were used."""
        amounts = {"answers": 1}
        for claim in answer.claims:
            if measure := VERDICTS.get(claim.support):
                amounts[measure] = amounts.get(measure, 0) + 1
        if searched and answer.finish_reason == FINISH_REASON_NO_RELEVANT_CONTENT:
            amounts |= _missed()
        self.add(tenant, amounts)

    async def hours(self, tenant: str, wanted: Iterable[datetime]) -> list[dict[str, int]]:
        """Return a tenant's counts of these hours, buffered ones included; the oldest first."""
        await self.flush()
        moments = list(wanted)
        found = await self._activity.since(tenant, moments[0])
        return [found.get(hour(moment), {}) for moment in moments]

    async def flush(self) -> None:
        """Write the counts; failed ones are kept for the next time."""
        async with self._lock:
            if not self._pending:
                return
            writing, self._pending = self._pending, {}
            try:
                await self._activity.add(writing)
                self._full = False
            except BaseException:
                for key, amount in self._pending.items():
                    writing[key] = writing.get(key, 0) + amount
                self._pending = writing
                raise

    async def _write(self) -> None:
        await asyncio.shield(self.flush())


def _missed() -> dict[str, int]:
    """Return the count of a search that found nothing relevant, after adding it to the metric and the log.

    That is: none of its passages reached the floor, or the answer says that none of them is relevant. Small talk and
    what failed is not searched.
    """
    counter("footnote.edge.misses").add(1)
    _log.info("rag_miss")
    return {"searches_without_passage": 1}


def time_measure(step: int) -> str:
    """Return the measure of searches with a duration up to a bound, by the bound's index."""
    return f"searches_by_time_{step}"


def hour(moment: datetime) -> str:
    """Return a time's hour in its stored form, as 2026-11-22T15."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H")


def last_hours(count: int) -> list[datetime]:
    """Return the start of each of the last hours, the current one included, the oldest first."""
    current = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    return [current - timedelta(hours=count - 1 - back) for back in range(count)]
