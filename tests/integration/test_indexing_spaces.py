"""A collection's space exists before its first document: created with it, and at start if missing."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_indexing.app import build
from footnote_kit.errors import NotFound
from footnote_kit.testing import serve_app
from pymilvus import DataType, MilvusClient
from support.blocks import article
from support.engine import running_engine
from support.indexing import Client

_COLUMNS = {"id", "owner_id", "document_id", "text", "dense", "sparse", "facets", "expires_at"}
"""What the origin's schema has: chunk, user and file, content, its vector and its words, metadata, and the expiry."""


def described(uri: str) -> dict[str, dict[str, Any]]:
    """Return the columns of each space in a store, by name."""
    with closing(MilvusClient(uri)) as client:
        return {
            space: {column["name"]: column for column in client.describe_collection(space)["fields"]}
            for space in client.list_collections()
        }


async def test_a_collection_has_its_space_before_its_first_document_and_again_at_a_start(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running_engine(tmp_path / "first") as first:
        async with serve_app(build, vector_store_uri=first, data_dir=data) as served:
            assert await asyncio.to_thread(described, first) == {}
            await Client(served.channel).create("papers", embedding=EmbeddingSettings(dimensions=256))
            assert list(await asyncio.to_thread(described, first)) == ["chunks_l2_256"]
    with running_engine(tmp_path / "second") as second:  # a store that has nothing yet
        async with serve_app(build, vector_store_uri=second, data_dir=data), asyncio.timeout(240):
            while not (found := await asyncio.to_thread(described, second)):  # noqa: ASYNC110 - the service's clock
                await asyncio.sleep(0.05)
            columns = found["chunks_l2_256"]
    assert columns.keys() >= _COLUMNS
    assert columns["dense"]["params"]["dim"] == 256
    assert (columns["facets"]["type"], columns["expires_at"]["type"]) == (DataType.JSON, DataType.INT64)


async def test_a_collection_is_made_while_the_store_is_away(tmp_path: Path) -> None:
    async with serve_app(build, vector_store_uri="http://127.0.0.1:1", data_dir=tmp_path) as served:
        client = Client(served.channel)
        made = await client.create("later")
        assert (await client.get("later")).id == made.id
        with pytest.raises(NotFound):
            await client.get("another")
    with running_engine(tmp_path / "engine") as uri:
        async with serve_app(build, vector_store_uri=uri, data_dir=tmp_path) as served:
            result = await Client(served.channel).index(made.id, "later-1", article())
            assert result.chunks_stored == result.chunks_expected > 0
