"""Chunks read one by one and page by page at the indexing stage, with a real vector engine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from footnote.indexing.v1 import indexing_service_pb2 as pb
from footnote.stages.v1 import scope_pb2
from footnote.stages.v1.passage_pb2 import Chunk
from footnote.types.v1 import collection_pb2, role_pb2
from footnote.types.v1.vector_pb2 import VectorRow
from footnote_indexing.adapters import ledger_reading
from footnote_indexing.app import build
from footnote_kit.errors import Aborted, FootnoteError, InvalidArgument, NotFound
from footnote_kit.testing import serve_app
from support.blocks import article, text_of
from support.indexing import Client


@pytest.fixture
async def client(uri: str) -> AsyncIterator[Client]:
    """A client of indexing over the real engine."""
    async with serve_app(build, vector_store_uri=uri) as served:
        yield Client(served.channel)


async def page(client: Client, collection_id: str, document_id: str, **more: Any) -> pb.ListChunksResponse:
    request = pb.ListChunksRequest(scope=client.scope, collection_id=collection_id, document_id=document_id, **more)
    return await client.stub.ListChunks(request)


async def whole(client: Client, collection_id: str, document_id: str, size: int) -> list[Chunk]:
    chunks: list[Chunk] = []
    token = ""
    while True:
        answer = await page(client, collection_id, document_id, page_size=size, page_token=token)
        assert 0 < len(answer.chunks) <= size
        chunks += answer.chunks
        token = answer.next_page_token
        if not token:
            assert answer.total_size == len(chunks)
            return chunks


async def get(client: Client, chunk_id: str) -> Chunk:
    return (await client.stub.GetChunk(pb.GetChunkRequest(scope=client.scope, chunk_id=chunk_id))).chunk


async def refused(call: Any) -> FootnoteError:
    with pytest.raises(FootnoteError) as caught:
        await call
    return caught.value


async def test_pages_of_every_size_are_the_document_in_reading_order(client: Client) -> None:
    made = await client.create("paged")
    blocks = article(7)
    result = await client.index(made.id, "paged-1", blocks)
    text = text_of(blocks)
    all_of_it = await whole(client, made.id, "paged-1", 1000)
    assert len(all_of_it) == result.chunks_stored
    assert [chunk.ordinal for chunk in all_of_it] == list(range(len(all_of_it)))
    for chunk in all_of_it:
        span = chunk.locator.span
        assert text[span.start : span.end] == chunk.text
        assert (chunk.collection, chunk.collection_id, chunk.revision) == ("paged", made.id, 1)
        assert await get(client, chunk.id) == chunk
    for size in (1, 2, 3, len(all_of_it) - 1, len(all_of_it)):
        assert await whole(client, made.id, "paged-1", size) == all_of_it, size


async def test_a_parent_comes_before_its_children(client: Client) -> None:
    chunking = collection_pb2.ChunkingSettings(parent_child=True)
    made = await client.create("levels", chunking=chunking)
    await client.index(made.id, "levels-1", article(5))
    seen: set[str] = set()
    children = 0
    for chunk in await whole(client, made.id, "levels-1", 3):
        if chunk.parent_id:
            children += 1
            assert chunk.parent_id in seen
        seen.add(chunk.id)
    assert children


async def test_what_is_replaced_or_deleted_is_there_no_more(client: Client) -> None:
    made = await client.create("moving")
    await client.index(made.id, "moving-1", article(3))
    before = await whole(client, made.id, "moving-1", 1000)
    first = await page(client, made.id, "moving-1", page_size=1)
    await client.index(made.id, "moving-1", article(4), revision=2)
    error = await refused(get(client, before[0].id))
    assert (type(error), error.reason) == (NotFound, "CHUNK_NOT_FOUND")
    error = await refused(page(client, made.id, "moving-1", page_token=first.next_page_token))
    assert (type(error), error.reason, error.metadata["revision"]) == (Aborted, "CONFLICT", "2")
    error = await refused(page(client, made.id, "moving-1", revision=1))
    assert (error.reason, error.metadata["indexed_revision"]) == ("CHUNK_NOT_FOUND", "2")
    assert (await page(client, made.id, "moving-1", revision=2)).revision == 2
    now = await whole(client, made.id, "moving-1", 1000)
    await client.stub.DeleteDocumentChunks(
        pb.DeleteDocumentChunksRequest(scope=client.scope, collection_id=made.id, document_id="moving-1")
    )
    assert (await refused(get(client, now[0].id))).reason == "CHUNK_NOT_FOUND"
    gone = await page(client, made.id, "moving-1")
    assert (list(gone.chunks), gone.total_size, gone.revision, gone.next_page_token) == ([], 0, 0, "")


async def test_a_large_collection_is_counted_now_and_then_but_what_is_replaced_is_hidden_at_once(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_reading, "_LARGE", 1)
    made = await client.create("large")
    await client.index(made.id, "one", article(1))
    [first] = (await client.locate("large")).collections
    await client.index(made.id, "one", article(2), revision=2)
    await client.index(made.id, "two", article(1))
    [second] = (await client.locate("large")).collections
    assert second.collection.document_count == first.collection.document_count == 1
    assert (list(first.hidden_revisions), list(second.hidden_revisions)) == ([], ["one:1"])
    assert not (await client.epochs()).epoch, "what is not exact is kept by nobody"
    assert (await client.get("large")).document_count == 2


async def test_a_row_of_own_vectors_is_a_chunk_too(client: Client) -> None:
    made = await client.create("own")
    ids = ["plain", "with/slash:000001:0000000", "it's 100%27", "日本"]
    rows = [VectorRow(id=id_, text=f"Text of {id_}", vector=[1.0] * 384) for id_ in ids]
    await client.stub.AddVectors(pb.AddVectorsRequest(scope=client.scope, collection=made.id, rows=rows))
    for id_ in ids:
        name = f"{made.id}/{id_}".replace("%", "%25").replace("'", "%27")
        chunk = await get(client, f"{name}:000001:0000000")
        assert (chunk.document_id, chunk.text, chunk.collection) == (id_, f"Text of {id_}", "own")


@pytest.mark.parametrize("private", [False, True])
async def test_chunks_of_others_are_as_if_they_were_not(client: Client, private: bool) -> None:
    wanted = collection_pb2.Collection(
        name=f"hidden-{private}",
        visibility=collection_pb2.VISIBILITY_PRIVATE if private else collection_pb2.VISIBILITY_SHARED,
    )
    made = (
        await client.stub.CreateCollection(pb.CreateCollectionRequest(scope=client.scope, collection=wanted))
    ).collection
    await client.index(made.id, f"hidden-{private}-1", article(2))
    chunk = (await whole(client, made.id, f"hidden-{private}-1", 10))[0]
    tenant = client.scope.tenant_id
    strangers = [scope_pb2.Scope(tenant_id="another", user_id=client.scope.user_id, roles=[role_pb2.ROLE_ADMIN])]
    if private:
        strangers.append(scope_pb2.Scope(tenant_id=tenant, user_id="stranger", roles=[role_pb2.ROLE_WRITER]))
    for stranger in strangers:
        other = Client(client.channel, stranger)
        there = await refused(get(other, chunk.id))
        absent = await refused(get(other, chunk.id.replace("hidden", "hiddem")))
        assert (type(there), there.reason) == (type(absent), absent.reason) == (NotFound, "CHUNK_NOT_FOUND")
        assert there.message.replace("hidden", "hiddem") == absent.message
        assert isinstance(await refused(page(other, made.id, f"hidden-{private}-1")), NotFound)


@pytest.mark.parametrize(
    "chunk_id",
    [
        *("x", ":", "::", "a:1:1", "none:000001:0000000", "none:000001:x", "a:00000\u0661:0000000", "a" * 5000),
        *("a\x00:000001:0000000", "' or 1 == 1:000001:0000000", "a:000001:" + "9" * 30),
    ],
)
async def test_ids_that_are_none_are_not_found(client: Client, chunk_id: str) -> None:
    error = await refused(get(client, chunk_id))
    assert (type(error), error.reason) == (NotFound, "CHUNK_NOT_FOUND")


async def test_requests_that_say_nothing_sensible_are_refused(client: Client) -> None:
    made = await client.create("refusing")
    assert isinstance(await refused(get(client, "")), InvalidArgument)
    for wrong in ({"revision": 0}, {"revision": -1}, {"page_size": -1}, {"page_token": "x"}):
        assert isinstance(await refused(page(client, made.id, "d", **wrong)), InvalidArgument), wrong
