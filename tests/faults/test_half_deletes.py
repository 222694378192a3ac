"""Deletions that ingestion dies in, and a ledger older than the rest: catalogue, ledger and store agree again."""

import asyncio
import collections
import shutil
from pathlib import Path

import pytest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.documents_pb2 import DeleteDocumentRequest, QueryChunksRequest
from footnote.types.v1.collection_pb2 import Collection, CollectionSettings
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote_kit.errors import DeadlineExceeded, NotFound, Unavailable
from support.deployment import Deployment, deployment
from support.edge_client import EdgeClient, edge_client

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(400)]

OFTEN = {"FOOTNOTE_EDGE_RECONCILE_SECONDS": "1"}
NAME = "files"
PATIENCE = 60.0


def content(number: int) -> bytes:
    return f"# File {number}\n\nFact one of file {number}.\n\nFact two of it is {number * 7}.".encode()


async def make(client: EdgeClient) -> None:
    collection = Collection(name=NAME, settings=CollectionSettings(max_documents=1000))
    await client.stub.CreateCollection(CreateCollectionRequest(collection=collection))


async def put_all(client: EdgeClient, numbers: range) -> dict[int, str]:
    """Upload and wait for the end; return the ids."""
    accepted = [(await client.upload(content(one), f"{one}.md", NAME)).document.id for one in numbers]
    for document_id in accepted:
        assert (await client.settle(document_id)).state == DOCUMENT_STATE_INDEXED
    return dict(zip(numbers, accepted, strict=True))


async def found(client: EdgeClient) -> "collections.Counter[str]":
    """Count the chunks that searches see of each document."""
    request = QueryChunksRequest(collection=NAME, page_size=1000)
    return collections.Counter(chunk.document_id for chunk in (await client.stub.QueryChunks(request)).chunks)


async def agree(client: EdgeClient) -> None:
    """Wait until what is listed is what is found, chunk by chunk."""
    listed, seen = None, None
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                documents = await client.documents(NAME)
                listed = {one.id: one.chunk_count for one in documents}
                seen = dict(await found(client))
                if listed == seen and all(one.state == DOCUMENT_STATE_INDEXED for one in documents):
                    return
                await asyncio.sleep(0.2)  # the reconciler has a clock of its own
    except TimeoutError:
        pytest.fail(f"listed {listed}, found {seen}")


async def delete(client: EdgeClient, document_id: str) -> bool:
    """Delete; return whether that was acknowledged."""
    try:
        await client.stub.DeleteDocument(DeleteDocumentRequest(document_id=document_id), timeout=20)
    except (Unavailable, DeadlineExceeded, NotFound):
        return False
    return True


async def kill_amid_deletions(running: Deployment) -> None:
    async with edge_client(running.address()) as client:
        await make(client)
        ids = await put_all(client, range(30))
        calls = [asyncio.create_task(delete(client, one)) for one in ids.values()]
        await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.to_thread(running.kill, "ingestion")
        await asyncio.to_thread(running.start, "ingestion")
        outcomes = await asyncio.gather(*calls)
        acknowledged = {document_id for document_id, done in zip(ids.values(), outcomes, strict=True) if done}
        await agree(client)
        assert acknowledged
        assert not acknowledged & {one.id for one in await client.documents(NAME)}
        # What is gone is no duplicate, what is left is one.
        there = {one.id for one in await client.documents(NAME)}
        for number, document_id in ids.items():
            again = await client.upload(content(number), f"{number}.md", NAME)
            assert again.duplicate == (document_id in there)
            assert (await client.settle(again.document.id)).state == DOCUMENT_STATE_INDEXED
        await agree(client)
        assert len(await client.documents(NAME)) == 30


def test_deletions_that_ingestion_dies_in_are_whole(tmp_path: Path) -> None:
    with deployment(tmp_path, separate=True, env=OFTEN) as running:
        asyncio.run(kill_amid_deletions(running))


def test_a_ledger_that_is_older_than_the_rest_is_brought_up_to_it(tmp_path: Path) -> None:
    ledger, kept = tmp_path / "indexing" / "indexing.db", tmp_path / "older.db"
    with deployment(tmp_path, env=OFTEN) as running:

        async def before() -> dict[int, str]:
            async with edge_client(running.address()) as client:
                await make(client)
                return await put_all(client, range(6))

        async def after(ids: dict[int, str]) -> dict[int, str]:
            async with edge_client(running.address()) as client:
                for number in (0, 1):
                    assert await delete(client, ids[number])
                return await put_all(client, range(6, 16))

        async def look(deleted: list[str], there: list[str]) -> None:
            async with edge_client(running.address()) as client:
                await agree(client)
                listed = {one.id for one in await client.documents(NAME)}
                assert listed == set(there)
                assert not listed & set(deleted)
                async with asyncio.timeout(PATIENCE):
                    while "documents_repaired" not in running.log():  # noqa: ASYNC110 - another process
                        await asyncio.sleep(0.2)

        old = asyncio.run(before())
        running.stop()
        shutil.copy(ledger, kept)
        running.start()
        new = asyncio.run(after(old))
        running.stop()
        for path in ledger.parent.glob("indexing.db-*"):
            path.unlink()
        shutil.copy(kept, ledger)
        running.start()
        asyncio.run(look([old[0], old[1]], [old[one] for one in range(2, 6)] + list(new.values())))
