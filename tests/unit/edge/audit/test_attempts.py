"""How many events refused and failed attempts become, whatever the flood."""

from collections import Counter
from itertools import product

import pytest
from footnote.edge.v1.audit_pb2 import AUDIT_DOOR_GRPC, AUDIT_OUTCOME_FAILED, AUDIT_OUTCOME_REFUSED
from footnote_edge.audit.attempts import (
    KINDS,
    KINDS_IN_ALL,
    SINGLE,
    SINGLE_IN_ALL,
    TENANTS,
    WINDOW_SECONDS,
    AttemptLimiter,
)
from footnote_edge.audit.events import CallOrigin, Event, Principal
from support.doubles.clock import Clock


def attempt(
    tenant: str = "", user: str = "", address: str = "10.0.0.1", action: str = "DeleteDocument",
    status: str = "UNAUTHENTICATED", resource: str = "documents/1", time_ms: int = 1,
) -> Event:  # fmt: skip
    call_origin = CallOrigin(AUDIT_DOOR_GRPC, address)
    return Event(Principal(tenant, user), call_origin, action, resource, status, "R", time_ms=time_ms, trace_id="t")


@pytest.fixture
def clock() -> Clock:
    """A clock that a test sets."""
    return Clock()


@pytest.fixture
def attempts(clock: Clock) -> AttemptLimiter:
    """The bound on events, by that clock."""
    return AttemptLimiter(clock)


def test_the_first_few_are_events_and_the_rest_one_with_their_count(attempts: AttemptLimiter, clock: Clock) -> None:
    events = [one for number in range(1000) for one in attempts.take(attempt(time_ms=number))]
    assert len(events) == SINGLE
    clock.now = WINDOW_SECONDS
    (rest,) = attempts.due()
    assert (rest.count, rest.time_ms, rest.last_ms) == (1000 - SINGLE, SINGLE, 999)
    assert (rest.resource, rest.trace_id, rest.mixed) == ("documents/", "", False)
    assert (rest.call_origin.address, rest.action, rest.status, rest.reason) == (
        "10.0.0.1", "DeleteDocument", "UNAUTHENTICATED", "R",
    )  # fmt: skip
    assert attempts.take(attempt())[0].count == 1, "the next window starts from zero"
    assert attempts.due() == []


def test_nothing_is_counted_before_the_window_ends(attempts: AttemptLimiter, clock: Clock) -> None:
    for _ in range(SINGLE + 5):
        attempts.take(attempt())
    clock.now = WINDOW_SECONDS - 1
    assert attempts.due() == []
    clock.now = WINDOW_SECONDS
    assert [one.count for one in attempts.take(attempt())] == [5, 1], "an attempt ends a window as a round does"


def test_of_many_kinds_the_further_ones_are_counted_together(attempts: AttemptLimiter) -> None:
    for number in range(SINGLE + KINDS + 50):
        attempts.take(attempt(address=f"10.0.0.{number}"))
    found = attempts.rest()
    assert len(found) == KINDS + 1
    (mixed,) = [one for one in found if one.mixed]
    assert (mixed.count, mixed.outcome, mixed.action, mixed.resource) == (50, AUDIT_OUTCOME_REFUSED, "", "")
    assert mixed.call_origin.address == mixed.reason == ""


def test_a_tenant_s_flood_takes_no_other_tenant_s_events(attempts: AttemptLimiter) -> None:
    for number in range(5000):
        attempts.take(attempt("noisy", address=f"10.0.{number % 250}.{number}"))
    assert attempts.take(attempt("quiet"))[0].principal.tenant_id == "quiet"


@pytest.mark.parametrize("tenants", [1, 500, 3000])
def test_a_flood_of_every_kind_stays_within_the_bound_and_loses_no_count(
    attempts: AttemptLimiter, tenants: int
) -> None:
    written: list[Event] = []
    total: Counter[str] = Counter()
    statuses = ("UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND")
    for number, status in product(range(3000), statuses):
        one = attempt(f"tenant-{number % tenants}", f"user-{number}", f"10.0.0.{number % 256}", status=status)
        total[status] += 1
        written += attempts.take(one)
    written += attempts.rest()
    assert len(written) <= SINGLE_IN_ALL + KINDS_IN_ALL + TENANTS + 1
    assert sum(one.count for one in written) == total.total()
    for status, outcome in (("UNAUTHENTICATED", AUDIT_OUTCOME_REFUSED), ("NOT_FOUND", AUDIT_OUTCOME_FAILED)):
        known = [one for one in written if one.status == status]
        assert all(one.outcome == outcome for one in known)
        if tenants <= TENANTS // len(statuses):
            assert sum(one.count for one in known) == total[status]
