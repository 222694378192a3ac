"""Job queues that rest ask the database for little, and whatever is enqueued wakes them."""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, DeleteCollectionRequest
from footnote.edge.v1.documents_pb2 import ReindexDocumentsRequest, UploadDocumentRequest, UploadMetadata
from footnote.edge.v1.operations_pb2 import OPERATION_STATE_SUCCEEDED
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote_edge.app import build
from footnote_edge.jobs import queue_polling
from footnote_kit.edge import EdgeStub
from footnote_kit.testing import serve_app
from sqlalchemy import event
from sqlalchemy.engine import Engine
from support import postgres
from support.doubles.stages import World, serve_doubles
from support.operations import ended

DOCUMENTS = 6
JOBS = ("workflow_status", "queues")
"""Tables that polls read."""
SECONDS = 2.0
STATEMENTS = {"sqlite": 3, "postgres": 15}
"""Statements a second at rest: dbos looks for new queues, and on PostgreSQL for what another replica has enqueued."""


@pytest.fixture
def asked() -> Iterator[Counter[str]]:
    """Statements that name a table of the job queues."""
    found = Counter[str]()

    def note(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        found[statement] += any(f".{table}" in statement for table in JOBS)

    event.listen(Engine, "before_cursor_execute", note)
    yield found
    event.remove(Engine, "before_cursor_execute", note)


@pytest.fixture(params=STATEMENTS)
async def database(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The database of edge and its jobs."""
    if request.param == "postgres":
        url = await postgres.migrated_database(request.getfixturevalue("postgres_url"), "edge")
        monkeypatch.setenv("FOOTNOTE_EDGE_DATABASE_URL", url)
        monkeypatch.setenv("FOOTNOTE_EDGE_EXECUTOR_ID", "edge-0")
    return str(request.param)


@pytest.fixture
async def edge(world: World, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EdgeStub]:
    """A stub of edge, whose queues rest from the start and as long as nothing wakes them."""
    monkeypatch.setattr(queue_polling, "START_SECONDS", 0.0)
    monkeypatch.setattr(queue_polling, "IDLE_SECONDS", 600.0)
    monkeypatch.setenv("FOOTNOTE_EDGE_DOCUMENT_CONCURRENCY", "2")
    monkeypatch.setenv("FOOTNOTE_EDGE_OPERATION_CONCURRENCY", "1")
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses, data_dir=tmp_path) as running:
        yield EdgeStub(running.channel)


def running() -> set[str]:
    """The functions in which threads of this process are."""
    frames = (frame for thread in sys._current_frames().values() for frame, _ in traceback.walk_stack(thread))
    return {frame.f_code.co_name for frame in frames}


async def test_queues_rest_and_wake(edge: EdgeStub, database: str, world: World, asked: Counter[str]) -> None:
    def parts() -> Any:
        yield UploadDocumentRequest(metadata=UploadMetadata(collection="many", filename="a.txt"))
        yield UploadDocumentRequest(data=f"text {len(world.documents)}".encode())

    await edge.CreateCollection(CreateCollectionRequest(collection=Collection(name="many")))
    for _ in range(DOCUMENTS):
        await edge.UploadDocument(parts())
    await world.until(lambda: all(one.state == DOCUMENT_STATE_INDEXED for one in world.documents.values()))
    for _ in range(2):  # the second finds queues that rest after work
        await asyncio.sleep(queue_polling.BUSY_SECONDS + SECONDS)
        asked.clear()
        await asyncio.sleep(SECONDS)
        assert asked.total() <= STATEMENTS[database] * SECONDS, asked
        assert (database == "postgres") == ("_notification_listener" in running()), "for messages that we never send"
        reindexing = (await edge.ReindexDocuments(ReindexDocumentsRequest(collection="many"))).operation
        assert (await ended(edge, reindexing)).state == OPERATION_STATE_SUCCEEDED
    deletion = (await edge.DeleteCollection(DeleteCollectionRequest(collection="many"))).operation
    assert (await ended(edge, deletion)).state == OPERATION_STATE_SUCCEEDED
