"""Many small files by one call, at the whole deployment: stored, searched, refused and cancelled one by one."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from footnote.edge.v1 import documents_pb2 as pb
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.documents_pb2 import CancelDocumentRequest, DeleteDocumentRequest, ListDocumentsRequest
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DOCUMENT_STATE_INDEXED
from footnote_kit.errors import FailedPrecondition, FootnoteError, InvalidArgument, NotFound
from footnote_kit.status import from_proto
from support.deployment import Deployment
from support.edge_client import EdgeClient

Named = tuple[str, bytes]


def messages(files: Sequence[Named], collection: str, **more: Any) -> Iterator[pb.UploadDocumentsRequest]:
    for name, data in files:
        metadata = pb.UploadMetadata(collection=collection, filename=name, **more)
        yield pb.UploadDocumentsRequest(metadata=metadata, data=data)


async def upload(edge: EdgeClient, files: Sequence[Named], collection: str, **more: Any) -> list[Any]:
    """Upload files; return the response or the error of each."""
    answer = await edge.stub.UploadDocuments(messages(files, collection, **more), timeout=60)
    return [one.stored if one.HasField("stored") else from_proto(one.error) for one in answer.files]


@pytest.fixture
async def collection(edge: EdgeClient) -> str:
    """A new collection."""
    name = f"group-{uuid4().hex[:8]}"
    await edge.stub.CreateCollection(CreateCollectionRequest(collection=Collection(name=name)))
    return name


async def settled(edge: EdgeClient, collection: str) -> dict[str, pb.Document]:
    """Return a collection's documents by name once all have ended."""
    request = pb.WatchDocumentsRequest(collection=collection, until_idle=True)
    async for _ in edge.stub.WatchDocuments(request, timeout=120):
        pass
    listed = await edge.stub.ListDocuments(ListDocumentsRequest(collection=collection, page_size=1000), timeout=30)
    return {one.filename: one for one in listed.documents}


async def test_files_of_one_call_are_searched_and_a_bad_one_fails_alone(edge: EdgeClient, collection: str) -> None:
    word = uuid4().hex[:10]
    files = [(f"{number}.md", f"# Note {number}\n\nWord{number}{word} stands here.".encode()) for number in range(60)]
    files.insert(30, ("bad.pdf", b"%PDF-1.7 and nothing of it"))
    files.insert(40, ("empty.txt", b""))
    outcomes = await upload(edge, files, collection)
    errors = {files[n][0]: one.reason for n, one in enumerate(outcomes) if isinstance(one, FootnoteError)}
    assert errors == {"bad.pdf": "FILE_CORRUPT", "empty.txt": "FILE_EMPTY"}
    documents = await settled(edge, collection)
    assert {one.state for one in documents.values()} == {DOCUMENT_STATE_INDEXED}
    assert len(documents) == 60
    for number in (0, 29, 59):
        request = SearchRequest(query=f"Word{number}{word}", collections=[collection])
        found = await edge.stub.Search(request, timeout=30)
        assert found.chunks[0].chunk.filename == f"{number}.md"
    again = await upload(edge, files[:3], collection)
    assert [one.duplicate for one in again] == [True] * 3
    assert [one.document.id for one in again] == [one.document.id for one in outcomes[:3]]


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("filename", {"filename": ""}),
        ("filename", {"filename": "n" * 1100}),
        ("tags[1]", {"tags": ["fits", "x" * 300]}),
        ("tags", {"tags": ["x"] * 1001}),
        ("metadata.share", {"metadata": {"share": math.nan}}),
        ("metadata", {"metadata": {"long": "x" * 300_000}}),
        ("source_type", {"source_type": "s" * 300}),
        ("request_id", {"request_id": "r" * 70}),
        ("sha256", {"sha256": "a" * 70}),
        ("ttl", {"ttl": {"seconds": 2**62}}),
    ],
)
async def test_a_bad_field_refuses_its_file_alone(
    edge: EdgeClient, collection: str, field: str, bad: dict[str, Any]
) -> None:
    wrong = pb.UploadMetadata(**{"collection": collection, "filename": "wrong.txt", **bad})
    parts = [
        *messages([("a.txt", b"A.")], collection),
        pb.UploadDocumentsRequest(metadata=wrong, data=b"Wrong"),
        pb.UploadDocumentsRequest(data=b" in two parts."),
        *messages([("b.txt", b"B.")], collection),
    ]
    answer = await edge.stub.UploadDocuments(iter(parts), timeout=30)
    first, refused, last = answer.files
    assert (first.stored.document.filename, last.stored.document.filename) == ("a.txt", "b.txt")
    error = from_proto(refused.error)
    assert (error.reason, error.violations[0].field) == ("INVALID_FIELD", f"metadata.{field}")


async def test_a_call_over_its_limits_stores_nothing(edge: EdgeClient, collection: str) -> None:
    for files in (
        [(f"{n}.txt", b"Text %d." % n) for n in range(65)],
        [(f"{n}.txt", b"x" * 2**18) for n in range(17)],
    ):
        with pytest.raises(InvalidArgument):
            await upload(edge, files, collection)
    with pytest.raises(InvalidArgument):
        await edge.stub.UploadDocuments(iter([pb.UploadDocumentsRequest(data=b"first")]), timeout=30)
    two = [*messages([("a.txt", b"A.")], collection), *messages([("b.txt", b"B.")], "default")]
    with pytest.raises(InvalidArgument):
        await edge.stub.UploadDocuments(iter(two), timeout=30)
    with pytest.raises(NotFound):
        await upload(edge, [("a.txt", b"A.")], "not-there")
    with pytest.raises(InvalidArgument, match="collection"):
        await upload(edge, [("a.txt", b"A.")], "c" * 300)
    assert await settled(edge, collection) == {}


async def test_a_repeated_call_gets_its_first_answers(edge: EdgeClient, collection: str) -> None:
    ids = [uuid4().hex for _ in range(5)]
    sent = [
        message
        for number, one in enumerate(ids)
        for message in messages([(f"{number}.txt", f"Text {number} {one}".encode())], collection, request_id=one)
    ]
    first = await edge.stub.UploadDocuments(iter(sent), timeout=30)
    again = await edge.stub.UploadDocuments(iter(sent), timeout=30)
    assert [one.stored.document.id for one in again.files] == [one.stored.document.id for one in first.files]
    assert not any(one.stored.duplicate for one in again.files)
    assert len(await settled(edge, collection)) == 5


async def test_a_file_in_parts_is_put_together(edge: EdgeClient, collection: str) -> None:
    data = b"".join(b"Line %d of a file in parts.\n" % n for n in range(20_000))
    first = pb.UploadMetadata(collection=collection, filename="long.txt", size_bytes=len(data))
    parts = [pb.UploadDocumentsRequest(metadata=first)]
    parts += [pb.UploadDocumentsRequest(data=data[start : start + 2**17]) for start in range(0, len(data), 2**17)]
    parts += messages([("short.txt", b"After it.")], "")
    answer = await edge.stub.UploadDocuments(iter(parts), timeout=30)
    assert [one.stored.document.size_bytes for one in answer.files] == [len(data), len(b"After it.")]
    assert set(await settled(edge, collection)) == {"long.txt", "short.txt"}


async def test_documents_are_deleted_and_cancelled_amid_their_group(edge: EdgeClient, collection: str) -> None:
    files = [(f"{number}.txt", f"Text {number} of {collection}.".encode()) for number in range(64)]
    outcomes = await upload(edge, files, collection)
    ids = [one.document.id for one in outcomes]

    async def cancel(document_id: str) -> bool:
        try:
            await edge.stub.CancelDocument(CancelDocumentRequest(document_id=document_id), timeout=30)
        except FailedPrecondition:  # it was searchable already
            return False
        return True

    deleting = [edge.stub.DeleteDocument(DeleteDocumentRequest(document_id=one), timeout=30) for one in ids[::8]]
    cancelled, _ = await asyncio.gather(asyncio.gather(*(cancel(one) for one in ids[1::8])), asyncio.gather(*deleting))
    documents = {one.id: one for one in (await settled(edge, collection)).values()}
    assert set(documents) == set(ids) - set(ids[::8])
    for document_id, was in zip(ids[1::8], cancelled, strict=True):
        assert documents[document_id].state == (DOCUMENT_STATE_ERROR if was else DOCUMENT_STATE_INDEXED)
    rest = [one.state for one in documents.values() if one.id not in ids[1::8]]
    assert set(rest) == {DOCUMENT_STATE_INDEXED}
    found = await edge.stub.Search(SearchRequest(query=f"Text of {collection}", collections=[collection]), timeout=30)
    assert not {one.chunk.document_id for one in found.chunks} & set(ids[::8])


async def test_a_form_with_several_files(running: Deployment, edge: EdgeClient, collection: str) -> None:
    files = [("file", (f"{number}.txt", f"Text {number} of {collection}.".encode())) for number in range(3)]
    files.append(("file", ("empty.txt", b"")))
    files.append(("file", ("", b"")))  # as a browser sends a field without a file
    fields = {"collection": collection, "tags": "a,b"}
    async with httpx2.AsyncClient(base_url=f"http://{running.address('http')}", timeout=60) as http:
        answer = await http.post("/v1/documents:upload", data=fields, files=files)
        assert answer.status_code == 200, answer.text
        ends = answer.json()["files"]
        assert [one["stored"]["document"]["filename"] for one in ends[:3]] == ["0.txt", "1.txt", "2.txt"]
        assert [one["error"]["details"][0]["reason"] for one in ends[3:]] == ["FILE_EMPTY", "INVALID_FIELD"]
        too_many = await http.post("/v1/documents:upload", data={**fields, "filename": "x"}, files=files)
        assert too_many.status_code == 400
    assert [list(one.tags) for one in (await settled(edge, collection)).values()] == [["a", "b"]] * 3


async def test_a_form_may_be_as_large_as_a_call(running: Deployment, collection: str) -> None:
    program = b"MZ" + bytes(2**18 - 2)
    async with httpx2.AsyncClient(base_url=f"http://{running.address('http')}", timeout=60) as http:
        for count, status in ((15, 200), (17, 400)):
            files = [("file", (f"{number}.exe", program)) for number in range(count)]
            answer = await http.post("/v1/documents:upload", data={"collection": collection}, files=files)
            assert answer.status_code == status, answer.text
            if status == 200:
                reasons = {one["error"]["details"][0]["reason"] for one in answer.json()["files"]}
                assert reasons == {"FILE_UNSUPPORTED"}
