"""Own vectors are added whole or not at all, also when the caller's time ends, with few statements for many rows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
import sqlalchemy as sa
from footnote.indexing.v1 import indexing_service_pb2 as pb
from footnote.internal.indexing.v1alpha1.upkeep_service_pb2 import FindVectorsRequest
from footnote.types.v1.vector_pb2 import VectorRow
from footnote_indexing.adapters.row_ledger import RowTable
from footnote_indexing.app import build
from footnote_kit.access import system_scope
from footnote_kit.errors import Aborted, FootnoteError, NotFound, PermissionDenied
from footnote_kit.testing import serve_app
from footnote_store.store import VectorStore
from sqlalchemy.engine import Engine
from support import postgres
from support.indexing import Client


@pytest.fixture(params=["sqlite", "postgresql"])
async def client(uri: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    """A client of indexing on SQLite, then on PostgreSQL, that sweeps at once."""
    url = ""
    if request.param == "postgresql":
        url = await postgres.migrated_database(request.getfixturevalue("postgres_url"), "indexing")
    monkeypatch.setenv("FOOTNOTE_INDEXING_DATABASE_URL", url)
    monkeypatch.setenv("FOOTNOTE_INDEXING_SWEEP_INTERVAL", "0.2")
    async with serve_app(build, vector_store_uri=uri) as served:
        yield Client(served.channel)


def adding(client: Client, name: str, rows: list[VectorRow], timeout: float | None = None) -> Any:
    request = pb.AddVectorsRequest(scope=client.scope, collection=name, rows=rows)
    return client.stub.AddVectors(request, timeout=timeout)


async def texts(client: Client, name: str) -> list[str]:
    listed = await client.stub.ListVectors(pb.ListVectorsRequest(scope=client.scope, collection=name))
    return [row.text for row in listed.rows]


def rows(count: int, text: str = "Text") -> list[VectorRow]:
    return [VectorRow(id=f"r{n}", text=f"{text} {n}", vector=[1.0, float(n)]) for n in range(count)]


async def test_rows_that_the_callers_deadline_cuts_are_gone(
    client: Client, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await client.create("cut", embedding={"provider": "none", "dimensions": 2})
    written = asyncio.Event()
    upsert = VectorStore.upsert

    async def slow(self: VectorStore, *arguments: Any, **named: Any) -> int:
        await upsert(self, *arguments, **named)
        written.set()
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(VectorStore, "upsert", slow)
    call = adding(client, "cut", rows(20))
    await written.wait()
    call.cancel()
    with suppress(asyncio.CancelledError, FootnoteError):
        await call
    monkeypatch.undo()
    assert await texts(client, "cut") == []
    store = VectorStore(uri)
    [item] = (await client.locate("cut")).collections
    async with asyncio.timeout(240):
        while await store.count(item.space, f'collection_key == "{made.id}:1"'):  # noqa: ASYNC110 -- no event tells
            await asyncio.sleep(0.05)
    await store.close()


async def test_a_deadline_in_the_commit_leaves_the_rows_that_were_there(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    await client.create("commit", embedding={"provider": "none", "dimensions": 2})
    await adding(client, "commit", rows(2, "First"))
    publish = RowTable.publish

    async def last(self: RowTable, *arguments: Any) -> Any:
        before = await publish(self, *arguments)
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return before

    monkeypatch.setattr(RowTable, "publish", last)
    with pytest.raises((asyncio.CancelledError, FootnoteError)):
        await adding(client, "commit", rows(3, "Second"), timeout=2)  # which it waits for: the call has no end
    monkeypatch.undo()
    assert await texts(client, "commit") == ["First 0", "First 1"]
    await adding(client, "commit", rows(3, "Third"))
    assert await texts(client, "commit") == ["Third 0", "Third 1", "Third 2"]


async def test_a_row_deleted_while_it_is_written_stays_deleted(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    await client.create("deleted", embedding={"provider": "none", "dimensions": 2})
    await adding(client, "deleted", rows(2))
    upsert = VectorStore.upsert

    async def deleting(self: VectorStore, *arguments: Any, **named: Any) -> int:
        written = await upsert(self, *arguments, **named)
        await client.stub.DeleteVectors(pb.DeleteVectorsRequest(scope=client.scope, collection="deleted", ids=["r1"]))
        return written

    monkeypatch.setattr(VectorStore, "upsert", deleting)
    with pytest.raises(Aborted, match="'r1' was deleted or replaced"):
        await adding(client, "deleted", rows(3, "Late"))
    monkeypatch.undo()
    assert await texts(client, "deleted") == ["Text 0"]


async def test_many_rows_take_as_many_statements_as_few(client: Client) -> None:
    await client.create("many", embedding={"provider": "none", "dimensions": 2})
    statements = 0

    def count(*_: Any) -> None:
        nonlocal statements
        statements += 1

    await adding(client, "many", rows(1))
    sa.event.listen(Engine, "before_cursor_execute", count)
    try:
        await adding(client, "many", rows(5))
        few, statements = statements, 0
        await adding(client, "many", rows(300))
        assert statements < few + 100  # the sweeper's are among them
    finally:
        sa.event.remove(Engine, "before_cursor_execute", count)


async def test_rows_that_are_there_are_found_by_edge_alone(client: Client) -> None:
    """A row that has expired is there until it is removed: a clock that is set ahead for a moment loses none."""
    made = await client.create("there", embedding={"provider": "none", "dimensions": 2}, ttl={"seconds": 1})
    await adding(client, "there", rows(2))
    system = system_scope("another tenant", "edge")
    wanted = FindVectorsRequest(scope=system, collection_id=made.id, vector_ids=["r0", "r9", f"{made.id}/r1"])
    assert set((await client.upkeep.FindVectors(wanted)).vector_ids) == {"r0", f"{made.id}/r1"}
    with pytest.raises(PermissionDenied):
        await client.upkeep.FindVectors(FindVectorsRequest(scope=client.scope, collection_id=made.id))
    with pytest.raises(NotFound):
        await client.upkeep.FindVectors(FindVectorsRequest(scope=system, collection_id="another"))
    async with asyncio.timeout(60):
        while (await client.upkeep.FindVectors(wanted)).vector_ids:  # noqa: ASYNC110 -- no event tells
            await asyncio.sleep(0.1)
