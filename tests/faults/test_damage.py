"""Chunks that vanish from the store are written again from the file; damaged databases are reported at start."""

import asyncio
import json
import sqlite3
from contextlib import closing
from io import BytesIO
from pathlib import Path

import pytest
from footnote.edge.v1 import documents_pb2 as pb
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DOCUMENT_STATE_INDEXED
from footnote_store.store import VectorStore
from pypdf import PdfWriter
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


def test_the_searched_revision_is_indexed_again_after_its_replacement_failed(tmp_path: Path) -> None:
    """As when it was purged before a replacement that was searched, but not recorded, had been withdrawn."""

    async def replace_badly() -> str:
        async with edge_client(running.address()) as edge:
            document = await edge.put(b"The lighthouse keeper is Ada.", "facts.txt")
            head = pb.ReplaceMetadata(document_id=document.id, filename="facts.pdf")
            parts = [pb.ReplaceDocumentRequest(metadata=head), pb.ReplaceDocumentRequest(data=blank.getvalue())]
            await edge.stub.ReplaceDocument(iter(parts))
            failed = await edge.settle(document.id)
            assert (failed.state, failed.indexed_revision, failed.revision) == (DOCUMENT_STATE_ERROR, 1, 2)
            return str(document.id)

    async def restored(document_id: str) -> None:
        async with edge_client(running.address()) as edge, asyncio.timeout(PATIENCE):
            await mended(edge, document_id, [(1, 0)])
            assert "Ada" in (await edge.answer("Who is the lighthouse keeper?")).answer.text
            document = (await edge.stub.GetDocument(pb.GetDocumentRequest(document_id=document_id))).document
            assert (document.state, document.revision, document.filename) == (DOCUMENT_STATE_ERROR, 2, "facts.txt")

    writer, blank = PdfWriter(), BytesIO()
    writer.add_blank_page(200, 200)  # accepted, but has no text
    writer.write(blank)
    running = Deployment(tmp_path, env=OFTEN)
    running.start()
    try:
        document_id = asyncio.run(replace_badly())
        running.stop()
        with closing(sqlite3.connect(tmp_path / "indexing" / "indexing.db", timeout=60)) as ledger, ledger:
            ledger.execute("DELETE FROM indexing_revisions WHERE document_id = ?", (document_id,))
        running.start()
        asyncio.run(restored(document_id))
    finally:
        running.stop()


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
