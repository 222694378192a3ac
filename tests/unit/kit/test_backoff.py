from datetime import UTC, datetime
from email.utils import format_datetime, formatdate
from time import time

import pytest
from footnote_kit.backoff import Backoff, no_sooner, retry_after

BACKOFF = Backoff(first=0.5, longest=8.0)


def drawn(backoff: Backoff, attempt: int, asked: float = 0.0) -> list[float]:
    return sorted(backoff.pause(attempt, asked) for _ in range(400))


@pytest.mark.parametrize(("attempt", "longest"), [(1, 0.5), (2, 1.0), (3, 2.0), (5, 8.0), (6, 8.0), (9, 8.0)])
def test_pauses_double_up_to_the_longest_and_are_spread(attempt: int, longest: float) -> None:
    pauses = drawn(BACKOFF, attempt)
    assert longest / 2 <= pauses[0] < 0.6 * longest
    assert 0.9 * longest < pauses[-1] <= longest


def test_the_spread_is_the_caller_s_to_set() -> None:
    assert {Backoff(1.0, 4.0, least=1.0).pause(number) for number in (3, 4, 5)} == {4.0}
    assert drawn(Backoff(1.0, 1.0, least=0.75), 1)[0] >= 0.75


@pytest.mark.parametrize("attempt", [64, 1100, 10**6])
def test_a_thousand_failures_are_as_good_as_ten(attempt: int) -> None:
    assert 4.0 <= BACKOFF.pause(attempt) <= 8.0


def test_what_is_asked_for_lifts_a_short_pause_up_to_the_longest() -> None:
    assert drawn(BACKOFF, 1, asked=4.0)[0] >= 2.0
    assert drawn(BACKOFF, 1, asked=100.0)[-1] <= 8.0
    assert drawn(BACKOFF, 4, asked=0.1)[0] >= 2.0


@pytest.mark.parametrize("asked", [0.0, 0.05, 1.0, 30.0])
def test_a_pause_that_was_asked_for_is_never_shortened(asked: float) -> None:
    pauses = [no_sooner(asked) for _ in range(400)]
    assert asked <= min(pauses)
    assert max(pauses) <= asked + max(0.01, asked / 10)
    assert len(set(pauses)) > 300


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("2.5", 2.5), ("0", 0), ("-4", 0), ("nan", None), ("inf", None), ("1e999", None), ("soon", None), ("", None),
     ("Mon, 99 Foo 2026 99:99:99 GMT", None), ("Wed, 21 Oct 2015 07:28:00 GMT", 0), ("9" * 500, 1e100)],
)  # fmt: skip
def test_retry_after_in_seconds(value: str, seconds: float | None) -> None:
    found = retry_after({"retry-after": value})
    assert found is None if seconds is None else found == pytest.approx(seconds)


def test_retry_after_as_a_date() -> None:
    in_half_a_minute = datetime.fromtimestamp(time() + 30, UTC)
    for date in (
        formatdate(time() + 30, usegmt=True),
        format_datetime(in_half_a_minute),
        format_datetime(in_half_a_minute.replace(tzinfo=None)),
    ):
        assert retry_after({"retry-after": date}) == pytest.approx(30, abs=2)


def test_milliseconds_go_first_where_they_can_be_read() -> None:
    assert retry_after({"retry-after-ms": "250", "retry-after": "3"}) == 0.25
    assert retry_after({"retry-after-ms": "a few", "retry-after": "3"}) == 3
    assert retry_after({}) is None
