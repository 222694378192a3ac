"""UpdateDocument and DeleteDocument at the public API: masks, etags, what is refused, what happens at once."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.documents_pb2 import (
    DeleteDocumentRequest,
    Document,
    UpdateDocumentRequest,
    UploadDocumentRequest,
    UploadMetadata,
)
from footnote.stages.v1.stored_document_pb2 import Document as StoredDocument
from footnote.types.v1.collection_pb2 import Collection, CollectionSettings
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR
from footnote_edge.app import build
from footnote_edge.documents import chunk_repair
from footnote_kit.backoff import Backoff
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import Aborted, InvalidArgument, NotFound, Unavailable
from footnote_kit.origins import KEY
from footnote_kit.testing import Served, serve_app
from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask
from support.doubles.stages import World, serve_doubles

pytestmark = pytest.mark.full


@pytest.fixture
async def served(world: World, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Served]:
    """Edge with quick retries."""
    monkeypatch.setenv("FOOTNOTE_EDGE_RETRY_CEILING_SECONDS", "0.3")
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as running:
        yield running


@pytest.fixture
def edge(served: Served) -> EdgeStub:
    """A stub of edge."""
    return EdgeStub(served.channel)


async def uploaded(
    edge: EdgeStub, world: World, *, wait: bool = True, collection: str = "default", **more: Any
) -> Document:
    async def parts() -> AsyncIterator[UploadDocumentRequest]:
        yield UploadDocumentRequest(metadata=UploadMetadata(collection=collection, filename="a.txt", **more))
        yield UploadDocumentRequest(data=b"one\ntwo")

    made = (await edge.UploadDocument(parts())).document
    if wait:
        await world.until(lambda: world.documents[made.id].indexed_revision == 1)
    return world.documents[made.id]


async def update(edge: EdgeStub, document_id: str, *paths: str, **values: Any) -> Document:
    mask = FieldMask(paths=paths) if paths else None
    request = UpdateDocumentRequest(document_id=document_id, resource=Document(**values), update_mask=mask)
    return (await edge.UpdateDocument(request)).document


async def test_what_the_mask_names_changes_and_nothing_else(edge: EdgeStub, world: World) -> None:
    document = await uploaded(edge, world, tags=["old"])
    soon = datetime.now(UTC) + timedelta(hours=1)
    changed = await update(edge, document.id, "tags", tags=["new"], expire_time=soon)
    assert list(changed.tags) == ["new"]
    assert not changed.HasField("expire_time")
    changed = await update(edge, document.id, metadata={"shelf": 4})
    assert (list(changed.tags), changed.metadata["shelf"]) == (["new"], 4)
    changed = await update(edge, document.id, "expire_time", expire_time=soon)
    assert changed.HasField("expire_time")
    changed = await update(edge, document.id, "tags", "expire_time")
    assert not changed.tags
    assert not changed.HasField("expire_time")
    assert changed.metadata["shelf"] == 4


async def test_an_expiry_that_is_removed_is_the_collection_s(edge: EdgeStub, world: World) -> None:
    settings = CollectionSettings(ttl=Duration(seconds=3600))
    request = CreateCollectionRequest(collection=Collection(name="passing", settings=settings))
    await edge.CreateCollection(request)
    document = await uploaded(edge, world, collection="passing", ttl=Duration(seconds=60))
    document.create_time.GetCurrentTime()
    changed = await update(edge, document.id, "expire_time")
    assert changed.expire_time.seconds == document.create_time.seconds + 3600
    document.create_time.seconds -= 7200
    with pytest.raises(InvalidArgument, match="ttl has passed"):
        await update(edge, document.id, "expire_time")

    document.metadata.update({KEY: {"id": "source", "item": "a"}})
    changed = await update(edge, document.id, "expire_time")
    assert not changed.HasField("expire_time"), "an item goes when its source says so"


async def test_chunks_are_told_and_nothing_is_indexed_again(edge: EdgeStub, world: World) -> None:
    document = await uploaded(edge, world)
    indexed = len(world.requests("IndexDocument"))
    await update(edge, document.id, tags=["new"])
    assert [list(chunk.tags) for chunk in world.chunks[document.id]] == [["new"], ["new"]]
    assert len(world.requests("IndexDocument")) == indexed


async def test_a_change_while_it_is_indexed_reaches_its_chunks(edge: EdgeStub, world: World) -> None:
    world.gates["IndexDocument"] = gate = asyncio.Event()
    document = await uploaded(edge, world, wait=False)
    await world.until(lambda: bool(world.requests("IndexDocument")))
    await update(edge, document.id, tags=["new"])
    gate.set()
    await world.until(lambda: any(chunk.tags for chunk in world.chunks.get(document.id, ())))
    assert [list(chunk.tags) for chunk in world.chunks[document.id]] == [["new"], ["new"]]


@pytest.mark.parametrize(
    ("paths", "values", "field"),
    [
        (["*"], {"tags": ["x"]}, "update_mask"),
        (["filename"], {"tags": ["x"]}, "update_mask"),
        (["etag"], {"etag": "x"}, "update_mask"),
        (["metadata.shelf"], {"metadata": {"shelf": 1}}, "update_mask"),
        ([], {}, "resource"),
        ([], {"filename": "mine.txt", "state": "DOCUMENT_STATE_INDEXED"}, "resource"),
        ([], {"etag": "1"}, "resource"),
    ],
)
async def test_what_cannot_be_changed_is_refused_by_name(
    edge: EdgeStub, world: World, paths: list[str], values: dict[str, Any], field: str
) -> None:
    document = await uploaded(edge, world)
    with pytest.raises(InvalidArgument, match=field):
        await update(edge, document.id, *paths, **values)
    assert not world.requests("UpdateDocument")


async def test_another_etag_changes_and_deletes_nothing(edge: EdgeStub, world: World) -> None:
    document = await uploaded(edge, world)
    with pytest.raises(Aborted):
        await update(edge, document.id, tags=["x"], etag="another")
    with pytest.raises(Aborted):
        await edge.DeleteDocument(DeleteDocumentRequest(document_id=document.id, etag="another"))
    assert world.chunks[document.id]
    assert not document.tags
    seen = world.documents[document.id].etag
    changed = await update(edge, document.id, tags=["x"], etag=seen)
    gone = await edge.DeleteDocument(DeleteDocumentRequest(document_id=document.id, etag=changed.etag))
    assert gone.chunks_deleted == 2


async def test_repeating_what_failed_half_way_makes_it_whole(edge: EdgeStub, world: World) -> None:
    document = await uploaded(edge, world)
    world.failures["UpdateDocumentChunks"] = Unavailable("the store is down")
    with pytest.raises(Unavailable):
        await update(edge, document.id, tags=["x"])
    world.failures.clear()
    await update(edge, document.id, tags=["x"])
    assert [list(chunk.tags) for chunk in world.chunks[document.id]] == [["x"], ["x"]]


async def test_deleting_what_is_missing_succeeds_only_where_it_may(edge: EdgeStub, world: World) -> None:
    document = await uploaded(edge, world)
    for expected in (2, 0):
        gone = await edge.DeleteDocument(DeleteDocumentRequest(document_id=document.id, allow_missing=True))
        assert gone.chunks_deleted == expected
    with pytest.raises(NotFound):
        await edge.DeleteDocument(DeleteDocumentRequest(document_id=document.id))
    with pytest.raises(NotFound):
        await update(edge, document.id, tags=["x"])


async def test_over_http_the_body_is_the_document_and_the_mask_is_in_the_query(
    edge: EdgeStub, world: World, served: Served
) -> None:
    document = await uploaded(edge, world, tags=["old"])
    async with httpx2.AsyncClient(base_url=f"http://{served.runtime.announced['http']}", timeout=20) as client:
        path = f"/v1/documents/{document.id}"
        changed = await client.patch(path, json={"metadata": {"shelf": 4}})
        assert changed.json()["document"]["metadata"] == {"shelf": 4}
        assert changed.json()["document"]["tags"] == ["old"]
        cleared = await client.patch(path, params={"update_mask": "tags"}, json={})
        assert cleared.json()["document"]["tags"] == []
        refused = await client.patch(path, json={"filename": "b.txt"})
        assert refused.status_code == 400
        conflict = await client.delete(path, params={"etag": "another"})
        assert conflict.status_code == 409
        assert (await client.delete(path)).status_code == 200
        assert (await client.delete(path)).status_code == 404
        assert (await client.delete(path, params={"allow_missing": "true"})).json() == {"chunks_deleted": 0}


async def test_a_duplicates_tags_reach_the_chunks(edge: EdgeStub, world: World) -> None:
    document = await uploaded(edge, world, tags=["a"])
    again = UploadMetadata(
        collection="default", filename="a.txt", tags=["b"], size_bytes=7, sha256="0" * 64, request_id="r"
    )

    async def parts() -> AsyncIterator[UploadDocumentRequest]:
        yield UploadDocumentRequest(metadata=again)
        yield UploadDocumentRequest(data=b"one\ntwo")

    answer = await edge.UploadDocument(parts())
    assert (answer.duplicate, answer.merged, answer.document.id) == (True, True, document.id)
    assert [list(chunk.tags) for chunk in world.chunks[document.id]] == [["a", "b"], ["a", "b"]]
    sent = world.requests("UploadDocument")[-1].metadata
    assert (sent.size_bytes, sent.sha256, sent.request_id) == (7, "0" * 64, "r")


async def test_over_http_an_upload_takes_what_the_contract_has(edge: EdgeStub, world: World, served: Served) -> None:
    async with httpx2.AsyncClient(base_url=f"http://{served.runtime.announced['http']}", timeout=20) as client:
        fields = {"filename": "a.txt", "size_bytes": "3", "sha256": "1" * 64, "request_id": "r-2"}
        made = await client.post("/v1/documents", params=fields, content=b"one")
        assert made.status_code == 201
        assert made.json()["merged"] is False
        refused = await client.post("/v1/documents", params={**fields, "size_bytes": "three"}, content=b"one")
        assert refused.status_code == 400
    sent = world.requests("UploadDocument")[-1].metadata
    assert (sent.size_bytes, sent.sha256, sent.request_id) == (3, "1" * 64, "r-2")


async def test_a_change_that_a_kill_left_half_made_is_finished_within_seconds(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long before the look at all documents, and as soon as the stages are back."""
    monkeypatch.setenv("FOOTNOTE_EDGE_RECONCILE_SECONDS", "3600")
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as served:
        edge = EdgeStub(served.channel)
        document = await uploaded(edge, world)
        down = Unavailable("down")
        world.failures.update(UpdateDocumentChunks=down, ListUnfinishedDocuments=down)
        with pytest.raises(Unavailable):
            await update(edge, document.id, tags=["new"])
        before = len(world.requests("ListUnfinishedDocuments"))
        await world.until(lambda: len(world.requests("ListUnfinishedDocuments")) > before)
        del world.failures["ListUnfinishedDocuments"], world.failures["UpdateDocumentChunks"]
        await world.until(lambda: [list(chunk.tags) for chunk in world.chunks[document.id]] == [["new"], ["new"]])


async def test_a_document_that_a_kill_cost_its_chunks_is_indexed_again_within_seconds(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long before the look at all documents."""
    monkeypatch.setenv("FOOTNOTE_EDGE_RECONCILE_SECONDS", "3600")
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as served:
        document = await uploaded(EdgeStub(served.channel), world)
        before = len(world.requests("ListDamagedDocuments"))
        world.chunks[document.id] = []
        world.damaged[document.id] = world.documents[document.id].revision
        await world.until(
            lambda: len(world.requests("ListDamagedDocuments")) > before and bool(world.chunks[document.id])
        )


async def test_a_document_that_is_damaged_each_time_is_not_indexed_without_pause(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the store loses rows: each time may cost a provider's tokens."""

    class Always(dict[str, int]):
        def items(self) -> Any:
            return [(one.id, one.revision) for one in world.documents.values()]

    monkeypatch.setenv("FOOTNOTE_EDGE_RECONCILE_SECONDS", "3600")
    monkeypatch.setenv("FOOTNOTE_EDGE_LEFTOVERS_SECONDS", "0.05")
    monkeypatch.setattr(chunk_repair, "PAUSES", Backoff(3600.0, 3600.0))
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as served:
        document = await uploaded(EdgeStub(served.channel), world)
        world.damaged = Always()
        await world.until(lambda: world.documents[document.id].indexed_revision == 2)
        before = len(world.requests("ListDamagedDocuments"))
        await world.until(lambda: len(world.requests("ListDamagedDocuments")) > before + 20)
        assert world.documents[document.id].revision == 2


async def test_documents_beyond_repair_do_not_hide_a_damaged_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """More of them than a page of the list holds, and found first."""
    monkeypatch.setenv("FOOTNOTE_EDGE_RECONCILE_SECONDS", "3600")
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as served:
        document = await uploaded(EdgeStub(served.channel), world)
        for number in range(100):
            failed = StoredDocument()
            failed.CopyFrom(world.documents[document.id])
            failed.id, failed.state = f"failed-{number}", DOCUMENT_STATE_ERROR
            world.documents[failed.id] = failed
            world.damaged[failed.id] = failed.revision
        world.chunks[document.id] = []
        world.damaged[document.id] = world.documents[document.id].revision
        await world.until(lambda: bool(world.chunks[document.id]))
