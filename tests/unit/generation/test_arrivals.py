"""Words of a model are taken as they have arrived: in order, whole, soon, and with what the stream ended with."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator

import pytest
from footnote_generation.answering.arrivals import Arrivals
from footnote_generation.ports import Finished, ModelEvent, Thought, Words


async def said(*events: ModelEvent | float | Exception) -> AsyncGenerator[ModelEvent, None]:
    """Say events; wait for numbers of seconds, raise exceptions."""
    for event in events:
        if isinstance(event, float):
            await asyncio.sleep(event)
        elif isinstance(event, Exception):
            raise event
        else:
            yield event


async def taken(source: AsyncGenerator[ModelEvent, None]) -> list[list[ModelEvent]]:
    found = []
    async with Arrivals(source) as arrivals:
        while events := await arrivals.take(5.0):
            found.append(events)
    return found


async def test_what_is_there_at_once_is_one_event_of_each_kind() -> None:
    source = said(Thought("a"), Thought("b"), Words("c"), Words("d"), Thought("e"), Words("f"), Finished())
    assert await taken(source) == [[Thought("ab"), Words("cd"), Thought("e"), Words("f"), Finished()]]


async def test_words_far_apart_come_as_they_are_said() -> None:
    found = await taken(said(Words("a"), 0.05, Words("b"), 0.05, Words("c"), Finished()))
    assert found == [[Words("a")], [Words("b")], [Words("c"), Finished()]]


async def test_words_close_upon_each_other_come_together_and_the_first_does_not_wait() -> None:
    began = time.perf_counter()
    pieces = [part for at in range(40) for part in (Words(f"{at} "), 0.002)]
    async with Arrivals(said(*pieces)) as arrivals:
        first = await arrivals.take(5.0)
        took = time.perf_counter() - began
        rest = []
        while events := await arrivals.take(5.0):
            rest += events
    assert first == [Words("0 ")]
    assert took < 0.5
    assert len(rest) < 30
    assert "".join(event.text for event in rest if isinstance(event, Words)).split() == [str(at) for at in range(1, 40)]


async def test_what_was_said_comes_before_what_it_ended_with() -> None:
    async with Arrivals(said(Words("a"), Words("b"), ValueError("broken"))) as arrivals:
        assert await arrivals.take(5.0) == [Words("ab")]
        with pytest.raises(ValueError, match="broken"):
            await arrivals.take(5.0)


async def test_silence_is_a_timeout_and_leaving_closes_the_stream() -> None:
    closed = asyncio.Event()

    async def silent() -> AsyncGenerator[ModelEvent, None]:
        try:
            yield Words("a")
            await asyncio.sleep(60)
        finally:
            closed.set()

    async with Arrivals(silent()) as arrivals:
        assert await arrivals.take(5.0) == [Words("a")]
        with pytest.raises(TimeoutError):
            await arrivals.take(0.05)
    assert closed.is_set()


async def test_no_more_is_read_ahead_than_is_held() -> None:
    read = 0

    async def endless() -> AsyncGenerator[ModelEvent, None]:
        nonlocal read
        while True:
            read += 1
            yield Words("a")

    async with Arrivals(endless()) as arrivals:
        await asyncio.sleep(0.05)
        assert read <= 513
        [event] = await arrivals.take(5.0)
        assert isinstance(event, Words)
        assert len(event.text) <= 512
        before = read
        await arrivals.take(5.0)
        assert before <= read <= 1026


async def test_a_caller_that_is_cancelled_leaves_nothing_running() -> None:
    async def take() -> None:
        async with Arrivals(said(60.0)) as arrivals:
            await arrivals.take(60.0)

    task = asyncio.create_task(take())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == {asyncio.current_task()}
