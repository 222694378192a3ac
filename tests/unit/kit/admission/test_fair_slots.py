"""Slots shared fairly: no more than there are, tenants and their users by turns, none lost by a cancelled waiter."""

import asyncio
import random

import pytest
from footnote_kit.admission.fair_slots import FairSlots


class Holder:
    """Tasks that ask for slots, and a log of who got one, in order."""

    def __init__(self, slots: FairSlots) -> None:
        self.slots = slots
        self.log: list[str] = []
        self.events: dict[str, asyncio.Event] = {}
        self.tasks: list[asyncio.Task[None]] = []

    async def ask(self, tenant: str, user: str = "", name: str = "") -> None:
        name = name or f"{tenant}{user}"
        event = self.events.setdefault(name, asyncio.Event())

        async def hold() -> None:
            async with self.slots.slot(tenant, user):
                self.log.append(name)
                await event.wait()

        self.tasks.append(asyncio.create_task(hold()))
        await settle()

    async def end(self, *names: str) -> None:
        for name in names:
            self.events[name].set()
            await settle()

    async def drain(self) -> None:
        while not all(task.done() for task in self.tasks):
            await self.end(*self.log)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_tenants_take_turns_however_many_one_has_waiting() -> None:
    holder = Holder(FairSlots(1, spare=0))
    for number, tenant in enumerate("aaaaabbc"):
        await holder.ask(tenant, name=f"{tenant}{number}")
    assert holder.slots.waiting("a") == 4
    await holder.drain()
    assert [name[0] for name in holder.log] == ["a", "a", "b", "c", "a", "b", "a", "a"]
    assert holder.slots.waiting("a") == 0


@pytest.mark.parametrize("size", [1, 2, 3, 8])
async def test_one_tenant_never_holds_all_and_the_next_does_not_wait(size: int) -> None:
    holder = Holder(FairSlots(size))
    for number in range(3 * size):
        await holder.ask("a", f"user-{number}")
    assert len(holder.log) == size
    await holder.ask("b")
    assert holder.log[-1] == "b"
    await holder.ask("b", name="second of b")
    await holder.ask("c")
    assert len(holder.log) == size + 1
    await holder.end("b")
    assert holder.log[-1] == "second of b"  # the spare slot is for a tenant without one, and this waited longer than c
    await holder.end("second of b")
    assert holder.log[-1] == "c"
    await holder.drain()
    assert len(holder.log) == 3 * size + 3
    assert holder.slots.idle


async def test_a_slot_goes_to_the_tenant_that_holds_the_fewest() -> None:
    holder = Holder(FairSlots(2))
    for name in ("a1", "a2", "a3"):
        await holder.ask("a", name=name)
    for name in ("b1", "b2", "b3"):
        await holder.ask("b", name=name)
    assert holder.log == ["a1", "a2", "b1"]
    await holder.end("a1")
    assert holder.log == ["a1", "a2", "b1"]  # two are held, and neither tenant is without one
    await holder.end("b1")
    assert holder.log == ["a1", "a2", "b1", "b2"]
    await holder.end("b2")
    assert holder.log[-1] == "b3"


async def test_users_of_a_tenant_take_turns() -> None:
    holder = Holder(FairSlots(1, spare=0))
    for number, user in enumerate("uuuuvvw"):
        await holder.ask("a", user, name=f"{user}{number}")
    assert holder.slots.waiting("a", "v") == 2
    await holder.drain()
    assert [name[0] for name in holder.log] == ["u", "u", "v", "w", "u", "v", "u"]


async def test_no_more_are_held_than_there_are_whoever_gives_up() -> None:
    slots, rng = FairSlots(3), random.Random(7)
    working: list[str] = []
    most = done = 0

    async def work(tenant: str, user: str) -> None:
        nonlocal most, done
        async with slots.slot(tenant, user):
            working.append(tenant)
            most = max(most, len(working))
            assert working.count(tenant) <= 3
            try:
                await asyncio.sleep(rng.choice([0, 0, 0.001]))
            finally:
                working.remove(tenant)
        done += 1

    tasks = [asyncio.create_task(work(rng.choice("abc"), rng.choice("uv"))) for _ in range(400)]
    while not all(task.done() for task in tasks):
        rng.choice(tasks).cancel()
        await asyncio.sleep(0)
    assert all(task.cancelled() or not task.exception() for task in tasks)
    assert most in (3, 4)
    assert done > 0
    assert slots.idle
    assert not slots._lines
    assert not slots._held
    assert not slots._held_by_user


async def test_a_slot_that_comes_to_one_who_gives_up_goes_to_the_next() -> None:
    slots, log = FairSlots(1, spare=0), []
    events = [asyncio.Event() for _ in range(3)]

    async def hold(number: int) -> None:
        async with slots.slot("a"):
            log.append(number)
            await events[number].wait()

    tasks = [asyncio.create_task(hold(number)) for number in range(3)]
    await settle()
    events[0].set()
    await asyncio.sleep(0)  # the first lets go: the second has its slot, and has not seen it
    tasks[1].cancel()
    events[2].set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert log == [0, 2]
    assert slots.idle
