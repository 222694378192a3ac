"""Places for documents in work: as many as there are, to tenants in turn, none lost by whoever gives up."""

import asyncio
import random

from footnote_edge.jobs.turns import Turns


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def hold(turns: Turns, tenant: str, log: list[str], let_go: asyncio.Event) -> None:
    async with turns.place(tenant):
        log.append(tenant)
        await let_go.wait()


async def test_tenants_take_turns_however_many_one_has_waiting() -> None:
    turns, log = Turns(1), []
    events = [asyncio.Event() for _ in range(8)]
    tenants = ["a", "a", "a", "a", "a", "b", "b", "c"]
    tasks = []
    for tenant, event in zip(tenants, events, strict=True):
        tasks.append(asyncio.create_task(hold(turns, tenant, log, event)))
        await settle()
    assert turns.waiting("a") == 4
    for event in events:
        event.set()
    await asyncio.gather(*tasks)
    assert log == ["a", "a", "b", "c", "a", "b", "a", "a"]
    assert turns.waiting("a") == 0


async def test_no_more_are_at_work_than_there_are_places_whoever_gives_up() -> None:
    turns, rng = Turns(3), random.Random(7)
    working = most = done = 0

    async def work(tenant: str) -> None:
        nonlocal working, most, done
        async with turns.place(tenant):
            working += 1
            most = max(most, working)
            try:
                await asyncio.sleep(rng.choice([0, 0, 0.001]))
            finally:
                working -= 1
        done += 1

    tasks = [asyncio.create_task(work(rng.choice("abc"))) for _ in range(400)]
    while not all(task.done() for task in tasks):
        rng.choice(tasks).cancel()
        await asyncio.sleep(0)
    assert most == 3
    assert done > 0
    assert not turns._waiting
    assert turns._free == 3


async def test_a_place_that_comes_to_one_who_gives_up_goes_to_the_next() -> None:
    turns, log = Turns(1), []
    events = [asyncio.Event() for _ in range(3)]
    tasks = [asyncio.create_task(hold(turns, "a", log, event)) for event in events]
    await settle()
    events[0].set()
    await asyncio.sleep(0)  # the first lets go: the second has its place, and has not seen it
    tasks[1].cancel()
    events[2].set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert log[-1] == "a"
    assert turns._free == 1
    assert len(log) == 2
