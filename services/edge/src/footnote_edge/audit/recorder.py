"""Writes the audit log: successes before their caller hears of them, refused and failed attempts within a second.

While the log cannot be written, `ready` refuses audited calls before they do anything. Only calls that were under way
when the database went away end without their event: their callers get the true answer, and the event is kept in memory
and written when the database is back. It is lost only if the process is killed before; the log line has it even then.
"""

import asyncio

from footnote_kit.errors import Unavailable
from footnote_kit.logs import get_logger
from footnote_kit.paging import Page
from footnote_kit.periodic import PeriodicTasks
from footnote_kit.telemetry import counter

from footnote_edge.audit.book import AuditBook, Filters
from footnote_edge.audit.bounding import Bounding
from footnote_edge.audit.events import Event

FLUSH_SECONDS = 1.0
"""What a killed process may forget of refused and failed attempts, at most."""
WRITE_SECONDS = 5.0
"""Time for one write, after which it counts as failed."""
MOST_WAITING = 10_000
"""Events that may wait for the database; what comes beyond is in the log lines alone, and counted."""
_RETRY_SECONDS = 2.0

_log = get_logger(__name__)


class Recorder:
    """Appends events; one writer at a time, which takes along all that wait."""

    def __init__(self, book: AuditBook, bounding: Bounding | None = None) -> None:
        self._book = book
        self._bounding = bounding or Bounding()
        self._waiting: list[Event] = []
        self._lock = asyncio.Lock()
        self._failing = False
        self._writes: set[asyncio.Task[None]] = set()
        self.rounds = PeriodicTasks("audit", self._round, FLUSH_SECONDS, service="edge", at_once=False, jitter=0.0)
        """Writes what waits, in the background; the rest is written by `close`."""

    def ready(self) -> None:
        """Raise Unavailable while the log cannot be written; asked before an audited call does anything.

        Whether it can be again is for the background to find out: callers must not queue up for that.
        """
        if self._failing:
            raise Unavailable(
                "The audit log cannot be written, so that nothing was done; try again",
                reason="AUDIT_UNAVAILABLE",
                retry_after=_RETRY_SECONDS,
            )

    async def record(self, event: Event) -> None:
        """Write a success; return when it is in the database, or could not be written and waits in memory."""
        if self._wait_with(event):
            await self._flushed()
            if any(one.id == event.id for one in self._waiting):
                _log.error("audit_event_waits", **_words(event))

    def attempt(self, event: Event) -> None:
        """Take a refused or failed attempt, which is written within FLUSH_SECONDS or counted with others like it."""
        for one in self._bounding.take(event):
            self._wait_with(one)

    async def flush(self) -> None:
        """Write what waits, so that a reader of the log finds it; what cannot be written goes on waiting."""
        if self._waiting:
            await self._flushed()

    async def page(self, filters: Filters, page: Page) -> tuple[list[Event], str]:
        """Return a page of events, newest first, and the next page's token.

        What this process has not written yet is written before, so that callers find what they did a moment ago.
        """
        await self.flush()
        return await self._book.page(filters, page)

    async def close(self) -> None:
        """Write everything, the counts of the window under way as well."""
        for event in self._bounding.rest():
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
        for event in self._bounding.due():
            self._wait_with(event)
        await self.flush()

    async def _flushed(self) -> None:
        """Write what waits; whoever is cancelled meanwhile, the write goes on."""
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
                    await self._book.append(batch)
            except Exception as error:  # whatever it is, the events must be kept and new work refused
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
    """Return an event for a line of the log."""
    return {
        "id": event.id,
        "tenant": event.who.tenant_id,
        "user": event.who.user_id,
        "key_id": event.who.key_id,
        "address": event.way.address,
        "action": event.action,
        "resource": event.resource,
        "status": event.status,
        "reason": event.reason,
        "trace_id": event.trace_id,
        "count": event.count,
    }
