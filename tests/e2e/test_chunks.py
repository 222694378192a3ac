"""A document's chunks and one chunk, by gRPC and over HTTP, and the public document beside them."""

import json
from uuid import uuid4

import httpx2
import pytest
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, UpdateCollectionRequest
from footnote.edge.v1.documents_pb2 import GetChunkRequest, GetDocumentRequest, ListChunksRequest
from footnote.types.v1 import collection_pb2 as col
from footnote.types.v1 import document_pb2 as doc
from footnote_kit.errors import NotFound
from support.deployment import Deployment
from support.edge_client import EdgeClient

TEXT = "\n\n".join(f"# Part {n}\n\nThe crane number {n} lifts {n} tons and stands in hall {n}." for n in range(1, 9))


async def test_chunks_are_the_same_by_grpc_and_over_http(edge: EdgeClient, running: Deployment) -> None:
    name = f"cranes-{uuid4().hex[:8]}"
    made = (await edge.stub.CreateCollection(CreateCollectionRequest(collection=col.Collection(name=name)))).collection
    document = await edge.put(TEXT.encode(), "cranes.md", collection=name)
    assert (document.collection, document.collection_id) == (name, made.id)
    assert document.chunking_strategy == col.CHUNKING_STRATEGY_HEADING_SECTION
    assert document.chunking_choice == doc.CHUNKING_CHOICE_HEADINGS_FOUND
    page = await edge.stub.ListChunks(ListChunksRequest(document_id=document.id))
    assert (page.total_size, page.revision) == (len(page.chunks), 1) == (document.chunk_count, 1)
    where = json.dumps({"chunking_strategy": "HEADING_SECTION", "sha256": document.sha256})
    found = await edge.stub.Search(SearchRequest(query="crane hall", collections=[name], filter={"json": where}))
    assert {one.chunk.id for one in found.chunks} <= {one.id for one in page.chunks}
    assert found.chunks
    async with httpx2.AsyncClient(base_url=f"http://{running.address('http')}", timeout=60) as http:
        listed = (await http.get(f"/v1/documents/{document.id}/chunks", params={"page_size": 1})).json()
        assert [one["id"] for one in listed["chunks"]] == [page.chunks[0].id]
        assert listed["chunks"][0]["locator"]["span"]["end"] > 0
        for chunk in page.chunks:
            assert (await edge.stub.GetChunk(GetChunkRequest(chunk_id=chunk.id))).chunk == chunk
            shown = (await http.get(f"/v1/chunks/{chunk.id}")).json()["chunk"]
            assert (shown["text"], shown["chunking_strategy"]) == (chunk.text, "CHUNKING_STRATEGY_HEADING_SECTION")
        absent = await http.get("/v1/chunks/none:000001:0000000")
        assert absent.status_code == 404
        assert "CHUNK_NOT_FOUND" in absent.text
    with pytest.raises(NotFound) as caught:
        await edge.stub.ListChunks(ListChunksRequest(document_id="none"))
    assert caught.value.reason == "DOCUMENT_NOT_FOUND"


async def test_a_document_tells_the_new_name_of_its_collection_at_once(edge: EdgeClient) -> None:
    name = f"old-{uuid4().hex[:8]}"
    await edge.stub.CreateCollection(CreateCollectionRequest(collection=col.Collection(name=name)))
    document = await edge.put(b"The heron waits.", collection=name)
    assert document.collection == name
    change = UpdateCollectionRequest(collection=name, resource=col.Collection(name=f"new-{name}"))
    change.update_mask.paths.append("name")
    await edge.stub.UpdateCollection(change)
    again = await edge.stub.GetDocument(GetDocumentRequest(document_id=document.id))
    assert again.document.collection == f"new-{name}"
