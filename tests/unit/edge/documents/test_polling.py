import asyncio

import pytest
from footnote_edge.documents.polling import MOST_KEPT, SharedPolls
from support.doubles.clock import Clock


class Asked:
    """Counts how often it is asked; answers its count when it is let go."""

    def __init__(self, *, held: bool = False, fails: bool = False) -> None:
        self.times = 0
        self.fails = fails
        self.go = asyncio.Event()
        if not held:
            self.go.set()

    async def __call__(self) -> int:
        self.times += 1
        mine = self.times
        await self.go.wait()
        if self.fails:
            raise ValueError(mine)
        return mine


async def test_many_at_once_ask_once() -> None:
    looks: SharedPolls[int] = SharedPolls(0.5, Clock(100.0))
    asked = Asked(held=True)
    wanted = [asyncio.create_task(looks.get("k", 99.0, asked)) for _ in range(50)]
    await asyncio.sleep(0)
    asked.go.set()
    assert await asyncio.gather(*wanted) == [1] * 50


@pytest.mark.parametrize(
    ("passed", "since", "times"), [(0.0, 0.0, 1), (0.4, 0.0, 1), (0.6, 0.0, 2), (0.1, 100.05, 2), (0.1, 100.0, 1)]
)
async def test_an_answer_is_as_new_as_it_must_be(passed: float, since: float, times: int) -> None:
    clock = Clock(100.0)
    looks: SharedPolls[int] = SharedPolls(0.5, clock)
    asked = Asked()
    await looks.get("k", 0.0, asked)
    clock.now += passed
    assert await looks.get("k", since, asked) == times


async def test_one_that_goes_does_not_take_the_answer_with_it() -> None:
    looks: SharedPolls[int] = SharedPolls(0.5, Clock(100.0))
    asked = Asked(held=True)
    first = asyncio.create_task(looks.get("k", 0.0, asked))
    second = asyncio.create_task(looks.get("k", 0.0, asked))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    asked.go.set()
    assert await second == 1
    assert first.cancelled()


async def test_a_refusal_is_nobodys_but_the_askers() -> None:
    looks: SharedPolls[int] = SharedPolls(0.5, Clock(100.0))
    refused, allowed = Asked(held=True, fails=True), Asked()
    first = asyncio.create_task(looks.get("k", 0.0, refused))
    await asyncio.sleep(0)
    second = asyncio.create_task(looks.get("k", 0.0, allowed))
    await asyncio.sleep(0)
    refused.go.set()
    with pytest.raises(ValueError, match="1"):
        await first
    assert await second == 1
    assert allowed.times == 1


async def test_keys_are_apart_and_bounded() -> None:
    looks: SharedPolls[int] = SharedPolls(0.5, Clock(100.0))
    for number in range(MOST_KEPT + 50):
        assert await looks.get(number, 0.0, Asked()) == 1
    assert len(looks._looks) == MOST_KEPT
