"""The measurement itself: it finds work that grows too fast, and tolerates a processor that changes its speed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.linear import timing

SIZE = 8192


def _made(size: int) -> str:
    return "a" * size


def _measured(monkeypatch: pytest.MonkeyPatch, cost: Callable[[int], float], slower: float = 1.0) -> timing.Growth:
    monkeypatch.setattr(timing, "best", lambda call, text, limit, tries=5: cost(len(text)))
    monkeypatch.setattr(timing, "once", lambda call, text, limit: cost(len(text)))
    monkeypatch.setattr(timing, "slowness", lambda: slower)
    return timing.growth("what", "search", len, "a", _made, SIZE)


@pytest.mark.parametrize("power", [2, 3])
@pytest.mark.parametrize("at_the_end", [0.004, 0.01, 0.09])
def test_a_square_and_a_cube_are_found(monkeypatch: pytest.MonkeyPatch, power: int, at_the_end: float) -> None:
    found = _measured(monkeypatch, lambda size: at_the_end * (size / SIZE) ** power)
    assert found.fails(8.0)
    assert found.ratio == pytest.approx(2**power)


@pytest.mark.parametrize("quicker", [1.3, 1.78, 2.5])
def test_a_half_measured_at_another_pace_is_no_growth(monkeypatch: pytest.MonkeyPatch, quicker: float) -> None:
    """Seen: 9.8 ms for 8 kB and 2.8 for 4 kB of a pattern that is linear from 0.5 to 32 kB."""
    found = _measured(monkeypatch, lambda size: 0.01 * size / SIZE / (quicker if size < SIZE else 1))
    assert not found.fails(8.0)


def test_what_is_linear_and_quick_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _measured(monkeypatch, lambda size: 0.01 * size / SIZE).fails(8.0)


def test_what_is_linear_and_slow_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _measured(monkeypatch, lambda size: 0.09 * size / SIZE).fails(8.0)


def test_a_machine_twice_as_slow_may_take_twice_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _measured(monkeypatch, lambda size: 0.1 * size / SIZE, slower=2.0).fails(8.0)
    assert _measured(monkeypatch, lambda size: 0.2 * size / SIZE, slower=2.0).fails(8.0)


def test_this_machine_is_not_quicker_than_itself() -> None:
    assert timing.slowness() >= 1.0


def test_one_dear_step_is_no_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen: 0.3 ms for a table's text of 4 kB, which is left whole, and 7.4 for 8 kB, which is cut."""
    assert not _measured(monkeypatch, lambda size: 1e-6 * size * (1 if size >= SIZE else 0.04)).fails(8.0)


def test_what_doubles_with_each_character_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _measured(monkeypatch, lambda size: min(9.0, 0.005 * 2 ** min(99, size - SIZE))).fails(8.0)
