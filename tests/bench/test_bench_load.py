"""Many questions at once, through the edge and stages that cost nothing, also while one of them restarts."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import psutil
import pytest
from footnote.edge.v1 import answers_pb2 as pb
from footnote_edge.app import build
from footnote_kit.errors import FootnoteError, ResourceExhausted, Unavailable
from footnote_kit.server import ServiceHost
from footnote_kit.settings import KitSettings
from footnote_kit.testing import CREDENTIAL, serve_app
from rich.console import Console
from rich.table import Table
from support.doubles.stages import World, double_app, serve_doubles
from support.edge_client import EdgeClient, edge_client

pytestmark = [pytest.mark.bench, pytest.mark.slow, pytest.mark.timeout(300)]

STREAMS = 200
SECONDS = float(os.environ.get("FOOTNOTE_BENCH_SECONDS", "60"))


class Tally:
    """What many askers saw; times in seconds."""

    def __init__(self) -> None:
        self.first: list[float] = []
        self.answers = 0
        self.degraded = 0
        self.cpu = 0.0
        self.errors: dict[str, int] = {}

    async def ask(self, client: EdgeClient, end: float) -> None:
        """Ask again and again until `end`."""
        while time.monotonic() < end:
            began = time.perf_counter()
            waiting = True
            try:
                async for event in client.stub.Ask(pb.AskRequest(question="daily allowance"), timeout=30):
                    if event.text_delta and waiting:
                        waiting = False
                        self.first.append(time.perf_counter() - began)
                    if event.HasField("completed"):
                        self.answers += 1
                        self.degraded += bool(event.completed.degradations)
            except FootnoteError as error:
                self.errors[type(error).__name__] = self.errors.get(type(error).__name__, 0) + 1

    def show(self, title: str, grown: int) -> None:
        """Print the figures."""
        table = Table("figure", "value", title=title)
        ordered = sorted(self.first)
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
            table.add_row(f"first token, {name}", f"{ordered[int(len(ordered) * share)] * 1000:.0f} ms")
        table.add_row("answers a second", f"{self.answers / SECONDS:.0f}")
        table.add_row("answers, of these degraded", f"{self.answers}, {self.degraded}")
        table.add_row(
            "processor time an answer, client and stages included", f"{self.cpu / self.answers * 1000:.2f} ms"
        )
        table.add_row("errors", str(self.errors or "none"))
        table.add_row("memory grown over the second half", f"{grown / 2**20:.1f} MiB")
        Console(width=100).print(table)


async def crowd(address: str, tally: Tally) -> int:
    """Let all ask for the given time; return how many bytes the process grew in the second half."""
    process = psutil.Process()
    spent = time.process_time()
    end = time.monotonic() + SECONDS
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(edge_client(address)) for _ in range(8)]
        askers = [asyncio.create_task(tally.ask(clients[number % 8], end)) for number in range(STREAMS)]
        await asyncio.sleep(SECONDS / 2)
        middle = process.memory_info().rss
        await asyncio.gather(*askers)
        tally.cpu = time.process_time() - spent
    return int(process.memory_info().rss - middle)


@asynccontextmanager
async def hosted(world: World, port: int) -> AsyncIterator[str]:
    """Serve the double of retrieval on a port and yield its address."""
    host = ServiceHost("retrieval", KitSettings(), CREDENTIAL)
    address = host.bind("127.0.0.1", port)
    try:
        await host.serve(double_app("retrieval", world), "127.0.0.1")
        await host.started()
        yield address
    finally:
        await host.stop(0.5)


async def test_two_hundred_streams(tmp_path: Path) -> None:
    tally, world = Tally(), Quiet()
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses, data_dir=tmp_path) as served:
        grown = await crowd(served.address, tally)
    tally.show(f"{STREAMS} streams for {SECONDS:.0f} s, client and stages in the same process", grown)
    assert not tally.errors
    assert not tally.degraded
    assert grown < 50 * 2**20


async def test_a_stage_that_restarts_in_the_middle(tmp_path: Path) -> None:
    tally, world = Tally(), Quiet()
    async with serve_doubles(world) as addresses, AsyncExitStack() as retrieval:
        address = await retrieval.enter_async_context(hosted(world, 0))
        addresses = {**addresses, "retrieval": address}
        async with serve_app(build, addresses=addresses, data_dir=tmp_path) as served:
            asking = asyncio.create_task(crowd(served.address, tally))
            await asyncio.sleep(SECONDS / 3)
            await retrieval.aclose()
            await asyncio.sleep(1)
            await retrieval.enter_async_context(hosted(world, int(address.rsplit(":", 1)[1])))
            grown = await asking
    tally.show(f"the same, with retrieval away for a second after {SECONDS / 3:.0f} s", grown)
    retriable = {Unavailable.__name__, ResourceExhausted.__name__}
    assert set(tally.errors) <= retriable, tally.errors
    assert tally.answers > tally.degraded > 0


class Quiet(World):
    """A world that does not write down who called: over a minute that would be the memory that grows."""

    async def enter(self, method: str, request: object) -> None:
        """Do nothing."""
