"""Operations at the public API, over gRPC and HTTP, with the stages' doubles behind it to stop them half-way."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from footnote.edge.v1 import operations_pb2 as pb
from footnote.edge.v1.collections_pb2 import (
    CreateCollectionRequest,
    DeleteCollectionRequest,
    GetCollectionRequest,
    ListCollectionsRequest,
)
from footnote.edge.v1.documents_pb2 import (
    GetDocumentRequest,
    ListDocumentsRequest,
    ReindexDocumentsRequest,
    UploadDocumentRequest,
    UploadMetadata,
)
from footnote.stages.v1 import stored_document_pb2
from footnote.types.v1 import document_pb2 as doc
from footnote.types.v1.collection_pb2 import VISIBILITY_PRIVATE, Collection
from footnote_edge.app import build
from footnote_edge.jobs import changes
from footnote_edge.jobs.reindexing import RENEW_BATCH
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import Aborted, FailedPrecondition, FootnoteError, InvalidArgument, NotFound, PermissionDenied
from footnote_kit.errors import Unavailable as Down
from footnote_kit.testing import Served, serve_app
from support.doubles.stages import World, serve_doubles
from support.operations import ended, watched

pytestmark = pytest.mark.full

GET, LIST, WATCH, CANCEL = (
    pb.GetOperationRequest, pb.ListOperationsRequest, pb.WatchOperationRequest, pb.CancelOperationRequest,
)  # fmt: skip


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Edge retries and polls often, one operation and two documents at a time."""
    monkeypatch.setenv("FOOTNOTE_EDGE_RETRY_CEILING_SECONDS", "0.3")
    monkeypatch.setenv("FOOTNOTE_EDGE_WATCH_POLL_SECONDS", "0.2")
    monkeypatch.setenv("FOOTNOTE_EDGE_OPERATION_CONCURRENCY", "1")
    monkeypatch.setenv("FOOTNOTE_EDGE_DOCUMENT_CONCURRENCY", "2")


@pytest.fixture
async def served(world: World, tmp_path: Path) -> AsyncIterator[Served]:
    """Edge before the doubles of its stages, with a folder of its own."""
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses, data_dir=tmp_path) as running:
        yield running


@pytest.fixture
def edge(served: Served) -> EdgeStub:
    """A stub of edge."""
    return EdgeStub(served.channel)


@pytest.fixture
async def http(served: Served) -> AsyncIterator[httpx2.AsyncClient]:
    """An HTTP client of edge."""
    async with httpx2.AsyncClient(base_url=f"http://{served.runtime.announced['http']}", timeout=30) as client:
        yield client


def headers(user: str, role: str = "writer", tenant: str = "default") -> dict[str, str]:
    return {"x-footnote-tenant": tenant, "x-footnote-user": user, "x-footnote-role": role}


def meta(user: str, role: str = "writer", tenant: str = "default") -> tuple[tuple[str, str], ...]:
    return tuple(headers(user, role, tenant).items())


async def upload(edge: EdgeStub, text: str, collection: str, **more: Any) -> stored_document_pb2.Document:
    def parts() -> Any:
        yield UploadDocumentRequest(metadata=UploadMetadata(collection=collection, filename="a.txt"))
        yield UploadDocumentRequest(data=text.encode())

    return (await edge.UploadDocument(parts(), **more)).document


async def fill(edge: EdgeStub, world: World, count: int, name: str = "many", **more: Any) -> Collection:
    """Make a collection with that many indexed documents, most of them put there without an upload."""
    made = (await edge.CreateCollection(CreateCollectionRequest(collection=Collection(name=name)), **more)).collection
    first = await upload(edge, "one", name, **more)
    await world.until(lambda: world.documents[first.id].state == doc.DOCUMENT_STATE_INDEXED)
    for number in range(1, count):
        copy = world.documents[f"{name}-{number}"] = stored_document_pb2.Document()
        copy.CopyFrom(world.documents[first.id])
        copy.id = f"{name}-{number}"
        world.blobs[copy.id] = b"one"
    return made


async def begin(edge: EdgeStub, name: str = "many", **more: Any) -> pb.Operation:
    return (await edge.ReindexDocuments(ReindexDocumentsRequest(collection=name, **more))).operation


async def delete(edge: EdgeStub, name: str = "many", **more: Any) -> pb.Operation:
    return (await edge.DeleteCollection(DeleteCollectionRequest(collection=name), **more)).operation


async def get(edge: EdgeStub, operation: pb.Operation) -> pb.Operation:
    return (await edge.GetOperation(GET(operation_id=operation.id))).operation


async def cancel(edge: EdgeStub, operation: pb.Operation) -> pb.Operation:
    return (await edge.CancelOperation(CANCEL(operation_id=operation.id))).operation


async def test_a_reindex_ends_when_its_documents_have(edge: EdgeStub, world: World) -> None:
    count = RENEW_BATCH + 20  # more than one page
    collection = await fill(edge, world, count)
    world.documents["many-7"].state = doc.DOCUMENT_STATE_PROCESSING
    world.blobs["many-8"] = b"locked"
    world.gates["ParseDocument"] = gate = asyncio.Event()
    begun = await begin(edge)
    assert (begun.kind, begun.collection, begun.collection_id) == (
        pb.OPERATION_KIND_REINDEX_DOCUMENTS, "many", collection.id,
    )  # fmt: skip
    assert begun.state in (pb.OPERATION_STATE_QUEUED, pb.OPERATION_STATE_RUNNING)
    assert not begun.HasField("end_time")
    following = asyncio.create_task(watched(edge, begun))
    await world.until(lambda: len(world.requests("ParseDocument")) > 2)
    now = await get(edge, begun)
    assert (now.state, now.total, now.done, now.skipped) == (pb.OPERATION_STATE_RUNNING, count, 0, 1)
    assert len(now.reindex_documents.document_ids) == count
    gate.set()
    states = await following
    assert (states[-1].state, states[-1].total) == (pb.OPERATION_STATE_SUCCEEDED, count)
    assert (states[-1].done, states[-1].failed, states[-1].skipped) == (count - 2, 1, 1)
    reached = [one.done + one.failed + one.skipped for one in states if one.total == count]
    assert reached == sorted(reached)
    assert world.documents["many-8"].state == doc.DOCUMENT_STATE_ERROR
    done = [one for key, one in world.documents.items() if key not in ("many-7", "many-8")]
    assert {(one.state, one.indexed_revision) for one in done} == {(doc.DOCUMENT_STATE_INDEXED, 2)}
    again = await ended(edge, await begin(edge, failed_only=True))
    assert (again.total, again.failed) == (1, 1)
    del world.documents["many-7"]


async def test_named_documents_deleted_or_replaced_meanwhile_are_left_out(edge: EdgeStub, world: World) -> None:
    await fill(edge, world, 4)
    names = ["many-1", "many-2", "many-3"]
    world.gates["ParseDocument"] = gate = asyncio.Event()
    begun = (await edge.ReindexDocuments(ReindexDocumentsRequest(document_ids=names))).operation
    assert (begun.total, list(begun.reindex_documents.document_ids), begun.collection) == (3, names, "many")
    await world.until(lambda: all(world.documents[name].revision == 2 for name in names))
    del world.documents["many-1"]
    world.deleted["many-1"] = world.documents["many-2"].update_time.ToMicroseconds() + 1
    world.documents["many-2"].revision = 3
    world.documents["many-2"].update_time.GetCurrentTime()
    gate.set()
    last = await ended(edge, begun)
    assert (last.state, last.done, last.skipped, last.total) == (pb.OPERATION_STATE_SUCCEEDED, 1, 2, 3)
    with pytest.raises(InvalidArgument, match="500"):
        await edge.ReindexDocuments(ReindexDocumentsRequest(document_ids=[f"d{n}" for n in range(501)]))
    with pytest.raises(NotFound):
        await edge.ReindexDocuments(ReindexDocumentsRequest(document_ids=["many-3", "absent"]))
    with pytest.raises(InvalidArgument) as caught:  # or one of the two would be ignored without a word
        await edge.ReindexDocuments(ReindexDocumentsRequest(document_ids=["many-3"], collection="many"))
    assert [name for name, _ in caught.value.violations] == ["collection"]
    assert world.documents["many-3"].revision == 2


@pytest.mark.parametrize("door", ["grpc", "http"])
async def test_a_cancelled_reindex_begins_nothing_more(
    edge: EdgeStub, http: httpx2.AsyncClient, world: World, door: str
) -> None:
    count = RENEW_BATCH + 20
    await fill(edge, world, count)
    world.gates["ParseDocument"] = gate = asyncio.Event()
    begun = await begin(edge)
    await world.until(lambda: len(world.requests("ParseDocument")) == 3)  # two at work, and the upload's
    assert (await get(edge, begun)).total == count
    if door == "grpc":
        stopped = await cancel(edge, begun)
        assert await cancel(edge, begun) == stopped
    else:
        for _ in range(2):
            answer = await http.post(f"/v1/operations/{begun.id}:cancel")
            assert answer.status_code == 200, answer.text
            assert answer.json()["operation"]["state"] == "OPERATION_STATE_CANCELLED"
        stopped = await get(edge, begun)
    assert stopped.state == pb.OPERATION_STATE_CANCELLED
    assert (stopped.total, stopped.skipped) == (count, count - 2)
    gate.set()
    await world.until(lambda: all(one.state != doc.DOCUMENT_STATE_PROCESSING for one in world.documents.values()))
    done = [one for one in world.documents.values() if one.indexed_revision == 2]
    kept = [one for one in world.documents.values() if one.indexed_revision == 1]
    assert (len(done), len(kept)) == (2, count - 2)
    for one in kept:
        untouched = (one.state, one.revision) == (doc.DOCUMENT_STATE_INDEXED, 1)
        assert untouched or (one.state, one.failure.reason) == (
            doc.DOCUMENT_STATE_ERROR, doc.FAILURE_REASON_CANCELLED,
        )  # fmt: skip
    await asyncio.sleep(1)
    assert (await get(edge, begun)).done == 0  # what was at work is not counted any more
    again = await ended(edge, await begin(edge))
    assert (again.done, again.total) == (count, count)
    with pytest.raises(FailedPrecondition, match="SUCCEEDED") as caught:
        await cancel(edge, again)
    assert caught.value.reason == "ILLEGAL_STATE"


@pytest.mark.parametrize("lost", ["revision", "revision of an old document", "document"])
async def test_a_reindex_ends_although_ingestion_lost_what_it_had_begun(
    edge: EdgeStub, world: World, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    """As an accepted loss of its newest commits leaves it: no change names a document that is as before, or gone."""
    monkeypatch.setattr(changes, "AGAIN_SECONDS", 0.5)
    await fill(edge, world, 2)
    if lost == "revision of an old document":  # that last changed long before the operation
        world.documents["many-1"].update_time.FromSeconds(1_700_000_000)
    before = {key: one.SerializeToString() for key, one in world.documents.items()}
    world.gates["ParseDocument"] = gate = asyncio.Event()
    begun = await begin(edge)
    await world.until(lambda: len(world.requests("ParseDocument")) == 3)  # the upload's too
    looks = len(world.requests("ListDocumentChanges"))
    await world.until(lambda: len(world.requests("ListDocumentChanges")) > looks + 1)
    if lost == "document":
        del world.documents["many-1"]
    else:
        world.documents["many-1"].ParseFromString(before["many-1"])
    gate.set()
    last = await ended(edge, begun)
    assert (last.state, last.done, last.skipped) == (pb.OPERATION_STATE_SUCCEEDED, 1, 1)


def put_back(database: Path, state: int) -> None:
    """Set the state of all operations in a database, as though they had not ended; edge may be writing to it."""
    with closing(sqlite3.connect(database, timeout=60)) as connection:
        connection.execute("UPDATE operations SET state = ?, end_time = NULL", [state])
        connection.commit()


@pytest.mark.parametrize("make", [begin, delete], ids=["reindex", "deletion"])
async def test_an_operation_whose_end_edge_lost_is_run_once_more(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[..., Awaitable[pb.Operation]]
) -> None:
    """As an accepted loss of edge's newest commits leaves it, while the ledger of jobs knows that the job returned."""
    monkeypatch.setenv("FOOTNOTE_EDGE_RECONCILE_SECONDS", "0.3")
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses, data_dir=tmp_path) as served:
        edge = EdgeStub(served.channel)
        await fill(edge, world, 2)
        first = await ended(edge, await make(edge))
        await asyncio.to_thread(put_back, tmp_path / "edge" / "edge.db", pb.OPERATION_STATE_RUNNING)
        again = await ended(edge, first)
        assert (again.state, again.error.message) == (pb.OPERATION_STATE_SUCCEEDED, "")


async def test_a_collection_whose_deletion_indexing_lost_is_deleted_again_at_a_restart(
    world: World, tmp_path: Path
) -> None:
    async with serve_doubles(world) as addresses:
        async with serve_app(build, addresses=addresses, data_dir=tmp_path) as served:
            edge = EdgeStub(served.channel)
            collection = await fill(edge, world, 1)
            lost = world.collections[collection.id]
            assert (await ended(edge, await delete(edge))).state == pb.OPERATION_STATE_SUCCEEDED
        world.collections[collection.id] = lost
        async with serve_app(build, addresses=addresses, data_dir=tmp_path):
            await world.until(lambda: collection.id not in world.collections)


async def test_a_deletion_whose_cancel_edge_lost_deletes_nothing(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an accepted loss of edge's newest commits leaves it: the job returned without a deletion."""
    monkeypatch.setenv("FOOTNOTE_EDGE_RECONCILE_SECONDS", "0.3")
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses, data_dir=tmp_path) as served:
        edge = EdgeStub(served.channel)
        await fill(edge, world, 2)
        collections = {key: type(one).FromString(one.SerializeToString()) for key, one in world.collections.items()}
        documents = {key: type(one).FromString(one.SerializeToString()) for key, one in world.documents.items()}
        first = await ended(edge, await delete(edge))
        world.collections.update(collections)
        world.documents.update(documents)
        await asyncio.to_thread(put_back, tmp_path / "edge" / "edge.db", pb.OPERATION_STATE_QUEUED)
        again = await ended(edge, first)
        assert again.state == pb.OPERATION_STATE_FAILED
        assert (world.collections.keys(), world.documents.keys()) == (collections.keys(), documents.keys())


async def test_a_reindex_that_waits_is_cancelled_at_once(edge: EdgeStub, world: World) -> None:
    await fill(edge, world, 3)
    world.gates["ParseDocument"] = gate = asyncio.Event()
    first = await begin(edge)
    await world.until(lambda: len(world.requests("ParseDocument")) == 3)
    second = await begin(edge)
    assert (await get(edge, second)).state == pb.OPERATION_STATE_QUEUED
    assert (await cancel(edge, second)).state == pb.OPERATION_STATE_CANCELLED
    gate.set()
    last = await ended(edge, first)
    assert (last.done, last.failed, last.skipped, last.total) == (3, 0, 0, 3)
    assert {one.revision for one in world.documents.values()} == {2}


async def test_a_deletion_hides_at_once_and_is_watched_to_its_end(
    edge: EdgeStub, http: httpx2.AsyncClient, world: World
) -> None:
    collection = await fill(edge, world, 5)
    await upload(edge, "other", "default")
    world.gates["DeleteDocument"] = gate = asyncio.Event()
    begun = await delete(edge)
    assert (begun.kind, begun.collection, begun.collection_id) == (
        pb.OPERATION_KIND_DELETE_COLLECTION, "", collection.id,
    )  # fmt: skip
    # Nothing is deleted yet, but it is hidden, even from administrators.
    await world.until(lambda: bool(world.requests("DeleteDocument")))
    assert len(world.documents) == 6
    for who in (None, meta("eve", "admin"), meta("eve", "reader")):
        listed = (await edge.ListCollections(ListCollectionsRequest(), metadata=who)).collections
        assert "many" not in [one.name for one in listed]
        found = (await edge.ListDocuments(ListDocumentsRequest(), metadata=who)).documents
        assert collection.id not in {one.collection_id for one in found}
        for call in (
            edge.GetCollection(GetCollectionRequest(collection=collection.id), metadata=who),
            edge.GetDocument(GetDocumentRequest(document_id="many-1"), metadata=who),
        ):
            with pytest.raises(NotFound):
                await call
    with pytest.raises(NotFound):
        await upload(edge, "late", "many")
    again = DeleteCollectionRequest(collection=collection.id, allow_missing=True)
    assert not (await edge.DeleteCollection(again)).HasField("operation")
    for door in ("grpc", "http"):
        if door == "grpc":
            with pytest.raises(FailedPrecondition, match="deleted already") as caught:
                await cancel(edge, begun)
            assert caught.value.reason == "ILLEGAL_STATE"
        else:
            assert (await http.post(f"/v1/operations/{begun.id}:cancel")).status_code in (400, 409, 412)
    # Its name is free.
    new = await edge.CreateCollection(CreateCollectionRequest(collection=Collection(name="many")))
    gate.set()
    last = (await watched(edge, begun))[-1]
    assert (last.state, last.total, last.done) == (pb.OPERATION_STATE_SUCCEEDED, 5, 5)
    assert last.delete_collection.chunks_deleted == 1
    assert len(world.documents) == 1
    assert set(world.collections) == {new.collection.id, next(iter(world.documents.values())).collection_id}


@pytest.mark.parametrize("door", ["grpc", "http"])
async def test_a_deletion_that_has_not_begun_is_undone(
    edge: EdgeStub, http: httpx2.AsyncClient, world: World, door: str
) -> None:
    await fill(edge, world, 2, "first")
    kept = await fill(edge, world, 3, "second")
    world.gates["DeleteDocument"] = gate = asyncio.Event()
    first = await delete(edge, "first")
    await world.until(lambda: bool(world.requests("DeleteDocument")))
    second = await delete(edge, "second")
    with pytest.raises(NotFound):
        await edge.GetCollection(GetCollectionRequest(collection="second"))
    assert (await get(edge, second)).state == pb.OPERATION_STATE_QUEUED
    # While its name is given away it cannot come back, and stays to be deleted.
    taken = (await edge.CreateCollection(CreateCollectionRequest(collection=Collection(name="second")))).collection
    with pytest.raises(FailedPrecondition, match="name"):
        await cancel(edge, second)
    assert (await get(edge, second)).state == pb.OPERATION_STATE_QUEUED
    del world.collections[taken.id]
    for _ in range(2):
        if door == "grpc":
            assert (await cancel(edge, second)).state == pb.OPERATION_STATE_CANCELLED
        else:
            answer = await http.post(f"/v1/operations/{second.id}:cancel")
            assert answer.json()["operation"]["state"] == "OPERATION_STATE_CANCELLED"
    found = (await edge.GetCollection(GetCollectionRequest(collection="second"))).collection
    assert found.id == kept.id
    assert (await get(edge, second)).collection == "second"
    gate.set()
    assert (await ended(edge, first)).done == 2
    await asyncio.sleep(1)
    assert len((await edge.ListDocuments(ListDocumentsRequest(collection="second"))).documents) == 3


async def test_a_deletion_that_fails_puts_back_what_is_left(edge: EdgeStub, world: World) -> None:
    collection = await fill(edge, world, 2)
    world.failures["DeleteCollection"] = PermissionDenied("not today")
    last = await ended(edge, await delete(edge))
    assert (last.state, last.error.message) == (pb.OPERATION_STATE_FAILED, "not today")
    assert last.error.details
    assert (await edge.GetCollection(GetCollectionRequest(collection="many"))).collection.id == collection.id
    world.failures.clear()
    assert (await ended(edge, await delete(edge))).state == pb.OPERATION_STATE_SUCCEEDED
    assert not world.collections


async def test_a_deletion_that_fails_waits_until_its_collection_can_be_shown_again(
    edge: EdgeStub, world: World
) -> None:
    collection = await fill(edge, world, 2)
    world.gates["DeleteDocument"] = gate = asyncio.Event()
    operation = await delete(edge)
    await world.until(lambda: bool(world.requests("DeleteDocument")))
    world.failures["DeleteDocument"] = PermissionDenied("not today")
    world.failures["HideCollection"] = Down("restarts", reason="STAGE_UNAVAILABLE")
    tries = len(world.requests("HideCollection"))
    gate.set()
    await world.until(lambda: len(world.requests("HideCollection")) > tries)
    del world.failures["HideCollection"]
    assert (await ended(edge, operation)).error.message == "not today"
    assert (await edge.GetCollection(GetCollectionRequest(collection="many"))).collection.id == collection.id


async def test_two_deletions_at_once_are_one(edge: EdgeStub, world: World) -> None:
    await fill(edge, world, 2)
    world.gates["GetCollection"] = gate = asyncio.Event()
    before = len(world.requests("GetCollection"))
    calls = [asyncio.create_task(delete(edge)) for _ in range(4)]
    await world.until(lambda: len(world.requests("GetCollection")) == before + 4)
    gate.set()
    found = await asyncio.gather(*calls)
    assert len({one.id for one in found}) == 1
    assert (await ended(edge, found[0])).state == pb.OPERATION_STATE_SUCCEEDED
    assert len((await edge.ListOperations(LIST())).operations) == 1


async def test_a_deletion_that_cannot_hide_is_none(edge: EdgeStub, world: World) -> None:
    await fill(edge, world, 2)
    world.failures["HideCollection"] = Down("down", reason="STORE_UNAVAILABLE")
    with pytest.raises(Down):
        await delete(edge)
    world.failures.clear()
    (operation,) = (await edge.ListOperations(LIST())).operations
    assert (await ended(edge, operation)).state == pb.OPERATION_STATE_CANCELLED
    assert (await edge.GetCollection(GetCollectionRequest(collection="many"))).collection
    assert len(world.documents) == 2


@pytest.mark.parametrize("hidden", [False, True])
async def test_a_deletion_that_is_being_undone_is_not_acknowledged(edge: EdgeStub, world: World, hidden: bool) -> None:
    """A retry of a refused deletion, with the collection still visible in indexing or hidden in vain."""
    collection = await fill(edge, world, 2)
    world.failures["HideCollection"] = Down("down", reason="STORE_UNAVAILABLE")
    with pytest.raises(Down):
        await delete(edge)
    if hidden:
        world.hidden.add(collection.id)
    for name in ("many", collection.id):
        with pytest.raises(Aborted):
            await edge.DeleteCollection(DeleteCollectionRequest(collection=name, allow_missing=True))
    world.failures.clear()
    (operation,) = (await edge.ListOperations(LIST())).operations
    assert (await ended(edge, operation)).state == pb.OPERATION_STATE_CANCELLED
    again = await edge.DeleteCollection(DeleteCollectionRequest(collection="many", allow_missing=True))
    assert (await ended(edge, again.operation)).state == pb.OPERATION_STATE_SUCCEEDED
    gone = await edge.DeleteCollection(DeleteCollectionRequest(collection="many", allow_missing=True))
    assert not gone.HasField("operation")


async def test_operations_are_their_makers_and_the_administrators(
    edge: EdgeStub, http: httpx2.AsyncClient, world: World
) -> None:
    private = Collection(name="plans", visibility=VISIBILITY_PRIVATE)
    made = (await edge.CreateCollection(CreateCollectionRequest(collection=private), metadata=meta("ann"))).collection
    document = await upload(edge, "secret", "plans", metadata=meta("ann"))
    await world.until(lambda: world.documents[document.id].state == doc.DOCUMENT_STATE_INDEXED)
    asked = ReindexDocumentsRequest(collection="plans")
    operation = (await edge.ReindexDocuments(asked, metadata=meta("ann"))).operation
    await ended(edge, operation, meta("ann"))
    assert operation.owner_id == "ann"
    for who in (meta("ann"), meta("ann", "reader"), meta("adm", "admin")):
        found = (await edge.GetOperation(GET(operation_id=operation.id), metadata=who)).operation
        assert (found.collection, list(found.reindex_documents.document_ids)) == ("plans", [document.id])
        (listed,) = (await edge.ListOperations(LIST(collection="plans"), metadata=who)).operations
        assert listed.id == operation.id
    absent = "0" * len(operation.id)
    for who in (("bob", "writer", "default"), ("bob", "reader", "default"), ("ann", "admin", "other")):
        assert not (await edge.ListOperations(LIST(), metadata=meta(*who))).operations
        assert (await edge.ListOperations(LIST(collection=made.id), metadata=meta(*who))).total_size == 0
        page = (await http.get("/v1/operations", headers=headers(*who))).json()
        assert not page.get("operations")
        said: list[str] = []
        for name in (operation.id, absent):
            for call in (edge.GetOperation(GET(operation_id=name), metadata=meta(*who)),
                         edge.CancelOperation(CANCEL(operation_id=name), metadata=meta(*who)),
                         _read(edge.WatchOperation(WATCH(operation_id=name), metadata=meta(*who)))):  # fmt: skip
                with pytest.raises((NotFound, PermissionDenied)) as caught:
                    await call
                error: FootnoteError = caught.value
                assert error.reason == ("OPERATION_NOT_FOUND" if isinstance(error, NotFound) else "PERMISSION_DENIED")
                said.append(f"{error.reason} {error.message} {error.metadata}".replace(name, "…"))
            answer = await http.get(f"/v1/operations/{name}", headers=headers(*who))
            assert answer.status_code == 404
            assert "OPERATION_NOT_FOUND" in answer.text
        assert said[:3] == said[3:]
    with pytest.raises(PermissionDenied):
        await edge.CancelOperation(CANCEL(operation_id=operation.id), metadata=meta("ann", "reader"))
    # The private collection has another owner now: its creator sees the operation, but not what it concerned.
    world.collections[made.id].owner_id = "bob"
    await asyncio.sleep(1.2)
    found = (await edge.GetOperation(GET(operation_id=operation.id), metadata=meta("ann"))).operation
    assert (found.collection, list(found.reindex_documents.document_ids), found.done) == ("", [], 1)


async def _read(call: Any) -> list[Any]:
    return [one async for one in call]


async def test_lists_are_filtered_and_paged(edge: EdgeStub, http: httpx2.AsyncClient, world: World) -> None:
    await fill(edge, world, 1, "first")
    second = await fill(edge, world, 1, "second")
    made = []
    for _ in range(5):
        made.append(await ended(edge, await begin(edge, "first")))
    gone = await ended(edge, await delete(edge, "second"))
    newest = [gone.id, *(one.id for one in reversed(made))]

    async def ids(**wanted: Any) -> list[str]:
        return [one.id for one in (await edge.ListOperations(LIST(**wanted))).operations]

    assert await ids() == newest
    assert await ids(kinds=[pb.OPERATION_KIND_DELETE_COLLECTION]) == [gone.id]
    assert await ids(states=[pb.OPERATION_STATE_RUNNING, pb.OPERATION_STATE_QUEUED]) == []
    assert await ids(states=[pb.OPERATION_STATE_SUCCEEDED], collection="first") == newest[1:]
    assert await ids(collection=second.id) == [gone.id]
    for unknown in ({"kinds": [77]}, {"kinds": [0]}, {"states": [0]}):
        with pytest.raises(InvalidArgument):
            await ids(**unknown)
    walked: list[str] = []
    token = ""
    while True:
        page = await edge.ListOperations(LIST(page_size=2, page_token=token))
        assert page.total_size == 6 + (len(walked) >= 2)
        walked += [one.id for one in page.operations]
        token = page.next_page_token
        if not token:
            break
        if len(walked) == 2:
            await ended(edge, await begin(edge, "first"))  # newer ones move no page
    assert walked == newest
    token = (await edge.ListOperations(LIST(page_size=2))).next_page_token
    for other in (LIST(page_size=2, page_token=token, collection="first"), LIST(page_token="x"), LIST(page_size=-1)):
        with pytest.raises(InvalidArgument):
            await edge.ListOperations(other)
    with pytest.raises(InvalidArgument):
        await edge.ListOperations(LIST(page_token=token), metadata=meta("eve", "admin"))
    answer = (await http.get("/v1/operations", params={"kinds": "OPERATION_KIND_DELETE_COLLECTION"})).json()
    assert [one["id"] for one in answer["operations"]] == [gone.id]


async def test_a_repeated_request_is_one_operation(edge: EdgeStub, world: World) -> None:
    await fill(edge, world, 2)
    begun = await begin(edge, request_id="again")
    last = await ended(edge, begun)
    assert (await begin(edge, request_id="again")) == last
    both = await asyncio.gather(*(begin(edge, request_id="twice") for _ in range(4)))
    assert len({one.id for one in both}) == 1
    await ended(edge, both[0])
    assert {one.revision for one in world.documents.values()} == {3}
    with pytest.raises(InvalidArgument) as caught:
        await begin(edge, request_id="again", failed_only=True)
    assert caught.value.reason == "REQUEST_ID_REUSED"


async def test_http_watches_and_the_wrapper_waits(edge: EdgeStub, http: httpx2.AsyncClient, world: World) -> None:
    await fill(edge, world, 3)
    answer = await http.post("/v1/documents:reindex", json={"collection": "many"})
    operation = answer.json()["operation"]
    assert (await http.get(f"/v1/operations/{operation['id']}")).json()["operation"]["kind"] == operation["kind"]
    told = await http.get(f"/v1/operations/{operation['id']}:watch")
    assert '"OPERATION_STATE_SUCCEEDED"' in told.text.strip().splitlines()[-1] or "SUCCEEDED" in told.text
    gone = (await http.delete("/collections/many")).json()
    assert gone == {"success": True, "name": "many", "chunks_deleted": 3}
    assert not world.documents
    (newest, *_) = (await http.get("/v1/operations")).json()["operations"]
    assert (newest["kind"], newest["state"]) == ("OPERATION_KIND_DELETE_COLLECTION", "OPERATION_STATE_SUCCEEDED")


async def test_what_ended_long_ago_is_forgotten(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_OPERATION_HOURS", "0.0003")
    monkeypatch.setenv("FOOTNOTE_EDGE_RECONCILE_SECONDS", "0.3")
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as served:
        edge = EdgeStub(served.channel)
        await fill(edge, world, 1)
        last = await ended(edge, await begin(edge))
        for _ in range(100):
            if not (await edge.ListOperations(LIST())).operations:
                break
            await asyncio.sleep(0.2)
        with pytest.raises(NotFound):
            await get(edge, last)
