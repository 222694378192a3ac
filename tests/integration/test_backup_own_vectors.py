"""Own vectors that change while a backup is taken are in what is restored, as the backup's vector store holds them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from footnote.indexing.v1 import indexing_service_pb2 as pb
from footnote.types.v1.vector_pb2 import VectorRow
from footnote_cli.admin import backup as admin_backup
from footnote_cli.admin.deployment import deployment_of
from footnote_cli.admin.restore import restore
from footnote_database.parts import Parts
from footnote_indexing.adapters.database import Database
from footnote_indexing.app import build
from footnote_kit.testing import serve_app
from footnote_store.engine import EmbeddedEngine
from support.conditions import until
from support.indexing import Client

pytestmark = pytest.mark.full


async def texts(client: Client) -> list[str]:
    listed = await client.stub.ListVectors(pb.ListVectorsRequest(scope=client.scope, collection="own"))
    return [row.text for row in listed.rows]


async def test_own_vectors_replaced_and_deleted_during_a_backup_are_as_the_store_holds_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_INDEXING_PURGE_GRACE", "0.2")
    monkeypatch.setenv("FOOTNOTE_INDEXING_SWEEP_INTERVAL", "0.2")
    data, back = tmp_path / "data", tmp_path / "back"
    database = Database("", data / "indexing")
    await database.migrate(0.0, Parts(data))  # before the store, as `serve all` does
    await database.close()
    engine = EmbeddedEngine(data / "store")
    async with serve_app(build, vector_store_uri=await engine.start(), data_dir=data) as served:
        client = Client(served.channel)
        await client.create("own", embedding={"provider": "none", "dimensions": 2})

        async def add(text: str, *ids: str) -> None:
            rows = [VectorRow(id=one, text=f"{text} {one}", vector=[1.0, 2.0]) for one in ids]
            await client.stub.AddVectors(pb.AddVectorsRequest(scope=client.scope, collection="own", rows=rows))

        await add("Old", "changed", "deleted", "same")
        copy_rows = admin_backup._rows

        async def after_changes(*given: Any) -> None:
            await add("New", "added", "changed")
            gone = pb.DeleteVectorsRequest(scope=client.scope, collection="own", ids=["deleted"])
            await client.stub.DeleteVectors(gone)
            await asyncio.sleep(2.5)  # until the earlier rows are purged
            await copy_rows(*given)

        monkeypatch.setattr(admin_backup, "_rows", after_changes)
        await admin_backup.backup(deployment_of(data), tmp_path / "saved")
        now = await texts(client)
    await engine.stop()
    assert now == ["New added", "New changed", "Old same"]

    await restore(tmp_path / "saved", back)
    engine = EmbeddedEngine(back / "store")
    async with serve_app(build, vector_store_uri=await engine.start(), data_dir=back) as served:
        client = Client(served.channel)

        async def as_they_were() -> bool:
            return await texts(client) == now

        await until(as_they_were, 20)
        for name in ("added", "changed", "same"):
            asked = pb.GetVectorRequest(scope=client.scope, collection="own", vector_id=name)
            assert (await client.stub.GetVector(asked)).row.text.endswith(name)
    await engine.stop()
