"""What the door before edge's gRPC port costs: a call through it and one past it, and how much passes in a second."""

import statistics
import time
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from footnote.edge.v1.documents_pb2 import UploadDocumentRequest, UploadDocumentResponse
from footnote.edge.v1.system_pb2 import GetHealthRequest, GetHealthResponse
from footnote_kit.app import App
from footnote_kit.edge import EdgeStub
from footnote_kit.front.limits import FrontLimits
from footnote_kit.testing import serve_app
from rich.console import Console
from rich.table import Table
from support.doubles.partial_edge import PartialEdge, servicers

ROUNDS, CALLS = 20, 100
UPLOAD_MIB = 64


class Edge(PartialEdge):
    async def GetHealth(self, request: Any, context: Any) -> Any:
        return GetHealthResponse()

    async def UploadDocument(self, requests: Any, context: Any) -> Any:
        async for _ in requests:
            pass
        return UploadDocumentResponse()


async def calls(stub: Any) -> list[float]:
    """Return the milliseconds of calls made one at a time."""
    took = []
    for _ in range(CALLS):
        started = time.perf_counter()
        await stub.GetHealth(GetHealthRequest())
        took.append((time.perf_counter() - started) * 1000)
    return took


async def upload(stub: Any) -> float:
    """Return MiB in a second."""

    async def parts() -> AsyncIterator[Any]:
        part = UploadDocumentRequest(data=bytes(256 * 1024))
        for _ in range(4 * UPLOAD_MIB):
            yield part

    started = time.perf_counter()
    await stub.UploadDocument(parts())
    return UPLOAD_MIB / (time.perf_counter() - started)


@pytest.mark.bench
async def test_what_the_door_costs() -> None:
    app = App(
        "edge",
        servicers(Edge()),
        public=True,
        front=FrontLimits(calls_per_second=1e6),
    )
    async with (
        serve_app(app) as served,
        grpc.aio.insecure_channel(served.address) as through,
        grpc.aio.insecure_channel(served.host.inner_address) as past,
    ):
        stubs: dict[str, Any] = {"through the door": EdgeStub(through), "past it": EdgeStub(past)}
        took: dict[str, list[float]] = {name: [] for name in stubs}
        for number in range(ROUNDS + 1):  # in turns, so that whatever else the machine does is felt by both
            for name, stub in stubs.items():
                values = await calls(stub)
                took[name] += values if number else []  # the first ones warm up
        rates = {name: max([await upload(stub) for _ in range(3)]) for name, stub in stubs.items()}
    table = Table("unary call", "median ms", "95 % ms", "upload MiB/s", title="the door before edge's gRPC port")
    for name, values in took.items():
        high = statistics.quantiles(values, n=20)[-1]
        table.add_row(name, f"{statistics.median(values):.3f}", f"{high:.3f}", f"{rates[name]:.0f}")
    Console().print(table)
    added = statistics.median(took["through the door"]) - statistics.median(took["past it"])
    assert added < max(0.15, 0.5 * statistics.median(took["past it"]))
    assert rates["through the door"] > 20
