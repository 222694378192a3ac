"""A provider that gives its key away, in every form and place that a server has, and everything we show of it."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psutil
import pytest
import pytest_asyncio
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.providers_pb2 import CheckProviderRequest
from footnote.edge.v1.system_pb2 import GetTraceRequest
from footnote.types.v1.collection_pb2 import Collection, CollectionSettings, EmbeddingSettings, GenerationSettings
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DOCUMENT_STATE_INDEXED
from footnote.types.v1.provider_pb2 import PROVIDER_KIND_EMBEDDING, PROVIDER_KIND_MODEL, PROVIDER_KIND_RERANKER
from footnote_kit import status
from footnote_kit.errors import FootnoteError
from support.deployment import PART, Deployment
from support.doubles.model_server import HostileServer, ModelServer, hostile_server
from support.edge_client import EdgeClient, edge_client
from support.leaks import FORMS, KEY, leaks

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

OPENAI = GenerationSettings(provider="openai")


@dataclass
class World:
    """The deployment, its caller, the server, and the trace ids of what was asked."""

    running: Deployment
    edge: EdgeClient
    server: HostileServer
    metrics: list[str]

    async def failure(self, form: str) -> str:
        """Ask while the server's error contains the key, and return everything that the caller receives."""
        self.server.say = lambda _: FORMS[form]
        try:
            events = await self.edge.ask("How long is the warranty?", generation=OPENAI)
        except FootnoteError as error:
            return f"{error} {error.metadata} {status.to_proto(error)}"
        return str(events)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """All services before a provider that gives its key away."""
    async with hostile_server() as server:
        env = {
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{server.base_url}/v1",
            "FOOTNOTE_OPENAI_FIRST_BACKOFF": "0.01",
            "FOOTNOTE_AUGMENTATION_RERANK_URL": f"{server.base_url}/rerank",
            "FOOTNOTE_AUGMENTATION_RERANK_API_KEY": KEY,
            "FOOTNOTE_GENERATION_PROVIDER": "builtin",
            "FOOTNOTE_INDEXING_VECTORS_LATER": "never",  # what is INDEXED can be searched by meaning
            "FOOTNOTE_LOG_LEVEL": "debug",
            "FOOTNOTE_KEEP_TRACES": "1000",
            "FOOTNOTE_CAPTURE_CONTENT": "true",
            "FOOTNOTE_METRICS_PORT": "0",
        }
        running = Deployment(tmp_path_factory.mktemp("leaks"), env=env)
        try:
            await asyncio.to_thread(running.start)
            metrics: list[str] = []
            async with asyncio.timeout(240):
                while not metrics:
                    published = running.folder / "addresses.json"
                    metrics = re.findall(
                        r'"metrics[\w-]*": "([^"]+)"', published.read_text() if published.exists() else ""
                    )
                    await asyncio.sleep(0.05)
            async with edge_client(running.address()) as edge:
                await edge.put(b"The warranty of the Polaris is sixty months.", "a.txt")
                yield World(running, edge, server, metrics)
        finally:
            await asyncio.to_thread(running.stop)


@pytest.mark.parametrize("code", [401, 429, 500])
@pytest.mark.parametrize("form", FORMS)
async def test_a_failing_model_gives_nothing_away_to_the_caller(world: World, form: str, code: int) -> None:
    if code != 401 and form not in ("verbatim", "basic", "masked"):
        return  # the words are the same ones
    world.server.status, world.server.stream, world.server.redirect = code, False, False
    told = await world.failure(form)
    assert "PROVIDER_FAILED" in told
    assert leaks(told) == [], told


@pytest.mark.parametrize("form", FORMS)
async def test_a_model_that_says_the_key_is_not_quoted(world: World, form: str) -> None:
    world.server.stream, world.server.redirect = True, False
    told = await world.failure(form)
    assert "completed" in told
    assert leaks(told) == [], told


async def test_a_redirect_is_not_followed_and_its_address_not_said(world: World) -> None:
    world.server.redirect, world.server.stream = True, False
    told = await world.failure("url")
    assert "PROVIDER_FAILED" in told
    assert leaks(told) == []
    assert not [path for path in world.server.seen if "away" in path]
    world.server.redirect = False


@pytest.mark.parametrize("form", FORMS)
async def test_documents_and_health_say_what_failed_and_no_key(world: World, form: str) -> None:
    world.server.status, world.server.stream, world.server.redirect = 400, False, False
    world.server.say = lambda _: FORMS[form]
    name = f"c{list(FORMS).index(form)}"
    embedding = EmbeddingSettings(provider="openai", model="text-embedding-3-small")
    wanted = Collection(name=name, settings=CollectionSettings(embedding=embedding))
    await world.edge.stub.CreateCollection(CreateCollectionRequest(collection=wanted))
    # Of an empty collection no provider would be asked.
    world.server.embeds = ModelServer(dimensions=1536)
    before = await world.edge.put(b"Text that was embedded before.", "a.txt", name)
    world.server.embeds = None
    assert before.state == DOCUMENT_STATE_INDEXED
    document = await world.edge.put(b"Some text to embed.", "b.txt", name)
    assert document.state == DOCUMENT_STATE_ERROR
    assert document.failure.message
    assert leaks(str(document)) == [], document.failure
    found = await world.edge.stub.Search(SearchRequest(query="Which text was embedded before?", collections=[name]))
    assert found.degradations
    assert leaks(str(found)) == []
    for kind, provider in (
        (PROVIDER_KIND_EMBEDDING, "openai"), (PROVIDER_KIND_MODEL, "openai"), (PROVIDER_KIND_RERANKER, "http"),
    ):  # fmt: skip
        health = (await world.edge.stub.CheckProvider(CheckProviderRequest(kind=kind, id=provider))).health
        assert not health.healthy
        assert leaks(str(health)) == [], health


async def test_logs_traces_metrics_and_the_engine_hold_nothing_of_it(world: World) -> None:
    """Runs last: after everything above was said."""
    log = await asyncio.to_thread(world.running.log)
    assert "PROVIDER_FAILED" in log
    assert leaks(log) == []
    traces = set(re.findall(r'"trace_id": "([0-9a-f]{32})"', log))
    shown = 0
    for trace in sorted(traces)[-300:]:
        try:
            spans = (await world.edge.stub.GetTrace(GetTraceRequest(trace_id=trace))).spans
        except FootnoteError:
            continue
        shown += any("chat " in span.name or "embeddings " in span.name for span in spans)
        assert leaks(str(spans)) == [], trace
    assert shown
    async with httpx2.AsyncClient() as client:
        text = "".join([(await client.get(f"http://{one}/metrics")).text for one in world.metrics])
    assert "footnote_generation_tokens" in text
    assert leaks(text) == []
    for engine in children(world.running):
        environment = (await asyncio.to_thread(Path(f"/proc/{engine}/environ").read_bytes)).decode(errors="replace")
        assert "PATH=" in environment
        assert leaks(environment) == []
        assert "FOOTNOTE_" not in environment


def children(running: Deployment) -> list[int]:
    """The processes that the deployment has started: the vector engine and the parsers, but not the services' own."""
    found = psutil.Process(running.processes["all"].pid).children(recursive=True)
    assert any("milvus" in " ".join(child.cmdline()) for child in found)
    return [child.pid for child in found if child.name() != PART]
