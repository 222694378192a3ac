"""Daily limits of tenants hold: for cancelled, failed and concurrent answers, after a restart, over replicas."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from footnote.edge.v1.answers_pb2 import AskCompleted, AskRequest, SearchRequest
from footnote.edge.v1.documents_pb2 import UploadDocumentRequest, UploadMetadata
from footnote.edge.v1.system_pb2 import GetUsageRequest, ListUserUsageRequest
from footnote.types.v1.collection_pb2 import GenerationSettings
from footnote_edge import offline
from footnote_edge.adapters.usage import UsageTable
from footnote_edge.app import build
from footnote_edge.gateway import allowances
from footnote_edge.gateway.metering import Meter
from footnote_edge.gateway.ports import Spent
from footnote_generation.app import build as build_generation
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import FootnoteError, ResourceExhausted
from footnote_kit.testing import serve_app
from support import postgres
from support.conditions import until
from support.doubles.model_chat import Cut, Fail, Finish, Hold, ModelServer, Say, serve_model
from support.doubles.stages import World, serve_doubles
from support.matrices import sqlite_alone

pytestmark = pytest.mark.full

LONG = "tea " * 400
PROMPT = 400  # tokens of it, and a few more
SETTINGS = GenerationSettings(provider="openai", model="scripted")


@pytest.fixture(params=["sqlite", "postgres"])
async def database(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Edge keeps its counts in SQLite, then in PostgreSQL."""
    if request.param == "postgres":
        url = await postgres.migrated_database(request.getfixturevalue("postgres_url"), "edge")
        monkeypatch.setenv("FOOTNOTE_EDGE_DATABASE_URL", url)
        monkeypatch.setenv("FOOTNOTE_EDGE_EXECUTOR_ID", "edge-0")
    return str(request.param)


@pytest.fixture
async def model(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ModelServer]:
    """A scripted chat model with prices."""
    async with serve_model() as server:
        monkeypatch.setenv("FOOTNOTE_OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("FOOTNOTE_OPENAI_API_KEY", "sk-test-key-of-no-value")
        monkeypatch.setenv("FOOTNOTE_GENERATION_PRICES", '{"scripted": [1000, 1000]}')
        yield server


@pytest.fixture
async def stages(world: World, model: ModelServer) -> AsyncIterator[dict[str, str]]:
    """Doubles of all stages but generation, which is the real one before a scripted model."""
    async with serve_doubles(world) as doubles, serve_app(build_generation) as generation:
        yield {**doubles, "generation": generation.address}


class Edge:
    """Edges on one database."""

    def __init__(self, stages: dict[str, str], folder: Path, stack: AsyncExitStack) -> None:
        self._stages = stages
        self.folder = folder
        self._stack = stack

    async def start(self) -> EdgeStub:
        serving = serve_app(build, addresses=self._stages, data_dir=self.folder)
        served = await self._stack.enter_async_context(serving)
        return EdgeStub(served.channel)

    async def stop(self) -> None:
        await self._stack.aclose()

    async def used(self, tenant: str = "default") -> Spent:
        """What is written down for today."""
        opened, _ = await offline.limits(self.folder)
        try:
            return await UsageTable(opened).of(tenant, datetime.now(UTC).date().isoformat())
        finally:
            await opened.close()


@pytest.fixture
async def edge(stages: dict[str, str], database: str, tmp_path: Path) -> AsyncIterator[Edge]:
    """An edge that a test starts, restarts and replicates."""
    async with AsyncExitStack() as stack:
        yield Edge(stages, tmp_path, stack)


async def ask(stub: EdgeStub, question: str = LONG, **more: Any) -> AskCompleted:
    request = AskRequest(question=question, generation=SETTINGS, **more)
    return [event async for event in stub.Ask(request, timeout=60)][-1].completed


async def ask_and_leave_at_the_first_word(stub: EdgeStub) -> None:
    call = stub.Ask(AskRequest(question=LONG, generation=SETTINGS), timeout=60)
    async for event in call:
        if event.HasField("text_delta"):
            call.cancel()
            return


@sqlite_alone("database")
async def test_leaving_at_the_first_word_does_not_make_answers_free(
    edge: Edge, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_MAX_TOKENS_PER_DAY", str(4 * PROMPT))
    never = asyncio.Event()
    model.script([Say(["Tea is brewed at 80 degrees. ", "It is green. "]), Hold(never), Finish()])
    stub = await edge.start()

    async def ten_times() -> None:
        for _ in range(10):
            await ask_and_leave_at_the_first_word(stub)

    with pytest.raises(ResourceExhausted) as caught:
        await ten_times()
    assert caught.value.reason == "QUOTA_EXCEEDED"
    assert "footnote limits set default --tokens-per-day" in caught.value.metadata["hint"]
    # Each of the few that were let in is charged for its prompt and for the words that came.
    assert 1 <= len(model.seen) <= 4
    used = await edge.used()
    assert used.prompt_tokens >= len(model.seen) * PROMPT
    assert used.completion_tokens >= len(model.seen)
    with pytest.raises(ResourceExhausted):
        await stub.Search(SearchRequest(query="tea"))


async def test_many_at_once_do_not_overdraw(edge: Edge, model: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_MAX_TOKENS_PER_DAY", str(5 * PROMPT))
    model.script([Say(["Fine."]), Finish(usage=(PROMPT, 1))])
    stub = await edge.start()
    outcomes = await asyncio.gather(*(ask(stub) for _ in range(20)), return_exceptions=True)
    refused = [one for one in outcomes if isinstance(one, ResourceExhausted)]
    assert len(refused) + len(model.seen) == 20
    assert all(int(one.metadata["used"]) >= int(one.metadata["limit"]) == 5 * PROMPT for one in refused)
    assert 4 <= len(model.seen) <= 6

    async def written() -> bool:  # completions are written down after the answer has ended
        return (await edge.used()).completion_tokens >= len(model.seen)

    await until(written)
    used = await edge.used()
    assert used.prompt_tokens == len(model.seen) * PROMPT
    assert used.completion_tokens == len(model.seen)
    told = await stub.GetUsage(GetUsageRequest())
    assert told.own.tokens_today == told.tenant.tokens_today == used.tokens
    assert [one.counts.tokens_today for one in (await stub.ListUserUsage(ListUserUsageRequest())).users] == [
        used.tokens
    ]


async def test_replicas_take_from_one_day(edge: Edge) -> None:
    """Two meters on one database, as two replicas have."""
    opened = [await offline.limits(edge.folder) for _ in range(2)]
    try:
        await opened[0][1].set("acme", {"tokens_per_day": 1000})
        meters = [Meter(UsageTable(database), allowed) for database, allowed in opened]
        takes = (meters[number % 2].take("acme", Spent(prompt_tokens=100)) for number in range(30))
        outcomes = await asyncio.gather(*takes, return_exceptions=True)
    finally:
        for database, _ in opened:
            await database.close()
    assert sum(isinstance(one, ResourceExhausted) for one in outcomes) == 20
    assert outcomes.count(None) == 10
    assert (await edge.used("acme")).prompt_tokens == 1000


async def test_what_is_used_outlives_the_process(
    edge: Edge, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_MAX_TOKENS_PER_DAY", str(PROMPT))
    model.script([Say(["Fine."]), Finish(usage=(PROMPT, 1))])
    await ask(await edge.start())
    await edge.stop()
    with pytest.raises(ResourceExhausted, match="401"):
        await ask(await edge.start())


@sqlite_alone("database")
async def test_an_answer_is_charged_what_its_model_says(edge: Edge, model: ModelServer) -> None:
    model.script([Say(["Fine."]), Finish(usage=(123, 45))])
    stub = await edge.start()
    done = await ask(stub)
    assert (done.answer.usage.prompt_tokens, done.answer.usage.completion_tokens) == (123, 45)
    await edge.stop()
    used = await edge.used()
    assert (used.prompt_tokens, used.completion_tokens) == (123, 45)
    assert used.cost_usd == pytest.approx(0.168)


@sqlite_alone("database")
async def test_a_model_that_dies_midway_is_charged_for_until_then(edge: Edge, model: ModelServer) -> None:
    model.script([Say(["Tea is brewed at 80 degrees. ", "It is green and "]), Cut()])
    stub = await edge.start()
    with pytest.raises(FootnoteError):
        await ask(stub)
    await edge.stop()
    used = await edge.used()
    assert used.prompt_tokens >= PROMPT
    assert used.completion_tokens >= 8
    assert used.cost_usd > 0


@sqlite_alone("database")
async def test_a_model_that_refuses_the_call_costs_nothing(edge: Edge, model: ModelServer) -> None:
    model.script([Fail(400)])
    stub = await edge.start()
    with pytest.raises(FootnoteError):
        await ask(stub)
    await edge.stop()
    assert await edge.used() == Spent()


@sqlite_alone("database")
async def test_cost_a_day_is_limited(edge: Edge, model: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_MAX_COST_PER_DAY", "0.5")
    model.script([Say(["Fine."]), Finish(usage=(500, 1))])  # 0.501 USD
    stub = await edge.start()
    await ask(stub)
    with pytest.raises(ResourceExhausted, match=r"0\.50 US dollars today; the limit is 0\.5"):
        await ask(stub)


@sqlite_alone("database")
async def test_a_tenant_may_be_allowed_more_or_less(
    edge: Edge, model: ModelServer, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_MAX_TOKENS_PER_DAY", "1")
    monkeypatch.setenv("FOOTNOTE_EDGE_MAX_DOCUMENTS_PER_TENANT", "7")
    monkeypatch.setattr(allowances, "CACHE_SECONDS", 0.0)
    stub = await edge.start()
    opened, book = await offline.limits(edge.folder)
    try:
        await book.set("default", {"tokens_per_day": 0, "bytes": 5000, "collections": 3})
    finally:
        await opened.close()
    await ask(stub)
    await ask(stub)
    await stub.UploadDocument(upload())
    sent = world.requests("UploadDocument")[-1].metadata
    assert (sent.max_tenant_documents, sent.max_tenant_bytes) == (7, 5000)
    assert world.requests("CreateCollection")[-1].max_tenant_collections == 3


@sqlite_alone("database")
async def test_embedding_is_charged(edge: Edge) -> None:
    stub = await edge.start()
    await stub.Search(SearchRequest(query="tea leaves from the hills"))
    await edge.stop()
    assert (await edge.used()).embedding_tokens >= 5


def upload() -> Iterator[UploadDocumentRequest]:
    yield UploadDocumentRequest(metadata=UploadMetadata(collection="default", filename="tea.txt"))
    yield UploadDocumentRequest(data=b"Tea is brewed at 80 degrees.")
