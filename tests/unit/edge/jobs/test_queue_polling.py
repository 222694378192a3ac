"""A queue is polled often while it has work and for a while after, and at a long interval when idle."""

from __future__ import annotations

import asyncio

import pytest
from footnote_edge.jobs import queue_polling as module
from footnote_edge.jobs.queue_polling import BUSY_SECONDS, QueuePolling
from support.conditions import until


class Queue:
    """Records the intervals that it gets."""

    def __init__(self) -> None:
        self.now = 0.0
        self.broken = False
        self.told: list[float] = []
        self.pace = QueuePolling("q", self.change, busy=0.05, idle=0.25, clock=lambda: self.now)

    async def change(self, seconds: float) -> None:
        await asyncio.sleep(0)
        if self.broken:
            raise OSError("database is locked")
        self.told.append(seconds)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_it_rests_after_a_while_and_hurries_at_once() -> None:
    queue = Queue()
    await queue.pace.slow_down_if_idle()
    assert queue.told == []
    queue.now = BUSY_SECONDS
    await queue.pace.slow_down_if_idle()
    await queue.pace.slow_down_if_idle()
    assert queue.told == [0.25]
    for _ in range(3):
        queue.pace.hurry()
    await settle()
    assert queue.told == [0.25, 0.05]
    queue.now += BUSY_SECONDS - 0.1
    await queue.pace.slow_down_if_idle()
    assert queue.told == [0.25, 0.05]


async def test_it_rests_while_a_long_job_is_at_work_and_none_begins() -> None:
    queue = Queue()
    queue.pace.hurry()
    queue.now = BUSY_SECONDS + 0.1
    await queue.pace.slow_down_if_idle()
    assert queue.told == [0.25]


async def test_a_job_that_comes_while_it_goes_to_rest_wakes_it() -> None:
    queue = Queue()
    queue.now = BUSY_SECONDS
    resting = asyncio.create_task(queue.pace.slow_down_if_idle())
    await asyncio.sleep(0)
    queue.pace.hurry()
    await resting
    await settle()
    assert queue.told[-1] == 0.05


async def test_what_could_not_be_told_is_told_later() -> None:
    queue = Queue()
    queue.now, queue.broken = BUSY_SECONDS, True
    await queue.pace.slow_down_if_idle()
    queue.broken = False
    await queue.pace.slow_down_if_idle()
    assert queue.told == [0.25]


async def test_its_rounds_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHECK_SECONDS", 0.01)
    queue = Queue()
    queue.now = BUSY_SECONDS
    await queue.pace.start()

    async def rested() -> bool:
        return bool(queue.told)

    await until(rested)
    await queue.pace.close()
    assert queue.told == [0.25]
