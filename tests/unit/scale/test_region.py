"""What a region needs, on numbers that can be reckoned by hand."""

import pytest
from support.scale.region import Prices, Wanted, first_to_break, load, needs

SPENT = {
    "edge": {"document": 10.0, "search": 2.0, "answer": 4.0},
    "retrieval": {"document": 0.0, "search": 3.0, "answer": 3.0},
}
WANTED = Wanted(documents=864_000, ingest_days=1, searches=1000, answers=200, chunks_each=40)


def test_cores_are_rates_times_work_and_replicas_leave_room() -> None:
    edge, retrieval = needs(SPENT, WANTED.rates, 0.5)
    assert edge.cores == pytest.approx(0.1 + 2.0 + 0.8)
    assert (edge.replicas, retrieval.replicas) == (6, 8)
    assert retrieval.cores == pytest.approx(3.6)


def test_what_has_least_room_breaks_first() -> None:
    name, by = first_to_break(needs(SPENT, WANTED.rates, 0.5))
    assert (name, round(by, 3)) == ("edge", round(6 / 2.9, 3))


def test_no_service_has_fewer_than_two_replicas() -> None:
    assert [one.replicas for one in needs(SPENT, {"document": 0.0, "search": 0.1, "answer": 0.0}, 0.6)] == [2, 2]


def test_the_simulation_is_used_as_much_as_was_reckoned() -> None:
    found = needs(SPENT, WANTED.rates, 0.5)
    run = load(SPENT, WANTED.rates, {one.service: one.replicas for one in found}, 1.0, 20.0)
    for one in found:
        assert run.used[one.service] == pytest.approx(one.cores / one.replicas, rel=0.05)


def test_a_month_costs_its_hours() -> None:
    assert Prices(0.04, 0.005, 0.1).month(10, 20, 5) == pytest.approx(730 * (0.4 + 0.1) + 0.5)
