"""What callers of one endpoint in a process share."""

from __future__ import annotations

import asyncio
import re
from time import monotonic

import pytest
from footnote_kit.errors import Unavailable
from footnote_providers.resilience import EndpointLimiter, Policy, RetryableFailure


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


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (RetryableFailure("HTTP 500: no answer to 'Ada Quokka'", status=500), "the last: HTTP 500"),
        (RetryableFailure("no connection (ConnectError)"), "the last: no connection (ConnectError)"),
    ],
)
async def test_what_one_caller_is_told_of_its_texts_no_other_is_told(failure: RetryableFailure, told: str) -> None:
    limiter = EndpointLimiter("x", Policy(attempts=1, breaker_failures=1))

    async def fails() -> None:
        raise failure

    with pytest.raises(Unavailable, match=re.escape(failure.message)):
        await limiter.call(fails)
    with pytest.raises(Unavailable, match="is left alone") as other:
        await limiter.call(now)
    assert other.value.message.endswith(told)
