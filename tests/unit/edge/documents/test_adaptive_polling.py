"""When watches poll: at once after an event, at a growing interval while idle, often while other processes write."""

import itertools

import pytest
from footnote_edge.documents.polling import MOST_TIMES, AdaptivePolling, PollTimer
from support.doubles.clock import Clock


def looks(due: PollTimer, clock: Clock, seconds: int, works_here: bool = False) -> list[int]:
    """Return the seconds at which it looks while nothing moves, asked ten times a second."""
    found = []
    for tenth in range(seconds * 10):
        clock.now = 100.0 + tenth / 10
        if due.fires(99.0, works_here):
            found.append(tenth // 10)
    return found


def test_alone_it_looks_at_once_and_then_ever_more_seldom() -> None:
    clock = Clock(100.0)
    found = looks(AdaptivePolling(1.0, alone=True, clock=clock).begin(), clock, 40)
    pauses = [after - before for before, after in itertools.pairwise(found)]
    assert found[0] == 0
    assert pauses[:4] == [1, 2, 4, 8]
    assert max(pauses) <= MOST_TIMES + 1


@pytest.mark.parametrize(("here", "least"), [(False, 19), (True, 4)])
def test_with_other_replicas_only_who_works_here_is_believed(here: bool, least: int) -> None:
    clock = Clock(100.0)
    found = looks(AdaptivePolling(1.0, alone=False, clock=clock).begin(), clock, 20, works_here=here)
    assert len(found) >= least
    assert here == (len(found) < 8)


def test_a_move_is_looked_at_at_once_and_makes_it_curious_again() -> None:
    clock = Clock(100.0)
    due = AdaptivePolling(1.0, alone=True, clock=clock).begin()
    looks(due, clock, 20)
    assert not due.fires(99.0)
    clock.now += 0.2
    assert due.fires(clock.now)
    clock.now += 1.0
    assert due.fires(99.0)


def test_whoever_must_know_now_looks_now() -> None:
    clock = Clock(100.0)
    due = AdaptivePolling(1.0, alone=True, clock=clock).begin()
    assert due.fires(99.0)
    assert not due.fires(99.0)
    due.now()
    assert due.fires(99.0)
