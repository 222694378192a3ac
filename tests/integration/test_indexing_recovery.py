"""Ledger and store compared and brought together again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from footnote_indexing.app import build
from footnote_indexing.database import Database
from footnote_indexing.generations import Generations
from footnote_indexing.ledger import Ledger
from footnote_indexing.recovery import Findings, Recovery
from footnote_indexing.settings import Settings
from footnote_indexing.store_writer import StoreWriter
from footnote_kit.testing import serve_app
from footnote_store.rows import Row
from footnote_store.store import VectorStore
from support.blocks import article
from support.chunks import make_chunk
from support.engine import running_engine
from support.indexing import Client


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_engine(tmp_path_factory.mktemp("engine")) as address:
        yield address


@pytest.fixture
async def store(uri: str) -> AsyncIterator[VectorStore]:
    store = VectorStore(uri)
    yield store
    await store.close()


async def test_rows_without_an_entry_go_and_documents_with_missing_rows_are_named(
    uri: str, store: VectorStore, tmp_path: Path
) -> None:
    async with serve_app(build, vector_store_uri=uri, data_dir=tmp_path) as served:
        client = Client(served.channel)
        collection = await client.create("recovery")
        for number in range(3):
            await client.index(collection.id, f"recovery-{number}", article(seed=f"R{number}"))
        [item] = (await client.resolve("recovery")).collections
    database = Database("", tmp_path / "indexing")
    recovery = Recovery(Ledger(database), Generations(database), StoreWriter(store, Settings()))
    try:
        assert await recovery.check_all() == [Findings()]
        orphan = make_chunk("Nobody knows me.", document_id="orphan", collection_id=collection.id)
        await store.upsert(item.space, [Row(orphan, item.collection_key, [1.0] * 384, "nobody")])
        assert await recovery.check_all() == [Findings(rows_removed=1)]
        assert await recovery.check_all() == [Findings()]
        key = f'collection_key == "{item.collection_key}"'
        assert await store.delete(item.space, f'{key} and document_id == "recovery-1" and ordinal == 2') == 1
        assert await recovery.check_all() == [Findings(damaged=("recovery-1",))]
    finally:
        await database.close()
