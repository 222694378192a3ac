import asyncio

import pytest
from footnote_kit.breaker import Breaker, Guard
from footnote_kit.errors import DeadlineExceeded, InvalidArgument, Unavailable
from support.doubles.clock import Clock


async def fails() -> None:
    raise Unavailable("down")


async def works() -> str:
    return "fine"


async def test_it_opens_after_failures_in_a_row_and_lets_one_try() -> None:
    clock = Clock()
    breaker = Guard("store", 2, 5.0, clock)
    for _ in range(2):
        with pytest.raises(Unavailable, match="down"):
            await breaker.call(fails, 1)
    assert breaker.open
    with pytest.raises(Unavailable, match="calls to it are paused"):
        await breaker.call(works, 1)
    clock.now = 5.1
    assert not breaker.open
    with pytest.raises(Unavailable, match="down"):
        await breaker.call(fails, 1)
    assert breaker.open
    clock.now = 11
    assert await breaker.call(works, 1) == "fine"
    assert not breaker.open


async def test_only_one_call_tries() -> None:
    clock = Clock()
    breaker = Guard("store", 1, 5.0, clock)
    with pytest.raises(Unavailable):
        await breaker.call(fails, 1)
    clock.now = 6
    release = asyncio.Event()
    trial = asyncio.create_task(breaker.call(release.wait, 5))
    await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="calls to it are paused"):
        await breaker.call(works, 1)
    release.set()
    await trial
    assert await breaker.call(works, 1) == "fine"


async def test_a_success_starts_the_count_again() -> None:
    breaker = Guard("store", 2, 5.0, Clock())
    for function in (fails, works, fails):
        try:
            await breaker.call(function, 1)
        except Unavailable:
            continue
    assert not breaker.open


async def test_a_call_that_takes_too_long_is_a_failure() -> None:
    breaker = Guard("store", 1, 5.0, Clock())
    with pytest.raises(DeadlineExceeded):
        await breaker.call(asyncio.Event().wait, 0.01)
    assert breaker.open


async def test_a_wrong_request_is_no_failure_of_the_dependency() -> None:
    async def wrong() -> None:
        raise InvalidArgument("no")

    breaker = Guard("store", 1, 5.0, Clock())
    with pytest.raises(InvalidArgument):
        await breaker.call(wrong, 1)
    assert not breaker.open


def test_the_failure_that_reaches_the_limit_opens_it_and_each_later_one_anew() -> None:
    clock = Clock()
    breaker = Breaker(3, 5.0, clock)
    assert [breaker.failed() for _ in range(2)] == [False, False]
    assert (breaker.rest, breaker.tripped) == (0, False)
    assert breaker.failed()
    assert (breaker.rest, breaker.tripped) == (5.0, True)
    clock.now = 6
    assert (breaker.rest, breaker.tripped) == (0, True)
    assert not breaker.failed()
    assert breaker.rest == 5.0


def test_an_answer_closes_it_and_tells_whether_it_was_given_up() -> None:
    breaker = Breaker(2, 5.0, Clock())
    breaker.failed()
    assert not breaker.answered()
    breaker.failed()
    breaker.failed()
    assert breaker.answered()
    assert (breaker.rest, breaker.tripped, breaker.failures) == (0, False, 0)


def test_it_is_closed_at_first_whatever_the_clock_says() -> None:
    clock = Clock()
    clock.now = -1e9
    assert Breaker(1, 5.0, clock).rest == 0
