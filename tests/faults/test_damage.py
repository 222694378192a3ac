"""Chunks that vanish from the store are written again from the file; damaged databases are reported at start."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from footnote.edge.v1 import documents_pb2 as pb
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote_store.store import VectorStore
from support.deployment import Deployment, deployment
from support.edge_client import EdgeClient, edge_client

pytestmark = pytest.mark.full

OFTEN = {"FOOTNOTE_INDEXING_RECOVERY_INTERVAL": "0.5", "FOOTNOTE_EDGE_RECONCILE_SECONDS": "0.5"}
PATIENCE = 90.0


async def ordinals(edge: EdgeClient, document_id: str) -> list[tuple[int, int]]:
    """Revision and ordinal of each chunk that can be found."""
    request = pb.QueryChunksRequest(
        collection="default", filter={"json": json.dumps({"document_id": document_id})}, page_size=1000
    )
    return [(chunk.revision, chunk.ordinal) for chunk in (await edge.stub.QueryChunks(request)).chunks]


async def mended(edge: EdgeClient, document_id: str, whole: list[tuple[int, int]]) -> None:
    """Wait until these chunks are found."""
    while True:
        if await ordinals(edge, document_id) == whole:
            return
        await asyncio.sleep(0.1)


def test_lost_chunks_are_written_again(tmp_path: Path) -> None:
    with deployment(tmp_path, env=OFTEN) as running:

        async def lose_and_wait() -> None:
            store = VectorStore(running.store_uri())
            async with edge_client(running.address()) as edge:
                text = "\n\n".join(
                    f"Rule {n}: " + "everybody keeps to it, every day of the year. " * 15 for n in range(12)
                )
                document = await edge.put(text.encode(), "rules.txt")
                assert document.state == DOCUMENT_STATE_INDEXED
                whole = await ordinals(edge, document.id)
                assert len(whole) > 5
                space = await store.ensure_space(384)
                assert await store.delete(space, f'document_id == "{document.id}" and ordinal == 3') == 1
                assert len(await ordinals(edge, document.id)) == len(whole) - 1
                async with asyncio.timeout(PATIENCE):
                    await mended(edge, document.id, [(2, ordinal) for _, ordinal in whole])
            await store.close()

        asyncio.run(lose_and_wait())


DATABASES = {
    "ingestion": ("ingestion/documents.db", "documents"),
    "indexing": ("indexing/indexing.db", "indexing"),
    "edge": ("edge/edge.db", "edge"),
    "edge's jobs": ("edge/jobs.db", "jobs"),
}


def refused(running: Deployment, service: str) -> str:
    """Start a service that cannot begin; return the one line that it says."""
    before = len(running.log(service))
    running.spawn(service)
    assert running.processes.pop(service).wait(60) != 0
    said = running.log(service)[before:]
    assert "Traceback" not in said, said
    return said


@pytest.mark.timeout(300)
def test_damaged_and_missing_databases_are_told_at_the_start(tmp_path: Path) -> None:
    with deployment(tmp_path) as running:

        async def put() -> None:
            async with edge_client(running.address()) as client:
                await client.put(b"A fact or two.", "facts.txt")

        asyncio.run(put())
    running = Deployment(tmp_path, separate=True)
    for who, (place, name) in DATABASES.items():
        path = tmp_path / place
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        whole = path.read_bytes()
        path.write_bytes(b"\xff" * 4096 + whole[4096:])
        said = refused(running, who.partition("'")[0])
        assert f"The {name} database {path} is damaged: put back a copy of it" in said
        path.write_bytes(whole)
    vectors = tmp_path / "store" / "vectors.db"
    whole = vectors.read_bytes()
    vectors.write_bytes(whole[: len(whole) // 2])
    assert f"The store's file {vectors} is damaged: put back a copy of it, or stop" in refused(running, "store")
    vectors.write_bytes(whole)
    (tmp_path / "store" / "installation").write_text("another\n")
    assert f"The store folder {tmp_path / 'store'} is of another installation" in refused(running, "store")
    documents = tmp_path / "ingestion" / "documents.db"
    documents.rename(tmp_path / "aside.db")
    assert f"The documents database {documents} is missing" in refused(running, "ingestion")
