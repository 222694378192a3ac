"""CancelDocument at the public API, and interrupted deletions and changes: the edge with doubles of its stages."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from footnote.edge.v1.documents_pb2 import (
    CancelDocumentRequest,
    DeleteDocumentRequest,
    Document,
    GetDocumentRequest,
    ReindexDocumentsRequest,
    ReplaceDocumentRequest,
    ReplaceMetadata,
    UpdateDocumentRequest,
    UploadDocumentRequest,
    UploadMetadata,
    WatchDocumentRequest,
)
from footnote.stages.v1 import stored_document_pb2
from footnote.types.v1 import document_pb2 as doc
from footnote_edge.app import build
from footnote_edge.documents import reconcile
from footnote_edge.jobs.interrupting import CHECK_SECONDS
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import Aborted, FailedPrecondition, NotFound, Unavailable
from footnote_kit.testing import Served, serve_app
from support.doubles.stages import World, serve_doubles
from support.operations import ended

pytestmark = pytest.mark.full

CANCELLED = doc.FAILURE_REASON_CANCELLED


@pytest.fixture
async def served(world: World, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Served]:
    """Edge with one document in work at a time and quick retries."""
    monkeypatch.setenv("FOOTNOTE_EDGE_RETRY_CEILING_SECONDS", "0.3")
    monkeypatch.setenv("FOOTNOTE_EDGE_RECONCILE_SECONDS", "0.3")
    monkeypatch.setenv("FOOTNOTE_EDGE_DOCUMENT_CONCURRENCY", "1")
    monkeypatch.setattr(reconcile, "SETTLED_SECONDS", 0.0)
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as running:
        yield running


@pytest.fixture
def edge(served: Served) -> EdgeStub:
    """A stub of edge."""
    return EdgeStub(served.channel)


async def upload(edge: EdgeStub, text: bytes = b"one\ntwo") -> str:
    parts = [UploadDocumentRequest(metadata=UploadMetadata(filename="a.txt")), UploadDocumentRequest(data=text)]
    return str((await edge.UploadDocument(iter(parts))).document.id)


async def cancel(edge: EdgeStub, document_id: str) -> stored_document_pb2.Document:
    return (await edge.CancelDocument(CancelDocumentRequest(document_id=document_id))).document


async def end(edge: EdgeStub, document_id: str) -> stored_document_pb2.Document:
    events = [one async for one in edge.WatchDocument(WatchDocumentRequest(document_id=document_id), timeout=60)]
    return events[-1].document


@pytest.mark.parametrize("where", ["ParseDocument", "IndexDocument"])
async def test_what_is_cancelled_at_work_ends_and_stays_ended(edge: EdgeStub, world: World, where: str) -> None:
    world.gates[where] = asyncio.Event()
    document_id = await upload(edge)
    await world.until(lambda: bool(world.requests(where)))
    watch = asyncio.ensure_future(end(edge, document_id))
    done = await cancel(edge, document_id)
    assert (done.state, done.failure.reason) == (doc.DOCUMENT_STATE_ERROR, CANCELLED)
    assert "Reindex" in done.failure.hint
    assert (await watch).failure.reason == CANCELLED
    # Its job has let go although the stage still hangs: the next one gets its turn of one at once.
    del world.gates[where]
    other = await upload(edge, b"other")
    assert (await end(edge, other)).state == doc.DOCUMENT_STATE_INDEXED
    assert world.documents[document_id].failure.reason == CANCELLED
    assert document_id not in world.chunks
    begun = await edge.ReindexDocuments(ReindexDocumentsRequest(document_ids=[document_id]))
    assert (await ended(edge, begun.operation)).done == 1
    again = await end(edge, document_id)
    assert (again.state, again.revision) == (doc.DOCUMENT_STATE_INDEXED, 2)


async def test_what_is_cancelled_in_the_queue_is_never_begun(edge: EdgeStub, world: World) -> None:
    world.gates["IndexDocument"] = gate = asyncio.Event()
    first = await upload(edge)
    await world.until(lambda: bool(world.requests("IndexDocument")))
    queued = await upload(edge, b"queued")
    assert (await cancel(edge, queued)).failure.reason == CANCELLED
    gate.set()
    assert (await end(edge, first)).state == doc.DOCUMENT_STATE_INDEXED
    last = await upload(edge, b"last")
    assert (await end(edge, last)).state == doc.DOCUMENT_STATE_INDEXED
    assert world.documents[queued].failure.reason == CANCELLED
    assert {one.header.document.id for one in world.requests("IndexDocument")} == {first, last}


async def test_a_revision_that_is_searched_but_was_replaced_before_that_was_recorded_is_withdrawn(
    edge: EdgeStub, world: World
) -> None:
    world.gates["ParseDocument"] = parsing = asyncio.Event()
    document_id = await upload(edge)
    await world.until(lambda: bool(world.requests("ParseDocument")))
    world.gates["UpdateDocumentState"] = recording = asyncio.Event()
    parsing.set()
    await world.until(
        lambda: any(one.state == doc.DOCUMENT_STATE_INDEXED for one in world.requests("UpdateDocumentState"))
    )
    metadata = ReplaceDocumentRequest(metadata=ReplaceMetadata(document_id=document_id))
    await edge.ReplaceDocument(iter([metadata, ReplaceDocumentRequest(data=b"newer")]))
    recording.set()
    assert (await end(edge, document_id)).indexed_revision == 2
    assert [one.revision for one in world.requests("DeleteDocumentChunks")] == [1]


async def test_what_waits_for_a_stage_can_be_cancelled(edge: EdgeStub, world: World) -> None:
    world.failures["IndexDocument"] = Unavailable("down", reason="STORE_UNAVAILABLE")
    document_id = await upload(edge)
    await world.until(lambda: len(world.requests("IndexDocument")) > 1)
    await cancel(edge, document_id)
    del world.failures["IndexDocument"]
    assert (await end(edge, await upload(edge, b"other"))).state == doc.DOCUMENT_STATE_INDEXED
    assert world.documents[document_id].failure.reason == CANCELLED


async def test_a_cancel_in_another_process_is_noticed(edge: EdgeStub, world: World) -> None:
    world.gates["IndexDocument"] = asyncio.Event()
    document_id = await upload(edge)
    await world.until(lambda: bool(world.requests("IndexDocument")))
    there = world.documents[document_id]
    there.state = doc.DOCUMENT_STATE_ERROR
    there.failure.reason = CANCELLED
    del world.gates["IndexDocument"]
    async with asyncio.timeout(10 * CHECK_SECONDS):
        assert (await end(edge, await upload(edge, b"other"))).state == doc.DOCUMENT_STATE_INDEXED
    assert world.documents[document_id].failure.reason == CANCELLED


async def test_a_job_whose_revision_was_given_up_before_a_crash_ends_as_cancelled(edge: EdgeStub, world: World) -> None:
    world.failures["IndexDocument"] = Aborted("cancelled", metadata={"cancelled": "true"})
    ended = await end(edge, await upload(edge))
    assert (ended.state, ended.failure.reason) == (doc.DOCUMENT_STATE_ERROR, CANCELLED)


async def test_where_nothing_is_at_work_there_is_nothing_to_cancel(edge: EdgeStub, world: World) -> None:
    document_id = await upload(edge)
    await end(edge, document_id)
    locked = await upload(edge, b"locked")
    await end(edge, locked)
    for one, state in ((document_id, "INDEXED"), (locked, "ERROR")):
        with pytest.raises(FailedPrecondition) as caught:
            await cancel(edge, one)
        assert (caught.value.reason, caught.value.metadata["state"]) == ("ILLEGAL_STATE", state)
    with pytest.raises(NotFound):
        await cancel(edge, "0" * 32)
    assert not world.requests("CancelRevision")


async def test_what_has_just_become_searchable_is_not_cancelled(edge: EdgeStub, world: World) -> None:
    world.gates["IndexDocument"] = gate = asyncio.Event()
    document_id = await upload(edge)
    await world.until(lambda: bool(world.requests("IndexDocument")))
    world.failures["CancelRevision"] = FailedPrecondition("searched already")
    with pytest.raises(FailedPrecondition) as caught:
        await cancel(edge, document_id)
    assert caught.value.reason == "ILLEGAL_STATE"
    gate.set()
    assert (await end(edge, document_id)).state == doc.DOCUMENT_STATE_INDEXED


async def test_over_http(edge: EdgeStub, world: World, served: Served) -> None:
    world.gates["IndexDocument"] = asyncio.Event()
    document_id = await upload(edge)
    await world.until(lambda: bool(world.requests("IndexDocument")))
    async with httpx2.AsyncClient(base_url=f"http://{served.runtime.announced['http']}", timeout=20) as client:
        done = await client.post(f"/v1/documents/{document_id}:cancel")
        assert done.json()["document"]["failure"]["reason"] == "FAILURE_REASON_CANCELLED"
        again = await client.post(f"/v1/documents/{document_id}:cancel")
        assert (again.status_code, again.json()["reason"]) == (409, "ILLEGAL_STATE")
        query: dict[str, Any] = {"tags": ["a", "b"], "document_types": "txt", "languages": "en", "order_by": "filename"}
        times = {"created_after": "2026-01-01T00:00:00Z", "created_before": "2099-01-01T00:00:00Z"}
        assert (await client.get("/v1/documents", params={**query, **times})).status_code == 200
    # Sweeps list documents as well.
    sent = next(one for one in world.requests("ListDocuments") if one.order_by)
    assert (list(sent.tags), list(sent.document_types), list(sent.languages)) == (["a", "b"], ["txt"], ["en"])
    assert (sent.order_by, sent.created_after.seconds, sent.created_before.seconds) == (
        "filename", 1_767_225_600, 4_070_908_800
    )  # fmt: skip


async def test_a_deletion_that_broke_off_is_finished(edge: EdgeStub, world: World) -> None:
    document_id = await upload(edge)
    await end(edge, document_id)
    world.failures["DeleteDocumentChunks"] = world.failures["DeleteDocument"] = Unavailable("down")
    with pytest.raises(Unavailable):
        await edge.DeleteDocument(DeleteDocumentRequest(document_id=document_id))
    with pytest.raises(NotFound):
        await edge.GetDocument(GetDocumentRequest(document_id=document_id))
    del world.failures["DeleteDocumentChunks"]
    await world.until(lambda: document_id not in world.chunks)
    assert world.deleting
    del world.failures["DeleteDocument"]
    await world.until(lambda: not world.deleting)
    assert document_id not in world.blobs


async def test_a_deletion_that_broke_off_is_not_acknowledged_before_its_chunks_are_gone(
    edge: EdgeStub, world: World
) -> None:
    document_id = await upload(edge)
    await end(edge, document_id)
    world.failures["DeleteDocumentChunks"] = Unavailable("down")
    again = DeleteDocumentRequest(document_id=document_id, allow_missing=True)
    for _ in range(2):
        with pytest.raises(Unavailable):
            await edge.DeleteDocument(again)
    assert document_id in world.chunks
    del world.failures["DeleteDocumentChunks"]
    await edge.DeleteDocument(again)
    assert document_id not in world.chunks
    assert not world.deleting
    await edge.DeleteDocument(again)


async def test_chunks_that_a_change_has_not_reached_are_told_later(edge: EdgeStub, world: World) -> None:
    document_id = await upload(edge)
    await end(edge, document_id)
    world.failures["UpdateDocumentChunks"] = Unavailable("down")
    change = UpdateDocumentRequest(document_id=document_id, resource=Document(tags=["new"]))
    with pytest.raises(Unavailable):
        await edge.UpdateDocument(change)
    assert not world.chunks[document_id][0].tags
    world.failures.clear()
    await world.until(lambda: not world.relabelled)
    assert [list(chunk.tags) for chunk in world.chunks[document_id]] == [["new"], ["new"]]
