"""What callers of one endpoint in a process share."""

from __future__ import annotations

import asyncio
from time import monotonic

from footnote_providers.resilience import EndpointLimiter, Policy


async def now() -> float:
    return monotonic()


async def test_callers_that_give_up_leave_their_slots_to_others() -> None:
    limiter = EndpointLimiter("x", Policy(requests_per_minute=600))
    await limiter.call(now)
    waiting = [asyncio.create_task(limiter.call(now)) for _ in range(50)]
    await asyncio.sleep(0.02)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    async with asyncio.timeout(2.5):
        await limiter.call(now)


async def test_calls_keep_the_rate_in_the_order_of_asking() -> None:
    limiter = EndpointLimiter("x", Policy(requests_per_minute=1200))
    began = monotonic()
    made = await asyncio.gather(*(limiter.call(now) for _ in range(6)))
    assert made == sorted(made)
    assert made[-1] - began >= 5 * 0.05 - 0.01
