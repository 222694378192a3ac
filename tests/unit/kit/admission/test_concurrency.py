"""Places, queues and refusals of the lanes."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from footnote_kit import context
from footnote_kit.admission.concurrency import (
    ADJUST_SECONDS,
    LEAST_AT_ONCE,
    TENANTS_PART,
    WAITING_PER_PLACE,
    ConcurrencyLimiter,
    Machine,
    Size,
)
from footnote_kit.admission.fair_shares import ProcessorMeter
from footnote_kit.errors import ResourceExhausted


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


class Callers:
    """Calls that a test ends."""

    def __init__(self, lane: ConcurrencyLimiter) -> None:
        self.lane = lane
        self.order: list[str] = []
        self.refused: list[ResourceExhausted] = []
        self.go = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []

    async def _call(self, tenant: str) -> None:
        try:
            async with self.lane.working(tenant):
                self.order.append(tenant)
                await self.go.wait()
        except ResourceExhausted as error:
            self.refused.append(error)

    async def come(self, *tenants: str) -> None:
        self.tasks += [asyncio.create_task(self._call(tenant)) for tenant in tenants]
        await settle()

    async def end(self) -> None:
        self.go.set()
        await asyncio.gather(*self.tasks, return_exceptions=True)


@pytest.mark.parametrize("at_once", [1, 3, LEAST_AT_ONCE])
async def test_what_finds_no_place_is_refused_at_once_and_all_else_is_served(at_once: int) -> None:
    callers = Callers(ConcurrencyLimiter("asks", Size(at_once, 60.0)))
    places = at_once * WAITING_PER_PLACE
    for number in range(at_once + places + 10):
        await callers.come(f"tenant-{number % 8}" if at_once > 1 else f"tenant-{number}")
    assert len(callers.refused) == 10
    assert all(error.reason == "RATE_LIMITED" and error.retry_after for error in callers.refused)
    assert len(callers.order) == at_once
    await callers.end()
    assert len(callers.order) == at_once + places
    assert callers.lane.waiting == 0


async def test_tenants_wait_in_turn_and_none_takes_all_places() -> None:
    callers = Callers(ConcurrencyLimiter("asks", Size(4, 60.0)))
    most = int(4 * WAITING_PER_PLACE * TENANTS_PART)
    await callers.come(*["greedy"] * (4 + most + 8))
    assert len(callers.refused) == 8
    await callers.come("modest", "other")
    assert len(callers.refused) == 8
    await callers.end()
    assert set(callers.order[4:7]) == {"greedy", "modest", "other"}


async def test_a_place_that_comes_free_as_its_next_one_leaves_goes_to_who_is_left() -> None:
    callers = Callers(ConcurrencyLimiter("asks", Size(1, 60.0)))
    await callers.come("a", "b", "c")
    callers.tasks[0].cancel()
    callers.tasks[1].cancel()  # its turn is passed over before it can take itself out of the line
    await settle()
    assert callers.order == ["a", "c"]
    assert callers.tasks[1].cancelled()
    await callers.end()
    assert callers.lane.waiting == 0


async def test_a_cancelled_call_leaves_its_place_and_its_line() -> None:
    callers = Callers(ConcurrencyLimiter("asks", Size(1, 60.0)))
    await callers.come("a", "b", "c")
    callers.tasks[1].cancel()
    callers.tasks[0].cancel()
    await settle()
    assert callers.order == ["a", "c"]
    # Cancelled in the very moment in which it gets its place.
    await callers.come("d", "e")
    callers.tasks[2].cancel()
    await asyncio.sleep(0)
    callers.tasks[3].cancel()
    await settle()
    assert callers.order[-1] == "e"
    await callers.end()
    assert callers.lane.waiting == 0
    callers.go.clear()
    await callers.come("f")
    assert callers.order[-1] == "f"
    await callers.end()


async def test_who_waits_too_long_is_told_so_before_its_deadline() -> None:
    lane = ConcurrencyLimiter("asks", Size(1, 60.0))
    async with lane.working("a"):
        context.bind_deadline(0.2)
        began = asyncio.get_running_loop().time()
        with pytest.raises(ResourceExhausted):
            async with lane.working("b"):
                pass
        assert asyncio.get_running_loop().time() - began < 0.19
        context.bind_deadline(None)
    assert lane.waiting == 0


async def test_a_wait_that_would_be_too_long_is_refused_without_waiting() -> None:
    now = 0.0
    lane = ConcurrencyLimiter("asks", Size(1, 10.0), clock=lambda: now)
    for _ in range(60):
        async with lane.working("a"):
            now += 8.0
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(lane.working("a"))
        callers = Callers(lane)
        await callers.come("b")
        assert not callers.refused
        with pytest.raises(ResourceExhausted) as caught:
            lane.check("c")
        assert caught.value.retry_after is not None
        assert caught.value.retry_after > 10
    await callers.end()


@pytest.mark.slow
async def test_few_are_begun_while_iterations_are_long_and_more_when_they_are_not() -> None:
    iteration = 1.0
    machine = Machine(iteration=lambda: iteration)
    callers = Callers(ConcurrencyLimiter("asks", Size(64, 60.0), machine=machine))
    await callers.come(*[f"tenant-{one}" for one in range(64)])
    await asyncio.sleep(3 * ADJUST_SECONDS)
    assert len(callers.order) == LEAST_AT_ONCE
    iteration = 0.0
    await asyncio.sleep((64 / LEAST_AT_ONCE + 4) * ADJUST_SECONDS)
    assert len(callers.order) == 64
    await callers.end()
    assert callers.lane.waiting == 0
    assert not callers.refused


async def test_what_a_call_costs_in_processor_time_bounds_the_line_from_the_first_call_on() -> None:
    spent = 0.0
    machine = Machine(meter=ProcessorMeter(lambda: spent), cores=2)
    lane = ConcurrencyLimiter("asks", Size(4, 10.0), machine=machine)
    async with lane.working("first"):
        spent += 4.0
    callers = Callers(lane)
    await callers.come(*[f"tenant-{one}" for one in range(4 + 20)])
    assert len(callers.order) == 4
    assert lane.waiting == 5  # of two seconds each, on two processors
    assert len(callers.refused) == 15
    await callers.end()
    assert len(callers.order) == 9


async def test_those_in_line_hear_at_once_that_more_is_known_than_when_they_came() -> None:
    now = 0.0
    callers = Callers(ConcurrencyLimiter("asks", Size(1, 10.0), clock=lambda: now))
    await callers.come("first")
    await callers.come("second", *[f"tenant-{one}" for one in range(10)])
    assert callers.lane.waiting == 11
    now = 4.0
    callers.tasks[0].cancel()  # after four seconds
    await settle()
    assert len(callers.refused) == 8
    assert all(error.retry_after for error in callers.refused)
    assert callers.lane.waiting == 2
    await callers.end()
    assert callers.order == ["first", "second", "tenant-0", "tenant-1"]
    assert callers.lane.waiting == 0


async def test_a_call_that_is_refused_in_the_moment_of_its_cancellation_gives_no_place_back() -> None:
    now = 0.0
    callers = Callers(ConcurrencyLimiter("asks", Size(1, 10.0), clock=lambda: now))
    await callers.come("first")
    await callers.come("second", "third")
    now = 11.0
    callers.tasks[0].cancel()  # it took eleven seconds: whoever waits behind the next one is refused
    await asyncio.sleep(0)
    callers.tasks[2].cancel()
    await settle()
    assert callers.lane.waiting == 0
    assert callers.lane._working == 1
    await callers.end()
    assert callers.lane._working == 0


async def test_calls_of_a_tenant_that_never_end_leave_places_to_others() -> None:
    lane = ConcurrencyLimiter("uploads", Size(64, 10.0))
    callers = Callers(lane)
    try:
        await callers.come(*["a"] * 100)
        while len(callers.order) < 64:  # noqa: ASYNC110 - alone it gets all places, step by step
            await asyncio.sleep(ADJUST_SECONDS / 4)
        await asyncio.sleep(ADJUST_SECONDS * 2)
        assert callers.order == ["a"] * 64
        lane.check("b")
        await callers.come(*["b"] * 6)
        assert callers.order[64:] == ["b"] * 4
        await callers.come("c", "c", "c", "d", "d")
        assert callers.order[68:] == ["c", "c", "d"]
        assert not callers.refused
    finally:
        await callers.end()
    async with lane.working("a"):  # all places are free again, and nobody's are counted on
        assert lane.waiting == 0
