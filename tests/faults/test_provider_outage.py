"""An embedding provider that fails for a while: every document waits, says what for, and is indexed when it is back."""

import asyncio
from pathlib import Path

import pytest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.types.v1 import document_pb2 as doc
from footnote.types.v1.collection_pb2 import Collection, CollectionSettings, EmbeddingSettings
from support.deployment import Deployment
from support.doubles import model_server as ms
from support.edge_client import edge_client

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(300)]

NAME = "remote"
DOCUMENTS = 12
OUTAGE = 12.0


@pytest.mark.parametrize(
    ("status", "seconds", "waiting"),
    [
        (500, OUTAGE, doc.WAITING_REASON_PROVIDER_UNAVAILABLE),
        (401, 4.0, doc.WAITING_REASON_PROVIDER_REFUSED),
    ],
)
async def test_an_outage_of_the_provider_fails_no_document(
    tmp_path: Path, status: int, seconds: float, waiting: doc.WaitingReason
) -> None:
    async with ms.model_server() as server:
        env = {
            "FOOTNOTE_VLLM_BASE_URL": server.base_url,
            "FOOTNOTE_VLLM_FIRST_BACKOFF": "0.05",
            "FOOTNOTE_EDGE_RETRY_CEILING_SECONDS": "2",
        }
        running = Deployment(tmp_path, env=env)
        try:
            await asyncio.to_thread(running.start)
            async with edge_client(running.address()) as client:
                embedding = EmbeddingSettings(provider="vllm", model="test-model")
                collection = Collection(name=NAME, settings=CollectionSettings(embedding=embedding))
                await client.stub.CreateCollection(CreateCollectionRequest(collection=collection))
                server.fail_with(ms.broken(status, "GPU is on fire"), times=10_000)
                for one in range(DOCUMENTS):
                    await client.upload(f"Fact {one} is {one * 3}.".encode(), f"{one}.txt", NAME)
                await asyncio.sleep(seconds)
                meanwhile = await client.documents(NAME)
                assert {one.state for one in meanwhile} <= {doc.DOCUMENT_STATE_UPLOADED, doc.DOCUMENT_STATE_PROCESSING}
                assert waiting in {one.waiting_reason for one in meanwhile}
                server.script.clear()
                for document in meanwhile:
                    settled = await client.settle(document.id)
                    assert settled.state == doc.DOCUMENT_STATE_INDEXED, settled.failure
                    assert not settled.waiting_reason
        finally:
            await asyncio.to_thread(running.stop)
