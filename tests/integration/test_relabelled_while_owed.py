"""Labels that one replica changes while another makes the document's vectors: every row ends with both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from footnote.indexing.v1 import indexing_service_pb2 as pb
from footnote.stages.v1.stored_document_pb2 import Document
from footnote_indexing.adapters.cache_sqlite import SqliteCache
from footnote_indexing.adapters.database import Database
from footnote_indexing.adapters.index_versions import IndexVersionTable
from footnote_indexing.adapters.vector_claims import VectorClaimTable
from footnote_indexing.app import build
from footnote_indexing.settings import Settings
from footnote_indexing.upkeep.owed_vectors import OwedVectors, lacks_vector
from footnote_indexing.writing.store_writer import DocumentLocks, StoreWriter
from footnote_indexing.writing.vectorizers import Vectorizer, Vectorizers
from footnote_kit.testing import serve_app
from footnote_providers.settings import DefaultSettings
from footnote_store.compiler import quote
from footnote_store.rows import Row
from footnote_store.store import VectorStore
from support import postgres
from support.blocks import article
from support.indexing import Client


class Replicas:
    """A service that changes labels and makes no vectors, and another replica's worker that makes them."""

    def __init__(self, client: Client, store: VectorStore, database: Database, cache: SqliteCache) -> None:
        self.client, self.store, self.claims = client, store, VectorClaimTable(database)
        writer, vectorizers = StoreWriter(store, Settings()), Vectorizers(cache, DefaultSettings())
        self.owed = OwedVectors(self.claims, IndexVersionTable(database), writer, vectorizers, DocumentLocks())

    async def relabel(self, collection_id: str) -> None:
        document = Document(id="d", collection_id=collection_id, revision=1, tags=["new"])
        request = pb.UpdateDocumentChunksRequest(scope=self.client.scope, document=document)
        await self.client.stub.UpdateDocumentChunks(request)

    async def rows(self) -> tuple[int, set[tuple[str, ...]]]:
        """Return how many rows lack their vector, and the tags of all."""
        [item] = (await self.client.locate("c")).collections
        expr = f"collection_key == {quote(item.collection_key)}"
        hits = await self.store.read(item.space, expr, 1000, vectors=True)
        return sum(map(lacks_vector, hits)), {tuple(hit.chunk.tags) for hit in hits}


async def _nothing(_: OwedVectors) -> None:
    return None


@pytest.fixture(params=["sqlite"])
async def replicas(
    uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> AsyncIterator[Replicas]:
    """Two replicas on one database and store."""
    url = ""
    if request.param == "postgresql":
        url = await postgres.migrated_database(request.getfixturevalue("postgres_url"), "indexing")
        monkeypatch.setenv("FOOTNOTE_INDEXING_DATABASE_URL", url)
    monkeypatch.setenv("FOOTNOTE_INDEXING_VECTORS_LATER", "always")
    store, cache = VectorStore(uri), SqliteCache(tmp_path / "vectors.db", 3600)
    with monkeypatch.context() as only_here:
        only_here.setattr(OwedVectors, "round", _nothing)
        serving = serve_app(build, vector_store_uri=uri, data_dir=tmp_path)
        served = await serving.__aenter__()
    database = Database(url, tmp_path / "indexing")
    yield Replicas(Client(served.channel), store, database, cache)
    for one in (database, cache, store):
        await one.close()
    await serving.__aexit__(None, None, None)


async def ends_with_both(replicas: Replicas) -> None:
    for _ in range(2):
        await replicas.owed.round()
    assert await replicas.claims.owed() == 0
    assert await replicas.rows() == (0, {("new",)})


async def test_vectors_made_between_reading_and_writing_of_the_rows_are_not_lost(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await replicas.client.create("c")
    await replicas.client.index(made.id, "d", article(seed="A"))
    write, between = StoreWriter.write, []

    async def late(writer: StoreWriter, space: str, rows: Sequence[Row], **more: Any) -> None:
        if "new" in rows[0].chunk.tags and not between:
            between.append(True)
            await replicas.owed.round()
        await write(writer, space, rows, **more)

    monkeypatch.setattr(StoreWriter, "write", late)
    await replicas.relabel(made.id)
    assert between
    await ends_with_both(replicas)


async def test_vectors_made_by_a_worker_that_has_begun_before_the_labels_change_are_not_lost(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await replicas.client.create("c")
    await replicas.client.index(made.id, "d", article(seed="A", sections=30))
    embed, write, calls = Vectorizer.embed, StoreWriter.write, []
    rows_are_read, go_on = asyncio.Event(), asyncio.Event()
    relabelling: list[asyncio.Task[None]] = []

    async def late(writer: StoreWriter, space: str, rows: Sequence[Row], **more: Any) -> None:
        if "new" in rows[0].chunk.tags and not rows_are_read.is_set():
            rows_are_read.set()
            await go_on.wait()
        await write(writer, space, rows, **more)

    async def amid(vectorizer: Vectorizer, *given: Any) -> Any:
        calls.append(vectorizer)
        if len(calls) == 2:
            relabelling.append(asyncio.create_task(replicas.relabel(made.id)))
            await rows_are_read.wait()
        return await embed(vectorizer, *given)

    monkeypatch.setattr(StoreWriter, "write", late)
    monkeypatch.setattr(Vectorizer, "embed", amid)
    await replicas.owed.round()
    go_on.set()
    await relabelling[0]
    await ends_with_both(replicas)


@pytest.mark.parametrize("replicas", ["postgresql"], indirect=True)
async def test_labels_that_change_between_reading_and_writing_of_vectors_are_not_lost(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await replicas.client.create("c")
    await replicas.client.index(made.id, "d", article(seed="A"))
    write, relabelling = StoreWriter.write, list[asyncio.Task[None]]()

    async def late(writer: StoreWriter, space: str, rows: Sequence[Row], **more: Any) -> None:
        if "new" not in rows[0].chunk.tags and not relabelling:
            relabelling.append(asyncio.create_task(replicas.relabel(made.id)))
            await asyncio.wait(relabelling, timeout=2)
        await write(writer, space, rows, **more)

    monkeypatch.setattr(StoreWriter, "write", late)
    await replicas.owed.round()
    await relabelling[0]
    await ends_with_both(replicas)


async def test_the_same_labels_again_reach_a_row_that_lacks_them(replicas: Replicas) -> None:
    made = await replicas.client.create("c")
    await replicas.client.index(made.id, "d", article(seed="A"))
    [item] = (await replicas.client.locate("c")).collections
    expr = f"collection_key == {quote(item.collection_key)} and ordinal == 0"
    [first] = await replicas.store.read(item.space, expr, 1, vectors=True)
    await replicas.relabel(made.id)
    await replicas.store.upsert(item.space, [Row(first.chunk, item.collection_key, first.vector, first.lexical_text)])
    await replicas.relabel(made.id)
    await ends_with_both(replicas)
