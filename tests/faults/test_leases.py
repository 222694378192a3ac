"""Jobs of a dead replica are taken over by another within half a minute, on PostgreSQL."""

import asyncio
import time
from pathlib import Path

import pytest
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED, DOCUMENT_STATE_PROCESSING
from support import postgres
from support.deployment import Deployment
from support.edge_client import edge_client

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(400)]

TAKEN_OVER = 30.0
DOCUMENTS = 6


async def test_another_replica_finishes_the_jobs_of_one_that_died(tmp_path: Path, postgres_url: str) -> None:
    url = await postgres.new_database(postgres_url)
    env = {f"FOOTNOTE_{stage}_DATABASE_URL": url for stage in ("INGESTION", "INDEXING", "EDGE")}
    running = Deployment(tmp_path, separate=True, env={**env, "FOOTNOTE_EDGE_EXECUTOR_ID": "first"})
    try:
        await asyncio.to_thread(running.start)
        async with edge_client(running.address()) as client:
            await client.put(b"The collection is there before.", "before.txt")
            await asyncio.to_thread(running.kill, "indexing")
            ids = [(await client.upload(b"Document %d." % one, f"{one}.txt")).document.id for one in range(DOCUMENTS)]
            async with asyncio.timeout(240):
                while DOCUMENT_STATE_PROCESSING not in {  # noqa: ASYNC110 - another process
                    one.state for one in await client.documents()
                }:
                    await asyncio.sleep(0.2)
        await asyncio.to_thread(running.kill, "edge")
        running._env["FOOTNOTE_EDGE_EXECUTOR_ID"] = "second"
        await asyncio.to_thread(running.start, "indexing", "edge")
        began = time.monotonic()
        async with edge_client(running.address()) as client:
            for document_id in ids:
                settled = await client.settle(document_id, timeout=90)
                assert settled.state == DOCUMENT_STATE_INDEXED
        seconds = time.monotonic() - began
        print(f"taken over and done after {seconds:.1f} s")
        assert seconds < TAKEN_OVER
    finally:
        await asyncio.to_thread(running.stop)
