"""Sources at the public API: folders kept in step, with the stages' doubles behind edge."""

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from footnote.edge.v1 import operations_pb2 as ops
from footnote.edge.v1 import sources_pb2 as pb
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, DeleteCollectionRequest, UpdateCollectionRequest
from footnote.edge.v1.documents_pb2 import (
    DeleteDocumentRequest,
    Document,
    GetDocumentRequest,
    UpdateDocumentRequest,
    UploadDocumentRequest,
    UploadMetadata,
)
from footnote.types.v1.collection_pb2 import (
    ACCESS_WRITE,
    VISIBILITY_PRIVATE,
    Collection,
    CollectionSettings,
    Grant,
)
from footnote_edge.app import build
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import (
    Aborted,
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    Unavailable,
)
from footnote_kit.testing import Served, serve_app
from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask
from support import edge_sources as kept
from support.doubles.stages import World, serve_doubles
from support.sqlite_file import change

OTHER = (("x-footnote-tenant", "default"), ("x-footnote-user", "other"), ("x-footnote-role", "writer"))
ANN = (("x-footnote-user", "ann"), ("x-footnote-role", "writer"))
READER = (("x-footnote-tenant", "default"), ("x-footnote-user", "reader"), ("x-footnote-role", "reader"))
STRANGER = (("x-footnote-tenant", "elsewhere"), ("x-footnote-user", "ann"), ("x-footnote-role", "admin"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that the sources read."""
    path = tmp_path / "handbooks"
    path.mkdir()
    return path


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Edge may read the folder and looks at it five times a second."""
    monkeypatch.setenv("FOOTNOTE_EDGE_RETRY_CEILING_SECONDS", "0.3")
    monkeypatch.setenv("FOOTNOTE_EDGE_WATCH_POLL_SECONDS", "0.2")
    monkeypatch.setenv("FOOTNOTE_EDGE_SOURCE_LOOK_SECONDS", "0.2")
    monkeypatch.setenv("FOOTNOTE_EDGE_SOURCE_WATCHES", "0")  # a watch begins a run before the test's own
    monkeypatch.setenv("FOOTNOTE_EDGE_SOURCE_ITEM_BYTES", "100000")
    monkeypatch.setenv("FOOTNOTE_EDGE_SOURCE_FOLDERS", str(folder))


@pytest.fixture
async def served(world: World, tmp_path: Path) -> AsyncIterator[Served]:
    """Edge before the doubles of its stages, with a folder of its own."""
    async with (
        serve_doubles(world) as addresses,
        serve_app(build, addresses=addresses, data_dir=tmp_path / "data") as running,
    ):
        yield running


@pytest.fixture
async def edge(served: Served) -> EdgeStub:
    """A stub of edge with the collection that sources fill."""
    stub = EdgeStub(served.channel)
    await kept.collection(stub)
    return stub


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def away(folder: Path, *, back: bool = False) -> None:
    elsewhere = folder.with_name("elsewhere")
    elsewhere.rename(folder) if back else folder.rename(elsewhere)


async def begin(edge: EdgeStub, folder: Path, **more: Any) -> pb.Source:
    return await kept.settled(edge, await kept.create(edge, "folder", {"path": str(folder)}, **more))


async def test_a_folder_is_kept_in_step(edge: EdgeStub, world: World, folder: Path) -> None:
    write(folder, "a.txt", "first")
    write(folder, "sub/b.txt", "second")
    source = await begin(edge, folder)
    assert (source.state, source.items, source.items_in_step) == (pb.SOURCE_STATE_IN_STEP, 2, 2)
    assert source.HasField("in_step_time")
    assert kept.contents(world) == {"a.txt": b"first", "sub/b.txt": b"second"}
    listed = await kept.items(edge, source)
    document = (await edge.GetDocument(GetDocumentRequest(document_id=listed["sub/b.txt"].document_id))).document
    assert (document.source.source_id, document.source.item) == (source.id, "sub/b.txt")
    assert document.source.kind == document.source_type == "folder"
    assert document.source.HasField("time")
    assert "footnote_source" not in document.metadata.fields
    assert (document.filename, document.owner_id) == ("b.txt", source.owner_id)

    write(folder, "a.txt", "first, changed")
    write(folder, "c.txt", "third")
    (folder / "sub/b.txt").unlink()
    done = await kept.sync(edge, source)
    assert (done.state, done.kind) == (ops.OPERATION_STATE_SUCCEEDED, ops.OPERATION_KIND_SYNC_SOURCE)
    assert (done.done, done.failed, done.sync_source.source_id) == (3, 0, source.id)
    assert kept.contents(world) == {"a.txt": b"first, changed", "c.txt": b"third"}
    after = await kept.items(edge, source)
    assert after["a.txt"].document_id == listed["a.txt"].document_id


async def test_an_item_does_not_expire_by_the_collection_s_time_to_live(
    edge: EdgeStub, world: World, folder: Path
) -> None:
    """It would be gone for good: an item that has not changed is not transferred again."""
    settings = CollectionSettings(ttl=Duration(seconds=2))
    await edge.CreateCollection(CreateCollectionRequest(collection=Collection(name="passing", settings=settings)))
    write(folder, "a.txt", "first")
    await begin(edge, folder, collection="passing")
    assert [document.HasField("expire_time") for document in world.documents.values()] == [False]


async def test_nothing_is_touched_where_nothing_changed(edge: EdgeStub, world: World, folder: Path) -> None:
    write(folder, "a.txt", "first")
    source = await begin(edge, folder)
    world.calls.clear()
    done = await kept.sync(edge, source)
    assert (done.state, done.done) == (ops.OPERATION_STATE_SUCCEEDED, 0)
    touching = {"UploadDocument", "ReplaceDocument", "UpdateDocument", "BeginDeletion", "UpdateDocumentChunks"}
    assert {name for name, _ in world.calls} & touching == set()


async def test_a_sync_leaves_the_rate_of_uploads_to_the_tenants_users(
    world: World, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_UPLOADS_PER_MINUTE", "1")
    for number in range(30):
        write(folder, f"{number}.txt", f"text {number}")
    async with (
        serve_doubles(world) as addresses,
        serve_app(build, addresses=addresses, data_dir=tmp_path / "data") as served,
    ):
        edge = EdgeStub(served.channel)
        await kept.collection(edge)
        assert (await begin(edge, folder)).items_in_step == 30
        metadata = UploadMetadata(filename="mine.txt")
        await edge.UploadDocument(
            iter([UploadDocumentRequest(metadata=metadata), UploadDocumentRequest(data=b"mine")]), timeout=30
        )


async def test_the_same_bytes_are_not_indexed_again(edge: EdgeStub, world: World, folder: Path) -> None:
    path = write(folder, "a.txt", "first")
    source = await begin(edge, folder)
    before = (await kept.items(edge, source))["a.txt"]
    os.utime(path, ns=(1, 1))
    world.calls.clear()
    await kept.sync(edge, source)
    after = (await kept.items(edge, source))["a.txt"]
    assert (after.document_id, after.state) == (before.document_id, pb.SOURCE_ITEM_STATE_IN_STEP)
    assert after.version != before.version
    assert world.requests("UploadDocument") == world.requests("ParseDocument") == []
    assert world.documents[after.document_id].revision == 1
    assert kept.contents(world) == {"a.txt": b"first"}


async def test_what_moved_keeps_its_document(edge: EdgeStub, world: World, folder: Path) -> None:
    write(folder, "a.txt", "moved")
    write(folder, "b.txt", "stays")
    write(folder, "c.txt", "leave")
    source = await begin(edge, folder)
    before = await kept.items(edge, source)
    (folder / "deep").mkdir()
    (folder / "a.txt").rename(folder / "deep" / "a.txt")
    (folder / "c.txt").unlink()
    world.calls.clear()
    await kept.sync(edge, source)
    after = await kept.items(edge, source)
    assert set(after) == {"deep/a.txt", "b.txt"}
    assert after["deep/a.txt"].document_id == before["a.txt"].document_id
    assert world.requests("UploadDocument") == world.requests("ParseDocument") == []
    assert kept.contents(world) == {"deep/a.txt": b"moved", "b.txt": b"stays"}


async def test_a_folder_that_is_away_keeps_what_it_had(edge: EdgeStub, world: World, folder: Path) -> None:
    write(folder, "a.txt", "first")
    source = await begin(edge, folder)
    away(folder)
    done = await kept.sync(edge, source)
    assert (done.state, done.error.message) == (ops.OPERATION_STATE_FAILED, "The folder does not exist.")
    now = await kept.get(edge, source)
    assert (now.state, now.error.message) == (pb.SOURCE_STATE_AWAY, "The folder does not exist.")
    assert now.HasField("away_since")
    assert kept.contents(world) == {"a.txt": b"first"}
    since = now.away_since.ToDatetime()
    await kept.sync(edge, source)
    assert (await kept.get(edge, source)).away_since.ToDatetime() == since
    away(folder, back=True)
    await kept.sync(edge, source)
    now = await kept.get(edge, source)
    assert (now.state, now.HasField("away_since"), now.HasField("error")) == (pb.SOURCE_STATE_IN_STEP, False, False)


async def test_items_that_fail_are_shown_and_stop_no_others(edge: EdgeStub, world: World, folder: Path) -> None:
    write(folder, "empty.txt", "")
    write(folder, "good.txt", "good")
    write(folder, "locked.txt", "locked")
    write(folder, "long.txt", "x" * 100_001)
    source = await begin(edge, folder)
    found = await kept.items(edge, source)
    states = {name: (item.state, item.reason) for name, item in found.items()}
    assert states == {
        "empty.txt": (pb.SOURCE_ITEM_STATE_SKIPPED, pb.SOURCE_ITEM_REASON_EMPTY),
        "good.txt": (pb.SOURCE_ITEM_STATE_IN_STEP, pb.SOURCE_ITEM_REASON_UNSPECIFIED),
        "locked.txt": (pb.SOURCE_ITEM_STATE_FAILED, pb.SOURCE_ITEM_REASON_NOT_INDEXED),
        "long.txt": (pb.SOURCE_ITEM_STATE_SKIPPED, pb.SOURCE_ITEM_REASON_TOO_LARGE),
    }
    assert "password" in found["locked.txt"].message
    assert (source.items_failed, source.items_skipped, source.items_in_step) == (1, 2, 1)
    write(folder, "good.txt", "")  # emptied: what it held is not to be found any more
    await kept.sync(edge, source)
    assert set(kept.contents(world)) == {"locked.txt"}


async def test_failed_items_are_tried_again_by_themselves(
    edge: EdgeStub, world: World, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from footnote_edge.sources import transfer
    from footnote_kit.backoff import Backoff

    monkeypatch.setattr(transfer, "RETRIES", Backoff(0.1, 0.1))
    write(folder, "a.txt", "first")
    world.failures["UploadDocument"] = FailedPrecondition("Not now")
    source = await begin(edge, folder)
    item = (await kept.items(edge, source))["a.txt"]
    assert (item.state, item.reason) == (pb.SOURCE_ITEM_STATE_FAILED, pb.SOURCE_ITEM_REASON_INVALID)
    assert item.message == "Not now"
    assert item.HasField("retry_time")
    world.failures.clear()
    await world.until(lambda: bool(world.documents))
    await kept.settled(edge, source)
    item = (await kept.items(edge, source))["a.txt"]
    assert (item.state, item.attempts, item.HasField("retry_time")) == (pb.SOURCE_ITEM_STATE_IN_STEP, 0, False)


async def test_a_stage_that_is_away_is_waited_for(edge: EdgeStub, world: World, folder: Path) -> None:
    write(folder, "a.txt", "first")
    world.failures["UploadDocument"] = Unavailable("Away")
    source = await kept.create(edge, "folder", {"path": str(folder)})
    await world.until(lambda: len(world.requests("UploadDocument")) > 2)
    world.failures.clear()
    assert (await kept.settled(edge, source)).items_in_step == 1


async def test_a_document_deleted_by_hand_comes_back_with_its_next_change(
    edge: EdgeStub, world: World, folder: Path
) -> None:
    write(folder, "a.txt", "first")
    source = await begin(edge, folder)
    document = (await kept.items(edge, source))["a.txt"].document_id
    await edge.DeleteDocument(DeleteDocumentRequest(document_id=document))
    await kept.sync(edge, source)
    assert kept.contents(world) == {}
    write(folder, "a.txt", "second")
    await kept.sync(edge, source)
    assert kept.contents(world) == {"a.txt": b"second"}


async def test_due_sources_are_synchronised_by_themselves(
    edge: EdgeStub, served: Served, world: World, folder: Path, tmp_path: Path
) -> None:
    source = await begin(edge, folder, interval="60s")
    write(folder, "a.txt", "first")
    database = tmp_path / "data" / "edge" / "edge.db"
    await change(database, "UPDATE sources SET next_time = '2020-01-01 00:00:00.000000'")
    await world.until(lambda: bool(world.documents))
    now = await kept.settled(edge, source)
    assert now.next_sync_time.ToDatetime() > now.in_step_time.ToDatetime()
    await change(database, "UPDATE sources SET next_time = '2090-01-01 00:00:00.000000'")  # a clock that was wrong
    write(folder, "b.txt", "second")
    await world.until(lambda: len(world.documents) == 2)


async def test_a_source_that_runs_is_not_begun_twice(edge: EdgeStub, world: World, folder: Path) -> None:
    write(folder, "a.txt", "first")
    world.gates["UploadDocument"] = gate = asyncio.Event()
    source = await kept.create(edge, "folder", {"path": str(folder)})
    await world.until(lambda: bool(world.requests("UploadDocument")))
    first = (await edge.SyncSource(pb.SyncSourceRequest(source_id=source.id))).operation
    second = (await edge.SyncSource(pb.SyncSourceRequest(source_id=source.id))).operation
    assert first.id == second.id == (await kept.get(edge, source)).operation_id
    gate.set()
    await kept.settled(edge, source)
    assert len(world.requests("UploadDocument")) == 1


async def test_a_sync_asked_for_during_retries_is_made_after_them(
    edge: EdgeStub, world: World, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from footnote_edge.sources import transfer
    from footnote_kit.backoff import Backoff

    monkeypatch.setattr(transfer, "RETRIES", Backoff(0.1, 0.1))
    write(folder, "a.txt", "first")
    world.failures["UploadDocument"] = FailedPrecondition("Not now")
    source = await begin(edge, folder)
    world.gates["UploadDocument"] = gate = asyncio.Event()
    before = len(world.requests("UploadDocument"))
    world.failures.clear()
    await world.until(lambda: len(world.requests("UploadDocument")) > before)
    write(folder, "b.txt", "second")
    retrying = (await edge.SyncSource(pb.SyncSourceRequest(source_id=source.id))).operation
    assert retrying.id == (await kept.get(edge, source)).operation_id
    gate.set()
    await world.until(lambda: len(world.documents) == 2)


async def test_a_cancelled_run_deletes_nothing_more(edge: EdgeStub, world: World, folder: Path) -> None:
    write(folder, "a.txt", "first")
    write(folder, "b.txt", "second")
    source = await begin(edge, folder)
    (folder / "b.txt").unlink()
    write(folder, "c.txt", "third one")
    world.gates["BeginDeletion"] = gate = asyncio.Event()
    begun = (await edge.SyncSource(pb.SyncSourceRequest(source_id=source.id))).operation
    await world.until(lambda: bool(world.requests("BeginDeletion")))
    cancelling = asyncio.ensure_future(edge.CancelOperation(ops.CancelOperationRequest(operation_id=begun.id)))
    await asyncio.sleep(0.1)
    gate.set()
    await cancelling
    assert (await kept.ended(edge, begun.id)).state == ops.OPERATION_STATE_CANCELLED
    assert set(kept.contents(world)) == {"a.txt"}
    assert (await kept.sync(edge, source)).state == ops.OPERATION_STATE_SUCCEEDED
    assert set(kept.contents(world)) == {"a.txt", "c.txt"}


@pytest.mark.parametrize("with_documents", [False, True])
async def test_a_source_is_deleted_with_or_without_its_documents(
    edge: EdgeStub, world: World, folder: Path, with_documents: bool
) -> None:
    write(folder, "a.txt", "first")
    source = await begin(edge, folder)
    request = pb.DeleteSourceRequest(source_id=source.id, with_documents=with_documents)
    response = await edge.DeleteSource(request)
    assert response.HasField("operation") == with_documents
    if with_documents:
        done = await kept.ended(edge, response.operation.id)
        assert (done.state, done.kind, done.done) == (
            ops.OPERATION_STATE_SUCCEEDED, ops.OPERATION_KIND_DELETE_SOURCE, 1,
        )  # fmt: skip
    with pytest.raises(NotFound):
        await kept.get(edge, source)
    assert bool(world.documents) is not with_documents
    with pytest.raises(NotFound):
        await edge.DeleteSource(request)
    await edge.DeleteSource(pb.DeleteSourceRequest(source_id=source.id, allow_missing=True))


async def test_sources_go_with_their_collection(edge: EdgeStub, world: World, folder: Path) -> None:
    write(folder, "a.txt", "first")
    source = await begin(edge, folder)
    deleted = (await edge.DeleteCollection(DeleteCollectionRequest(collection="kept"))).operation
    await kept.ended(edge, deleted.id)
    async with asyncio.timeout(240):
        while True:
            try:
                await kept.get(edge, source)
            except NotFound:
                return
            await asyncio.sleep(0.1)


async def test_who_may_see_and_change_sources(edge: EdgeStub, folder: Path) -> None:
    mine = Collection(name="mine", visibility=VISIBILITY_PRIVATE)
    await edge.CreateCollection(CreateCollectionRequest(collection=mine), metadata=OTHER)
    hidden = await kept.create(edge, "folder", {"path": str(folder)}, collection="mine", call={"metadata": OTHER})
    shared = await begin(edge, folder)
    third = (("x-footnote-tenant", "default"), ("x-footnote-user", "third"), ("x-footnote-role", "writer"))
    for person in (third, STRANGER):
        for request in (pb.GetSourceRequest, pb.SyncSourceRequest, pb.ListSourceItemsRequest, pb.DeleteSourceRequest):
            call = getattr(edge, request.DESCRIPTOR.name.removesuffix("Request"))
            with pytest.raises(NotFound) as caught:
                await call(request(source_id=hidden.id), metadata=person)
            assert caught.value.reason == "SOURCE_NOT_FOUND"
    with pytest.raises(PermissionDenied):
        await edge.GetSource(pb.GetSourceRequest(source_id=shared.id), metadata=READER)
    seen = (await edge.ListSources(pb.ListSourcesRequest(), metadata=third)).sources
    assert [one.id for one in seen] == [shared.id]
    change = pb.UpdateSourceRequest(source_id=shared.id, resource=pb.Source(name="theirs"))
    with pytest.raises(PermissionDenied):
        await edge.UpdateSource(change, metadata=third)
    assert (await edge.ListSources(pb.ListSourcesRequest(), metadata=STRANGER)).sources == []
    both = (await edge.ListSources(pb.ListSourcesRequest())).sources
    assert [one.id for one in both] == [shared.id, hidden.id]
    only = (await edge.ListSources(pb.ListSourcesRequest(collection="kept"))).sources
    assert [one.id for one in only] == [shared.id]


async def test_a_creator_who_may_no_longer_write_has_no_source_that_does(
    edge: EdgeStub, served: Served, world: World, folder: Path, tmp_path: Path
) -> None:
    async def granted(*groups: str) -> None:
        grants = [Grant(group=group, access=ACCESS_WRITE) for group in groups]
        resource = Collection(name="theirs", grants=grants)
        change = UpdateCollectionRequest(
            collection="theirs", resource=resource, update_mask=FieldMask(paths=["grants"])
        )
        await edge.UpdateCollection(change, metadata=OTHER)

    async def due() -> pb.Source:
        await change(
            tmp_path / "data" / "edge" / "edge.db", "UPDATE sources SET next_time = '2020-01-01 00:00:00.000000'"
        )
        await asyncio.sleep(0.5)
        return await kept.settled(edge, source)

    private = Collection(name="theirs", visibility=VISIBILITY_PRIVATE)
    await edge.CreateCollection(CreateCollectionRequest(collection=private), metadata=OTHER)
    await granted("staff")
    ann = {"metadata": (*ANN, ("x-footnote-groups", "staff"))}
    source = await kept.create(edge, "folder", {"path": str(folder)}, collection="theirs", call=ann)
    write(folder, "a.txt", "first")
    assert (await due()).state == pb.SOURCE_STATE_IN_STEP
    assert len(world.documents) == 1
    await granted()
    write(folder, "b.txt", "second")
    now = await due()
    assert "may no longer write" in now.error.message
    assert len(world.documents) == 1
    begun = await edge.SyncSource(pb.SyncSourceRequest(source_id=source.id), metadata=OTHER)
    assert (await kept.ended(edge, begun.operation.id)).state == ops.OPERATION_STATE_SUCCEEDED
    assert len(world.documents) == 2
    await granted("others")
    again = {"metadata": (*ANN, ("x-footnote-groups", "others"))}  # ann has moved
    await edge.SyncSource(pb.SyncSourceRequest(source_id=source.id), **again)
    write(folder, "c.txt", "third")
    assert (await due()).state == pb.SOURCE_STATE_IN_STEP
    assert len(world.documents) == 3


async def test_sources_are_listed_in_pages(edge: EdgeStub, folder: Path) -> None:
    made = [await kept.create(edge, "folder", {"path": str(folder)}, name=f"s{n}", paused=True) for n in range(5)]
    request, seen = pb.ListSourcesRequest(page_size=2), []
    while True:
        page = await edge.ListSources(request)
        seen += [one.id for one in page.sources]
        request.page_token = page.next_page_token
        if not page.next_page_token:
            break
    assert seen == [one.id for one in reversed(made)]
    assert not any(one.operation_id for one in page.sources)


async def test_a_change_needs_the_etag_that_was_seen(edge: EdgeStub, folder: Path, world: World) -> None:
    source = await begin(edge, folder)
    write(folder, "a.txt", "first")
    write(folder, "b.md", "second")
    changed = (
        await edge.UpdateSource(
            pb.UpdateSourceRequest(
                source_id=source.id,
                resource=kept.ParseDict(
                    {"name": "two", "settings": {"path": str(folder), "include": ["*.md"]}, "etag": source.etag},
                    pb.Source(),
                ),
            )
        )
    ).source
    assert (changed.name, changed.settings["include"][0]) == ("two", "*.md")
    await world.until(lambda: bool(world.documents))
    await kept.settled(edge, source)
    assert set(kept.contents(world)) == {"b.md"}
    with pytest.raises(Aborted):
        await edge.UpdateSource(
            pb.UpdateSourceRequest(source_id=source.id, resource=pb.Source(name="3", etag=source.etag))
        )
    await kept.create(edge, "folder", {"path": str(folder)}, name="other")
    with pytest.raises(AlreadyExists):
        await edge.UpdateSource(pb.UpdateSourceRequest(source_id=source.id, resource=pb.Source(name="other")))


async def test_a_source_that_was_read_is_sent_back_changed(edge: EdgeStub, folder: Path) -> None:
    source = await begin(edge, folder, interval="7200s")
    source.name = "renamed"
    request = pb.UpdateSourceRequest(source_id=source.id, resource=source)
    changed = (await edge.UpdateSource(request)).source
    assert (changed.name, changed.interval.seconds, changed.settings) == ("renamed", 7200, source.settings)
    cleared = pb.UpdateSourceRequest(
        source_id=source.id, resource=pb.Source(), update_mask=FieldMask(paths=["interval"])
    )
    assert (await edge.UpdateSource(cleared)).source.interval.seconds == 3600


async def test_an_interval_never_puts_off_a_run(edge: EdgeStub, folder: Path) -> None:
    async def due(interval: str) -> datetime:
        resource = kept.ParseDict({"interval": interval}, pb.Source())
        change = pb.UpdateSourceRequest(
            source_id=source.id, resource=resource, update_mask=FieldMask(paths=["interval"])
        )
        return (await edge.UpdateSource(change)).source.next_sync_time.ToDatetime()

    source = await begin(edge, folder, interval="7200s")
    before = source.next_sync_time.ToDatetime()
    assert await due("7200s") == before, "applied again"
    assert await due("86400s") == before
    assert before - timedelta(hours=1.1) < await due("3600s") < before - timedelta(hours=0.9)


@pytest.mark.parametrize("field", ["id", "kind", "collection"])
async def test_a_change_names_no_other_source(edge: EdgeStub, folder: Path, field: str) -> None:
    source = await begin(edge, folder)
    source.ClearField("etag")
    await edge.UpdateSource(pb.UpdateSourceRequest(source_id=source.id, resource=source))
    source_id = source.id
    setattr(source, field, "web")
    with pytest.raises(InvalidArgument) as caught:
        await edge.UpdateSource(pb.UpdateSourceRequest(source_id=source_id, resource=source))
    assert caught.value.violations[0].field == f"resource.{field}"


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"id": "mine"}, "source.id"),
    ({"kind": "nothing"}, "source.kind"),
    ({"settings": {}}, "source.settings"),
    ({"settings": {"path": "/x", "colour": "red"}}, "source.settings"),
    ({"settings": {"path": 3}}, "source.settings"),
    ({"secrets": {"password": "x"}}, "source.secrets"),
    ({"name": ""}, "source.name"),
    ({"name": "x" * 101}, "source.name"),
    ({"interval": "59s"}, "source.interval"),
    ({"interval": "9999999s"}, "source.interval"),
    ({"collection": ""}, "source.collection"),
]


@pytest.mark.parametrize(("wrong", "field"), WRONG, ids=lambda value: json.dumps(value)[:40])
async def test_what_is_wrong_with_a_source_is_said(
    edge: EdgeStub, folder: Path, wrong: dict[str, Any], field: str
) -> None:
    source = {"name": "one", "collection": "kept", "kind": "folder", "settings": {"path": str(folder)}, **wrong}
    with pytest.raises(InvalidArgument) as caught:
        await edge.CreateSource(kept.ParseDict({"source": source}, pb.CreateSourceRequest()))
    assert caught.value.violations[0].field == field


async def test_a_request_repeated_makes_one_source(edge: EdgeStub, folder: Path) -> None:
    source = {"name": "one", "collection": "kept", "kind": "folder", "settings": {"path": str(folder)}}
    request = kept.ParseDict({"source": source, "request_id": "r1"}, pb.CreateSourceRequest())
    first, second = (await edge.CreateSource(request)).source, (await edge.CreateSource(request)).source
    assert first.id == second.id
    with pytest.raises(AlreadyExists):
        await edge.CreateSource(kept.ParseDict({"source": source}, pb.CreateSourceRequest()))


async def test_a_tenants_limit_of_sources_is_a_quota(
    world: World, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_MAX_SOURCES_PER_TENANT", "1")
    async with (
        serve_doubles(world) as addresses,
        serve_app(build, addresses=addresses, data_dir=tmp_path / "data") as running,
    ):
        edge = EdgeStub(running.channel)
        await kept.collection(edge)
        await begin(edge, folder)
        with pytest.raises(ResourceExhausted) as full:
            await kept.create(edge, "folder", {"path": str(folder)}, name="another")
        assert full.value.reason == "QUOTA_EXCEEDED"
        assert full.value.metadata == {"quota": "tenant_sources", "limit": "1"}


async def test_no_caller_claims_or_loses_an_origin(edge: EdgeStub, world: World, folder: Path) -> None:
    write(folder, "a.txt", "first")
    source = await begin(edge, folder)
    document = (await kept.items(edge, source))["a.txt"].document_id
    claim = {"footnote_source": {"id": source.id}}
    about = kept.ParseDict({"collection": "kept", "filename": "x.txt", "metadata": claim}, UploadMetadata())
    with pytest.raises(InvalidArgument):
        await edge.UploadDocument(iter([UploadDocumentRequest(metadata=about), UploadDocumentRequest(data=b"x")]))
    wanted = kept.ParseDict({"metadata": claim}, Document())
    with pytest.raises(InvalidArgument):
        await edge.UpdateDocument(UpdateDocumentRequest(document_id=document, resource=wanted))
    for metadata in ({"shelf": "3"}, {}):
        wanted = kept.ParseDict({"metadata": metadata}, Document())
        mask = FieldMask(paths=["metadata"])
        request = UpdateDocumentRequest(document_id=document, resource=wanted, update_mask=mask)
        changed = (await edge.UpdateDocument(request)).document
        assert changed.source.item == "a.txt"
        assert dict(changed.metadata) == metadata


async def test_a_folder_that_is_not_allowed_is_refused(edge: EdgeStub, tmp_path: Path, folder: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    write(outside, "secret.txt", "secret")
    (folder / "way-out").symlink_to(outside)
    write(folder, "a.txt", "first")
    for path in (outside, folder / "way-out", folder / ".." / "outside"):
        source = await kept.create(edge, "folder", {"path": str(path)}, name=str(path)[-60:])
        source = await kept.settled(edge, source)
        assert (source.state, source.items) == (pb.SOURCE_STATE_AWAY, 0)
        assert "operator" in source.error.message
    inside = await begin(edge, folder)
    assert (inside.items, "links" in inside.notices[0]) == (1, True)


async def test_kinds_are_listed_with_their_settings(edge: EdgeStub, served: Served) -> None:
    kinds = {kind.id: kind for kind in (await edge.ListSourceKinds(pb.ListSourceKindsRequest())).kinds}
    assert "path" in kinds["folder"].settings_schema["properties"].fields
    async with httpx2.AsyncClient(base_url=f"http://{served.runtime.announced['http']}") as http:
        found = (await http.get("/v1/sourceKinds")).json()
        assert {kind["id"] for kind in found["kinds"]} == set(kinds)


async def test_a_watch_tells_what_changes(edge: EdgeStub, folder: Path) -> None:
    source = await begin(edge, folder)
    call = edge.WatchSource(pb.WatchSourceRequest(source_id=source.id))
    first = (await anext(aiter(call))).source
    assert first.items == 0
    write(folder, "a.txt", "first")
    await edge.SyncSource(pb.SyncSourceRequest(source_id=source.id))
    async for update in call:
        if update.source.items_in_step == 1:
            break
    await edge.DeleteSource(pb.DeleteSourceRequest(source_id=source.id))
    with pytest.raises(NotFound):
        async for _ in call:
            pass


def new_key() -> str:
    return base64.b64encode(os.urandom(32)).decode()


GIT = {"url": "https://git.example.org/a.git"}


async def test_secrets_are_refused_without_a_key(edge: EdgeStub) -> None:
    with pytest.raises(FailedPrecondition) as caught:
        await kept.create(edge, "git", GIT, secrets={"password": "hunter2-hunter2"}, paused=True)
    assert caught.value.reason == "SOURCE_KEY_MISSING"


async def test_new_settings_never_send_the_secrets_of_another_user_to_another_host(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_SOURCE_KEY", new_key())
    admin = {"metadata": (("x-footnote-user", "bob"), ("x-footnote-role", "admin"))}
    async with (
        serve_doubles(world) as addresses,
        serve_app(build, addresses=addresses, data_dir=tmp_path / "data") as running,
    ):
        edge = EdgeStub(running.channel)
        await kept.collection(edge)
        source = await kept.create(
            edge, "git", GIT, secrets={"password": "of-ann"}, paused=True, call={"metadata": ANN}
        )

        def change(*, secrets: bool) -> pb.UpdateSourceRequest:
            wanted = pb.Source(settings=kept.ParseDict({"url": "https://bob.example/"}, pb.Source().settings))
            if secrets:
                wanted.secrets.update({"password": "of-bob"})
            return pb.UpdateSourceRequest(source_id=source.id, resource=wanted)

        with pytest.raises(PermissionDenied, match="give the secrets as well"):
            await edge.UpdateSource(change(secrets=False), **admin)
        shown = (await edge.GetSource(pb.GetSourceRequest(source_id=source.id), **admin)).source
        assert dict(shown.settings)["url"] == GIT["url"]
        renamed = pb.UpdateSourceRequest(source_id=source.id, resource=pb.Source(name="renamed"))
        await edge.UpdateSource(renamed, **admin)
        await edge.UpdateSource(change(secrets=False), metadata=ANN)
        await edge.UpdateSource(change(secrets=True), **admin)


async def test_secrets_are_encrypted_never_shown_and_moved_to_a_new_key(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sqlite3

    password, first, second = "hunter2-hunter2", new_key(), new_key()
    data = tmp_path / "data"

    def stored() -> tuple[bytes, str]:
        with sqlite3.connect(data / "edge" / "edge.db", timeout=60) as database:
            return database.execute("SELECT secrets, secret_key FROM sources").fetchone()  # type: ignore[no-any-return]

    async with serve_doubles(world) as addresses:
        monkeypatch.setenv("FOOTNOTE_EDGE_SOURCE_KEY", first)
        async with serve_app(build, addresses=addresses, data_dir=data) as running:
            edge = EdgeStub(running.channel)
            await kept.collection(edge)
            source = await kept.create(edge, "git", GIT, secrets={"password": password}, paused=True)
            assert password not in str(source)
            assert list(source.secret_names) == ["password"]
            assert password not in str(await edge.ListSources(pb.ListSourcesRequest()))
            before = stored()
            assert password.encode() not in before[0]
            renamed = pb.UpdateSourceRequest(source_id=source.id, resource=pb.Source(name="renamed"))
            assert password not in str(await edge.UpdateSource(renamed))
        every = b"".join(path.read_bytes() for path in data.rglob("*") if path.is_file())
        assert password.encode() not in every
        file = tmp_path / "keys"
        file.write_text(f"{second}\n{first}\n")
        file.chmod(0o600)
        monkeypatch.delenv("FOOTNOTE_EDGE_SOURCE_KEY")
        monkeypatch.setenv("FOOTNOTE_EDGE_SOURCE_KEY_FILE", str(file))
        async with serve_app(build, addresses=addresses, data_dir=data):
            async with asyncio.timeout(240):
                while stored()[1] == before[1]:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        file.write_text(second)  # the old key is not needed any more
        async with serve_app(build, addresses=addresses, data_dir=data) as running:
            edge = EdgeStub(running.channel)
            change = pb.Source(settings=kept.ParseDict({**GIT, "branch": "x"}, pb.Source().settings))
            await edge.UpdateSource(pb.UpdateSourceRequest(source_id=source.id, resource=change))
        file.write_text(new_key())
        async with serve_app(build, addresses=addresses, data_dir=data) as running:
            edge = EdgeStub(running.channel)
            with pytest.raises(FailedPrecondition) as caught:
                await edge.UpdateSource(pb.UpdateSourceRequest(source_id=source.id, resource=change))
            assert caught.value.reason == "SOURCE_KEY_MISSING"
            told = await kept.sync(edge, source)
            assert told.state == ops.OPERATION_STATE_FAILED


@pytest.mark.parametrize("wrong", ["short", "not base64 at all!", base64.b64encode(b"x" * 31).decode()])
async def test_a_key_that_is_none_is_refused_at_the_start(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    from footnote_edge.sources.secrets import Vault

    with pytest.raises(ValueError, match="openssl rand -base64 32"):
        Vault.of(wrong, None)
    open_to_all = tmp_path / "key"
    open_to_all.write_text(new_key())
    open_to_all.chmod(0o644)
    with pytest.raises(PermissionError):
        Vault.of("", open_to_all)
