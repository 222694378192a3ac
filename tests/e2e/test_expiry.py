"""A document that expires leaves what was made of it, as a deleted one does; a later time to live takes none away."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, UpdateCollectionRequest
from footnote.edge.v1.conversations_pb2 import CreateConversationRequest, ListMessagesRequest
from footnote.edge.v1.documents_pb2 import ReindexDocumentsRequest, UpdateDocumentRequest
from footnote.types.v1.collection_pb2 import Collection, CollectionSettings
from footnote.types.v1.vector_pb2 import VectorRow
from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask
from support.deployment import deployment
from support.edge_client import EdgeClient, edge_client
from support.operations import ended
from support.own_vectors import add, create, pages, row_ids

pytestmark = [pytest.mark.full, pytest.mark.slow]

TEXT = b"The quokka stock of product 12 is 150 units."


@pytest.fixture
async def edge(tmp_path: Path) -> AsyncIterator[EdgeClient]:
    """A client of a deployment that looks for expired documents and rows all the time."""
    often = ("INGESTION_SWEEP_SECONDS", "INDEXING_SWEEP_INTERVAL", "EDGE_COMPARE_SECONDS", "EDGE_RECONCILE_SECONDS")
    started = deployment(tmp_path, env={"FOOTNOTE_PROCESSES": "1", **{f"FOOTNOTE_{one}": "0.5" for one in often}})
    running = await asyncio.to_thread(started.__enter__)
    try:
        async with edge_client(running.address()) as client:
            yield client
    finally:
        await asyncio.to_thread(started.__exit__, None, None, None)


async def found(edge: EdgeClient, collection: str) -> bool:
    request = SearchRequest(query="quokka stock", collections=[collection])
    return bool((await edge.stub.Search(request, timeout=30)).chunks)


async def test_answers_lose_an_expired_document(edge: EdgeClient) -> None:
    document = await edge.put(TEXT, "a.txt")
    made = await edge.stub.CreateConversation(CreateConversationRequest(collections=["default"]))
    talk = ListMessagesRequest(conversation_id=made.conversation.id)
    said = await edge.answer("How high is the quokka stock of product 12?", conversation_id=made.conversation.id)
    assert "150" in said.answer.text
    change = UpdateDocumentRequest(document_id=document.id, update_mask=FieldMask(paths=["expire_time"]))
    change.resource.expire_time.FromMilliseconds(int(time.time() * 1000) + 3000)
    await edge.stub.UpdateDocument(change)
    assert (await edge.stub.ListMessages(talk)).messages[1].text
    async with asyncio.timeout(60):
        while (await edge.stub.ListMessages(talk)).messages[1].text:  # noqa: ASYNC110
            await asyncio.sleep(0.2)
    assert not await edge.documents("default")
    assert not await found(edge, "default")


async def test_answers_lose_an_expired_row(edge: EdgeClient) -> None:
    """Nothing but indexing knows of rows, so that edge has to look; that ingestion has no document does not matter."""
    name = await create(edge, ttl="5s")
    await add(edge, name, [VectorRow(id="quokka", text=TEXT.decode(), vector=[1, 0, 0])])
    made = await edge.stub.CreateConversation(CreateConversationRequest(collections=[name]))
    talk = ListMessagesRequest(conversation_id=made.conversation.id)
    question = "How high is the quokka stock of product 12?"
    said = await edge.answer(question, conversation_id=made.conversation.id, query_vector=[1, 0, 0])
    assert "150" in said.answer.text
    async with asyncio.timeout(60):
        while (await edge.stub.ListMessages(talk)).messages[1].text:  # noqa: ASYNC110
            await asyncio.sleep(0.2)
    assert not row_ids(await pages(edge, name))


async def test_a_later_time_to_live_takes_no_document_from_search(edge: EdgeClient) -> None:
    await edge.stub.CreateCollection(CreateCollectionRequest(collection=Collection(name="old")))
    document = await edge.put(TEXT, "a.txt", "old")
    settings = CollectionSettings(ttl=Duration(seconds=1))
    change = UpdateCollectionRequest(collection="old", resource=Collection(settings=settings))
    change.update_mask.paths.append("settings.ttl")
    await edge.stub.UpdateCollection(change)
    await asyncio.sleep(1.5)
    again = await edge.stub.ReindexDocuments(ReindexDocumentsRequest(document_ids=[document.id]))
    await ended(edge.stub, again.operation)
    await asyncio.sleep(1)
    assert await found(edge, "old")
    [listed] = await edge.documents("old")
    assert (listed.HasField("expire_time"), listed.indexed_revision) == (False, 2)
