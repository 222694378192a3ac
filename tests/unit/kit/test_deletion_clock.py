"""A clock that is set ahead makes nothing old enough to be deleted, unless it stays so."""

import time

import pytest
from footnote_kit import wall_clock
from footnote_kit.wall_clock import DOUBT, STEP, DeletionClock

HOUR, YEAR = 3600.0, 365 * 86_400.0


class Machine:
    """A machine whose clocks stand still until they are moved."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.wall, self.passed = time.time(), 1000.0
        patch.setattr(wall_clock.time, "time", lambda: self.wall)
        patch.setattr(wall_clock, "_since_boot", lambda: self.passed)

    def wait(self, seconds: float) -> None:
        self.wall += seconds
        self.passed += seconds


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """The machine of the clock under test."""
    return Machine(monkeypatch)


def test_time_passes_as_on_the_wall(machine: Machine) -> None:
    clock = DeletionClock()
    for seconds in (0.0, 1.0, HOUR, YEAR):
        machine.wait(seconds)
        assert clock.now() == pytest.approx(machine.wall)


@pytest.mark.parametrize("step", [2 * STEP, HOUR, YEAR])
def test_a_step_ahead_is_in_doubt_until_it_has_stayed(machine: Machine, step: float) -> None:
    clock, true = DeletionClock(), machine.wall
    machine.wall += step
    assert clock.now() == pytest.approx(true)
    machine.wait(DOUBT - 1)
    assert clock.now() == pytest.approx(true + DOUBT - 1)
    machine.wait(2)
    assert clock.now() == pytest.approx(machine.wall)


def test_a_step_ahead_and_back_leaves_no_trace(machine: Machine) -> None:
    clock, true = DeletionClock(), machine.wall
    machine.wall += YEAR
    clock.now()
    machine.wall -= YEAR
    assert clock.now() == pytest.approx(true)
    machine.wait(2 * DOUBT)
    assert clock.now() == pytest.approx(true + 2 * DOUBT)


def test_each_step_ahead_is_doubted_for_itself(machine: Machine) -> None:
    clock, true = DeletionClock(), machine.wall
    for _ in range(4):
        machine.wall += YEAR
        assert clock.now() == pytest.approx(true + machine.passed - 1000.0)
        machine.wait(DOUBT / 2)


def test_a_step_back_is_believed_at_once(machine: Machine) -> None:
    clock = DeletionClock()
    machine.wall -= YEAR
    assert clock.now() == pytest.approx(machine.wall)


def test_small_corrections_of_a_running_clock_are_no_steps(machine: Machine) -> None:
    clock = DeletionClock()
    for _ in range(100):
        machine.wait(60)
        machine.wall += STEP / 2
        assert clock.now() == pytest.approx(machine.wall)


def test_a_steadily_wandering_clock_is_followed_an_hour_late_at_most(machine: Machine) -> None:
    clock = DeletionClock()
    machine.wall += HOUR
    for _ in range(70):
        clock.now()
        machine.wait(60)
    assert clock.now() == pytest.approx(machine.wall)
