"""The rate of work: of the last minute only, of all counters, and unknown rather than guessed."""

from footnote_edge.documents.backlog import RecentRate, remaining


def test_the_rate_is_what_a_counter_gained_in_the_last_minute() -> None:
    rate = RecentRate()
    for second in range(0, 200, 5):
        rate.note(second, second * (1 if second < 100 else 3), waiting=True)
    assert rate.per_second() == 3


def test_a_rate_is_unknown_in_the_first_seconds_and_when_nothing_waits() -> None:
    rate = RecentRate()
    assert rate.per_second() is None
    rate.note(0, 1000, waiting=True)
    rate.note(9, 1018, waiting=True)
    assert rate.per_second() is None
    rate.note(10, 1020, waiting=True)
    assert rate.per_second() == 2
    rate.note(15, 1040, waiting=False)
    assert rate.per_second() is None


def test_an_idle_time_does_not_lower_the_rate_of_the_work_after_it() -> None:
    rate = RecentRate()
    for second in range(0, 50, 5):
        rate.note(second, 0, waiting=False)
    for second in range(50, 65, 5):
        rate.note(second, (second - 45) * 4, waiting=True)
    assert rate.per_second() == 4


def test_counters_of_several_processes_add_up() -> None:
    rate = RecentRate()
    for second in range(0, 40, 5):
        rate.note(second, second, waiting=True, counter="one")
        rate.note(second, 900 + 2 * second, waiting=True, counter="other")
    assert rate.per_second() == 3


def test_a_counter_that_falls_is_no_work() -> None:
    rate = RecentRate()
    for second, count in ((0, 100), (5, 40), (10, 60)):  # 60 were deleted or are indexed anew
        rate.note(second, count, waiting=True)
    assert rate.per_second() == 2


def test_the_remaining_time_is_unknown_without_a_rate() -> None:
    assert remaining(30, 2.0) == 15
    assert remaining(30, None) is None
    assert remaining(30, 0.0) is None
    assert remaining(None, 2.0) is None
    assert remaining(0, 2.0) is None
