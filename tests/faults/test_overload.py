"""More questions at once than can be answered: each is answered or refused in time, with when to come back.

`FOOTNOTE_CALLERS=50,200,500,2000` asks for a table of so many callers.
"""

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from footnote.edge.v1.answers_pb2 import AskRequest
from footnote_kit.clients import open_channel
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import FootnoteError, ResourceExhausted
from support.deployment import Deployment
from support.edge_client import edge_client

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CALLERS = [int(one) for one in os.environ.get("FOOTNOTE_CALLERS", "200,500").split(",")]
DEADLINE = 30.0
CHANNELS = 8


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Deployment]:
    started = Deployment(tmp_path)
    try:
        await asyncio.to_thread(started.start)
        yield started
    finally:
        await asyncio.to_thread(started.stop)


async def ask(edge: EdgeStub, number: int) -> tuple[str, float, float | None]:
    """Ask; return how it ended, after how many seconds, and when to come back if it was refused."""
    began = time.monotonic()
    retry_after = None
    try:
        last = None
        async for event in edge.Ask(AskRequest(question=f"What is fact {number % 20}?"), timeout=DEADLINE):
            last = event
        ended = "answered" if last is not None and last.HasField("completed") else "no end"
    except FootnoteError as error:
        ended, retry_after = error.code, error.retry_after
        if isinstance(error, ResourceExhausted):
            ended = f"refused ({error.reason})"
    return ended, time.monotonic() - began, retry_after


async def test_each_question_is_answered_or_refused_in_time(running: Deployment) -> None:
    async with edge_client(running.address()) as client:
        text = "\n\n".join(f"Fact {one} is {one * 7}, as everybody knows who has read it." for one in range(20))
        await client.put(text.encode(), "facts.txt")
        await client.answer("What is fact 3?")
    for callers in CALLERS:
        async with AsyncExitStack() as stack:
            edges = [
                EdgeStub(await stack.enter_async_context(open_channel(running.address(), peer="edge")))
                for _ in range(CHANNELS)
            ]
            outcomes = await asyncio.gather(*(ask(edges[one % CHANNELS], one) for one in range(callers)))
        counts = Counter(ended for ended, _, _ in outcomes)
        print(f"\n{callers} callers: {dict(counts)}")
        for kind in counts:
            took = sorted(seconds for ended, seconds, _ in outcomes if ended == kind)
            print(f"  {kind}: median {took[len(took) // 2]:.2f} s, last {took[-1]:.2f} s")
        assert set(counts) <= {"answered", "refused (RATE_LIMITED)"}, counts
        assert counts["answered"]
        assert all(after for ended, _, after in outcomes if ended != "answered")
