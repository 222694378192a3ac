"""Documents are searched by their words as soon as their rows are stored; vectors follow, none lost, none doubled."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import numpy as np
import pytest
from footnote.indexing.v1 import indexing_service_pb2 as pb
from footnote.internal.indexing.v1alpha1.upkeep_service_pb2 import CountMissingVectorsRequest, GetVectorWorkRequest
from footnote.retrieval.v1 import retrieval_service_pb2 as retrieval_pb
from footnote.retrieval.v1.retrieval_service_pb2_grpc import RetrievalServiceStub
from footnote.stages.v1.parsing_pb2 import BLOCK_KIND_PARAGRAPH, Block
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.chunk_pb2 import SearchChannel
from footnote.types.v1.collection_pb2 import (
    VISIBILITY_PRIVATE,
    VISIBILITY_SHARED,
    Collection,
    EmbeddingSettings,
    RetrievalSettings,
    SearchStrategy,
    Visibility,
)
from footnote.types.v1.role_pb2 import ROLE_READER, ROLE_SYSTEM
from footnote_indexing.app import build
from footnote_kit.errors import NotFound, PermissionDenied, Unavailable
from footnote_kit.testing import SCOPE, serve_app, stage_channel
from footnote_providers.builtin import BuiltinEmbeddings, embed
from footnote_retrieval.app import build as build_retrieval
from footnote_store.rows import Hit
from footnote_store.store import VectorStore
from support.blocks import article, block, placed
from support.indexing import Client
from support.indexing_process import IndexingProcess

pytestmark = pytest.mark.full

HYBRID, VECTOR = SearchStrategy.SEARCH_STRATEGY_HYBRID, SearchStrategy.SEARCH_STRATEGY_VECTOR
DENSE = SearchChannel.SEARCH_CHANNEL_DENSE
TEXTS = ["The safety stock of bolts is counted every Friday.", "Parental leave lasts sixteen weeks."]


def paragraphs(texts: Iterable[str]) -> list[Block]:
    """A document of these paragraphs."""
    return placed(block(BLOCK_KIND_PARAGRAPH, text) for text in texts)


async def nothing_owed(client: Client, name: str, seconds: float = 60) -> None:
    """Wait until every chunk of a collection has its vector."""
    async with asyncio.timeout(seconds):
        while (await client.get(name)).chunks_without_vector:  # noqa: ASYNC110 only the service knows
            await asyncio.sleep(0.05)


async def missing(client: Client, collection_id: str, document_id: str = "") -> dict[str, int]:
    """Vectors that documents of a collection lack, one document a page."""
    request = CountMissingVectorsRequest(
        scope=client.scope, collection_id=collection_id, document_id=document_id, page_size=1
    )
    counted: dict[str, int] = {}
    while True:
        page = await client.upkeep.CountMissingVectors(request)
        assert len(page.documents) <= 1
        counted |= {one.document_id: one.chunks_without_vector for one in page.documents}
        request.page_token = page.next_page_token
        if not request.page_token:
            return counted


class Gate:
    """Holds the built-in embedder's passages back, or fails them."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.open = asyncio.Event()
        self.failing = False
        real = BuiltinEmbeddings.embed_documents

        async def embed_documents(provider: BuiltinEmbeddings, texts: list[str]) -> object:
            if self.failing:
                raise Unavailable("the model is away", reason="PROVIDER_FAILED")
            await self.open.wait()
            return await real(provider, texts)

        patch.setattr(BuiltinEmbeddings, "embed_documents", embed_documents)


@pytest.fixture
async def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    """Vectors always follow later, and the test lets the model go on."""
    monkeypatch.setenv("FOOTNOTE_INDEXING_VECTORS_LATER", "always")
    monkeypatch.setenv("FOOTNOTE_INDEXING_OWED_INTERVAL", "0.05")
    return Gate(monkeypatch)


class Both:
    """Indexing and retrieval over one store."""

    def __init__(self, client: Client, stub: RetrievalServiceStub, store: VectorStore) -> None:
        self.client, self.stub, self.store = client, stub, store

    async def search(self, query: str, strategy: SearchStrategy.ValueType = HYBRID) -> retrieval_pb.RetrieveResponse:
        request = retrieval_pb.RetrieveRequest(scope=SCOPE, query=query, settings=RetrievalSettings(strategy=strategy))
        return await self.stub.Retrieve(request)

    async def all_there(self, name: str, seconds: float = 60) -> None:
        await nothing_owed(self.client, name, seconds)


@pytest.fixture
async def both(uri: str, tmp_path: Path) -> AsyncIterator[Both]:
    """Indexing and retrieval over one engine."""
    store = VectorStore(uri)
    async with (
        serve_app(build, data_dir=tmp_path, vector_store_uri=uri) as served,
        serve_app(build_retrieval, addresses={"indexing": served.address}, vector_store_uri=uri) as retrieval,
    ):
        yield Both(Client(served.channel), RetrievalServiceStub(retrieval.channel), store)
    await store.close()


async def rows_of(store: VectorStore, client: Client, name: str) -> list[Hit]:
    [item] = (await client.locate(name)).collections
    wanted = f'collection_key == "{item.collection_key}"'
    async with asyncio.timeout(240):
        while True:
            try:
                return await store.read(item.space, wanted, 10_000, vectors=True)
            except Unavailable:  # a busy machine's engine may miss the client's own time to connect
                await asyncio.sleep(1)


def assert_whole(rows: list[Hit], expected: int, *, title: bool = False) -> None:
    """Every row exists once, with the vector of its own text."""
    assert len(rows) == expected == len({row.id for row in rows})
    for row in rows:
        assert row.vector is not None
        assert row.vector.any(), f"{row.id} has no vector"
        if title:
            np.testing.assert_allclose(row.vector, embed([row.text], len(row.vector))[0], atol=1e-5)


async def test_documents_that_lack_vectors_come_in_pages(gate: Gate, both: Both) -> None:
    made = await both.client.create("many", chunking={"contextual_header": False})
    lacking = {f"m{number}": 1 for number in range(3)}
    for one in lacking:
        await both.client.index(made.id, one, paragraphs([f"A short text, {one}."]))
    assert await missing(both.client, made.id) == lacking
    assert await missing(both.client, made.id, "m1") == {"m1": 1}
    gate.open.set()


async def test_a_system_caller_learns_the_work_of_all_tenants_and_others_do_not(gate: Gate, both: Both) -> None:
    made = await both.client.create("work", chunking={"contextual_header": False})
    result = await both.client.index(made.id, "d1", paragraphs(TEXTS))
    request = GetVectorWorkRequest(scope=Scope(tenant_id="edge", user_id="edge", roles=[ROLE_SYSTEM]))
    before = await both.client.upkeep.GetVectorWork(request)
    assert (before.chunks_without_vector, before.vectors_made) == (result.chunks_stored, 0)
    with pytest.raises(PermissionDenied):
        await both.client.upkeep.GetVectorWork(GetVectorWorkRequest(scope=SCOPE))
    gate.open.set()
    await both.all_there("work")
    after = await both.client.upkeep.GetVectorWork(request)
    assert (after.chunks_without_vector, after.vectors_made) == (0, result.chunks_stored)
    assert after.instance == before.instance


async def test_words_find_it_at_once_and_meaning_follows(gate: Gate, both: Both) -> None:
    made = await both.client.create("later", chunking={"contextual_header": False})
    result = await both.client.index(made.id, "d1", paragraphs(text for text in TEXTS))
    stored = result.chunks_stored
    assert stored == result.chunks_expected > 0
    waiting = await both.client.get("later")
    assert (waiting.chunk_count, waiting.chunks_without_vector) == (stored, stored)
    assert result.chunks_without_vector == stored
    assert await missing(both.client, made.id) == {"d1": stored}
    assert await missing(both.client, made.id, "d2") == {}
    repeated = await both.client.index(made.id, "d1", paragraphs(text for text in TEXTS))
    assert repeated.chunks_without_vector == stored
    stranger = Client(both.client.channel, Scope(tenant_id="another", user_id="u", roles=[ROLE_READER]))
    with pytest.raises(NotFound):
        await missing(stranger, made.id)
    found = await both.search("How many weeks is the parental leave?")
    assert "sixteen weeks" in found.chunks[0].chunk.text
    assert found.chunks[0].score > 0.5
    assert not found.degradations
    assert {one.channel: one.coverage for one in found.channels}[DENSE] == 0.0
    assert not (await both.search("parental leave", VECTOR)).chunks
    gate.open.set()
    await both.all_there("later")
    assert await missing(both.client, made.id) == {}
    found = await both.search("How many weeks is the parental leave?", VECTOR)
    assert "sixteen weeks" in found.chunks[0].chunk.text
    assert {one.channel: one.coverage for one in found.channels}[DENSE] == 1.0
    assert_whole(await rows_of(both.store, both.client, "later"), stored)


@pytest.mark.parametrize("visibility", [VISIBILITY_SHARED, VISIBILITY_PRIVATE])
async def test_vectors_that_followed_are_cached_for_the_readers_of_their_text(
    gate: Gate, both: Both, visibility: Visibility.ValueType
) -> None:
    gate.open.set()
    made = []
    for name in ("mine", "beside"):
        wanted = Collection(name=name, visibility=visibility)
        request = pb.CreateCollectionRequest(scope=SCOPE, collection=wanted)
        made.append(await both.client.stub.CreateCollection(request))
    mine, beside = (one.collection.id for one in made)
    first = await both.client.index(mine, "m1", paragraphs(TEXTS))
    await both.all_there("mine")
    gate.open.clear()
    assert (await both.client.index(mine, "m2", paragraphs(TEXTS))).chunks_without_vector == 0
    lacking = (await both.client.index(beside, "b1", paragraphs(TEXTS))).chunks_without_vector
    assert lacking == (first.chunks_stored if visibility == VISIBILITY_PRIVATE else 0)
    gate.open.set()


async def test_what_has_no_vector_yet_ranks_beside_what_has(gate: Gate, both: Both) -> None:
    made = await both.client.create("mixed", embedding=EmbeddingSettings(provider="builtin"))
    gate.open.set()
    await both.client.index(made.id, "old", paragraphs(f"{TEXTS[0]} Number {n}." for n in range(20)))
    await both.all_there("mixed")
    gate.open.clear()
    await both.client.index(made.id, "new", paragraphs(["Gantries are greased by the night shift."]))
    found = await both.search("Who is it that greases the gantries?")
    assert found.chunks[0].chunk.document_id == "new"
    assert found.chunks[0].score > 0.4
    assert 0 < {one.channel: one.coverage for one in found.channels}[DENSE] < 1


async def test_a_model_that_is_away_costs_no_document_and_is_asked_again(gate: Gate, both: Both) -> None:
    gate.failing = True
    made = await both.client.create("away")
    result = await both.client.index(made.id, "d1", paragraphs(text for text in TEXTS))
    await asyncio.sleep(0.3)
    assert (await both.client.get("away")).chunks_without_vector == result.chunks_stored
    gate.failing = False
    gate.open.set()
    await both.all_there("away")
    assert_whole(await rows_of(both.store, both.client, "away"), result.chunks_stored)


@pytest.mark.parametrize("how", ["deleted", "replaced"])
async def test_what_goes_while_its_vectors_are_made_does_not_come_back(gate: Gate, both: Both, how: str) -> None:
    made = await both.client.create(f"gone-{how}")
    await both.client.index(made.id, f"{how}-d", paragraphs(text for text in TEXTS))
    await asyncio.sleep(0.3)  # its texts are with the model
    if how == "deleted":
        await both.client.stub.DeleteDocumentChunks(
            pb.DeleteDocumentChunksRequest(scope=SCOPE, collection_id=made.id, document_id=f"{how}-d")
        )
        assert not (await both.search("parental leave weeks")).chunks
    else:
        await both.client.index(made.id, f"{how}-d", paragraphs(["Only gantries now."]), revision=2)
    gate.open.set()
    await both.all_there(f"gone-{how}")
    await asyncio.sleep(0.5)
    found = await both.search("How many weeks of parental leave?")
    assert not [one for one in found.chunks if "parental" in one.chunk.text.lower()]
    rows = await rows_of(both.store, both.client, f"gone-{how}")
    assert not [row for row in rows if "Parental" in row.text and row.vector is not None and row.vector.any()]


async def test_new_tags_and_new_vectors_keep_each_other(gate: Gate, both: Both) -> None:
    made = await both.client.create("relabelled")
    result = await both.client.index(made.id, "tagged", paragraphs(text for text in TEXTS))
    await asyncio.sleep(0.3)
    document = Document(id="tagged", collection_id=made.id, revision=1, tags=["hr"])
    await both.client.stub.UpdateDocumentChunks(pb.UpdateDocumentChunksRequest(scope=SCOPE, document=document))
    gate.open.set()
    await both.all_there("relabelled")
    rows = await rows_of(both.store, both.client, "relabelled")
    assert_whole(rows, result.chunks_stored)
    assert {tuple(row.chunk.tags) for row in rows} == {("hr",)}


@pytest.mark.slow
async def test_kill_9_while_vectors_are_owed_loses_none_and_doubles_none(uri: str, tmp_path: Path) -> None:
    store = VectorStore(uri)
    environment = {"FOOTNOTE_INDEXING_VECTORS_LATER": "always", "FOOTNOTE_INDEXING_OWED_INTERVAL": "0.05"}
    pick = random.Random(5)
    expected, kills_while_owing = 0, 0
    made = None
    for kill in range(4):
        process = IndexingProcess(tmp_path, uri, **environment)
        try:
            async with stage_channel(process.address, "indexing") as channel:
                client = Client(channel)
                made = made or await client.create("killed", chunking={"contextual_header": False})
                result = await client.index(
                    made.id, f"k{kill}", article(sections=120, paragraphs=1, seed=f"Owed{kill}")
                )
                expected += result.chunks_stored
                if kill % 2:  # the others at once: a quick machine has paid in a moment
                    await asyncio.sleep(pick.random() * 0.2)
                kills_while_owing += bool((await client.get("killed")).chunks_without_vector)
        finally:
            process.kill()
    process = IndexingProcess(tmp_path, uri, **environment)
    try:
        async with stage_channel(process.address, "indexing") as channel:
            client = Client(channel)
            await nothing_owed(client, "killed", 120)
            assert kills_while_owing >= 1
            assert_whole(await rows_of(store, client, "killed"), expected, title=True)
    finally:
        process.kill()
        await store.close()
