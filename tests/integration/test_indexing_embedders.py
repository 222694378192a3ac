"""What a change of a collection's embedder keeps: a value that it names, though the earlier embedder had the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote.indexing.v1 import indexing_service_pb2 as pb
from footnote.types.v1.collection_pb2 import Collection, EmbeddingSettings
from footnote_indexing.app import build
from footnote_kit.testing import serve_app
from google.protobuf.field_mask_pb2 import FieldMask
from support.indexing import Client


async def test_a_length_that_a_change_of_model_names_stays_though_it_is_the_earlier_one(
    uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_OPENAI_API_KEY", "none")
    monkeypatch.setenv("FOOTNOTE_OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    async with serve_app(build, vector_store_uri=uri, data_dir=tmp_path) as served:
        client = Client(served.channel)
        small = EmbeddingSettings(provider="openai", model="text-embedding-3-small", dimensions=256)
        await client.create("named", embedding=small)

        async def update(model: str, *fields: str) -> EmbeddingSettings:
            wanted = Collection(settings={"embedding": {"model": model, "dimensions": 256}})
            mask = FieldMask(paths=[f"settings.embedding.{field}" for field in fields])
            asked = pb.UpdateCollectionRequest(
                scope=client.scope, collection="named", resource=wanted, update_mask=mask
            )
            return (await client.stub.UpdateCollection(asked)).collection.settings.embedding

        after = await update("text-embedding-3-large", "model", "dimensions")
        assert (after.model, after.dimensions) == ("text-embedding-3-large", 256)
        after = await update("text-embedding-3-small", "model")
        assert (after.model, after.dimensions) == ("text-embedding-3-small", 1536)


@pytest.mark.parametrize("mask", ["settings", "settings.embedding"])
async def test_a_mask_of_the_whole_group_names_what_is_in_it(
    uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mask: str
) -> None:
    monkeypatch.setenv("FOOTNOTE_OPENAI_API_KEY", "none")
    async with serve_app(build, vector_store_uri=uri, data_dir=tmp_path) as served:
        client = Client(served.channel)
        ada = EmbeddingSettings(provider="openai", model="text-embedding-ada-002", dimensions=1536)
        await client.create("whole", embedding=ada)

        async def update(provider: str, model: str, dimensions: int = 0) -> EmbeddingSettings:
            wanted = EmbeddingSettings(provider=provider, model=model, dimensions=dimensions)
            asked = pb.UpdateCollectionRequest(
                scope=client.scope, collection="whole", validate_only=True, update_mask=FieldMask(paths=[mask]),
                resource=Collection(settings={"embedding": wanted}),
            )  # fmt: skip
            return (await client.stub.UpdateCollection(asked)).collection.settings.embedding

        after = await update("openai", "text-embedding-3-large", 1536)
        assert (after.model, after.dimensions) == ("text-embedding-3-large", 1536)
        assert (await update("openai", "text-embedding-3-large")).dimensions == 3072
        after = await update("ollama", "text-embedding-ada-002", 1536)
        assert (after.provider, after.model, after.dimensions) == ("ollama", "text-embedding-ada-002", 1536)
