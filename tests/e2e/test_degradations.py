"""Each row of the degradation table, seen by a caller of the public API: what is stopped or slow, and what still works.

| what fails                     | a search brings            | an answer                  | memory              |
|--------------------------------|----------------------------|----------------------------|---------------------|
| store stopped, or it hangs     | nothing, STORE_UNAVAILABLE | comes, without sources     | empty, switched off |
| embedder stopped, fails, hangs | full text alone            | comes, from full text      | empty, switched off |
| retrieval stopped              | the error UNAVAILABLE      | comes, without sources     | empty, switched off |
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.conversations_pb2 import SearchMemoryRequest
from footnote.types.v1.answer_pb2 import PipelineStage
from footnote.types.v1.collection_pb2 import Collection, SearchStrategy
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote_kit.degradations import word
from footnote_kit.errors import Unavailable
from support.deployment import Deployment
from support.doubles.model_server import ModelServer, broken, serve_routes, stalled
from support.edge_client import EdgeClient, edge_client
from support.frozen import freeze, thaw

QUESTION = "How many weeks is parental leave?"
TEXT = b"Parental leave lasts sixteen weeks. It is asked for in writing."
STORE = ("PIPELINE_STAGE_RETRIEVAL", "STORE_UNAVAILABLE")
EMBEDDING = ("PIPELINE_STAGE_RETRIEVAL", "EMBEDDING_UNAVAILABLE")
MEMORY = ("PIPELINE_STAGE_RETRIEVAL", "MEMORY_UNAVAILABLE")
PATIENCE = 60.0  # seconds until what was started again must work again
# Shorter than in production, so that a test of what hangs does not take minutes; a slow machine has enough of it.
IMPATIENT = {
    f"FOOTNOTE_RETRIEVAL_{name}_TIMEOUT": "3" for name in ("EMBED", "DENSE", "LEXICAL", "READ", "MEMORY")
} | {"FOOTNOTE_RETRIEVAL_BREAKER_OPEN": "1"}  # fmt: skip


@asynccontextmanager
async def deployed(folder: Path, *, separate: bool, **env: str) -> AsyncIterator[tuple[Deployment, EdgeClient]]:
    deployment = Deployment(folder, separate=separate, env=IMPATIENT | env)
    try:
        await asyncio.to_thread(deployment.start)
        async with edge_client(deployment.address()) as edge:
            yield deployment, edge
    finally:
        await asyncio.to_thread(deployment.stop)


async def search(edge: EdgeClient) -> tuple[list[str], set[tuple[str, str]]]:
    """The documents found, and stage and reason of each degradation."""
    request = SearchRequest(query=QUESTION)
    request.settings.strategy = SearchStrategy.SEARCH_STRATEGY_HYBRID
    found = await edge.stub.Search(request, timeout=30)
    return [scored.chunk.filename for scored in found.chunks], reasons(found)


def reasons(response: Any) -> set[tuple[str, str]]:
    assert all(one.effect for one in response.degradations), "each degradation says what it means for the caller"
    return {(PipelineStage.Name(one.stage), word(one)) for one in response.degradations}


async def remembered(edge: EdgeClient) -> tuple[bool, str, set[tuple[str, str]]]:
    found = await edge.stub.SearchMemory(SearchMemoryRequest(query=QUESTION), timeout=30)
    return found.enabled, found.context, reasons(found)


async def until_whole(edge: EdgeClient, *wanted: str) -> None:
    """Wait until a search finds these documents, "leave.txt" unless given, with nothing amiss."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found, why = await search(edge)
            if set(found) == set(wanted or ["leave.txt"]) and not why:
                return
            await asyncio.sleep(0.1)


def engine_of(deployment: Deployment) -> int:
    children = psutil.Process(deployment.processes["store"].pid).children(recursive=True)
    return next(child.pid for child in children if child.name() == "milvus")


@pytest.mark.timeout(300)
async def test_store_stopped_hanging_and_back(tmp_path: Path) -> None:
    async with deployed(tmp_path, separate=True) as (deployment, edge):
        assert (await edge.put(TEXT, "leave.txt")).state == DOCUMENT_STATE_INDEXED
        await until_whole(edge)
        assert await remembered(edge) == (True, "", set())

        await asyncio.to_thread(deployment.kill, "store")
        assert await search(edge) == ([], {STORE})
        answered = await edge.answer(QUESTION)
        assert STORE in reasons(answered)
        assert not answered.answer.citations
        assert answered.answer.text, "the answer says that nothing could be looked up"
        enabled, context, why = await remembered(edge)
        assert (enabled, context) == (False, "")
        assert why == {MEMORY}
        accepted = await edge.upload(b"Sick leave lasts as long as it takes.", "sick.txt")

        await asyncio.to_thread(deployment.start, "store")
        await until_whole(edge, "leave.txt", "sick.txt")
        assert (await edge.settle(accepted.document.id)).state == DOCUMENT_STATE_INDEXED
        assert await remembered(edge) == (True, "", set())

        engine = engine_of(deployment)
        freeze(engine)
        try:
            assert await search(edge) == ([], {STORE})
            answered = await edge.answer(QUESTION)
            assert STORE in reasons(answered)
        finally:
            thaw(engine)
        await until_whole(edge, "leave.txt", "sick.txt")


@pytest.mark.full
@pytest.mark.timeout(300)
async def test_retrieval_stopped_and_back(tmp_path: Path) -> None:
    async with deployed(tmp_path, separate=True) as (deployment, edge):
        await edge.put(TEXT, "leave.txt")
        await until_whole(edge)
        await asyncio.to_thread(deployment.kill, "retrieval")
        with pytest.raises(Unavailable) as error:
            await search(edge)
        assert error.value.reason == "STAGE_UNAVAILABLE"
        answered = await edge.answer(QUESTION)
        assert ("PIPELINE_STAGE_RETRIEVAL", "RETRIEVAL_UNAVAILABLE") in reasons(answered)
        assert not answered.answer.citations
        assert await remembered(edge) == (False, "", {MEMORY})
        await asyncio.to_thread(deployment.start, "retrieval")
        await until_whole(edge)


@pytest.mark.full
@pytest.mark.timeout(300)
async def test_embedder_failing_hanging_and_stopped(tmp_path: Path) -> None:
    server = ModelServer(dimensions=64)
    async with AsyncExitStack() as serving:
        url = await serving.enter_async_context(serve_routes(server.routes()))
        async with deployed(
            tmp_path, separate=False, FOOTNOTE_OPENAI_BASE_URL=url, FOOTNOTE_OPENAI_API_KEY="k",
            FOOTNOTE_OPENAI_ATTEMPTS="1", FOOTNOTE_GENERATION_PROVIDER="builtin",
        ) as (_, edge):  # fmt: skip
            collection = Collection(name="default")
            embedding = collection.settings.embedding
            embedding.provider, embedding.model, embedding.dimensions = "openai", "test-model", 64
            await edge.stub.CreateCollection(CreateCollectionRequest(collection=collection))
            assert (await edge.put(TEXT, "leave.txt")).state == DOCUMENT_STATE_INDEXED
            await until_whole(edge)
            for fault in (broken(503), stalled()):
                server.fail_with(fault, times=20)
                await full_text_alone(edge, fault.kind)
                server.script.clear()
                await until_whole(edge)
            await serving.aclose()
            await full_text_alone(edge, "stopped")


async def full_text_alone(edge: EdgeClient, how: str) -> None:
    """Search and ask what was not asked before: the vectors of earlier questions are remembered."""
    began = time.monotonic()
    found = await edge.stub.Search(SearchRequest(query=f"Is parental leave {how}?"), timeout=30)
    assert [scored.chunk.filename for scored in found.chunks] == ["leave.txt"]
    assert reasons(found) == {EMBEDDING}
    assert time.monotonic() - began < 15, "what hangs is not waited for"
    answered = await edge.answer(f"How many weeks does parental leave last, {how}?")
    assert EMBEDDING in reasons(answered)
    assert answered.answer.citations, "full text alone still answers"
