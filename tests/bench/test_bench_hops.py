"""What the platform itself costs: a question through stages that do next to nothing, and through the real ones."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from footnote.edge.v1.answers_pb2 import AskCompleted, SearchRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.conversations_pb2 import CreateConversationRequest, GetConversationRequest
from footnote.types.v1 import answer_pb2 as ans
from footnote.types.v1.collection_pb2 import Collection
from footnote_edge.app import build
from footnote_kit.testing import serve_app
from rich.console import Console
from rich.table import Table
from support.deployment import Deployment
from support.doubles.stages import World, serve_doubles
from support.edge_client import EdgeClient, edge_client

pytestmark = [pytest.mark.bench, pytest.mark.slow]

ROUNDS = 200
LIMIT_MS = 15.0
SAMPLES = Path(__file__).resolve().parents[2] / "deploy" / "samples" / "handbook"
QUESTION = "How much is the daily travel allowance abroad?"


@pytest.fixture
async def doubles(tmp_path: Path) -> AsyncIterator[EdgeClient]:
    """The edge with stages that answer at once: what is left is gRPC, serialisation, tracing and orchestration."""
    async with (
        serve_doubles(World()) as addresses,
        serve_app(build, addresses=addresses, data_dir=tmp_path) as served,
        edge_client(served.address) as client,
    ):
        await client.put(b"The daily travel allowance abroad is 54 euros.")
        yield client


async def times(call: Callable[[], Awaitable[object]], rounds: int = ROUNDS) -> list[float]:
    """Return how many milliseconds each of `rounds` calls took, sorted, after a few that do not count."""
    for _ in range(10):
        await call()
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        await call()
        taken.append((time.perf_counter() - began) * 1000)
    return sorted(taken)


def row(table: Table, name: str, taken: list[float], hops: int) -> None:
    """Add a line of figures."""
    median, late = statistics.median(taken), taken[int(len(taken) * 0.95)]
    table.add_row(name, f"{median:.2f}", f"{late:.2f}", str(hops), f"{median / hops:.2f}")


async def test_hop_cost_of_the_five_stages(doubles: EdgeClient) -> None:
    conversation = (await doubles.stub.CreateConversation(CreateConversationRequest())).conversation.id
    table = Table("call", "median ms", "p95 ms", "hops", "ms a hop", title="Stages that do nothing, one process")
    health = await times(lambda: doubles.stub.GetConversation(GetConversationRequest(conversation_id=conversation)))
    row(table, "edge alone (one row of SQLite)", health, 1)
    search = await times(lambda: doubles.stub.Search(SearchRequest(query="allowance")))
    row(table, "search: edge, retrieval", search, 2)
    ask = await times(lambda: doubles.answer("daily allowance"))
    row(table, "ask: edge, plan, retrieve, prompt, generate", ask, 5)
    kept = await times(lambda: doubles.answer("daily allowance", conversation_id=conversation), 50)
    row(table, "ask in a conversation, with memory", kept, 6)
    Console(width=110).print(table)
    assert statistics.median(ask) < LIMIT_MS


@pytest.mark.parametrize("separate", [False, True], ids=["all in one", "one process each"])
async def test_where_the_time_of_a_real_answer_goes(tmp_path: Path, separate: bool) -> None:
    running = Deployment(tmp_path, separate=separate)
    try:
        await asyncio.to_thread(running.start)
        async with edge_client(running.address()) as client:
            await client.stub.CreateCollection(CreateCollectionRequest(collection=Collection(name="handbook")))
            for path in sorted(SAMPLES.iterdir()):
                await client.put(path, collection="handbook")
            done: list[AskCompleted] = []

            async def ask() -> None:
                done.append(await client.answer(QUESTION, collections=["handbook"]))

            taken = await times(ask, 60)
    finally:
        await asyncio.to_thread(running.stop)
    table = Table(
        "part", "median ms", title=f"A real answer, {'one process each' if separate else 'all in one process'}"
    )
    table.add_row("whole answer", f"{statistics.median(taken):.1f}")
    first = [one.time_to_first_token.ToNanoseconds() / 1e6 for one in done[10:]]
    table.add_row("first token", f"{statistics.median(first):.1f}")
    for stage in (ans.PIPELINE_STAGE_RETRIEVAL, ans.PIPELINE_STAGE_AUGMENTATION, ans.PIPELINE_STAGE_GENERATION):
        spent = [
            timing.duration.ToNanoseconds() / 1e6
            for one in done[10:]
            for timing in one.timings
            if timing.stage == stage and not timing.step
        ]
        table.add_row(
            ans.PipelineStage.Name(stage).removeprefix("PIPELINE_STAGE_").lower(), f"{statistics.median(spent):.1f}"
        )
    Console(width=110).print(table)
    assert len(done) == 70
