"""Documents whose provider always fails do not occupy slots: others are indexed meanwhile."""

import asyncio
import time
from pathlib import Path

import pytest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.documents_pb2 import Document
from footnote.types.v1 import document_pb2 as doc
from footnote.types.v1.collection_pb2 import Collection, CollectionSettings, EmbeddingSettings
from support.deployment import Deployment
from support.doubles import model_server as ms
from support.edge_client import edge_client

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(300)]

NAME = "remote"
PLACES = 2
CEILING = 2


def comes_later(document: Document) -> bool:
    """Whether a document says when it comes again: later than one does that waits in its place."""
    return document.next_attempt_time.ToNanoseconds() > time.time_ns() + (CEILING + 1) * 1_000_000_000


async def test_documents_that_always_fail_do_not_hold_up_the_others(tmp_path: Path) -> None:
    async with ms.model_server() as server:
        env = {
            "FOOTNOTE_VLLM_BASE_URL": server.base_url,
            "FOOTNOTE_VLLM_FIRST_BACKOFF": "0.05",
            "FOOTNOTE_EDGE_RETRY_CEILING_SECONDS": str(CEILING),
            "FOOTNOTE_EDGE_DOCUMENT_CONCURRENCY": str(PLACES),
            "FOOTNOTE_EDGE_RECONCILE_SECONDS": "1",
        }
        running = Deployment(tmp_path, env=env)
        try:
            await asyncio.to_thread(running.start)
            async with edge_client(running.address()) as client:
                embedding = EmbeddingSettings(provider="vllm", model="test-model")
                collection = Collection(name=NAME, settings=CollectionSettings(embedding=embedding))
                await client.stub.CreateCollection(CreateCollectionRequest(collection=collection))
                server.fail_with(ms.broken(401, "Incorrect API key provided"), times=10_000)
                for one in range(2 * PLACES):
                    await client.upload(f"Fact {one} is {one * 3}.".encode(), f"{one}.txt", NAME)
                good = await client.put(b"Others go on.", "good.txt")
                assert good.state == doc.DOCUMENT_STATE_INDEXED, good
                poisoned = await client.documents(NAME)
                assert {one.state for one in poisoned} <= {doc.DOCUMENT_STATE_UPLOADED, doc.DOCUMENT_STATE_PROCESSING}
                async with asyncio.timeout(120):
                    while not any(map(comes_later, await client.documents(NAME))):  # noqa: ASYNC110
                        await asyncio.sleep(0.2)
                server.script.clear()
                for document in poisoned:
                    settled = await client.settle(document.id)
                    assert settled.state == doc.DOCUMENT_STATE_INDEXED, settled.failure
        finally:
            await asyncio.to_thread(running.stop)
