"""The document side of the public API over gRPC, with the stages' doubles behind it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, DeleteCollectionRequest, UpdateCollectionRequest
from footnote.edge.v1.documents_pb2 import (
    WATCH_END_REASON_IDLE,
    DeleteDocumentRequest,
    DownloadDocumentRequest,
    GetDocumentRequest,
    ListDocumentsRequest,
    ReindexDocumentsRequest,
    ReplaceDocumentRequest,
    ReplaceMetadata,
    UploadDocumentRequest,
    UploadDocumentsRequest,
    UploadMetadata,
    WatchDocumentRequest,
    WatchDocumentResponse,
    WatchDocumentsRequest,
    WatchDocumentsResponse,
)
from footnote.stages.v1 import stored_document_pb2
from footnote.types.v1 import collection_pb2 as col
from footnote.types.v1 import document_pb2 as doc
from footnote_edge.app import build
from footnote_edge.jobs.jobs import Jobs
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import (
    FailedPrecondition,
    FootnoteError,
    InvalidArgument,
    NotFound,
    ResourceExhausted,
    Unavailable,
)
from footnote_kit.origins import KEY
from footnote_kit.status import from_proto
from footnote_kit.testing import serve_app
from support.doubles.stages import World, serve_doubles
from support.operations import ended


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Edge retries and polls several times a second."""
    monkeypatch.setenv("FOOTNOTE_EDGE_RETRY_CEILING_SECONDS", "0.3")
    monkeypatch.setenv("FOOTNOTE_EDGE_WATCH_POLL_SECONDS", "0.1")


@pytest.fixture
async def edge(world: World) -> AsyncIterator[EdgeStub]:
    """A stub of edge."""
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as served:
        yield EdgeStub(served.channel)


def upload(text: bytes, name: str = "a.txt", collection: str = "default", **more: Any) -> Iterator[Any]:
    yield UploadDocumentRequest(metadata=UploadMetadata(collection=collection, filename=name, **more))
    yield UploadDocumentRequest(data=text)


def document_of(event: WatchDocumentResponse | WatchDocumentsResponse) -> stored_document_pb2.Document:
    """Return the document of a watch's event."""
    return event.changed.document if isinstance(event, WatchDocumentsResponse) else event.document


async def settle(edge: EdgeStub, document_id: str) -> stored_document_pb2.Document:
    """Watch a document to its end and return it."""
    last = None
    async for event in edge.WatchDocument(WatchDocumentRequest(document_id=document_id), timeout=20):
        last = event
    assert last is not None
    return last.document


async def test_a_queue_that_is_away_fails_the_stored_files_of_a_call_alone(
    edge: EdgeStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: Any) -> set[str]:
        raise Unavailable("The database does not answer", reason="DATABASE_UNAVAILABLE")

    monkeypatch.setattr(Jobs, "queue_in_groups", away)
    heads = [UploadMetadata(collection="default", filename=name) for name in ("a.txt", "refused.txt")]
    heads[1].metadata[KEY] = "mine"
    parts = [
        part for head in heads for part in (UploadDocumentsRequest(metadata=head), UploadDocumentsRequest(data=b"line"))
    ]
    answer = await edge.UploadDocuments(iter(parts), timeout=20)
    errors = [from_proto(one.error) for one in answer.files]
    assert [one.reason for one in errors] == ["DATABASE_UNAVAILABLE", "INVALID_FIELD"]


async def test_an_upload_ends_indexed_and_makes_the_default_collection(edge: EdgeStub, world: World) -> None:
    accepted = await edge.UploadDocument(upload(b"one line\nanother line"))
    assert not accepted.duplicate
    document = await settle(edge, accepted.document.id)
    assert document.state == doc.DOCUMENT_STATE_INDEXED
    assert document.chunk_count == 2
    assert [one.name for one in world.collections.values()] == ["default"]
    assert len(world.chunks[document.id]) == 2


async def test_the_same_bytes_are_recognised(edge: EdgeStub) -> None:
    first = await edge.UploadDocument(upload(b"same"))
    again = await edge.UploadDocument(upload(b"same", name="b.txt"))
    assert again.duplicate
    assert again.document.id == first.document.id


async def test_a_large_upload_passes_in_parts(edge: EdgeStub, world: World) -> None:
    line = b"x" * 1023 + b"\n"
    accepted = await edge.UploadDocument(upload(line * 2048))
    assert len(world.blobs[accepted.document.id]) == 2 * 1024 * 1024


async def test_an_unknown_collection_is_not_found_and_says_what_to_do(edge: EdgeStub, world: World) -> None:
    with pytest.raises(NotFound) as caught:
        await edge.UploadDocument(upload(b"text", collection="nowhere"))
    assert caught.value.reason == "COLLECTION_NOT_FOUND"
    assert "Create it first" in caught.value.message
    assert not world.documents


async def test_bytes_without_metadata_are_refused(edge: EdgeStub) -> None:
    with pytest.raises(InvalidArgument):
        await edge.UploadDocument(iter([UploadDocumentRequest(data=b"x")]))


async def test_a_file_that_cannot_be_read_ends_in_error_with_reason_and_hint(edge: EdgeStub) -> None:
    accepted = await edge.UploadDocument(upload(b"locked"))
    document = await settle(edge, accepted.document.id)
    assert document.state == doc.DOCUMENT_STATE_ERROR
    assert document.failure.reason == doc.FAILURE_REASON_PASSWORD_PROTECTED
    assert document.failure.hint == "Remove the password."


@pytest.mark.parametrize(
    ("stage", "error", "waiting"),
    [
        ("IndexDocument", Unavailable("the store is down", reason="STORE_UNAVAILABLE"), "STORE_UNAVAILABLE"),
        ("IndexDocument", Unavailable("shutting down", reason="SHUTTING_DOWN"), "INDEXING_UNAVAILABLE"),
        ("IndexDocument", Unavailable("does not answer"), "INDEXING_UNAVAILABLE"),
        ("IndexDocument", ResourceExhausted("too many", reason="RATE_LIMITED"), "INDEXING_UNAVAILABLE"),
        (
            "IndexDocument",
            Unavailable("500", reason="PROVIDER_FAILED", metadata={"waiting": "PROVIDER"}),
            "PROVIDER_UNAVAILABLE",
        ),
        (
            "IndexDocument",
            Unavailable("401", reason="PROVIDER_FAILED", metadata={"waiting": "PROVIDER_REFUSED"}),
            "PROVIDER_REFUSED",
        ),
        ("IndexDocument", FailedPrecondition("no key", reason="PROVIDER_UNCONFIGURED"), "PROVIDER_REFUSED"),
        ("IndexDocument", Unavailable("locked", metadata={"waiting": "DATABASE"}), "DATABASE_UNAVAILABLE"),
        ("IndexDocument", Unavailable("full", metadata={"waiting": "DISK"}), "DISK_FULL"),
        ("ParseDocument", Unavailable("full", metadata={"waiting": "DISK"}), "DISK_FULL"),
        ("ParseDocument", Unavailable("Too many files wait to be read"), "INGESTION_UNAVAILABLE"),
        pytest.param(
            "ParseDocument",
            Unavailable("killed", metadata={"waiting": "PARSER_KILLED"}, retry_after=1.0),
            "PARSER_KILLED",
            marks=pytest.mark.full,  # it leaves its place, and comes back after ten seconds
        ),
        ("ParseDocument", Unavailable("shutting down", reason="SHUTTING_DOWN"), "INGESTION_UNAVAILABLE"),
    ],
)
async def test_work_waits_for_indexing_and_goes_on_by_itself(
    edge: EdgeStub, world: World, stage: str, error: FootnoteError, waiting: str
) -> None:
    world.failures[stage] = error
    accepted = await edge.UploadDocument(upload(b"patience"))
    async for event in edge.WatchDocument(WatchDocumentRequest(document_id=accepted.document.id), timeout=20):
        if event.document.waiting_reason:
            assert doc.WaitingReason.Name(event.document.waiting_reason) == f"WAITING_REASON_{waiting}"
            assert event.document.state == doc.DOCUMENT_STATE_PROCESSING
            assert event.document.waiting_message == error.message
            assert event.document.waiting_attempts >= 1
            assert event.document.next_attempt_time.ToMilliseconds() > event.document.create_time.ToMilliseconds()
            break
    del world.failures[stage]
    document = await settle(edge, accepted.document.id)
    assert document.state == doc.DOCUMENT_STATE_INDEXED
    assert not document.waiting_reason
    assert (document.waiting_message, document.waiting_attempts) == ("", 0)
    assert not document.HasField("next_attempt_time")


async def test_a_document_that_goes_on_does_not_say_that_it_waits(edge: EdgeStub, world: World) -> None:
    world.failures["IndexDocument"] = Unavailable("does not answer")
    world.gates["IndexResult"] = gate = asyncio.Event()
    document_id = (await edge.UploadDocument(upload(b"much is still to come"))).document.id
    await world.until(lambda: bool(world.documents[document_id].waiting_reason))
    del world.failures["IndexDocument"]
    await world.until(lambda: bool(world.requests("IndexResult")))
    await world.until(lambda: not world.documents[document_id].waiting_reason)
    assert world.documents[document_id].state == doc.DOCUMENT_STATE_PROCESSING
    gate.set()
    assert (await settle(edge, document_id)).state == doc.DOCUMENT_STATE_INDEXED


async def test_uploads_are_accepted_while_collections_cannot_be_looked_up(edge: EdgeStub, world: World) -> None:
    await edge.UploadDocument(upload(b"before"))
    world.failures["GetCollection"] = Unavailable("down")
    accepted = await edge.UploadDocument(upload(b"meanwhile"))
    assert accepted.document.collection_id in world.collections
    with pytest.raises(Unavailable):
        await edge.UploadDocument(upload(b"never seen", collection="other"))


async def test_uploads_meanwhile_go_nowhere_under_a_name_that_a_collection_has_lost(
    edge: EdgeStub, world: World
) -> None:
    await edge.UploadDocument(upload(b"before"))
    change = UpdateCollectionRequest(collection="default", resource=col.Collection(name="renamed"))
    await edge.UpdateCollection(change)
    world.failures["GetCollection"] = Unavailable("down")
    with pytest.raises(Unavailable):
        await edge.UploadDocument(upload(b"meanwhile"))


async def test_a_provider_that_refuses_fails_the_document_with_its_words(edge: EdgeStub, world: World) -> None:
    world.failures["IndexDocument"] = Unavailable("429: no credit left", reason="PROVIDER_FAILED")
    accepted = await edge.UploadDocument(upload(b"text"))
    document = await settle(edge, accepted.document.id)
    assert document.failure.reason == doc.FAILURE_REASON_EMBEDDING_FAILED
    assert document.failure.message == "429: no credit left"


async def test_a_document_deleted_in_mid_job_leaves_no_chunks(edge: EdgeStub, world: World) -> None:
    world.gates["IndexDocument"] = asyncio.Event()
    accepted = await edge.UploadDocument(upload(b"doomed"))
    await world.until(lambda: bool(world.requests("IndexDocument")))
    await edge.DeleteDocument(DeleteDocumentRequest(document_id=accepted.document.id))
    world.gates["IndexDocument"].set()
    await world.until(lambda: len(world.requests("DeleteDocumentChunks")) == 2)
    assert accepted.document.id not in world.chunks
    with pytest.raises(NotFound):
        await edge.GetDocument(GetDocumentRequest(document_id=accepted.document.id))


async def test_replace_and_reindex_make_new_revisions(edge: EdgeStub, world: World) -> None:
    accepted = await edge.UploadDocument(upload(b"old"))
    document_id = accepted.document.id
    await settle(edge, document_id)
    head = ReplaceDocumentRequest(metadata=ReplaceMetadata(document_id=document_id))
    same = await edge.ReplaceDocument(iter([head, ReplaceDocumentRequest(data=b"old")]))
    assert same.unchanged
    replaced = await edge.ReplaceDocument(iter([head, ReplaceDocumentRequest(data=b"new")]))
    assert replaced.document.revision == 2
    assert (await settle(edge, document_id)).indexed_revision == 2
    begun = (await edge.ReindexDocuments(ReindexDocumentsRequest(document_ids=[document_id]))).operation
    assert list(begun.reindex_documents.document_ids) == [document_id]
    assert (await ended(edge, begun)).done == 1
    assert (await settle(edge, document_id)).indexed_revision == 3
    assert world.chunks[document_id][0].text == "new"
    none = (await edge.ReindexDocuments(ReindexDocumentsRequest(collection="default", failed_only=True))).operation
    assert (await ended(edge, none)).total == 0


async def test_download_returns_the_bytes(edge: EdgeStub) -> None:
    accepted = await edge.UploadDocument(upload(b"as it was"))
    request = DownloadDocumentRequest(document_id=accepted.document.id)
    parts = [part async for part in edge.DownloadDocument(request)]
    assert parts[0].document.filename == "a.txt"
    assert b"".join(part.data for part in parts) == b"as it was"


async def test_watching_a_collection_until_idle_sees_every_end(edge: EdgeStub) -> None:
    await edge.CreateCollection(CreateCollectionRequest(collection=col.Collection(name="many")))
    ids = set()
    for number in range(6):
        accepted = await edge.UploadDocument(upload(f"text {number}".encode(), collection="many"))
        ids.add(accepted.document.id)
    ended = set()
    request = WatchDocumentsRequest(collection="many", until_idle=True)
    async for event in edge.WatchDocuments(request, timeout=20):
        if event.changed.document.state == doc.DOCUMENT_STATE_INDEXED:
            ended.add(event.changed.document.id)
    assert ended == ids
    assert event.ended.reason == WATCH_END_REASON_IDLE


async def test_deleting_a_collection_takes_everything_along(edge: EdgeStub, world: World) -> None:
    await edge.CreateCollection(CreateCollectionRequest(collection=col.Collection(name="gone")))
    for number in range(3):
        accepted = await edge.UploadDocument(upload(f"text {number}".encode(), collection="gone"))
        await settle(edge, accepted.document.id)
    begun = await edge.DeleteCollection(DeleteCollectionRequest(collection="gone"), timeout=20)
    deleted = await ended(edge, begun.operation)
    assert (deleted.done, deleted.delete_collection.chunks_deleted) == (3, 3)
    assert not world.documents
    assert not world.chunks
    with pytest.raises(NotFound):
        await edge.UploadDocument(upload(b"too late", collection="gone"))


async def test_another_tenant_sees_nothing(edge: EdgeStub) -> None:
    accepted = await edge.UploadDocument(upload(b"mine"))
    other = (("x-footnote-tenant", "other"),)
    with pytest.raises(NotFound):
        await edge.GetDocument(GetDocumentRequest(document_id=accepted.document.id), metadata=other)
    assert not (await edge.ListDocuments(ListDocumentsRequest(), metadata=other)).documents


async def test_watches_of_the_same_thing_look_once_for_all(edge: EdgeStub, world: World) -> None:
    world.gates["ParseDocument"] = gate = asyncio.Event()
    accepted = await edge.UploadDocument(upload(b"one line"))
    one, many = WatchDocumentRequest(document_id=accepted.document.id), WatchDocumentsRequest()
    many.collection = "default"
    calls = [
        watch(request) for _ in range(15) for watch, request in ((edge.WatchDocument, one), (edge.WatchDocuments, many))
    ]
    for call in calls:
        assert document_of(await call.read()).id == accepted.document.id

    def looked() -> int:
        return len(world.requests("GetDocument")) + len(world.requests("ListDocumentChanges"))

    before = looked()
    await asyncio.sleep(1)
    # Each alone would look ten times: 300.
    assert looked() - before <= 60
    gate.set()

    async def end(call: Any) -> None:
        async with asyncio.timeout(240):
            while document_of(await call.read()).state != doc.DOCUMENT_STATE_INDEXED:
                pass

    await asyncio.gather(*(end(call) for call in calls))
    for call in calls:
        call.cancel()
