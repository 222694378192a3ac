"""The simulation of queues against what is known of queues in closed form."""

import pytest
from support.scale.queues import Flow, erlang_c, exponential, fixed, simulate

SECONDS = 8000.0


def mean(found: object, name: str = "calls") -> float:
    took = found.took[name]  # type: ignore[attr-defined]
    return float(sum(took) / len(took))


def test_erlang_c_is_known_for_one_server_and_for_two() -> None:
    assert erlang_c(1, 0.7) == pytest.approx(0.7)
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)  # rho² · 2 / (1 + rho) with rho = 0.5


@pytest.mark.parametrize(("servers", "load"), [(1, 0.5), (1, 0.7), (2, 1.6), (8, 6.4)])
@pytest.mark.slow
def test_many_servers_with_exponential_work(servers: int, load: float) -> None:
    """M/M/c: the mean wait is C(c, a) / (c μ - λ)."""
    rate, work = load * 10, 0.1
    found = simulate({"s": servers}, [Flow("calls", rate, [("s", exponential(work))])], SECONDS)
    expected = work + erlang_c(servers, load) / (servers / work - rate)
    assert mean(found) == pytest.approx(expected, rel=0.06)
    assert found.used["s"] == pytest.approx(load / servers, rel=0.03)


def test_work_that_is_always_the_same_waits_half_as_long() -> None:
    """M/D/1: rho / (2 μ (1 - rho)), Pollaczek and Khinchine."""
    found = simulate({"s": 1}, [Flow("calls", 8.0, [("s", fixed(0.1))])], SECONDS)
    assert mean(found) == pytest.approx(0.1 + 0.8 * 0.1 / (2 * 0.2), rel=0.06)


def test_stations_in_a_row_wait_as_if_each_were_alone() -> None:
    """Burke and Jackson: what leaves an M/M/1 arrives at random at the next one."""
    steps = [("a", exponential(0.1)), ("b", exponential(0.05)), ("a", exponential(0.02))]
    found = simulate({"a": 4, "b": 1}, [Flow("calls", 10.0, steps)], SECONDS)
    b = 0.05 / (1 - 0.5)
    assert mean(found) == pytest.approx(0.1 + b + 0.02, rel=0.08)


def test_flows_share_a_station_and_are_told_apart() -> None:
    flows = [Flow("short", 5.0, [("s", fixed(0.01))]), Flow("long", 1.0, [("s", fixed(0.5))])]
    found = simulate({"s": 1}, flows, SECONDS)
    assert found.used["s"] == pytest.approx(0.55, rel=0.05)
    assert mean(found, "long") > mean(found, "short") > 0.01
    assert found.quantile("short", 0.5) < found.quantile("short", 0.95)
