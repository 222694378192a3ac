"""What the sweeper removes is what nothing takes up again, and a move of models waits for no document that is gone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from footnote.indexing.v1 import indexing_service_pb2 as pb
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1 import collection_pb2
from footnote_indexing.adapters.cache_sqlite import SqliteCache
from footnote_indexing.adapters.collection_table import CollectionTable
from footnote_indexing.adapters.database import Database
from footnote_indexing.adapters.index_versions import IndexVersionTable
from footnote_indexing.adapters.purge_list import PurgeTable
from footnote_indexing.app import build
from footnote_indexing.model import Entry
from footnote_indexing.revisions import collection_contents
from footnote_indexing.settings import Settings
from footnote_indexing.upkeep.sweeper import Sweeper
from footnote_indexing.writing.store_writer import StoreWriter
from footnote_kit.errors import FootnoteError, Unavailable
from footnote_kit.testing import serve_app
from footnote_store.store import VectorStore
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp
from support.blocks import article
from support.conditions import until
from support.indexing import Client, requests
from support.sqlite_file import change


async def test_an_attempt_begun_again_while_the_sweeper_works_through_its_list_keeps_its_rows(
    uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_INDEXING_SWEEP_INTERVAL", "3600")  # only the sweeper below sweeps
    store, database = VectorStore(uri), Database("", tmp_path / "indexing")
    async with serve_app(build, vector_store_uri=uri, data_dir=tmp_path) as served:
        client = Client(served.channel)
        made = await client.create("swept")

        async def broken_off() -> AsyncIterator[pb.IndexDocumentRequest]:
            header = Document(id="late", collection_id=made.id, revision=1, filename="late.md")
            async for request in requests(client.scope, header, article(seed="L")):
                if request.WhichOneof("payload") != "metadata":
                    yield request

        with pytest.raises(FootnoteError):
            async for _ in client.stub.IndexDocument(broken_off(), timeout=30):
                pass
        abandoned = "UPDATE indexing_revisions SET updated_at = 1 WHERE document_id = 'late'"
        await change(tmp_path / "indexing" / "indexing.db", abandoned)
        stored = 0

        class Meanwhile(PurgeTable):
            async def due(self, limit: int) -> list[Entry]:
                nonlocal stored
                due = await super().due(limit)
                assert [entry.key.document_id for entry in due] == ["late"]
                stored = (await client.index(made.id, "late", article(seed="L"))).chunks_stored
                return due

        index_versions, writer = IndexVersionTable(database), StoreWriter(store, Settings())

        class Moves:
            async def settle(self, collection_id: str) -> None:
                return None

        sweeper = Sweeper(Meanwhile(database), index_versions, writer, Moves(), None, Settings())  # type: ignore[arg-type]
        assert await sweeper.sweep() == 0
        [item] = (await client.locate("swept")).collections
        assert await store.count(item.space, 'document_id == "late"') == stored > 0
    await database.close()
    await store.close()


async def test_the_vectors_of_a_deleted_collection_are_forgotten_though_the_call_was_cut(
    uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_INDEXING_SWEEP_INTERVAL", "0.2")
    monkeypatch.setattr(collection_contents, "_PAGE", 2)
    database = Database("", tmp_path / "indexing")
    cache = SqliteCache(tmp_path / "indexing" / "embeddings.db", 3600)
    async with serve_app(build, vector_store_uri=uri, data_dir=tmp_path) as served:
        client = Client(served.channel)
        made = await client.create("deleted")
        await client.index(made.id, "one", article(seed="V"))
        assert await cache.count() == 4
        await CollectionTable(database, IndexVersionTable(database)).remove(made.id)  # and no more of the call

        async def forgotten() -> bool:
            return await cache.count() == 0

        await until(forgotten, 20)
    await cache.close()
    await database.close()


async def test_a_comparison_that_fails_is_not_begun_anew_in_the_next_round(tmp_path: Path) -> None:
    database = Database("", tmp_path)
    await database.migrate()
    begun = 0

    class Failing:
        async def check_all(self) -> None:
            nonlocal begun
            begun += 1
            await asyncio.sleep(0.5)
            raise Unavailable("The vector store does not answer in time")

    parts: list[Any] = [PurgeTable(database), IndexVersionTable(database), None, None, Failing(), Settings()]
    sweeper = Sweeper(*parts)
    with pytest.raises(Unavailable):
        await sweeper.round()
    await sweeper.round()
    assert begun == 1
    await database.close()


async def test_a_move_of_models_ends_when_the_last_document_that_it_waits_for_expires(
    uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_INDEXING_SWEEP_INTERVAL", "0.2")
    monkeypatch.setenv("FOOTNOTE_INDEXING_EXPIRED_AFTER", "0.5")
    async with serve_app(build, vector_store_uri=uri, data_dir=tmp_path) as served:
        client = Client(served.channel)
        made = await client.create("moving")
        await client.index(made.id, "stays", article(seed="S"))
        soon = Timestamp()
        soon.FromMilliseconds(int((time.time() + 3) * 1000))
        await client.index(made.id, "expires", article(seed="E"), expire_time=soon)
        wanted = collection_pb2.Collection(settings={"embedding": {"dimensions": 128}})
        mask = FieldMask(paths=["settings.embedding.dimensions"])
        await client.stub.UpdateCollection(
            pb.UpdateCollectionRequest(scope=client.scope, collection="moving", resource=wanted, update_mask=mask)
        )
        await client.index(made.id, "stays", article(seed="S"), revision=2)

        async def moved() -> bool:
            [item] = (await client.locate("moving")).collections
            return item.collection_key == f"{made.id}:2"

        assert not await moved()
        await until(moved, 20)
