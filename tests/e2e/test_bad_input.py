"""Bad input: each kind gets a typed error with a hint; the service keeps running; nothing is half stored."""

import zlib

import pytest
from footnote.edge.v1 import answers_pb2 as pb
from footnote.retrieval.v1.retrieval_service_pb2 import RetrieveRequest
from footnote.retrieval.v1.retrieval_service_pb2_grpc import RetrievalServiceStub
from footnote.types.v1 import document_pb2 as doc
from footnote_kit.errors import FootnoteError, InvalidArgument, NotFound, Unauthenticated
from footnote_kit.testing import stage_channel
from support.deployment import Deployment
from support.edge_client import EdgeClient

pytestmark = pytest.mark.slow

LIMIT = 10 * 1024 * 1024
PDF_HEAD = b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"


@pytest.mark.parametrize(
    ("content", "filename", "reason"),
    [
        (b"", "empty.txt", "FILE_EMPTY"),
        (b"\x7fELF\x02\x01\x01" + bytes(200), "program.txt", "FILE_UNSUPPORTED"),
        (zlib.compress(b"x" * 100), "data.bin", "FILE_UNSUPPORTED"),
        (b"a" * (LIMIT + 1), "large.txt", "FILE_TOO_LARGE"),
        (PDF_HEAD, "half.pdf", "FILE_CORRUPT"),
    ],
)
async def test_a_file_that_cannot_be_taken_is_refused_and_not_stored(
    edge: EdgeClient, content: bytes, filename: str, reason: str
) -> None:
    before = len(await edge.documents())
    with pytest.raises(InvalidArgument) as caught:
        await edge.upload(content, filename)
    assert caught.value.reason == reason
    assert caught.value.metadata["hint"]
    assert len(await edge.documents()) == before


async def test_a_missing_collection_says_what_to_do(edge: EdgeClient) -> None:
    with pytest.raises(NotFound) as caught:
        await edge.upload(b"text", collection="nowhere")
    assert caught.value.reason == "COLLECTION_NOT_FOUND"
    assert "Create it" in caught.value.message
    with pytest.raises(NotFound):
        await edge.ask("anything ?", collections=["nowhere"])


@pytest.mark.parametrize("question", ["", "   ", "\n", "x" * 8001])
async def test_an_empty_or_endless_question_is_refused(edge: EdgeClient, question: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        await edge.ask(question)
    assert caught.value.violations[0].field == "question"


async def test_a_stage_refuses_a_call_without_scope(running: Deployment) -> None:
    async with stage_channel(running.address("retrieval"), "retrieval", running.credential()) as channel:
        with pytest.raises(Unauthenticated) as caught:
            await RetrievalServiceStub(channel).Retrieve(RetrieveRequest(query="x"))
    assert caught.value.reason == "SCOPE_MISSING"


async def test_the_service_goes_on_after_all_of_it(edge: EdgeClient) -> None:
    for content in (b"", b"\x7fELF" + bytes(50), PDF_HEAD):
        try:
            await edge.upload(content, "bad.pdf")
        except FootnoteError:
            continue
    document = await edge.put(b"The lighthouse keeper counts ships.", "good.txt")
    assert document.state == doc.DOCUMENT_STATE_INDEXED
    found = await edge.stub.Search(pb.SearchRequest(query="lighthouse keeper"))
    assert found.chunks[0].chunk.document_id == document.id
