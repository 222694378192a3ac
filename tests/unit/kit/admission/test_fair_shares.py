"""Fair shares: callers that used more wait for others, only while the process is overloaded."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from footnote_kit.admission import fair_shares as module
from footnote_kit.admission.fair_shares import CROWDED_LAG, STARVED_SECONDS, Shares
from footnote_kit.errors import ResourceExhausted

GOOD, EVIL = ("good", "gina"), ("evil", "eve")


class Crowd:
    """Shares in a process of which one says how late its loop is."""

    def __init__(self, at_once: int = 1, most_waiting: int = 4, wait_seconds: float = 5.0) -> None:
        self.lag = 2 * CROWDED_LAG
        self.shares = Shares(at_once, most_waiting, wait_seconds, lag=lambda: self.lag, processor=time.monotonic)
        self.order: list[str] = []

    async def work(self, key: tuple[str, str], seconds: float = 0.05, name: str = "") -> None:
        async with self.shares.working(*key):
            self.order.append(name or key[1])
            await asyncio.sleep(seconds)


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    """Holds the turns that a test takes; closed after it."""
    async with AsyncExitStack() as opened:
        yield opened


async def test_alone_a_tenant_may_use_everything(stack: AsyncExitStack) -> None:
    crowd = Crowd()
    async with asyncio.timeout(1):
        for _ in range(50):
            await stack.enter_async_context(crowd.shares.working(*EVIL))


async def test_while_the_loop_keeps_up_nobody_waits(stack: AsyncExitStack) -> None:
    crowd = Crowd()
    crowd.lag = 0.0
    async with asyncio.timeout(1):
        for _ in range(50):
            await stack.enter_async_context(crowd.shares.working(*EVIL))
            await stack.enter_async_context(crowd.shares.working(*GOOD))


@pytest.mark.parametrize("rival", [("evil", "eve"), ("good", "eve")], ids=["tenants", "users of a tenant"])
@pytest.mark.slow
async def test_who_has_had_less_never_waits(rival: tuple[str, str]) -> None:
    crowd = Crowd(most_waiting=100)
    await crowd.work(rival, 0.2)
    await crowd.work(GOOD, 0.0)
    flood = [asyncio.create_task(crowd.work(rival)) for _ in range(40)]
    await asyncio.sleep(0.02)
    for _ in range(10):
        began = asyncio.get_running_loop().time()
        await crowd.work(GOOD, 0.001)
        assert asyncio.get_running_loop().time() - began < 0.03
        await asyncio.sleep(0.01)
    await asyncio.gather(*flood)


async def test_who_has_had_more_has_one_call_in_work_beside_others() -> None:
    crowd = Crowd(most_waiting=100)
    await crowd.work(EVIL, 0.2)
    await crowd.work(GOOD, 0.0)
    most = working = 0

    async def one() -> None:
        nonlocal most, working
        async with crowd.shares.working(*EVIL):
            working += 1
            most = max(most, working)
            await asyncio.sleep(0.02)
            working -= 1

    await asyncio.gather(*(one() for _ in range(20)))
    assert most == 1


async def test_who_waits_goes_on_even_if_others_never_stop(stack: AsyncExitStack) -> None:
    crowd = Crowd()
    await crowd.work(EVIL, 0.2)

    async def busy() -> None:
        while True:
            await crowd.work(GOOD, 0.005)

    others = [asyncio.create_task(busy()) for _ in range(3)]
    await asyncio.sleep(0.01)
    async with asyncio.timeout(4 * STARVED_SECONDS):
        await crowd.work(EVIL)
    for other in others:
        other.cancel()


async def test_the_line_is_bounded_and_refuses_with_a_time_to_wait(stack: AsyncExitStack) -> None:
    crowd = Crowd(wait_seconds=0.2)
    await crowd.work(EVIL, 0.2)
    await crowd.work(GOOD, 0.0)
    await stack.enter_async_context(crowd.shares.working(*GOOD))
    waiting = [asyncio.create_task(crowd.work(EVIL)) for _ in range(4)]
    await asyncio.sleep(0.01)
    with pytest.raises(ResourceExhausted) as caught:
        await crowd.work(EVIL)
    assert (caught.value.reason, caught.value.retry_after) == ("RATE_LIMITED", 1.0)
    with pytest.raises(ResourceExhausted):
        crowd.shares.check("evil")
    crowd.shares.check("good")
    with pytest.raises(ResourceExhausted, match="busy"):
        await waiting[0]
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_jobs_wait_too_and_are_never_refused() -> None:
    crowd = Crowd(most_waiting=1)
    await crowd.work(EVIL, 0.2)
    await crowd.work(GOOD, 0.0)
    async with asyncio.timeout(10):
        await asyncio.gather(*(crowd.shares.job_turn(*EVIL, 0.01) for _ in range(20)))


async def test_processor_time_is_divided_among_those_in_work(stack: AsyncExitStack) -> None:
    spent = 0.0
    shares = Shares(9, 9, 9.0, lag=lambda: 0.0, clock=lambda: 0.0, processor=lambda: spent)
    async with shares.working(*EVIL):
        spent += 1.0
        async with shares.working(*GOOD), shares.working(*EVIL):
            spent += 3.0
    spent += 100.0
    had = {name: share.had for name, share in shares._tenants.shares.items()}
    assert had == {"evil": pytest.approx(3.0), "good": pytest.approx(1.0)}


async def test_a_call_that_waits_for_something_else_counts_no_longer(
    monkeypatch: pytest.MonkeyPatch, stack: AsyncExitStack
) -> None:
    monkeypatch.setattr(module, "MOST_COUNTED", 0.1)
    crowd = Crowd()
    await crowd.work(EVIL, 0.2)
    await crowd.work(GOOD, 0.0)
    await stack.enter_async_context(crowd.shares.working(*EVIL))
    async with asyncio.timeout(STARVED_SECONDS):
        await crowd.work(EVIL)


async def test_who_gives_up_leaves_nothing_behind() -> None:
    crowd = Crowd(most_waiting=100)
    await crowd.work(EVIL, 0.2)
    await crowd.work(GOOD, 0.0)
    tasks = [asyncio.create_task(crowd.work(EVIL)) for _ in range(30)]
    for task in tasks:
        await asyncio.sleep(0.005)
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert not crowd.shares._waiters
    share = crowd.shares._tenants.shares["evil"]
    assert (share.working, share.waiting) == (0, 0)


async def test_only_so_many_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_KNOWN", 10)
    monkeypatch.setattr(module, "RECENT_SECONDS", 0.0)
    crowd = Crowd()
    for number in range(100):
        await crowd.work((f"t{number}", "u"), 0.0)
    assert len(crowd.shares._tenants.shares) <= 10
    assert len(crowd.shares._users) <= 12
