"""Cancels, changes and deletions on a whole deployment, at any moment and across kill -9: one of two wins.

`FOOTNOTE_SEED` repeats the moments of an earlier run.
"""

import asyncio
import os
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from footnote.edge.v1.documents_pb2 import (
    CancelDocumentRequest,
    DeleteDocumentRequest,
    Document,
    GetDocumentRequest,
    QueryChunksRequest,
    ReindexDocumentsRequest,
    ReplaceDocumentRequest,
    ReplaceMetadata,
    UpdateDocumentRequest,
    WatchDocumentRequest,
)
from footnote.stages.v1.passage_pb2 import Chunk
from footnote.types.v1 import document_pb2 as doc
from footnote_kit.errors import Aborted, FailedPrecondition, FootnoteError, NotFound, Unavailable
from support import postgres
from support.deployment import Deployment
from support.edge_client import EdgeClient, edge_client
from support.operations import ended

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(600)]

SEED = int(os.environ.get("FOOTNOTE_SEED", "0")) or random.randrange(1, 10**6)
CANCELLED = doc.FAILURE_REASON_CANCELLED
LONG = 1500
"""Paragraphs of a document that takes a while to be parsed, cut and embedded."""


@pytest.fixture(params=["sqlite", "postgres"])
async def running(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Deployment]:
    """All in one process, which reads one file at a time; every ledger in SQLite or in PostgreSQL."""
    env = {"FOOTNOTE_INGESTION_WORKERS": "1", "FOOTNOTE_EDGE_RECONCILE_SECONDS": "1"}
    if request.param == "postgres":
        url = await postgres.new_database(request.getfixturevalue("postgres_url"))
        env |= {f"FOOTNOTE_{stage}_DATABASE_URL": url for stage in ("INGESTION", "INDEXING", "EDGE")}
    started = Deployment(tmp_path, env=env)
    print(f"FOOTNOTE_SEED={SEED}")
    try:
        await asyncio.to_thread(started.start)
        yield started
    finally:
        await asyncio.to_thread(started.stop)


def long_text(number: int) -> bytes:
    return "\n\n".join(f"Fact {line} of text {number} is {line * number + 1}." for line in range(LONG)).encode()


async def get(client: EdgeClient, document_id: str) -> Document:
    return (await client.stub.GetDocument(GetDocumentRequest(document_id=document_id))).document


async def chunks(client: EdgeClient, document_id: str) -> list[Chunk]:
    """Return what searches see of a document."""
    where = f'{{"document_id": "{document_id}"}}'
    request = QueryChunksRequest(collection="default", filter={"json": where}, page_size=1000)
    return list((await client.stub.QueryChunks(request, timeout=60)).chunks)


async def replace(client: EdgeClient, document_id: str, data: bytes) -> None:
    head = ReplaceDocumentRequest(metadata=ReplaceMetadata(document_id=document_id))
    parts = [data[start : start + 2**18] for start in range(0, len(data), 2**18)]
    await client.stub.ReplaceDocument(iter([head, *(ReplaceDocumentRequest(data=part) for part in parts)]))


async def cancel(client: EdgeClient, document_id: str) -> Document | None:
    """Cancel, and return the document; None when there was nothing to cancel any more."""
    try:
        return (await client.stub.CancelDocument(CancelDocumentRequest(document_id=document_id))).document
    except FailedPrecondition:
        return None


async def check(client: EdgeClient, document_id: str, before: int) -> bool:
    """Check that searches see what the record says, and return whether it was cancelled."""
    document = await client.settle(document_id)
    seen = {chunk.revision for chunk in await chunks(client, document_id)}
    assert seen == {document.indexed_revision}
    if document.state == doc.DOCUMENT_STATE_INDEXED:
        assert document.indexed_revision == document.revision
        return False
    assert document.failure.reason == CANCELLED, document.failure
    assert document.indexed_revision == before
    return True


async def reindex(client: EdgeClient, document_id: str) -> None:
    begun = await client.stub.ReindexDocuments(ReindexDocumentsRequest(document_ids=[document_id]))
    await ended(client.stub, begun.operation)


async def test_of_a_cancel_and_the_end_one_wins(running: Deployment) -> None:
    chance = random.Random(SEED)
    async with edge_client(running.address()) as client:
        document_id = (await client.put(b"the first revision", "a.txt")).id
        outcomes = []
        spent = 1.0
        for number in range(12):
            before = (await get(client, document_id)).indexed_revision
            began = asyncio.get_running_loop().time()
            await replace(client, document_id, long_text(number))
            await asyncio.sleep(chance.uniform(0, spent))
            done = await cancel(client, document_id)
            assert await check(client, document_id, before) == (done is not None)
            outcomes.append(done is not None)
            if done is None:
                spent = 0.5 * (spent + asyncio.get_running_loop().time() - began)
        print(f"{sum(outcomes)} of {len(outcomes)} were cancelled")
        assert any(outcomes)
        await reindex(client, document_id)
        assert (await client.settle(document_id)).state == doc.DOCUMENT_STATE_INDEXED
        assert not await check(client, document_id, 0)


async def test_a_cancel_ends_the_reading_of_the_file(running: Deployment) -> None:
    async with edge_client(running.address()) as client:
        rows = b"\n".join(b"%d," % row + b"x" * 60 for row in range(140_000))
        slow = (await client.upload(rows, "slow.csv")).document.id
        watch = client.stub.WatchDocument(WatchDocumentRequest(document_id=slow))
        async for event in watch:
            if event.document.state != doc.DOCUMENT_STATE_UPLOADED:
                break
        done = await cancel(client, slow)
        assert done is not None
        assert done.failure.reason == CANCELLED
        async with asyncio.timeout(30):  # by the only worker there is
            assert (await client.put(b"quick", "quick.txt")).state == doc.DOCUMENT_STATE_INDEXED
        assert (await get(client, slow)).failure.reason == CANCELLED
        assert not await chunks(client, slow)


async def test_a_cancel_outlives_kill_9(running: Deployment) -> None:
    chance = random.Random(SEED)
    async with edge_client(running.address()) as client:
        document_id = (await client.put(b"the first revision", "a.txt")).id
        for number in range(1, 30):  # until a cancel comes before the end: a quick machine may be done sooner
            first = (await client.settle(document_id)).indexed_revision
            await replace(client, document_id, long_text(number))
            await asyncio.sleep(chance.uniform(0, 0.5) / number)
            if await cancel(client, document_id) is not None:
                break
        else:
            raise AssertionError("each document was done before its cancel")
    await asyncio.to_thread(running.kill)
    await asyncio.to_thread(running.start)
    async with edge_client(running.address()) as client:
        await client.put(b"something else", "b.txt")  # the jobs left are taken up before it
        assert await check(client, document_id, first)
        await replace(client, document_id, long_text(2))
        await asyncio.sleep(chance.uniform(0, 0.5))
        asked = asyncio.ensure_future(cancel(client, document_id))
        await asyncio.sleep(chance.uniform(0, 0.02))
        await asyncio.to_thread(running.kill)
        outcome = (await asyncio.gather(asked, return_exceptions=True))[0]
        assert outcome is None or isinstance(outcome, Document | Unavailable)
    await asyncio.to_thread(running.start)
    async with edge_client(running.address()) as client:
        was = await check(client, document_id, first)
        assert was or not isinstance(outcome, Document)
        await reindex(client, document_id)
        assert not await check(client, document_id, first)


async def test_changes_and_deletions_broken_off_by_kill_9_are_finished(running: Deployment) -> None:
    chance = random.Random(SEED)
    async with edge_client(running.address()) as client:
        kept = (await client.put(long_text(3), "kept.txt", tags=["0"])).id
        doomed = [(await client.put(b"doomed %d" % one, "d.txt")).id for one in range(3)]
    for number, victim in enumerate(doomed, 1):
        async with edge_client(running.address()) as client:
            change = UpdateDocumentRequest(document_id=kept, resource=Document(tags=[str(number)]))
            calls = [
                asyncio.ensure_future(client.stub.UpdateDocument(change)),
                asyncio.ensure_future(client.stub.DeleteDocument(DeleteDocumentRequest(document_id=victim))),
            ]
            await asyncio.sleep(chance.uniform(0, 0.05))
            await asyncio.to_thread(running.kill)
            await asyncio.gather(*calls, return_exceptions=True)
        await asyncio.to_thread(running.start)
        async with edge_client(running.address()) as client:
            for _ in range(300):  # the reconciler has a clock of its own
                tags = {tuple(one.tags) for one in await chunks(client, kept)}
                same = tags == {tuple((await get(client, kept)).tags)}
                whole = bool(await chunks(client, victim)) == await exists(client, victim)
                if same and whole:
                    break
                await asyncio.sleep(0.2)
            assert same
            assert whole


async def exists(client: EdgeClient, document_id: str) -> bool:
    try:
        return bool(await get(client, document_id))
    except NotFound:
        return False


async def test_of_a_change_and_a_deletion_that_saw_the_same_one_happens(running: Deployment) -> None:
    async with edge_client(running.address()) as client:
        for number in range(8):
            document = await client.put(b"both %d" % number, "a.txt")
            change = Document(tags=["new"], etag=document.etag)
            deletion = DeleteDocumentRequest(document_id=document.id, etag=document.etag)
            updated, deleted = await asyncio.gather(
                client.stub.UpdateDocument(UpdateDocumentRequest(document_id=document.id, resource=change)),
                client.stub.DeleteDocument(deletion),
                return_exceptions=True,
            )
            lost = updated if isinstance(updated, FootnoteError) else deleted
            assert isinstance(lost, Aborted | NotFound), (updated, deleted)
            assert isinstance(updated, FootnoteError) != isinstance(deleted, FootnoteError), (updated, deleted)
            there = not isinstance(updated, FootnoteError)
            assert await exists(client, document.id) == there
            assert [list(one.tags) for one in await chunks(client, document.id)] == ([["new"]] if there else [])
