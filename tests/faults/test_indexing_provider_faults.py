"""Documents being indexed while their embedding provider misbehaves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from footnote_indexing.app import build
from footnote_kit.errors import Unavailable
from footnote_kit.testing import serve_app
from footnote_store.filters import RowScope
from footnote_store.store import VectorStore
from support.blocks import article
from support.doubles import model_server as ms
from support.indexing import Client

pytestmark = pytest.mark.full


@pytest.fixture
async def server() -> AsyncIterator[ms.ModelServer]:
    """An embedding provider on loopback that fails on demand."""
    async with ms.model_server() as running:
        yield running


@pytest.fixture
async def client(uri: str, server: ms.ModelServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    """A client of indexing, which embeds at that provider with short retries."""
    # Long enough that on a slow machine nothing but a stall on purpose takes so long.
    for name, value in {"BASE_URL": server.base_url, "FIRST_BACKOFF": "0.02", "TIMEOUT": "8"}.items():
        monkeypatch.setenv(f"FOOTNOTE_VLLM_{name}", value)
    async with serve_app(build, vector_store_uri=uri) as served:
        yield Client(served.channel)


MODEL = {"embedding": {"provider": "vllm", "model": "test-model"}}


async def stored(client: Client, uri: str, name: str) -> dict[str, list[float]]:
    """Vector by text of all that a search would see."""
    [item] = (await client.locate(name)).collections
    store = VectorStore(uri)
    expr = RowScope("t", [item.collection_key], item.hidden_revisions, time.time()).rows()
    chunks = await store.query(item.space, expr, 10_000)
    vectors = await store.vectors(item.space, [chunk.id for chunk in chunks])
    await store.close()
    assert len({chunk.text for chunk in chunks}) == len(chunks)
    return {chunk.text: [float(v) for v in vectors[chunk.id]] for chunk in chunks}


@pytest.mark.parametrize(
    "fault",
    [ms.throttled(), ms.throttled("0.2"), ms.broken(500), ms.stalled(), ms.cut(), ms.missing()],
    ids=["429", "429 with Retry-After", "500", "stall", "cut", "a vector missing"],
)
async def test_only_the_batch_that_failed_is_repeated_and_every_text_has_its_own_vector(
    client: Client, server: ms.ModelServer, uri: str, fault: ms.Fault
) -> None:
    name = f"faults-{fault.kind}-{fault.retry_after}-{fault.status}"
    collection = await client.create(name, chunking={"contextual_header": False}, **MODEL)
    server.batches.clear()
    server.delay = 0.1
    fault.only_if = "Part 90 of"
    server.fail_with(fault)
    result = await client.index(collection.id, name, article(sections=420, paragraphs=2, seed=name))
    assert result.chunks_stored == result.chunks_expected > 300
    repeated = [batch for batch in server.batches if server.batches.count(batch) > 1]
    assert len(repeated) == 2
    assert all("Part 90 of" in "\n".join(batch) for batch in repeated)
    assert 1 < server.most_running <= 4
    for text, vector in (await stored(client, uri, name)).items():
        assert vector == pytest.approx(ms.vector_of(text, 64), abs=1e-5)


async def test_a_document_fails_with_the_provider_s_words_and_the_others_go_on(
    client: Client, server: ms.ModelServer, uri: str
) -> None:
    collection = await client.create("one-fails", **MODEL)
    server.fail_with(ms.broken(500, "GPU is on fire", only_if="Cursed"), times=3)
    good = [client.index(collection.id, f"good-{n}", article(seed=f"Good{n}")) for n in range(4)]
    bad = client.index(collection.id, "bad", article(seed="Cursed"))
    *results, failure = await asyncio.gather(*good, bad, return_exceptions=True)
    assert isinstance(failure, Unavailable)
    assert failure.reason == "PROVIDER_FAILED"
    assert "failed after 3 attempts: HTTP 500: GPU is on fire" in failure.message
    assert all(result.chunks_stored == result.chunks_expected > 0 for result in results)
    texts = await stored(client, uri, "one-fails")
    assert len(texts) == sum(result.chunks_stored for result in results)
    assert not any("Cursed" in text for text in texts)
    again = await client.index(collection.id, "bad", article(seed="Cursed"))
    assert again.chunks_stored == again.chunks_expected


async def test_a_retry_embeds_only_what_failed(client: Client, server: ms.ModelServer) -> None:
    collection = await client.create("resumes", **MODEL)
    blocks = article(sections=400, paragraphs=1, seed="Resume")
    server.fail_with(ms.broken(500, only_if="Part 390 of"), times=3)
    with pytest.raises(Unavailable):
        await client.index(collection.id, "resume-1", blocks)
    server.batches.clear()
    result = await client.index(collection.id, "resume-1", blocks)
    assert result.chunks_stored == result.chunks_expected
    assert 0 < sum(len(batch) for batch in server.batches) < result.chunks_expected / 2


async def test_wrong_dimensions_fail_the_document_with_a_clear_error(client: Client, server: ms.ModelServer) -> None:
    collection = await client.create("dimensions", **MODEL)
    assert collection.settings.embedding.dimensions == 64
    server.dimensions = 32
    with pytest.raises(Unavailable, match="32 dimensions, expected 64"):
        await client.index(collection.id, "dimensions-1", article(seed="Dims"))
