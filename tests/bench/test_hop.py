"""What one hop costs: a bare grpc.aio call, one into a server of the kit, and one through the kit on both sides."""

import statistics
import time
from typing import Any

import grpc
import pytest
from footnote_kit.testing import SCOPE, proof_of, serve_app
from rich.console import Console
from rich.table import Table
from support.doubles.services import Answer, Ask, SampleService, SampleStub

CALLS = 2000
ASK = Ask(scope=SCOPE, trace_id="a" * 100)


async def fine(_: Any, __: Any) -> Answer:
    return Answer(name="fine")


async def measure(channel: Any, *metadata: tuple[str, str]) -> tuple[float, float]:
    """Return median and 95th percentile of unary calls, one at a time, in milliseconds."""
    stub = SampleStub(channel)
    for _ in range(200):
        await stub.unary(ASK, metadata=metadata)
    times = []
    for _ in range(CALLS):
        started = time.perf_counter()
        await stub.unary(ASK, metadata=metadata)
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times), statistics.quantiles(times, n=20)[-1]


@pytest.mark.bench
async def test_hop_cost() -> None:
    service = SampleService(unary=fine)
    bare = grpc.aio.server()
    service._add(None, bare)
    port = bare.add_insecure_port("127.0.0.1:0")
    await bare.start()
    rows: dict[str, tuple[float, float]] = {}
    try:
        async with (
            grpc.aio.insecure_channel(f"127.0.0.1:{port}") as plain,
            serve_app(service.app()) as served,
            grpc.aio.insecure_channel(served.address) as plain_to_kit,
        ):
            rows["bare grpc.aio"] = await measure(plain)
            rows["kit server: proof, scope, errors, span, metrics"] = await measure(plain_to_kit, proof_of("sample"))
            rows["kit on both sides"] = await measure(served.channel)
    finally:
        await bare.stop(0)
    table = Table("one unary hop", "median ms", "95 % ms", title=f"{CALLS} calls, one at a time")
    for name, (median, high) in rows.items():
        table.add_row(name, f"{median:.3f}", f"{high:.3f}")
    Console().print(table)
    # Against the bare call of the same run, so that a slow machine does not decide.
    assert rows["kit on both sides"][0] < 3 * rows["bare grpc.aio"][0]
