"""kill -9 while a collection is being reindexed: all its documents come to a new revision once it is up again."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.documents_pb2 import ReindexDocumentsRequest, WatchDocumentsRequest
from footnote.types.v1 import document_pb2 as doc
from footnote.types.v1.collection_pb2 import Collection, CollectionSettings
from footnote_edge.chores import RENEW_BATCH
from footnote_kit.errors import Unavailable
from support.deployment import Deployment, deployment
from support.edge_client import edge_client

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

NAME = "many"
COUNT = RENEW_BATCH + 10  # more than one page


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Deployment]:
    """All in one process."""
    with deployment(tmp_path) as started:
        yield started


async def test_a_reindex_goes_on_after_a_kill(running: Deployment) -> None:
    async with edge_client(running.address()) as client:
        collection = Collection(name=NAME, settings=CollectionSettings(max_documents=COUNT))
        await client.stub.CreateCollection(CreateCollectionRequest(collection=collection))
        gate = asyncio.Semaphore(8)

        async def put(number: int) -> None:
            async with gate:
                await client.upload(f"Fact {number} is {number * 7}.\n".encode(), f"{number}.txt", NAME)

        await asyncio.gather(*(put(number) for number in range(COUNT)))
        async for _ in client.stub.WatchDocuments(idle(), timeout=120):
            pass
        asked = asyncio.ensure_future(client.stub.ReindexDocuments(ReindexDocumentsRequest(collection=NAME)))
        begun = False
        while not begun:
            begun = any(document.revision == 2 for document in await client.documents(NAME))
        await asyncio.to_thread(running.kill)
        await asyncio.wait({asked})
        assert asked.exception() is None or isinstance(asked.exception(), Unavailable)
    await asyncio.to_thread(running.start)
    async with edge_client(running.address()) as client:
        for _ in range(600):
            if all(document.revision > 1 for document in await client.documents(NAME)):
                break
            await asyncio.sleep(0.2)  # what is not begun yet moves nothing that could be watched
        async for _ in client.stub.WatchDocuments(idle(), timeout=120):
            pass
        documents = await client.documents(NAME)
    assert len(documents) == COUNT
    assert all(document.state == doc.DOCUMENT_STATE_INDEXED for document in documents)
    assert all(document.indexed_revision == document.revision >= 2 for document in documents)


def idle() -> WatchDocumentsRequest:
    return WatchDocumentsRequest(collection=NAME, until_idle=True)
