"""The indexing service as others see it: over gRPC, with a real vector engine."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator

import pytest
from footnote.indexing.v1 import indexing_service_pb2 as pb
from footnote.types.v1 import collection_pb2, document_pb2, scope_pb2
from footnote_indexing.app import build
from footnote_kit.errors import FailedPrecondition, InvalidArgument, NotFound
from footnote_kit.testing import serve_app
from footnote_store.filters import scope_expr
from footnote_store.store import VectorStore
from support.blocks import article, text_of
from support.engine import running_engine
from support.indexing import Client, requests


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_engine(tmp_path_factory.mktemp("engine")) as address:
        yield address


@pytest.fixture
async def client(uri: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    monkeypatch.setenv("FOOTNOTE_INDEXING_PURGE_GRACE", "0.2")
    monkeypatch.setenv("FOOTNOTE_INDEXING_SWEEP_INTERVAL", "0.2")
    async with serve_app(build, vector_store_uri=uri) as served:
        yield Client(served.channel)


@pytest.fixture
async def store(uri: str) -> AsyncIterator[VectorStore]:
    store = VectorStore(uri)
    yield store
    await store.close()


async def visible(client: Client, store: VectorStore, name: str) -> list[str]:
    """Texts that a search would see, in reading order."""
    [item] = (await client.resolve(name)).collections
    expr = scope_expr("t", [item.collection_key], item.hidden_revisions, time.time())
    return [chunk.text for chunk in await store.query(item.space, expr, 10_000)]


async def test_a_document_becomes_searchable_with_exact_places(client: Client, store: VectorStore) -> None:
    collection = await client.create("exact")
    blocks = article()
    result = await client.index(collection.id, "exact-1", blocks)
    assert result.chunks_expected == result.chunks_stored > 3
    assert result.processing_strategy == "HEADING_SECTION: 5 headings"
    [item] = (await client.resolve("exact")).collections
    assert list(item.languages) == ["en"]
    expr = scope_expr("t", [item.collection_key], item.hidden_revisions, time.time())
    chunks = await store.query(item.space, expr, 1000)
    text = text_of(blocks)
    assert len(chunks) == result.chunks_stored
    for chunk in chunks:
        assert text[chunk.locator.span.start : chunk.locator.span.end] == chunk.text
        assert chunk.title == "Widget handbook"
        assert chunk.locator.lines.first_line >= 1
    assert chunks[-1].locator.heading_path == ["Widget handbook", "Part 3 of the Widget manual"]
    after = await client.get("exact")
    assert (after.document_count, after.chunk_count) == (1, result.chunks_stored)


async def test_repeating_a_revision_stores_nothing_twice(client: Client, store: VectorStore) -> None:
    collection = await client.create("repeat")
    first = await client.index(collection.id, "repeat-1", article())
    again = await client.index(collection.id, "repeat-1", article())
    assert again.chunks_stored == first.chunks_stored
    assert again.embedded == 0
    assert (await client.stats("repeat"))[0].rows == first.chunks_stored


async def test_a_new_revision_replaces_the_old_one_and_the_old_one_goes(client: Client, store: VectorStore) -> None:
    collection = await client.create("replace")
    await client.index(collection.id, "replace-1", article(seed="Old"))
    new = await client.index(collection.id, "replace-1", article(seed="New"), revision=2)
    texts = await visible(client, store, "replace")
    assert len(texts) == new.chunks_stored
    assert not any("Old" in text for text in texts)
    await wait_for_rows(client, "replace", new.chunks_stored)
    with pytest.raises(FailedPrecondition, match="older than 2"):
        await client.index(collection.id, "replace-1", article(seed="Old"), revision=1)


async def wait_for_rows(client: Client, name: str, rows: int, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while (await client.stats(name))[0].rows != rows:
        assert time.monotonic() < deadline, "rows were not purged"


async def test_only_what_changed_is_embedded(client: Client) -> None:
    collection = await client.create("incremental")
    blocks = article(sections=30)
    first = await client.index(collection.id, "incremental-1", blocks)
    assert first.embedded == first.chunks_stored
    changed = article(sections=30)
    changed[40].text = changed[40].text.replace("blue", "cyan")
    second = await client.index(collection.id, "incremental-1", changed, revision=2)
    assert 1 <= second.embedded <= 2
    assert second.unchanged == second.chunks_stored - second.embedded


async def test_the_same_content_in_another_document_comes_from_the_cache(client: Client) -> None:
    collection = await client.create("cached")
    first = await client.index(collection.id, "cached-1", article(seed="Cached"))
    before = (await client.stats("cached"))[1]
    second = await client.index(collection.id, "cached-2", article(seed="Cached"))
    after = (await client.stats("cached"))[1]
    assert (first.embedded, second.embedded) == (first.chunks_stored, 0)
    assert second.cache_hits == second.chunks_stored
    assert after.embedding_calls == before.embedding_calls
    assert after.cache_hits - before.cache_hits == second.chunks_stored


async def test_a_stream_that_breaks_off_leaves_nothing_visible(client: Client, store: VectorStore) -> None:
    collection = await client.create("broken")
    header = [r async for r in requests(client.scope, document("broken-1", collection.id), article(sections=200))]

    async def cut() -> AsyncIterator[pb.IndexDocumentRequest]:
        for request in header[:-1]:
            yield request

    with pytest.raises(InvalidArgument, match="broke off"):
        async for _ in client.stub.IndexDocument(cut(), timeout=30):
            pass
    assert await visible(client, store, "broken") == []
    whole = await client.index(collection.id, "broken-1", article(sections=200))
    assert len(await visible(client, store, "broken")) == whole.chunks_stored


def document(document_id: str, collection_id: str) -> document_pb2.Document:
    return document_pb2.Document(id=document_id, collection_id=collection_id, revision=1, filename="x.md")


async def test_blocks_out_of_place_are_refused(client: Client) -> None:
    collection = await client.create("misplaced")
    blocks = article()
    blocks[3].locator.span.start += 1
    with pytest.raises(InvalidArgument, match=r"blocks\.locator\.span"):
        await client.index(collection.id, "misplaced-1", blocks)


async def test_deleting_a_document_removes_its_chunks(client: Client, store: VectorStore) -> None:
    collection = await client.create("delete")
    kept = await client.index(collection.id, "delete-1", article(seed="Kept"))
    gone = await client.index(collection.id, "delete-2", article(seed="Gone"))
    request = pb.DeleteDocumentChunksRequest(scope=client.scope, collection_id=collection.id, document_id="delete-2")
    assert (await client.stub.DeleteDocumentChunks(request)).chunks_deleted == gone.chunks_stored
    assert (await client.stub.DeleteDocumentChunks(request)).chunks_deleted == 0
    texts = await visible(client, store, "delete")
    assert len(texts) == kept.chunks_stored
    assert (await client.get("delete")).document_count == 1


async def test_deleting_a_collection_removes_everything(client: Client, store: VectorStore) -> None:
    collection = await client.create("doomed")
    result = await client.index(collection.id, "doomed-1", article())
    response = await client.stub.DeleteCollection(pb.DeleteCollectionRequest(scope=client.scope, collection="doomed"))
    assert (response.collection_id, response.chunks_deleted) == (collection.id, result.chunks_stored)
    with pytest.raises(NotFound, match="Collection 'doomed' not found"):
        await client.get("doomed")
    assert await store.count("chunks_384", f'collection_key == "{collection.id}:1"') == 0
    await client.create("doomed")


async def test_collections_are_confined_to_tenant_and_visibility(client: Client) -> None:
    reader = Client(client.channel, scope("t", "other"))
    stranger = Client(client.channel, scope("t2", "u", admin=True))
    wanted = collection_pb2.Collection(name="secret", visibility=collection_pb2.VISIBILITY_PRIVATE)
    await client.stub.CreateCollection(pb.CreateCollectionRequest(scope=client.scope, collection=wanted))
    for other in (reader, stranger):
        with pytest.raises(NotFound, match="Collection 'secret' not found"):
            await other.get("secret")
        with pytest.raises(NotFound):
            await other.resolve("secret")
        listed = await other.stub.ListCollections(pb.ListCollectionsRequest(scope=other.scope))
        assert "secret" not in [c.name for c in listed.collections]
    owner = Client(client.channel, scope("t", "u"))
    assert (await owner.get("secret")).name == "secret"
    await stranger.create("secret")


def scope(tenant: str, user: str, admin: bool = False) -> scope_pb2.Scope:
    return scope_pb2.Scope(
        tenant_id=tenant, user_id=user, roles=[scope_pb2.ROLE_ADMIN if admin else scope_pb2.ROLE_WRITER]
    )
