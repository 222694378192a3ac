"""More questions at once than can be answered: each is answered or refused in time, with when to come back.

The callers are processes of their own, and let the services go first on the machine. How soon a refusal comes is
measured by a probe: a process that asks ten times a second and does nothing else. The callers' own times, printed
beside it, are also those of the callers' event loops, which begin hundreds of calls at once.
`FOOTNOTE_CALLERS=50,200,500,2000` asks for a table of so many callers.
"""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest
from support.deployment import Deployment
from support.edge_client import edge_client
from support.overload.crowd import DEADLINE, Outcome
from support.overload.processes import together

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(600)]

CALLERS = [int(one) for one in os.environ.get("FOOTNOTE_CALLERS", "200,500").split(",")]
PROCESSES = 4
PROBE = {"every": 0.1, "seconds": 8.0}
PATIENCE = 10.0
"""The longest that one waits in line before it is refused; what is refused at the door has not been in line."""
ENV = {
    # As if the callers had many addresses: the front proxy lets 500 calls a second through from one.
    "FOOTNOTE_EDGE_GRPC_CALLS_PER_SECOND": "100000",
    "FOOTNOTE_EDGE_ADMISSION_WAIT_SECONDS": str(PATIENCE),
}


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Deployment]:
    """A deployment with few slots."""
    started = Deployment(tmp_path, env=ENV)
    try:
        await asyncio.to_thread(started.start)
        yield started
    finally:
        await asyncio.to_thread(started.stop)


def show(who: str, outcomes: Iterable[Outcome]) -> Counter[str]:
    """Print how calls ended and after how long; return how many ended how."""
    counts = Counter(one.ended for one in outcomes)
    print(f"{who}: {dict(counts)}")
    for kind in counts:
        took = sorted(one.seconds for one in outcomes if one.ended == kind)
        print(f"  {kind}: median {took[len(took) // 2]:.2f} s, last {took[-1]:.2f} s")
    return counts


async def test_each_question_is_answered_or_refused_in_time(running: Deployment) -> None:
    async with edge_client(running.address()) as client:
        text = "\n\n".join(f"Fact {one} is {one * 7}, as everybody knows who has read it." for one in range(20))
        await client.put(text.encode(), "facts.txt")
        await client.answer("What is fact 3?")
    for callers in CALLERS:
        probe, *parts = await together(running.address(), callers, PROCESSES, PROBE)
        crowd = [one for part in parts for one in part]
        counts = show(f"\n{callers} callers", crowd)
        everybody = counts + show("probe", probe)
        assert set(everybody) <= {"answered", "refused (RATE_LIMITED)"}, {one for one in crowd if one.said}
        assert counts["answered"]
        assert all(one.retry_after for one in (*crowd, *probe) if one.ended != "answered")
        assert all(one.seconds < DEADLINE - 5 for one in probe)
        refused = sorted(one.seconds for one in probe if one.ended != "answered")
        if callers >= 2000:
            assert refused[len(refused) // 2] < PATIENCE / 2, refused
