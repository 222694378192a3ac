"""kill -9 in the middle of an operation: after a restart, the operation continues to its end."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from footnote.edge.v1 import operations_pb2 as pb
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, DeleteCollectionRequest, ListCollectionsRequest
from footnote.edge.v1.documents_pb2 import ReindexDocumentsRequest, WatchDocumentsRequest
from footnote.types.v1 import document_pb2 as doc
from footnote.types.v1.collection_pb2 import Collection
from footnote_edge.jobs.reindexing import RENEW_BATCH
from support.deployment import Deployment, deployment
from support.edge_client import EdgeClient, edge_client
from support.operations import ended

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(400)]

NAME = "many"
COUNT = RENEW_BATCH + 10  # more than one page


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Deployment]:
    """All in one process."""
    with deployment(tmp_path) as started:
        yield started


async def fill(client: EdgeClient) -> None:
    await client.stub.CreateCollection(CreateCollectionRequest(collection=Collection(name=NAME)))
    gate = asyncio.Semaphore(8)

    async def put(number: int) -> None:
        async with gate:
            await client.upload(f"Fact {number} is {number * 7}.\n".encode(), f"{number}.txt", NAME)

    await asyncio.gather(*(put(number) for number in range(COUNT)))
    request = WatchDocumentsRequest(collection=NAME, until_idle=True)
    async for _ in client.stub.WatchDocuments(request, timeout=180):
        pass


async def get(client: EdgeClient, operation: pb.Operation) -> pb.Operation:
    return (await client.stub.GetOperation(pb.GetOperationRequest(operation_id=operation.id))).operation


async def reaches(client: EdgeClient, operation: pb.Operation, done: int) -> pb.Operation:
    now = await get(client, operation)
    while now.done < done and not now.HasField("end_time"):
        await asyncio.sleep(0.02)
        now = await get(client, operation)
    return now


async def killed(running: Deployment, ask: Any, done: int) -> tuple[pb.Operation, pb.Operation]:
    """Begin an operation, kill its service half-way, and return it as it was then and as it ended."""
    async with edge_client(running.address()) as client:
        await fill(client)
        operation = (await ask(client)).operation
        before = await reaches(client, operation, done)
        await asyncio.to_thread(running.kill)
    await asyncio.to_thread(running.start)
    async with edge_client(running.address()) as client:
        return before, await ended(client.stub, operation, timeout=180)


async def test_a_reindex_goes_on_after_a_kill(running: Deployment) -> None:
    request = ReindexDocumentsRequest(collection=NAME)
    before, last = await killed(running, lambda client: client.stub.ReindexDocuments(request), 5)
    assert before.state == pb.OPERATION_STATE_RUNNING
    assert before.total == COUNT
    assert (last.state, last.done, last.total) == (pb.OPERATION_STATE_SUCCEEDED, COUNT, COUNT)
    async with edge_client(running.address()) as client:
        documents = await client.documents(NAME)
    assert len(documents) == COUNT
    assert all(document.state == doc.DOCUMENT_STATE_INDEXED for document in documents)
    assert all(document.indexed_revision == document.revision == 2 for document in documents)


async def test_a_deletion_goes_on_after_a_kill(running: Deployment) -> None:
    request = DeleteCollectionRequest(collection=NAME)
    before, last = await killed(running, lambda client: client.stub.DeleteCollection(request), 0)
    assert not before.HasField("end_time")
    assert (last.state, last.done, last.total) == (pb.OPERATION_STATE_SUCCEEDED, COUNT, COUNT)
    async with edge_client(running.address()) as client:
        assert await client.documents() == []
        assert not (await client.stub.ListCollections(ListCollectionsRequest())).collections
