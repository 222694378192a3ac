"""Labels that are written late, when their document is deleted already: nothing of it comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any

import pytest
from footnote.indexing.v1 import indexing_service_pb2 as pb
from footnote.stages.v1.stored_document_pb2 import Document
from footnote_indexing.app import build
from footnote_indexing.writing.store_writer import StoreWriter
from footnote_kit.errors import FootnoteError
from footnote_kit.testing import SCOPE, serve_app
from footnote_store.rows import Row
from footnote_store.store import VectorStore
from support import postgres
from support.blocks import article
from support.indexing import Client

pytestmark = pytest.mark.full

SWEPT = 2.5
"""Seconds until what is deleted has been purged once more and forgotten."""


@pytest.fixture(params=["sqlite", "postgresql"])
async def client(uri: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    """A client of indexing on SQLite, then on PostgreSQL, that purges and sweeps at once."""
    if request.param == "postgresql":
        database = await postgres.migrated_database(request.getfixturevalue("postgres_url"), "indexing")
        monkeypatch.setenv("FOOTNOTE_INDEXING_DATABASE_URL", database)
    monkeypatch.setenv("FOOTNOTE_INDEXING_PURGE_GRACE", "0.2")
    monkeypatch.setenv("FOOTNOTE_INDEXING_SWEEP_INTERVAL", "0.2")
    async with serve_app(build, vector_store_uri=uri) as served:
        yield Client(served.channel)


class Late:
    """Delays the writes of a document's rows with new labels, as a hanging engine does."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.holds, self.go_on = asyncio.Event(), asyncio.Event()
        write = StoreWriter.write

        async def late(writer: StoreWriter, space: str, rows: Sequence[Row], **more: Any) -> None:
            if any("late" in row.chunk.tags for row in rows):
                self.holds.set()
                await self.go_on.wait()
            await write(writer, space, rows, **more)

        patch.setattr(StoreWriter, "write", late)


async def rows(uri: str, space: str, document: str) -> int:
    store = VectorStore(uri)
    try:
        return await store.count(space, f'document_id == "{document}"')
    finally:
        await store.close()


@pytest.mark.parametrize("way", ["deleted", "collection deleted"])
async def test_labels_written_late_bring_nothing_back(
    client: Client, uri: str, monkeypatch: pytest.MonkeyPatch, way: str, request: pytest.FixtureRequest
) -> None:
    name = f"{way}-{request.node.callspec.params['client']}".replace(" ", "-")
    collection = await client.create(name)
    await client.index(collection.id, name, article())
    space = (await client.locate(name)).collections[0].space
    late = Late(monkeypatch)
    document = Document(id=name, collection_id=collection.id, revision=1, filename="a.md", tags=["late"])
    asked = pb.UpdateDocumentChunksRequest(scope=SCOPE, document=document)
    relabelling = asyncio.ensure_future(client.stub.UpdateDocumentChunks(asked, timeout=30))
    await late.holds.wait()
    if way == "deleted":
        await client.stub.DeleteDocumentChunks(
            pb.DeleteDocumentChunksRequest(scope=SCOPE, collection_id=collection.id, document_id=name), timeout=10
        )
    else:
        await client.stub.DeleteCollection(
            pb.DeleteCollectionRequest(scope=SCOPE, collection=collection.id), timeout=10
        )
    await asyncio.sleep(SWEPT)
    late.go_on.set()
    with suppress(FootnoteError):
        await relabelling
    assert await rows(uri, space, name) == 0
