"""Answers kept within bytes and an age."""

import threading
from collections import Counter

import pytest
from footnote_kit import memoise
from footnote_kit.memoise import Memoised


def counted(most: int) -> tuple[Memoised[[str], str], Counter[str]]:
    calls: Counter[str] = Counter()

    def double(text: str) -> str:
        """Say it twice."""
        calls[text] += 1
        return text * 2

    return memoise.memoised(most, len)(double), calls


def test_the_same_is_worked_out_once() -> None:
    double, calls = counted(10_000)
    assert [double("a"), double("a"), double("b")] == ["aa", "aa", "bb"]
    assert calls == {"a": 1, "b": 1}
    assert double.__doc__ == "Say it twice."


def test_what_is_kept_stays_below_its_bytes_whatever_the_texts() -> None:
    double, _ = counted(50_000)
    for number in range(2000):
        double(f"{number} " * (1 + number % 40))
        assert 0 < double.taken <= 50_000
    assert 0 < len(double) < 150


def test_what_was_asked_for_last_stays() -> None:
    double, calls = counted(5_000)
    for number in range(100):
        double("often")
        double(f"seldom {number}")
    assert calls["often"] == 1
    double("seldom 0")
    assert calls["seldom 0"] == 2


def test_what_is_too_large_pushes_nothing_out() -> None:
    double, calls = counted(5_000)
    double("a")
    assert double("b" * 5_000) == "b" * 10_000
    double("a")
    assert calls["a"] == 1
    assert len(double) == 1


def test_what_nobody_asks_for_goes_with_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(memoise.time, "monotonic", lambda: now[0])
    double, calls = counted(10_000)
    double("old")
    double("asked for")
    now[0] += memoise.SECONDS - 1
    double("asked for")
    now[0] += 2
    double("new")
    assert len(double) == 2
    double("asked for")
    double("old")
    assert calls == {"old": 2, "asked for": 1, "new": 1}


def test_it_can_be_emptied() -> None:
    double, calls = counted(10_000)
    double("a")
    double.cache_clear()
    assert (len(double), double.taken) == (0, 0)
    double("a")
    assert calls["a"] == 2


def test_names_of_arguments_count() -> None:
    @memoise.memoised(10_000)
    def joined(text: str, end: str = "") -> str:
        return text + end

    assert [joined("a"), joined("a", end="b"), joined("a", end="c"), joined("a", "b")] == ["a", "ab", "ac", "ab"]


def test_threads_leave_the_sum_right() -> None:
    double, _ = counted(20_000)

    def ask() -> None:
        for number in range(3000):
            double(str(number % 211))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert double.taken == sum(size for _, size, _ in double._found.values()) <= 20_000


def test_a_memo_dict_is_emptied_when_full_and_keeps_only_what_it_may() -> None:
    calls: Counter[str] = Counter()

    @memoise.memo_dict(2, lambda text: len(text) < 3)
    def double(text: str) -> str:
        calls[text] += 1
        return text * 2

    assert [double[text] for text in ("a", "a", "long", "long", "b", "c", "a")] == ["aa"] * 2 + ["longlong"] * 2 + [
        "bb", "cc", "aa",
    ]  # fmt: skip
    assert calls == {"a": 2, "long": 2, "b": 1, "c": 1}
    assert set(double) == {"c", "a"}
