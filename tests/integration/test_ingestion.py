"""The ingestion service over gRPC: upload, life cycle, parsing, deletion."""

from __future__ import annotations

import asyncio
import hashlib
import io
import itertools
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import obstore
import pptx
import pypdfium2 as pdfium
import pytest
import pytest_asyncio
from footnote.ingestion.v1 import ingestion_service_pb2 as pb
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.collection_pb2 import CHUNKING_STRATEGY_PARAGRAPH
from footnote.types.v1.document_pb2 import WAITING_REASON_INDEXING_UNAVAILABLE as WAITING
from footnote.types.v1.document_pb2 import DocumentState, Failure, FailureReason
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_SYSTEM
from footnote_ingestion.app import build
from footnote_ingestion.documents import changes as changes_module
from footnote_ingestion.settings import Settings
from footnote_kit.errors import (
    Aborted,
    FailedPrecondition,
    FootnoteError,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
)
from footnote_kit.testing import Served, serve_app
from google.protobuf.timestamp_pb2 import Timestamp
from obstore.store import from_url
from support import object_store, postgres
from support.ingestion_client import Client, assert_spans_exact

pytestmark = pytest.mark.asyncio(loop_scope="module")

UPLOADED = DocumentState.DOCUMENT_STATE_UPLOADED
PROCESSING = DocumentState.DOCUMENT_STATE_PROCESSING
INDEXED = DocumentState.DOCUMENT_STATE_INDEXED
ERROR = DocumentState.DOCUMENT_STATE_ERROR
LINES = 40_000
TEXT = b"Handbook\n========\n\nHolidays are 30 days a year.\n\nThe office opens at nine.\n"


@pytest.fixture(scope="module")
def s3_endpoint() -> Iterator[str]:
    """The address of an S3 server on loopback."""
    if object_store.program() is None:
        pytest.skip("moto's S3 server is missing (pip install 'moto[server]')")
    with object_store.server() as endpoint:
        yield endpoint


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["sqlite", "postgres", "s3"])
async def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    """One running service: all defaults, on PostgreSQL, and with its files in S3."""
    with pytest.MonkeyPatch.context() as environment:
        if request.param == "postgres":
            url = await postgres.migrated_database(request.getfixturevalue("postgres_url"), "ingestion")
            environment.setenv("FOOTNOTE_INGESTION_DATABASE_URL", url)
        if request.param == "s3":
            endpoint, bucket = request.getfixturevalue("s3_endpoint"), f"b{uuid4().hex}"
            await asyncio.to_thread(object_store.make_bucket, endpoint, bucket)
            secret = {"access_key_id": "test", "secret_access_key": "test", "region": "us-east-1"}
            environment.setenv("FOOTNOTE_INGESTION_BLOB_URL", f"s3://{bucket}/footnote")
            environment.setenv("FOOTNOTE_INGESTION_BLOB_OPTIONS", json.dumps({"endpoint": endpoint, **secret}))
        async with serve_app(build, data_dir=tmp_path_factory.mktemp("data")) as running:
            yield running


@pytest.fixture
def client(served: Served) -> Client:
    """A client of its own tenant."""
    return Client(served, Scope(tenant_id=uuid4().hex, user_id="u", roles=[ROLE_SYSTEM]))


async def stored(client: Client) -> list[str]:
    """Files that the service holds for the client: in the object store, and temporary ones of anyone."""
    settings = Settings()
    root = client.data_dir / "ingestion"
    keys = [str(path) for path in (root / "spool").rglob("*") if path.is_file()]
    if settings.blob_url:
        store = from_url(settings.blob_url, client_options={"allow_http": True}, **settings.blob_options)
        keys += [one["path"] for one in await obstore.list(store).collect_async()]
    else:
        keys += [str(path) for path in (root / "blobs").rglob("*") if path.is_file()]
    return [key for key in keys if "/spool/" in key or client.scope.tenant_id in key]


async def test_upload_get_download_parse(client: Client) -> None:
    done = await client.upload(TEXT, "../../etc/handbook.txt", tags=["hr"], metadata={"year": 2024})
    document = done.document
    assert not done.duplicate
    assert (document.filename, document.document_type, document.mime_type) == ("handbook.txt", "txt", "text/plain")
    assert document.state == UPLOADED
    assert document.metadata["year"] == 2024
    assert await client.get(document.id) == document
    assert (await client.download(document.id))[1] == TEXT
    blocks, metadata = await client.parse(document.id)
    assert [block.text for block in blocks] == ["Handbook", "Holidays are 30 days a year.", "The office opens at nine."]
    assert_spans_exact(blocks)
    assert list(blocks[1].locator.heading_path) == ["Handbook"]
    assert blocks[1].locator.lines.first_line == 4
    assert metadata.title == "Handbook"
    assert metadata.language == "en"
    assert metadata.block_count == 3
    assert len(await stored(client)) == 1  # a short text is read again, not kept
    assert (await client.parse(document.id)) == (blocks, metadata)
    await client.delete(document.id)
    await client.delete(document.id)
    with pytest.raises(NotFound):
        await client.get(document.id)
    assert await stored(client) == []


async def test_large_file_survives_unharmed(client: Client) -> None:
    data = b"".join(b"Line number %d of a long file.\n\n" % number for number in range(LINES))
    document = (await client.upload(data)).document
    assert (await client.download(document.id))[1] == data
    blocks, metadata = await client.parse(document.id)
    assert len(blocks) == metadata.block_count == LINES


@pytest.mark.parametrize(
    ("data", "filename", "reason"),
    [
        (b"", "a.txt", "FILE_EMPTY"),
        (b"x" * (10 * 1024 * 1024 + 1), "a.txt", "FILE_TOO_LARGE"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "a.pdf", "FILE_UNSUPPORTED"),
        (b"%PDF-1.7\n1 0 obj\n<<", "a.pdf", "FILE_CORRUPT"),
        (b"PK\x03\x04" + bytes(200), "a.docx", "FILE_CORRUPT"),
        (bytes(range(256)) * 40, "a.txt", "FILE_UNSUPPORTED"),
    ],
)
async def test_bad_files_are_refused(client: Client, data: bytes, filename: str, reason: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        await client.upload(data, filename)
    assert caught.value.reason == reason
    assert caught.value.metadata["hint"]
    assert await stored(client) == []
    assert (await client.list()).total_size == 0


async def test_fields_are_checked(client: Client) -> None:
    for collection, filename in (("", "a.txt"), ("c", ""), ("c", "x/.."), ("c\n", "a.txt")):
        with pytest.raises(InvalidArgument) as caught:
            await client.upload(TEXT, filename, collection)
        assert caught.value.violations
    with pytest.raises(InvalidArgument):
        await client.list(page_size=-1)
    with pytest.raises(InvalidArgument):
        await client.list(page_token="nonsense")
    client.scope.Clear()
    with pytest.raises(Unauthenticated):
        await client.list()


async def test_duplicates_and_quota(client: Client) -> None:
    first = await client.upload(TEXT, max_documents=2)
    again = await client.upload(TEXT, "other-name.txt", max_documents=2)
    assert again.duplicate
    assert again.document.id == first.document.id
    assert not (await client.upload(TEXT, collection="other")).duplicate
    copy = await client.upload(TEXT, allow_duplicate=True, max_documents=2)
    assert copy.document.id != first.document.id
    with pytest.raises(ResourceExhausted) as caught:
        await client.upload(b"One more.", max_documents=2)
    assert caught.value.reason == "QUOTA_EXCEEDED"


async def test_quota_and_duplicates_hold_under_concurrency(client: Client) -> None:
    same = await asyncio.gather(*(client.upload(TEXT, f"{number}.txt") for number in range(8)))
    assert len({one.document.id for one in same}) == 1
    assert sum(not one.duplicate for one in same) == 1
    uploads = (client.upload(b"Text %d" % number, collection="full", max_documents=3) for number in range(8))
    outcomes = await asyncio.gather(*uploads, return_exceptions=True)
    assert sum(isinstance(one, ResourceExhausted) for one in outcomes) == 5
    assert (await client.list(collection_ids=["full"])).total_size == 3
    assert len(await stored(client)) == 4


async def test_a_collection_takes_any_number_of_documents_unless_limited(client: Client) -> None:
    for start in range(0, 110, 10):
        await asyncio.gather(*(client.upload(b"Text %d" % number) for number in range(start, start + 10)))
    assert (await client.list(collection_ids=["c"])).total_size == 110


async def test_limits_of_a_tenant_hold_over_its_collections_under_concurrency(client: Client) -> None:
    uploads = (
        client.upload(b"Text %d" % number, collection=f"c{number % 3}", max_tenant_documents=4) for number in range(12)
    )
    outcomes = await asyncio.gather(*uploads, return_exceptions=True)
    refused = [one for one in outcomes if isinstance(one, ResourceExhausted)]
    assert len(refused) == 8
    assert (await client.list()).total_size == 4
    assert {one.reason for one in refused} == {"QUOTA_EXCEEDED"}
    assert "footnote limits set" in refused[0].metadata["hint"]
    assert "--documents" in refused[0].metadata["hint"]
    assert set(refused[0].metadata) == {"quota", "limit", "hint"}, "what hidden collections hold is not told"


async def test_bytes_of_a_tenant_hold_under_concurrency(client: Client) -> None:
    uploads = (client.upload(b"%03d " % number * 25, f"{number}.txt", max_tenant_bytes=450) for number in range(10))
    outcomes = await asyncio.gather(*uploads, return_exceptions=True)
    assert sum(isinstance(one, ResourceExhausted) for one in outcomes) == 6
    listed = await client.list()
    assert sum(document.size_bytes for document in listed.documents) == 400
    # A longer file in the place of another counts by what it is longer.
    document = listed.documents[0]
    fits = await client.replace(document.id, b"x " * 75, max_tenant_bytes=450)
    assert fits.document.size_bytes == 150
    with pytest.raises(ResourceExhausted, match="450 allowed") as full:
        await client.replace(document.id, b"y " * 76, max_tenant_bytes=450)
    assert "450" not in full.value.message.replace("the 450 allowed", ""), "what is used is not told"
    # A shorter one is always taken, and what is deleted makes room.
    assert (await client.replace(document.id, b"z " * 10, max_tenant_bytes=100)).document.size_bytes == 20
    await client.delete(document.id)
    await client.upload(b"w " * 70, "w.txt", max_tenant_bytes=450)


async def test_refusal_says_what_to_raise(client: Client) -> None:
    await client.upload(TEXT, max_documents=1)
    with pytest.raises(ResourceExhausted) as caught:
        await client.upload(b"One more.", max_documents=1)
    assert "footnote collections update NAME --set max_documents=" in caught.value.metadata["hint"]
    assert caught.value.metadata["limit"] == "1"


async def test_list_pages_and_filters(client: Client) -> None:
    for number in range(7):
        await client.upload(b"Text %d" % number, f"Ärger_{number}%.txt", collection="ab"[number % 2])
    seen: list[str] = []
    token = ""
    while True:
        page = await client.list(page_size=3, page_token=token)
        assert page.total_size == 7
        seen += [document.filename for document in page.documents]
        if not (token := page.next_page_token):
            break
    assert seen == [f"Ärger_{number}%.txt" for number in reversed(range(7))]
    assert (await client.list(collection_ids=["b"])).total_size == 3
    assert (await client.list(filename_contains="äRGER_3%")).total_size == 1
    assert (await client.list(filename_contains="_%_")).total_size == 0
    assert (await client.list(states=[ERROR])).total_size == 0
    client.scope.tenant_id = "someone-else"
    assert (await client.list()).total_size == 0
    client.scope.roles[:] = [ROLE_ADMIN]
    with pytest.raises(PermissionDenied):
        await client.list(all_tenants=True)
    client.scope.roles.append(ROLE_SYSTEM)
    assert (await client.list(all_tenants=True)).total_size >= 7


async def test_life_cycle(client: Client) -> None:
    document = (await client.upload(TEXT)).document
    with pytest.raises(FailedPrecondition) as caught:
        await client.move(document.id, INDEXED, chunks_expected=1, chunks_stored=1)
    assert caught.value.reason == "ILLEGAL_STATE"
    moved = await client.move(document.id, PROCESSING, revision=1, waiting_reason=WAITING)
    assert (moved.attempts, moved.waiting_reason) == (1, WAITING)
    with pytest.raises(Aborted):
        await client.move(document.id, ERROR, etag=document.etag, failure=Failure(message="no"))
    with pytest.raises(FailedPrecondition):
        await client.move(document.id, INDEXED, chunks_expected=3, chunks_stored=2)
    failure = Failure(reason=FailureReason.FAILURE_REASON_TIMEOUT, message="too slow", hint="split it")
    failed = await client.move(document.id, ERROR, failure=failure)
    assert failed.failure == failure
    moved = await client.move(document.id, PROCESSING)
    assert moved.attempts == 2
    assert not moved.HasField("failure")
    done = await client.move(
        document.id, INDEXED, chunks_expected=3, chunks_stored=3, chunking_strategy=CHUNKING_STRATEGY_PARAGRAPH
    )
    assert (done.indexed_revision, done.chunks_stored, done.waiting_reason) == (1, 3, 0)
    assert done.HasField("index_time")
    assert await client.move(document.id, INDEXED, chunks_expected=3, chunks_stored=3) == done  # said again
    with pytest.raises(FailedPrecondition):
        await client.move(document.id, PROCESSING)
    again = await client.move(document.id, PROCESSING, new_revision=True, revision=1)
    assert (again.revision, again.indexed_revision, again.attempts, again.chunks_stored) == (2, 1, 1, 0)
    with pytest.raises(Aborted):
        await client.move(document.id, INDEXED, revision=1, chunks_expected=3, chunks_stored=3)


async def test_replace(client: Client) -> None:
    old = b"<h1>Old</h1><p>Some text.</p>"
    document = (await client.upload(old, "old.html")).document
    await client.parse(document.id)
    assert len(await stored(client)) == 2
    for name in ("", "old.html"):
        assert (await client.replace(document.id, old, name)).unchanged
    assert await client.get(document.id) == document
    with pytest.raises(Aborted):
        await client.replace(document.id, b"Other text.", etag="stale")
    data = b"<h1>New</h1><p>Other text.</p>"
    done = await client.replace(document.id, data, "new.html", document.etag)
    assert (done.document.revision, done.document.state) == (2, UPLOADED)
    assert (done.document.document_type, done.document.filename) == ("html", "new.html")
    assert (await client.download(document.id))[1] == data
    assert [block.text for block in (await client.parse(document.id))[0]] == ["New", "Other text."]
    assert len(await stored(client)) == 2  # the file and its blocks
    named = await client.replace(document.id, data, "newer.html")
    assert (named.unchanged, named.document.revision, named.document.filename) == (False, 3, "newer.html")
    with pytest.raises(FootnoteError):
        await client.replace("unknown", b"x")


async def test_state_survives_restart(tmp_path: Path) -> None:
    async with serve_app(build, data_dir=tmp_path) as served:
        document = (await Client(served).upload(TEXT)).document
    async with serve_app(build, data_dir=tmp_path) as served:
        client = Client(served)
        assert await client.get(document.id) == document
        assert len((await client.parse(document.id))[0]) == 3


async def changes(client: Client, since: Any = None, collection: str = "c") -> pb.ListDocumentChangesResponse:
    """Return everything that has changed, put together."""
    whole = pb.ListDocumentChangesResponse()
    request = pb.ListDocumentChangesRequest(scope=client.scope, collection_id=collection, since=since)
    async for part in client.stub.ListDocumentChanges(request):
        whole.MergeFrom(part)
    return whole


async def test_changes_tell_every_write_and_every_deletion_once_asked_from_the_last_answer(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes_module, "OVERLAP_MICROS", 500_000)
    ids = [(await client.upload(f"file {number}".encode())).document.id for number in range(105)]
    first = await changes(client)
    assert sorted(one.id for one in first.documents) == sorted(ids)
    assert not first.deleted
    assert first.HasField("until")

    await asyncio.sleep(0.6)  # what the overlap repeats is over
    quiet = await changes(client, (await changes(client)).until)
    assert not quiet.documents

    await client.move(ids[7], PROCESSING)
    await client.delete(ids[8])
    await client.delete(ids[8])
    after = await changes(client, quiet.until)
    assert [one.id for one in after.documents] == [ids[7]]
    assert list(after.deleted) == [ids[8]]
    assert not (await changes(client, quiet.until, "another")).deleted


async def test_changes_of_a_forgotten_time_are_refused(client: Client) -> None:
    with pytest.raises(FailedPrecondition) as caught:
        await changes(client, Timestamp(seconds=1))
    assert caught.value.reason == "WATCH_EXPIRED"


async def test_changes_since_before_the_clock_was_set_back_are_refused_and_not_missed(
    client: Client,
) -> None:
    true = changes_module.now_micros
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(changes_module, "now_micros", lambda: true() + 3_600_000_000)
        last = await changes(client)
    await client.upload(b"It is dated before the last answer.")
    with pytest.raises(FailedPrecondition, match="set back") as caught:
        await changes(client, last.until)
    assert caught.value.reason == "WATCH_EXPIRED"
    assert len((await changes(client)).documents) == 1


async def test_parsing_says_how_many_pages_are_read_of_how_many(client: Client) -> None:
    document = pdfium.PdfDocument.new()
    for _ in range(40):
        document.new_page(200, 200)
    buffer = io.BytesIO()
    document.save(buffer)
    uploaded = (await client.upload(buffer.getvalue(), "blank.pdf")).document
    told = []
    request = pb.ParseDocumentRequest(scope=client.scope, document_id=uploaded.id)

    async def read() -> None:
        async for part in client.stub.ParseDocument(request):
            told.append((part.pages.read, part.pages.total))

    with pytest.raises(FootnoteError, match="blank"):
        await read()
    assert told
    # An attempt that a busy machine has not let finish is made again, from the first page.
    assert all(later > earlier or later == told[0] for earlier, later in itertools.pairwise(told))
    assert {total for _, total in told} == {40}


async def test_progress_of_pages_is_not_kept_with_the_blocks(client: Client) -> None:
    deck = pptx.Presentation()
    for number in range(3):
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        slide.shapes.title.text = f"Slide {number}"
    buffer = io.BytesIO()
    deck.save(buffer)
    uploaded = (await client.upload(buffer.getvalue(), "deck.pptx")).document
    request = pb.ParseDocumentRequest(scope=client.scope, document_id=uploaded.id)
    first = [part async for part in client.stub.ParseDocument(request)]
    again = [part async for part in client.stub.ParseDocument(request)]
    counts = [(part.pages.read, part.pages.total) for part in first if part.HasField("pages")]
    assert counts[-1] == (3, 3)
    assert [part for part in first if not part.HasField("pages")] == again


async def edit(client: Client, document_id: str, *paths: str, etag: str = "", **values: Any) -> Any:
    request = pb.UpdateDocumentRequest(scope=client.scope, document_id=document_id)
    request.resource.MergeFrom(Document(**values, etag=etag))
    request.update_mask.paths.extend(paths)
    return (await client.stub.UpdateDocument(request)).document


async def test_what_the_uploader_said_can_be_changed(client: Client) -> None:
    document = (await client.upload(b"to be edited", tags=["a"], metadata={"x": 1})).document
    changed = await edit(client, document.id, "tags", tags=["b", " c ", "b"], metadata={"y": 2})
    assert list(changed.tags) == ["b", "c"]
    assert dict(changed.metadata) == {"x": 1}
    assert changed.etag != document.etag
    assert (await edit(client, document.id, "tags", tags=["b", "c"])).etag == changed.etag
    assert not (await edit(client, document.id, "metadata")).HasField("metadata")
    assert await client.get(document.id) == (await client.list(collection_ids=["c"])).documents[0]
    with pytest.raises(Aborted):
        await edit(client, document.id, "tags", etag=document.etag)
    past = Timestamp(seconds=1)
    for paths, values in (
        ([], {}),
        (["state"], {}),
        (["expire_time"], {"expire_time": past}),
        (["tags"], {"tags": [""]}),
        (["metadata"], {"metadata": {"parts": [f"p{number}" for number in range(2000)]}}),
    ):
        with pytest.raises(InvalidArgument):
            await edit(client, document.id, *paths, **values)


async def test_a_repeated_request_gets_the_first_answer_and_no_other_content(client: Client) -> None:
    said = {"request_id": "r-1", "tags": ["a"]}
    first = await client.upload(b"by request", allow_duplicate=True, **said)
    again = await client.upload(b"by request", allow_duplicate=True, **said)
    assert (again.document.id, again.duplicate) == (first.document.id, False)
    assert (await client.list()).total_size == 1
    for data, more in ((b"other", said), (b"by request", {**said, "tags": ["b"]})):
        with pytest.raises(InvalidArgument) as caught:
            await client.upload(data, allow_duplicate=True, **more)
        assert caught.value.reason == "REQUEST_ID_REUSED"
    other = Client.__new__(Client)
    other.stub, other.data_dir = client.stub, client.data_dir
    other.scope = Scope(tenant_id=client.scope.tenant_id, user_id="another", roles=[ROLE_SYSTEM])
    assert (await other.upload(b"other", **said)).document.id != first.document.id
    await client.delete(first.document.id)
    with pytest.raises(NotFound):
        await client.upload(b"by request", allow_duplicate=True, **said)


async def replace_again(client: Client, document_id: str, data: bytes, **said: Any) -> pb.ReplaceDocumentResponse:
    head = pb.ReplaceMetadata(document_id=document_id, **said)
    parts = [pb.ReplaceDocumentRequest(scope=client.scope, metadata=head), pb.ReplaceDocumentRequest(data=data)]
    response: pb.ReplaceDocumentResponse = await client.stub.ReplaceDocument(iter(parts))
    return response


async def test_a_repeated_replacement_gets_the_first_answer_and_no_other_content(client: Client) -> None:
    document = (await client.upload(b"first")).document
    said = {"request_id": "replace-1", "etag": document.etag}
    first = await replace_again(client, document.id, b"second", **said)
    # Its etag is no longer the current one: the answer is the first call's, not a conflict.
    again = await replace_again(client, document.id, b"second", **said)
    assert (again.document.revision, again.unchanged) == (first.document.revision, False) == (2, False)
    await replace_again(client, document.id, b"third", request_id="replace-2")
    late = await replace_again(client, document.id, b"second", **said)
    assert (late.document.revision, late.unchanged) == (3, False), "the document as it is by then"
    for data, more in ((b"other", {}), (b"second", {"filename": "b.txt"})):
        with pytest.raises(InvalidArgument) as caught:
            await replace_again(client, document.id, data, **said, **more)
        assert caught.value.reason == "REQUEST_ID_REUSED"
    same = {"request_id": "replace-3"}
    for _ in range(2):
        assert (await replace_again(client, document.id, b"third", **same)).unchanged
    await replace_again(client, document.id, b"fourth")
    assert (await replace_again(client, document.id, b"third", **same)).unchanged, "nothing is put back"
    assert (await client.get(document.id)).revision == 4


async def test_bytes_that_are_not_those_announced_are_refused(client: Client) -> None:
    data = b"announced"
    digest = hashlib.sha256(data).hexdigest()
    for wrong in ({"size_bytes": 8}, {"size_bytes": 0}, {"sha256": "0" * 64}):
        with pytest.raises(InvalidArgument) as caught:
            await client.upload(data, **wrong)
        assert caught.value.reason == "TRANSFER_CORRUPT"
        assert caught.value.metadata["sha256"] == digest
    with pytest.raises(InvalidArgument) as caught:
        await client.upload(data, size_bytes=2**40)
    assert caught.value.reason == "FILE_TOO_LARGE"
    for bad in ({"size_bytes": -1}, {"sha256": "xyz"}, {"request_id": "x" * 65}, {"request_id": "\n"}):
        with pytest.raises(InvalidArgument):
            await client.upload(data, **bad)
    assert not await stored(client)
    assert (await client.upload(data, size_bytes=len(data), sha256=digest.upper())).document.size_bytes == len(data)


async def test_what_a_duplicate_says_is_added_or_refused(client: Client) -> None:
    first = (await client.upload(b"twice", tags=["a"], metadata={"x": 1})).document
    same = await client.upload(b"twice", tags=["a"], metadata={"x": 1})
    assert (same.duplicate, same.merged, same.document.etag) == (True, False, first.etag)
    more = await client.upload(b"twice", tags=["b", "a"], metadata={"y": 2})
    assert (more.duplicate, more.merged, more.document.id) == (True, True, first.id)
    assert (list(more.document.tags), dict(more.document.metadata)) == (["a", "b"], {"x": 1, "y": 2})
    with pytest.raises(InvalidArgument, match=r"metadata\.x"):
        await client.upload(b"twice", tags=["c"], metadata={"x": 3})
    assert list((await client.get(first.id)).tags) == ["a", "b"]


async def test_what_duplicates_say_is_at_most_what_one_document_may_have(client: Client) -> None:
    """More was stored, refused by the chunks, and every later reindex ended in ERROR."""
    first = (
        await client.upload(b"often", tags=[f"a{one}" for one in range(60)], metadata={"a": "x" * 40_000})
    ).document
    with pytest.raises(InvalidArgument, match=r"metadata\.tags"):
        await client.upload(b"often", tags=[f"b{one}" for one in range(60)])
    with pytest.raises(InvalidArgument, match=r"metadata\.metadata .*same bytes"):
        await client.upload(b"often", metadata={"b": "x" * 40_000})
    assert await client.get(first.id) == first
    assert (await client.upload(b"often", tags=["c"], metadata={"a": "x" * 40_000, "c": 1})).merged
