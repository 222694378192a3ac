"""Writes the audit log: a success before its caller gets the response, a refused or failed attempt within a second.

While the log cannot be written, `ready` refuses audited calls before they do anything. Calls already in progress when
the database fails end without a stored event: their callers get the true answer. The event waits in memory until the
database is back. It is lost only if the process is killed before; the log line has it even then.
"""

import asyncio

from footnote_kit.errors import Unavailable
from footnote_kit.logs import get_logger
from footnote_kit.paging import Page
from footnote_kit.periodic import PeriodicTasks
from footnote_kit.telemetry import counter

from footnote_edge.audit.attempts import AttemptLimiter
from footnote_edge.audit.events import AuditLog, Event, Filters

FLUSH_SECONDS = 1.0
"""A killed process loses refused and failed attempts of at most this many seconds."""
WRITE_SECONDS = 5.0
"""Timeout of one write, in seconds."""
MOST_WAITING = 10_000
"""Maximum events that wait for the database; further ones appear in log lines only, and are counted."""
_RETRY_SECONDS = 2.0

_log = get_logger(__name__)


class Recorder:
    """Appends events; one writer at a time writes all waiting events."""

    def __init__(self, events: AuditLog, limiter: AttemptLimiter | None = None) -> None:
        self._events = events
        self._limiter = limiter or AttemptLimiter()
        self._waiting: list[Event] = []
        self._lock = asyncio.Lock()
        self._failing = False
        self._writes: set[asyncio.Task[None]] = set()
        self.rounds = PeriodicTasks("audit", self._round, FLUSH_SECONDS, service="edge", at_once=False, jitter=0.0)
        """Writes waiting events in the background; `close` writes the rest."""

    def ready(self) -> None:
        """Raise Unavailable while the log cannot be written; checked before an audited call does anything.

        Only the background task tries again: callers must not queue up for that.
        """
        if self._failing:
            raise Unavailable(
                "The audit log cannot be written, so the call was refused; try again",
                reason="AUDIT_UNAVAILABLE",
                retry_after=_RETRY_SECONDS,
            )

    async def record(self, *events: Event) -> None:
        """Write successes; return when they are in the database, or wait in memory because the write failed."""
        if taken := {event.id for event in events if self._wait_with(event)}:
            await self._flushed()
            for event in self._waiting:
                if event.id in taken:
                    _log.error("audit_event_waits", **_words(event))

    def attempt(self, event: Event) -> None:
        """Take a refused or failed attempt; it is written within FLUSH_SECONDS, or counted with others like it."""
        for one in self._limiter.take(event):
            self._wait_with(one)

    async def flush(self) -> None:
        """Write waiting events so that a reader of the log finds them; events that cannot be written keep waiting."""
        if self._waiting:
            await self._flushed()

    async def page(self, filters: Filters, page: Page) -> tuple[list[Event], str]:
        """Return a page of events, newest first, and the next page's token.

        Flushes this process's events first, so that callers find their latest calls.
        """
        await self.flush()
        return await self._events.page(filters, page)

    async def close(self) -> None:
        """Write everything, including the counts of the current window."""
        for event in self._limiter.rest():
            self._wait_with(event)
        await self.flush()
        for event in self._waiting:
            _log.error("audit_event_lost", **_words(event))

    def _wait_with(self, event: Event) -> bool:
        if len(self._waiting) >= MOST_WAITING:
            counter("footnote.edge.audit_events_dropped").add(1)
            _log.error("audit_event_lost", **_words(event))
            return False
        self._waiting.append(event)
        return True

    async def _round(self) -> None:
        for event in self._limiter.due():
            self._wait_with(event)
        await self.flush()

    async def _flushed(self) -> None:
        """Write waiting events; the write continues even if the awaiting task is cancelled."""
        task = asyncio.create_task(self._write())
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)
        await asyncio.shield(task)

    async def _write(self) -> None:
        async with self._lock:
            if not (batch := list(self._waiting)):
                return
            try:
                async with asyncio.timeout(WRITE_SECONDS):
                    await self._events.append(batch)
            except Exception as error:  # for any error, keep the events and refuse new calls
                if not self._failing:
                    _log.error("audit_log_unwritable", waiting=len(batch), error=type(error).__name__)
                self._failing = True
                counter("footnote.edge.audit_write_failures").add(1)
                return
            if self._failing:
                _log.info("audit_log_written_again", events=len(batch))
            self._failing = False
            del self._waiting[: len(batch)]


def _words(event: Event) -> dict[str, object]:
    """Return an event as fields of a log line."""
    return {
        "id": event.id,
        "tenant": event.principal.tenant_id,
        "user": event.principal.user_id,
        "key_id": event.principal.key_id,
        "address": event.call_origin.address,
        "action": event.action,
        "resource": event.resource,
        "status": event.status,
        "reason": event.reason,
        "trace_id": event.trace_id,
        "count": event.count,
    }
