"""Edge with foreign stages, which serve the contracts but none of the internal services."""

from collections.abc import AsyncIterator, Iterator

import pytest
from footnote.edge.v1.documents_pb2 import (
    DeleteDocumentRequest,
    Document,
    GetDocumentRequest,
    UploadDocumentRequest,
    UploadMetadata,
    WatchDocumentRequest,
)
from footnote.edge.v1.tables_pb2 import GetTableRequest, ListTablesRequest, QueryTablesRequest
from footnote_edge.app import build
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import Aborted, InvalidArgument, NotFound
from footnote_kit.testing import serve_app
from support.doubles.stages import World, serve_doubles


@pytest.fixture(params=[(), ("ingestion", "indexing")], ids=["own", "foreign"])
async def edge(request: pytest.FixtureRequest, world: World) -> AsyncIterator[EdgeStub]:
    """A stub of edge with our stages, then with foreign stages."""
    doubles = serve_doubles(world, foreign=request.param)
    async with doubles as addresses, serve_app(build, addresses=addresses) as served:
        yield EdgeStub(served.channel)


async def uploaded(edge: EdgeStub, text: bytes) -> Document:
    def parts() -> Iterator[UploadDocumentRequest]:
        yield UploadDocumentRequest(metadata=UploadMetadata(collection="default", filename="a.txt"))
        yield UploadDocumentRequest(data=text)

    document: Document = (await edge.UploadDocument(parts())).document
    async for event in edge.WatchDocument(WatchDocumentRequest(document_id=document.id), timeout=30):
        document = event.document
    return document


async def test_a_document_is_deleted_with_its_chunks(edge: EdgeStub, world: World) -> None:
    document = await uploaded(edge, b"one line\nanother line")
    assert document.id in world.chunks
    await edge.DeleteDocument(DeleteDocumentRequest(document_id=document.id, etag=document.etag))
    assert document.id not in {*world.documents, *world.deleting, *world.chunks, *world.blobs}
    with pytest.raises(NotFound):
        await edge.GetDocument(GetDocumentRequest(document_id=document.id))
    with pytest.raises(NotFound):
        await edge.DeleteDocument(DeleteDocumentRequest(document_id=document.id))


async def test_a_stage_without_tables_has_none(edge: EdgeStub) -> None:
    document = await uploaded(edge, b"one line")
    listed = await edge.ListTables(ListTablesRequest(document_id=document.id))
    assert (list(listed.tables), listed.total_size, listed.next_page_token) == ([], 0, "")
    with pytest.raises(NotFound) as missing:
        await edge.GetTable(GetTableRequest(document_id=document.id, number=1))
    assert missing.value.reason == "TABLE_NOT_FOUND"
    with pytest.raises(InvalidArgument, match="must name a document that has tables"):
        await edge.QueryTables(QueryTablesRequest(document_ids=[document.id], query="SELECT 1"))
    with pytest.raises(NotFound) as missing:
        await edge.ListTables(ListTablesRequest(document_id="0" * 32))
    assert missing.value.reason == "DOCUMENT_NOT_FOUND"


async def test_a_deletion_of_a_state_that_is_past_is_refused(edge: EdgeStub, world: World) -> None:
    document = await uploaded(edge, b"one line")
    with pytest.raises(Aborted) as caught:
        await edge.DeleteDocument(DeleteDocumentRequest(document_id=document.id, etag="another"))
    assert caught.value.reason == "CONFLICT"
    assert document.id in world.documents
    assert document.id in world.chunks
