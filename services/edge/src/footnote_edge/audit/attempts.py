"""Limits the events for refused and failed attempts: a tenant's first few get one each, the rest are counted.

One replica writes at most `SINGLE_IN_ALL + KINDS_IN_ALL + TENANTS + 1` of them per window. Every attempt is an event or
part of a count.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from footnote_kit.telemetry import counter

from footnote_edge.audit.events import CallOrigin, Event, Principal

WINDOW_SECONDS = 300.0
SINGLE = 10
"""Attempts of one tenant per window with an event each."""
SINGLE_IN_ALL = 200
KINDS = 16
"""Kinds of attempts of one tenant with a count each; its other kinds share one count."""
KINDS_IN_ALL = 128
TENANTS = 64
"""Pairs of tenant and status with a shared count; further attempts are counted without a tenant."""

Kind = tuple[Principal, CallOrigin, str, str, str, str]


@dataclass(slots=True)
class _Tally:
    first: Event
    last_ms: int
    count: int = 1

    def add(self, event: Event) -> None:
        self.count += 1
        self.last_ms = event.time_ms

    def event(self) -> Event:
        return replace(self.first, count=self.count, last_ms=self.last_ms)


class AttemptLimiter:
    """Decides how to log each refused or failed attempt; `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._single: Counter[str] = Counter()
        self._kinds: dict[Kind, _Tally] = {}
        self._kinds_of: Counter[str] = Counter()
        self._mixed: dict[tuple[str, str], _Tally] = {}

    def take(self, event: Event) -> list[Event]:
        """Take an attempt; return the events to write now, including those of a window that has ended."""
        due = self.due()
        tenant = event.principal.tenant_id
        if self._single[tenant] < SINGLE and self._single.total() < SINGLE_IN_ALL:
            self._single[tenant] += 1
            return [*due, event]
        counter("footnote.edge.audit_attempts_counted").add(1)
        self._count(event)
        return due

    def due(self) -> list[Event]:
        """Return the counts of a window that has ended, and begin the next window."""
        return self.rest() if self._clock() - self._began >= WINDOW_SECONDS else []

    def rest(self) -> list[Event]:
        """Return all counts, and begin the next window."""
        found = [tally.event() for tally in (*self._kinds.values(), *self._mixed.values())]
        self._began = self._clock()
        self._single.clear()
        self._kinds.clear()
        self._kinds_of.clear()
        self._mixed.clear()
        return found

    def _count(self, event: Event) -> None:
        tenant = event.principal.tenant_id
        kind = (event.principal, event.call_origin, event.action, event.kind, event.status, event.reason)
        if (tally := self._kinds.get(kind)) is not None:
            tally.add(event)
        elif self._kinds_of[tenant] < KINDS and len(self._kinds) < KINDS_IN_ALL:
            self._kinds_of[tenant] += 1
            self._kinds[kind] = _Tally(replace(event, resource=event.kind, trace_id="", request_id=""), event.time_ms)
        else:
            self._mix(tenant, event)

    def _mix(self, tenant: str, event: Event) -> None:
        key = (tenant, event.status)
        if key not in self._mixed and len(self._mixed) >= TENANTS:
            key = ("", "UNKNOWN")
        if (tally := self._mixed.get(key)) is not None:
            tally.add(event)
            return
        first = Event(Principal(key[0]), CallOrigin(), "", status=key[1], mixed=True, time_ms=event.time_ms)
        self._mixed[key] = _Tally(first, event.time_ms)
