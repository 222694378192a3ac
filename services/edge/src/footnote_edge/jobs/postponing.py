"""Backoff for documents whose provider fails, or whose parser was killed: they free their place and retry later.

This state is not stored: after a crash, the reconciler enqueues documents without a job again.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextvars import Context
from datetime import UTC, datetime

from cachetools import TTLCache
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import WAITING_REASON_PROVIDER_REFUSED, WAITING_REASON_PROVIDER_UNAVAILABLE
from footnote_kit import transient_errors
from footnote_kit.backoff import Backoff, no_sooner
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger

from footnote_edge.jobs.retrying import waiting_for

HELD_SECONDS = 20.0
"""Seconds that a document waits in its place for its provider at the first attempt.

Later attempts do not wait, nor do other documents of its collection meanwhile: a collection whose provider fails
would otherwise take places for as long, document after document.
"""
PAUSES = Backoff(first=10.0, longest=300.0)

_OF_ONE = {WAITING_REASON_PROVIDER_UNAVAILABLE, WAITING_REASON_PROVIDER_REFUSED}
_log = get_logger(__name__)


LONGEST = 2 * PAUSES.longest
"""Seconds for which a postponement is known; a document may end in another replica, which tells nobody."""
_MOST = 100_000


class Postponed(Exception):
    """A document has waited in its place for the maximum time; its retry comes after `seconds` at the earliest."""

    def __init__(self, error: FootnoteError, seconds: float = 0.0) -> None:
        super().__init__()
        self.error = error
        self.seconds = seconds


def rest_seconds(error: FootnoteError) -> float | None:
    """Return the seconds for which a document leaves its place at once; None where it may wait in it."""
    return error.retry_after if transient_errors.waits_for(error) == transient_errors.PARSER_KILLED else None


def may_be_of_one(error: FootnoteError) -> bool:
    """Return whether a transient error may concern one document, or one collection's provider, instead of all."""
    return waiting_for(error) in _OF_ONE


def comes_again(document: Document) -> bool:
    """Return whether a document's next attempt is ahead, by a time that a postponement may take."""
    if not document.HasField("next_attempt_time"):
        return False
    return 0 < document.next_attempt_time.ToNanoseconds() / 1e9 - time.time() < LONGEST


class Postponements:
    """Documents of this process that retry later, by job name."""

    def __init__(self, pauses: Backoff = PAUSES, held_seconds: float = HELD_SECONDS) -> None:
        self._pauses = pauses
        self._held_seconds = held_seconds
        self._attempts: TTLCache[str, int] = TTLCache(_MOST, LONGEST)
        self._failing: TTLCache[str, bool] = TTLCache(_MOST, LONGEST)
        self._since: TTLCache[str, float] = TTLCache(_MOST, LONGEST)
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._taken_on: dict[str, float] = {}
        """When each waiting job was taken on, in unix seconds."""

    def held_seconds(self, job: str, collection: str) -> float:
        """Return the seconds that a job may wait in its place for the provider of its collection."""
        return 0.0 if job in self._attempts or collection in self._failing else self._held_seconds

    def waits(self, job: str) -> bool:
        """Return whether a job has a retry scheduled."""
        return job in self._waiting

    def taken_on(self, job: str, moment: float) -> None:
        """Note when a job that is about to be tried again was taken on, in unix seconds."""
        self._since[job] = moment

    def oldest(self) -> datetime | None:
        """Return when the oldest of the waiting jobs was taken on; None if none waits."""
        first = min(self._taken_on.values(), default=None)
        return None if first is None else datetime.fromtimestamp(first, UTC)

    def postpone(
        self, job: str, again: Callable[[], Awaitable[object]], seconds: float = 0.0, collection: str = ""
    ) -> tuple[int, float]:
        """Call `again` after `seconds`, or a pause that grows with each attempt where that is longer.

        `collection` is the one whose provider fails; empty where the document itself is the cause. Return the number of
        attempts, and the seconds until the next one.
        """
        if collection:
            self._failing[collection] = True
        attempts = self._attempts[job] = self._attempts.get(job, 0) + 1
        self._taken_on[job] = self._since[job] = self._since.get(job, time.time())
        pause = max(self._pauses.pause(attempts), no_sooner(seconds) if seconds else 0.0)
        _log.warning("document_put_off", job=job, attempts=attempts, seconds=round(pause, 1))
        # Outside the job's own context, which ends: later work would otherwise be attributed to it.
        self._waiting[job] = asyncio.create_task(self._later(job, pause, again), context=Context())
        return attempts, pause

    def ended(self, job: str, collection: str = "") -> None:
        """Forget a job, whatever its outcome, and that the provider of its collection failed."""
        self._attempts.pop(job, None)
        self._since.pop(job, None)
        self._failing.pop(collection, None)

    async def close(self) -> None:
        """Cancel all pauses."""
        waiting = list(self._waiting.values())
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        self._taken_on.clear()
        self._waiting.clear()  # including tasks that had not started

    async def _later(self, job: str, pause: float, again: Callable[[], Awaitable[object]]) -> None:
        try:
            await asyncio.sleep(pause)
        finally:
            self._waiting.pop(job, None)
            self._taken_on.pop(job, None)
        try:
            await again()
        except Exception as error:  # the reconciler makes up for it
            _log.warning("document_not_taken_up", job=job, error=type(error).__name__)
