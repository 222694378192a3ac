"""The indexing service as others see it: over gRPC, with a real vector engine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from footnote.indexing.v1 import indexing_service_pb2 as pb
from footnote.stages.v1 import scope_pb2, stored_document_pb2
from footnote.types.v1 import answer_pb2, collection_pb2, document_pb2, provider_pb2, role_pb2
from footnote.types.v1.vector_pb2 import VectorRow
from footnote_indexing.app import build
from footnote_kit.epochs import Epochs
from footnote_kit.errors import (
    Aborted,
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    ResourceExhausted,
    Unavailable,
)
from footnote_kit.testing import serve_app
from footnote_providers.builtin import embed
from footnote_store.filters import RowScope
from footnote_store.store import VectorStore
from google.protobuf import duration_pb2, json_format, timestamp_pb2
from support import postgres
from support.blocks import PARAGRAPH, ROW, article, block, placed, text_of
from support.indexing import Client, requests


@pytest.fixture
async def database(request: pytest.FixtureRequest) -> str:
    """URL of an empty database; of SQLite in the data folder unless a test asks for another."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return ""
    return await postgres.migrated_database(request.getfixturevalue("postgres_url"), "indexing")


on_every_database = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def grace(request: pytest.FixtureRequest) -> str:
    """Seconds that a replaced revision is kept for."""
    return str(getattr(request, "param", "0.2"))


@pytest.fixture
async def client(uri: str, database: str, grace: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    """A client of indexing that purges and sweeps at once."""
    monkeypatch.setenv("FOOTNOTE_INDEXING_DATABASE_URL", database)
    monkeypatch.setenv("FOOTNOTE_INDEXING_PURGE_GRACE", grace)
    monkeypatch.setenv("FOOTNOTE_INDEXING_SWEEP_INTERVAL", "0.2")
    async with serve_app(build, vector_store_uri=uri) as served:
        yield Client(served.channel)


@pytest.fixture
async def store(uri: str) -> AsyncIterator[VectorStore]:
    """The vector store beneath indexing."""
    store = VectorStore(uri)
    yield store
    await store.close()


async def visible(client: Client, store: VectorStore, name: str) -> list[str]:
    """Texts that a search would see, in reading order."""
    [item] = (await client.locate(name)).collections
    expr = RowScope("t", [item.collection_key], item.hidden_revisions, time.time()).rows()
    return [chunk.text for chunk in await store.query(item.space, expr, 10_000)]


@on_every_database
async def test_a_document_becomes_searchable_with_exact_places(client: Client, store: VectorStore) -> None:
    collection = await client.create("exact")
    blocks = article()
    result = await client.index(collection.id, "exact-1", blocks)
    assert result.chunks_expected == result.chunks_stored > 3
    assert result.chunking_strategy == collection_pb2.CHUNKING_STRATEGY_HEADING_SECTION
    assert result.chunking_choice == document_pb2.CHUNKING_CHOICE_HEADINGS_FOUND
    [item] = (await client.locate("exact")).collections
    assert list(item.languages) == ["en"]
    expr = RowScope("t", [item.collection_key], item.hidden_revisions, time.time()).rows()
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


@on_every_database
async def test_repeating_a_revision_stores_nothing_twice(client: Client, store: VectorStore) -> None:
    collection = await client.create("repeat")
    first = await client.index(collection.id, "repeat-1", article())
    again = await client.index(collection.id, "repeat-1", article())
    assert again.chunks_stored == first.chunks_stored
    assert again.embedded == 0
    assert (await client.stats("repeat"))[0].rows == first.chunks_stored


@on_every_database
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


async def wait_for_rows(client: Client, name: str, rows: int) -> None:
    async with asyncio.timeout(240):  # the sweeper has a clock of its own
        while (await client.stats(name))[0].rows != rows:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@on_every_database
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


SHARED, PRIVATE = collection_pb2.VISIBILITY_SHARED, collection_pb2.VISIBILITY_PRIVATE


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (("t", SHARED), ("t", SHARED), True),
        (("t", SHARED), ("another", SHARED), False),
        (("t", PRIVATE), ("t", SHARED), False),
        (("t", PRIVATE), ("t", PRIVATE), False),
    ],
    ids=["of all of the tenant", "of another tenant", "of a private one", "between private ones"],
)
async def test_the_cache_tells_nothing_of_what_its_caller_may_not_read(
    client: Client, first: tuple[str, Any], second: tuple[str, Any], found: bool
) -> None:
    """What comes from the cache costs no tokens, which the uploader sees: so a hit tells that somebody has the text."""
    results = []
    for number, (tenant, visibility) in enumerate((first, second)):
        scope = scope_pb2.Scope(tenant_id=tenant, user_id=f"user-{number}", roles=[role_pb2.ROLE_ADMIN])
        place = Client(client.channel, scope)
        wanted = collection_pb2.Collection(name=f"cache-{number}", visibility=visibility)
        request = pb.CreateCollectionRequest(scope=scope, collection=wanted)
        made = (await place.stub.CreateCollection(request)).collection
        results.append(await place.index(made.id, f"{made.id}-1", article(seed="Salary")))
        again = await place.index(made.id, f"{made.id}-2", article(seed="Salary"))
        assert (again.embedded, again.cache_hits) == (0, again.chunks_stored), "in the same collection"
    chunks = results[1].chunks_stored
    assert (results[1].cache_hits, results[1].embedded) == ((chunks, 0) if found else (0, chunks))


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


def document(document_id: str, collection_id: str) -> stored_document_pb2.Document:
    return stored_document_pb2.Document(id=document_id, collection_id=collection_id, revision=1, filename="x.md")


async def test_blocks_out_of_place_are_refused(client: Client) -> None:
    collection = await client.create("misplaced")
    blocks = article()
    blocks[3].locator.span.start += 1
    with pytest.raises(InvalidArgument, match=r"blocks\.locator\.span"):
        await client.index(collection.id, "misplaced-1", blocks)


async def test_a_document_cannot_be_written_into_two_collections(client: Client) -> None:
    first, second = await client.create("first home"), await client.create("second home")
    await client.index(first.id, "homeless", article())
    with pytest.raises(FailedPrecondition, match="belongs to another collection"):
        await client.index(second.id, "homeless", article())


async def test_a_row_of_a_thousand_cells_is_stored(client: Client, store: VectorStore) -> None:
    collection = await client.create("wide")
    row = block(ROW, "; ".join(f"c{n}: {n}" for n in range(900)), ["A heading " * 8])
    row.locator.sheet.sheet, row.locator.sheet.range = "Sheet", "A2:AHP2"
    position = 0
    for n in range(900):
        anchor = row.anchors.add()
        anchor.span.start, anchor.span.end = position, position + len(f"c{n}: {n}")
        position = anchor.span.end + 2
        anchor.locator.sheet.sheet, anchor.locator.sheet.range = "Sheet", f"AA{n}"
        anchor.locator.heading_path.append("A heading " * 8)
    row.table = 1
    result = await client.index(collection.id, "wide-1", placed([row]))
    assert result.chunks_stored == result.chunks_expected >= 1


async def test_a_large_file_of_more_than_a_thousand_chunks(client: Client, store: VectorStore) -> None:
    chunking = collection_pb2.ChunkingSettings(
        strategy=collection_pb2.CHUNKING_STRATEGY_PARAGRAPH, size=100, overlap_percent=0, contextual_header=False
    )
    collection = await client.create("large", chunking=chunking)
    paragraphs = [
        f"Paragraph {n} of the long file tells of the {n * 7919 % 1200}th lamp of the harbour." for n in range(1200)
    ]
    result = await client.index(collection.id, "large-1", placed([block(PARAGRAPH, text) for text in paragraphs]))
    assert result.chunks_stored == result.chunks_expected == 1200
    assert set(await visible(client, store, "large")) == set(paragraphs)


@on_every_database
async def test_deleting_a_document_removes_its_chunks(client: Client, store: VectorStore) -> None:
    collection = await client.create("delete")
    kept = await client.index(collection.id, "delete-1", article(seed="Kept"))
    gone = await client.index(collection.id, "delete-2", article(seed="Gone"))
    request = pb.DeleteDocumentChunksRequest(scope=client.scope, collection_id=collection.id, document_id="delete-2")
    assert (await client.stub.DeleteDocumentChunks(request)).chunks_deleted == gone.chunks_stored
    assert (await client.stub.DeleteDocumentChunks(request)).chunks_deleted == 0
    texts = await visible(client, store, "delete")
    assert len(texts) == kept.chunks_stored
    again = await client.index(collection.id, "delete-3", article(seed="Gone"))
    assert again.embedded == again.chunks_stored, "its vectors were left in the cache"
    await client.stub.DeleteDocumentChunks(
        pb.DeleteDocumentChunksRequest(scope=client.scope, collection_id=collection.id, document_id="delete-3")
    )
    assert (await client.get("delete")).document_count == 1


@on_every_database
@pytest.mark.parametrize("grace", ["240"], indirect=True)  # withdrawn within it
async def test_when_a_revision_is_withdrawn_the_one_before_is_searched_again(
    client: Client, store: VectorStore
) -> None:
    collection = await client.create("withdrawn")
    first = await client.index(collection.id, "withdrawn-1", article(seed="First"))
    before = await visible(client, store, "withdrawn")
    await client.index(collection.id, "withdrawn-1", article(seed="Second"), revision=2)
    request = pb.DeleteDocumentChunksRequest(
        scope=client.scope, collection_id=collection.id, document_id="withdrawn-1", revision=2
    )
    await client.stub.DeleteDocumentChunks(request)
    assert sorted(await visible(client, store, "withdrawn")) == sorted(before)
    assert (await client.get("withdrawn")).chunk_count == first.chunks_stored
    request.revision = 1
    await client.stub.DeleteDocumentChunks(request)
    assert not await visible(client, store, "withdrawn")
    await client.index(collection.id, "withdrawn-1", article(seed="Third"), revision=3)
    request.revision = 3
    await client.stub.DeleteDocumentChunks(request)
    assert (await client.get("withdrawn")).document_count == 0, "what was deleted does not come back"


async def test_chunks_take_over_what_their_document_says_and_keep_their_vectors(
    client: Client, store: VectorStore
) -> None:
    collection = await client.create("labels")
    indexed = await client.index(collection.id, "labels-1", article())
    await client.index(collection.id, "labels-2", article(seed="Other"))
    mine = f'collection_key == "{collection.id}:1" and document_id == "labels-1"'
    before = await store.read("chunks_l2_384", mine, 1000)
    vectors = await store.vectors("chunks_l2_384", [hit.id for hit in before])
    later = timestamp_pb2.Timestamp(seconds=4_000_000_000)
    document = stored_document_pb2.Document(id="labels-1", collection_id=collection.id, tags=["new"], expire_time=later)
    document.metadata.update({"shelf": 4})
    request = pb.UpdateDocumentChunksRequest(scope=client.scope, document=document)
    assert (await client.stub.UpdateDocumentChunks(request)).chunks_updated == indexed.chunks_stored
    after = await store.read("chunks_l2_384", mine, 1000)
    assert [(hit.id, hit.text, hit.lexical_text) for hit in after] == [
        (hit.id, hit.text, hit.lexical_text) for hit in before
    ]
    for hit in after:
        assert (list(hit.chunk.tags), hit.chunk.metadata["shelf"], hit.expires_at) == (["new"], 4, 4_000_000_000_000)
    again = await store.vectors("chunks_l2_384", [hit.id for hit in after])
    assert all(np.allclose(again[key], vectors[key], atol=1e-6) for key in vectors)
    others = await store.read("chunks_l2_384", f'collection_key == "{collection.id}:1"', 1000)
    assert {tuple(hit.chunk.tags) for hit in others if hit.document_id == "labels-2"} == {()}


@pytest.mark.parametrize("searched", [0, 1])
async def test_labels_do_not_wait_until_their_document_is_indexed(client: Client, searched: int) -> None:
    """A large file takes minutes, and the change of tags would be answered with DEADLINE_EXCEEDED."""
    name = f"held-{searched}"
    collection = await client.create(name)
    document = stored_document_pb2.Document(
        id=name, collection_id=collection.id, revision=searched + 1, filename="a.md", tags=["new"]
    )
    for _ in range(searched):
        await client.index(collection.id, name, article())
    gate = asyncio.Event()

    async def held() -> AsyncIterator[pb.IndexDocumentRequest]:
        async for request in requests(client.scope, document, article(seed="Later")):
            if request.HasField("metadata"):
                await gate.wait()
            yield request

    begun = asyncio.Event()

    async def indexed() -> None:
        async for _ in client.stub.IndexDocument(held(), timeout=60):
            begun.set()

    indexing = asyncio.create_task(indexed())
    await begun.wait()
    request = pb.UpdateDocumentChunksRequest(scope=client.scope, document=document)
    changed = (await client.stub.UpdateDocumentChunks(request, timeout=10)).chunks_updated
    assert (changed > 0) == bool(searched)
    gate.set()
    await indexing
    assert (await client.get(name)).document_count == 1


async def test_chunks_are_counted_although_the_sweeper_was_faster(client: Client, store: VectorStore) -> None:
    collection = await client.create("swept")
    gone = await client.index(collection.id, "swept-1", article())
    kept = await client.index(collection.id, "swept-2", article(seed="Kept"))
    await store.delete("chunks_l2_384", f'collection_key == "{collection.id}:1"')
    request = pb.DeleteDocumentChunksRequest(scope=client.scope, collection_id=collection.id, document_id="swept-1")
    assert (await client.stub.DeleteDocumentChunks(request)).chunks_deleted == gone.chunks_stored > 0
    deletion = pb.DeleteCollectionRequest(scope=client.scope, collection="swept")
    assert (await client.stub.DeleteCollection(deletion)).chunks_deleted == kept.chunks_stored


@on_every_database
async def test_deleting_a_collection_removes_everything(client: Client, store: VectorStore) -> None:
    collection = await client.create("doomed")
    result = await client.index(collection.id, "doomed-1", article())
    response = await client.stub.DeleteCollection(pb.DeleteCollectionRequest(scope=client.scope, collection="doomed"))
    assert (response.collection_id, response.chunks_deleted) == (collection.id, result.chunks_stored)
    with pytest.raises(NotFound, match="Collection 'doomed' not found"):
        await client.get("doomed")
    assert await store.count("chunks_l2_384", f'collection_key == "{collection.id}:1"') == 0
    await client.create("doomed")


@on_every_database
async def test_collections_are_confined_to_tenant_and_visibility(client: Client) -> None:
    reader = Client(client.channel, scope("t", "other"))
    stranger = Client(client.channel, scope("t2", "u", admin=True))
    wanted = collection_pb2.Collection(name="secret", visibility=collection_pb2.VISIBILITY_PRIVATE)
    await client.stub.CreateCollection(pb.CreateCollectionRequest(scope=client.scope, collection=wanted))
    for other in (reader, stranger):
        with pytest.raises(NotFound, match="Collection 'secret' not found"):
            await other.get("secret")
        with pytest.raises(NotFound):
            await other.locate("secret")
        listed = await other.stub.ListCollections(pb.ListCollectionsRequest(scope=other.scope))
        assert "secret" not in [c.name for c in listed.collections]
    owner = Client(client.channel, scope("t", "u"))
    assert (await owner.get("secret")).name == "secret"
    await stranger.create("secret")


@on_every_database
async def test_what_searches_are_told_follows_every_write_at_once(client: Client) -> None:
    reader = Client(client.channel, scope("t", "other"))
    made = await client.create("open to all")
    assert (await reader.locate("open to all")).collections[0].collection.document_count == 0
    await client.index(made.id, "d", article(1))
    assert (await reader.locate("open to all")).collections[0].collection.document_count == 1
    made.visibility = collection_pb2.VISIBILITY_PRIVATE
    change = pb.UpdateCollectionRequest(scope=client.scope, collection=made.id, resource=made)
    change.update_mask.paths.append("visibility")
    change.resource.ClearField("etag")
    await client.stub.UpdateCollection(change)
    with pytest.raises(NotFound):
        await reader.locate("open to all")
    assert len((await client.locate("open to all")).collections) == 1


async def test_only_what_a_document_writes_on_its_way_leaves_the_epoch_of_collections(client: Client) -> None:
    seen: list[Epochs] = []

    async def changed() -> tuple[bool, bool]:
        """Return whether the two epochs have changed since the last time."""
        last, now = seen[-1] if seen else Epochs(), await client.epochs()
        for _ in range(50):  # what is written while it answers, as a round of the service's own, leaves it without one
            if now.epoch and now.collections:
                break
            now = await client.epochs()
        seen.append(now)
        assert now.epoch
        assert now.collections
        return now.epoch != last.epoch, now.collections != last.collections

    async def update(**settings: int) -> None:
        resource = collection_pb2.Collection(settings=collection_pb2.CollectionSettings(**settings))
        change = pb.UpdateCollectionRequest(scope=client.scope, collection=made.id, resource=resource)
        change.update_mask.paths.extend(f"settings.{name}" for name in settings)
        await client.stub.UpdateCollection(change)

    everything, documents, nothing = (True, True), (True, False), (False, False)
    await changed()
    made = await client.create("both epochs")
    assert await changed() == everything
    assert await changed() == nothing
    await client.index(made.id, "e1", article(1))
    assert await changed() == documents
    await client.index(made.id, "e1", article(2), revision=2)
    assert await changed() == documents
    await client.create("both epochs of vectors", embedding={"dimensions": 3})
    await changed()
    await add(client, "both epochs of vectors", VectorRow(id="one", text="One", vector=[1, 0, 0]))
    assert (await changed())[0]
    await update(max_documents=7)
    assert await changed() == everything
    named = {"scope": client.scope, "collection": "both epochs of vectors", "ids": ["one"]}
    await client.stub.DeleteVectors(pb.DeleteVectorsRequest(**named))
    assert await changed() == everything
    expiring = stored_document_pb2.Document(
        id="e1", collection_id=made.id, expire_time=timestamp_pb2.Timestamp(seconds=1)
    )
    await client.stub.UpdateDocumentChunks(pb.UpdateDocumentChunksRequest(scope=client.scope, document=expiring))
    assert await changed() == everything
    deleting = pb.DeleteDocumentChunksRequest(scope=client.scope, collection_id=made.id, document_id="e1")
    await client.stub.DeleteDocumentChunks(deleting)
    assert await changed() == everything
    await client.stub.HideCollection(pb.HideCollectionRequest(scope=client.scope, collection=made.id))
    assert await changed() == everything
    named = {"scope": client.scope, "collection": "both epochs of vectors"}
    await client.stub.DeleteCollection(pb.DeleteCollectionRequest(**named))
    assert await changed() == everything


def scope(tenant: str, user: str, admin: bool = False) -> scope_pb2.Scope:
    return scope_pb2.Scope(
        tenant_id=tenant, user_id=user, roles=[role_pb2.ROLE_ADMIN if admin else role_pb2.ROLE_WRITER]
    )


async def test_collections_are_created_as_given_and_validated(client: Client) -> None:
    made = await client.create("defaults")
    settings = made.settings
    assert not settings.HasField("chunking"), "what is not given stays open for the deployment"
    counting = (await client.get("defaults")).effective_settings
    assert (counting.chunking.size, counting.chunking.overlap_percent) == (1000, 20)
    assert (settings.embedding.provider, settings.embedding.model) == ("builtin", "hashing-v1")
    assert settings.embedding.dimensions == 384
    assert made.visibility == collection_pb2.VISIBILITY_SHARED
    assert made.etag
    with pytest.raises(AlreadyExists, match="Collection 'defaults' already exists"):
        await client.create("defaults")
    with pytest.raises(InvalidArgument) as caught:
        await client.create("wrong", chunking={"size": 99, "overlap_percent": 51}, retrieval={"limit": 101})
    assert {v.field for v in caught.value.violations} == {
        "collection.settings.chunking.size",
        "collection.settings.chunking.overlap_percent",
        "collection.settings.retrieval.limit",
    }
    for name in ("", " x", "-x", "a/b", "x" * 129, "x "):
        with pytest.raises(InvalidArgument):
            await client.create(name)
    for name in ("Ünïcode 1", "a.b-c_d e"):
        assert (await client.create(name)).name == name
    with pytest.raises(InvalidArgument, match="No embedding provider 'nope' is registered"):
        await client.create("nope", embedding={"provider": "nope"})


async def update(client: Client, collection: collection_pb2.Collection, *paths: str) -> collection_pb2.Collection:
    request = pb.UpdateCollectionRequest(
        scope=client.scope, collection=collection.id or collection.name, resource=collection
    )
    request.update_mask.paths.extend(paths)
    return (await client.stub.UpdateCollection(request)).collection


@on_every_database
async def test_updates_touch_what_the_mask_names(client: Client) -> None:
    made = await client.create("update", chunking={"size": 500})
    change = collection_pb2.Collection(id=made.id, description="new", etag=made.etag)
    change.settings.retrieval.limit = 9
    change.settings.chunking.size = 700
    after = await update(client, change, "description", "settings.retrieval.limit")
    assert (after.description, after.settings.retrieval.limit, after.settings.chunking.size) == ("new", 9, 500)
    with pytest.raises(Aborted, match="changed by another call"):
        await update(client, change, "description")
    change.ClearField("etag")
    assert (await update(client, change)).settings.chunking.size == 700
    change.metadata.update({"team": "a"})
    assert dict((await update(client, change, "metadata")).metadata) == {"team": "a"}
    renamed = await update(client, collection_pb2.Collection(id=made.id, name="updated"), "name")
    assert renamed.name == "updated"
    assert (await client.get("updated")).id == made.id
    with pytest.raises(InvalidArgument, match="must not name 'tenant_id'"):
        await update(client, change, "tenant_id")
    with pytest.raises(InvalidArgument, match="names no field"):
        await update(client, change, "settings.nothing")
    with pytest.raises(InvalidArgument, match="between 100 and 8000"):
        await update(client, collection_pb2.Collection(id=made.id, settings={"chunking": {"size": 5}}))
    cleared = await update(client, collection_pb2.Collection(id=made.id), "metadata", "settings.chunking.size")
    assert len(cleared.metadata) == 0
    assert not cleared.settings.chunking.HasField("size"), "what is cleared is inherited again"
    assert (await client.get(made.id)).effective_settings.chunking.size == 1000
    assert cleared.settings.retrieval.limit == 9


@on_every_database
async def test_collections_are_listed_in_pages(client: Client) -> None:
    client = Client(client.channel, scope(f"pages-{time.time_ns()}", "u", admin=True))
    names = [f"page {n:02d}" for n in range(7)]
    for name in names:
        await client.create(name)
    seen, token = [], ""
    while True:
        request = pb.ListCollectionsRequest(scope=client.scope, page_size=3, page_token=token)
        page = await client.stub.ListCollections(request)
        seen += [c.name for c in page.collections]
        assert page.total_size == 7
        token = page.next_page_token
        if not token:
            break
    assert seen == names
    with pytest.raises(InvalidArgument, match="page_token"):
        await client.stub.ListCollections(pb.ListCollectionsRequest(scope=client.scope, page_token="!"))


async def add(client: Client, name: str, *rows: VectorRow) -> pb.AddVectorsResponse:
    request = pb.AddVectorsRequest(scope=client.scope, collection=name, rows=rows)
    return await client.stub.AddVectors(request)


@on_every_database
async def test_own_vectors_are_stored_and_overwritten(client: Client, store: VectorStore) -> None:
    await client.create("own", embedding={"dimensions": 3})
    first = await add(
        client, "own",
        VectorRow(id="intro", text="An introduction", vector=[1, 0, 0], metadata={"section_id": "intro"}),
        VectorRow(text="Raw", vector=[0, 1, 0]),
    )  # fmt: skip
    assert first.count == 2
    assert first.ids[0] == "intro"
    assert await visible(client, store, "own") != []
    await add(client, "own", VectorRow(id="intro", text="A better introduction", vector=[1, 0, 0]))
    assert sorted(await visible(client, store, "own")) == ["A better introduction", "Raw"]
    assert (await client.get("own")).document_count == 2
    await client.create("own too", embedding={"dimensions": 3})
    await add(client, "own too", VectorRow(id="intro", text="Elsewhere", vector=[1, 0, 0]))
    assert len(await visible(client, store, "own")) == 2


@on_every_database
async def test_own_vectors_without_ids_are_listed_in_the_order_in_which_they_were_added(client: Client) -> None:
    await client.create("byov", embedding={"dimensions": 3})
    texts = [f"text {number}" for number in range(24)]
    for at in (0, 12):
        await add(client, "byov", *(VectorRow(text=text, vector=[1, 0, 0]) for text in texts[at : at + 12]))
    listed = await client.stub.ListVectors(pb.ListVectorsRequest(scope=client.scope, collection="byov"))
    assert [row.text for row in listed.rows] == texts


async def test_the_first_own_vectors_set_the_length_of_an_empty_collection(client: Client, store: VectorStore) -> None:
    made = await client.create("fits", retrieval={"limit": 9})
    await asyncio.gather(
        *(add(client, "fits", VectorRow(id=f"f{n}", text=f"Text {n}", vector=[1, n])) for n in range(3))
    )
    after = await client.get("fits")
    assert (after.id, after.settings.embedding.dimensions, after.settings.retrieval.limit) == (made.id, 2, 9)
    assert (after.settings.embedding.provider, after.document_count) == ("none", 3)
    assert sorted(await visible(client, store, "fits")) == ["Text 0", "Text 1", "Text 2"]
    with pytest.raises(InvalidArgument, match="'fits' holds vectors of 2 dimensions, these have 3"):
        await add(client, "fits", VectorRow(text="longer", vector=[1, 2, 3]))
    full = await client.create("full")
    await client.index(full.id, "full-1", article())
    with pytest.raises(InvalidArgument, match="'full' holds vectors of 384 dimensions, these have 2"):
        await add(client, "full", VectorRow(text="shorter", vector=[1, 2]))
    assert (await client.get("full")).settings.embedding.dimensions == 384


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([], "Documents array is required"),
        ([{"text": "a"}], "All documents must include pre-computed embeddings"),
        ([{"text": "a", "vector": [1, 2, 3]}, {"text": "b"}], "All documents must include pre-computed embeddings"),
        (
            [{"text": "a", "vector": [1, "NaN", 2]}],
            "Invalid embedding format in document 0: must be an array of numbers",
        ),
        ([{"text": "a", "vector": [1, "Infinity", 2]}], "but it holds values that are not finite"),
        ([{"text": "a", "vector": [0, 0, 0]}], "Invalid embedding format in document 0: must not be zeros alone"),
        ([{"text": "a", "vector": [1, 2]}, {"text": "b", "vector": [1]}], "mismatch: .* 1, 2 dimensions"),
        ([{"text": "a", "vector": [1, 2]}], "mismatch: 'byov' holds vectors of 3 dimensions, these have 2"),
        ([{"text": "", "vector": [1, 2, 3]}], r"rows\[0\]\.text must not be empty"),
        ([{"text": "a", "id": "a\nb", "vector": [1, 2, 3]}], r"rows\[0\]\.id must be one line of at most 150 bytes"),
        ([{"text": "a", "id": "\u00e9" * 76, "vector": [1, 2, 3]}], r"rows\[0\]\.id must be one line of at most 150"),
        ([{"text": "a", "id": "x", "vector": [1, 2, 3]}] * 2, r"rows\.id must not repeat"),
    ],
)
async def test_wrong_vectors_are_refused_in_known_words(
    client: Client, store: VectorStore, documents: list[dict[str, object]], message: str
) -> None:
    await client.create("byov", embedding={"dimensions": 3})
    made = [json_format.ParseDict(document, VectorRow()) for document in documents]
    with pytest.raises(InvalidArgument, match=message):
        await add(client, "byov", *made)
    assert await visible(client, store, "byov") == []


async def test_messages_are_remembered_for_their_user_and_forgotten(client: Client, store: VectorStore) -> None:
    messages = [
        answer_pb2.MemoryMessage(message_id=f"m{n}", conversation_id=f"c{n % 2}", text=text)
        for n, text in enumerate(["the invoice of March", "holidays in Rome", " ", "the invoice of April"])
    ]
    for message in messages:
        message.create_time.GetCurrentTime()
    request = pb.IndexMessagesRequest(scope=client.scope, messages=messages)
    assert (await client.stub.IndexMessages(request)).count == 3
    space = await store.ensure_message_space(384)
    [vector] = embed(["invoice"], 384)
    found = await store.search_messages(space, vector, "t", "u", 5)
    assert {m.message_id for m in found[:2]} == {"m0", "m3"}
    assert await store.search_messages(space, vector, "t", "someone else", 5) == []
    forget = pb.DeleteMessagesRequest(scope=client.scope, conversation_id="c1")
    assert (await client.stub.DeleteMessages(forget)).count == 2
    assert {m.message_id for m in await store.search_messages(space, vector, "t", "u", 5)} == {"m0"}


async def test_providers_are_listed_validated_and_checked(client: Client) -> None:
    listed = await client.stub.ListProviders(pb.ListProvidersRequest(scope=client.scope))
    by_id = {p.id: p for p in listed.providers}
    assert {"builtin", "openai", "onnx", "ollama", "gemini", "vllm", "tei", "milvus"} <= set(by_id)
    assert "query_prefix" in dict(by_id["openai"].settings_schema["properties"])
    embedding, vectors = provider_pb2.PROVIDER_KIND_EMBEDDING, provider_pb2.PROVIDER_KIND_STORE

    async def validate(provider: str, **settings: object) -> list[str]:
        request = pb.ValidateProviderRequest(scope=client.scope, kind=embedding, id=provider, settings=settings)
        response = await client.stub.ValidateProvider(request)
        assert response.valid is not bool(response.problems)
        return list(response.problems)

    assert await validate("openai", model="x", dimensions=256, query_prefix="q: ") == []
    assert "query_prefixx" in (await validate("openai", query_prefixx="q: "))[0]
    assert "api_key" in (await validate("openai", api_key="sk-secret"))[0]
    assert "No embedding provider 'x'" in (await validate("x"))[0]
    for kind, provider in ((embedding, "builtin"), (vectors, "milvus")):
        request = pb.CheckProviderRequest(scope=client.scope, kind=kind, id=provider)
        health = (await client.stub.CheckProvider(request)).health
        assert health.healthy
        assert health.details.fields
        assert health.latency.ToNanoseconds() > 0


@on_every_database
async def test_expired_chunks_are_never_returned_and_go_by_themselves(
    client: Client, store: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = await client.create("ttl", ttl=duration_pb2.Duration(seconds=5))
    started = time.time()
    result = await client.index(collection.id, "ttl-1", article())
    indexed = time.time()
    [item] = (await client.locate("ttl")).collections
    expr = f'collection_key == "{item.collection_key}"'
    [expires] = {chunk.expire_time.ToMilliseconds() / 1000 for chunk in await store.query(item.space, expr, 100)}
    assert started + 5 <= expires + 0.001  # kept in whole milliseconds
    assert expires <= indexed + 5
    seen_before = seen_after = 0
    while time.time() < expires + 1.0:
        asked = time.time()
        texts = await store.query(
            item.space, RowScope("t", [item.collection_key], item.hidden_revisions, asked).rows(), 100
        )
        if asked < expires:
            seen_before += len(texts)
        else:
            seen_after += len(texts)
        await asyncio.sleep(0.1)
    assert (await client.get("ttl")).document_count == 0
    assert (seen_before > 0, seen_after) == (True, 0)
    assert result.chunks_stored > 0
    await wait_for_rows(client, "ttl", 0)


async def test_a_document_s_own_expiry_counts_before_the_collection_s(client: Client, store: VectorStore) -> None:
    collection = await client.create("own ttl", ttl=duration_pb2.Duration(seconds=3600))
    expire = timestamp_pb2.Timestamp(seconds=int(time.time()) + 60)
    await client.index(collection.id, "own-ttl-1", article(), expire_time=expire)
    [item] = (await client.locate("own ttl")).collections
    for chunk in await store.query(item.space, f'collection_key == "{item.collection_key}"', 100):
        assert chunk.expire_time == expire


async def test_a_recorded_document_expires_as_its_record_says(client: Client, store: VectorStore) -> None:
    """Its collection's time to live counted when it was uploaded; one that was set later does not take it away."""
    collection = await client.create("recorded", ttl=duration_pb2.Duration(seconds=3600))
    uploaded = timestamp_pb2.Timestamp(seconds=int(time.time()) - 365 * 86_400)
    await client.index(collection.id, "recorded-1", article(), create_time=uploaded)
    assert (await client.get("recorded")).document_count == 1
    document = stored_document_pb2.Document(
        id="recorded-1", collection_id=collection.id, create_time=uploaded, tags=["new"]
    )
    request = pb.UpdateDocumentChunksRequest(scope=client.scope, document=document)
    assert (await client.stub.UpdateDocumentChunks(request)).chunks_updated
    assert (await client.get("recorded")).document_count == 1
    [item] = (await client.locate("recorded")).collections
    chunks = await store.query(item.space, f'collection_key == "{item.collection_key}"', 100)
    assert {chunk.HasField("expire_time") for chunk in chunks} == {False}


@on_every_database
async def test_searches_during_a_reindex_see_every_text_once(client: Client, store: VectorStore) -> None:
    collection = await client.create("reindex", chunking={"size": 400, "overlap_percent": 0})
    documents = {f"reindex-{n}": article(sections=12, seed=f"Doc{n}") for n in range(6)}
    for document_id, blocks in documents.items():
        await client.index(collection.id, document_id, blocks)
    larger = collection_pb2.Collection(id=collection.id, settings={"chunking": {"size": 900}})
    await update(client, larger, "settings.chunking.size")
    done = asyncio.Event()
    rounds = 0

    async def search() -> None:
        nonlocal rounds
        while not done.is_set():
            [item] = (await client.locate("reindex")).collections
            expr = RowScope("t", [item.collection_key], item.hidden_revisions, time.time()).rows()
            chunks = await store.query(item.space, expr, 10_000)
            spans: dict[str, set[int]] = {}
            for chunk in chunks:
                spans.setdefault(chunk.document_id, set()).add(chunk.revision)
            if any(len(revisions) > 1 for revisions in spans.values()):
                # A revision was announced after `resolve` and written before `query`; retrieval leaves it out
                # (`keep_one_revision`). The lower one is complete, and one of the two is hidden by now.
                [late] = (await client.locate("reindex")).collections
                hidden = set(late.hidden_revisions)
                for document_id, revisions in spans.items():
                    assert len({one for one in revisions if f"{document_id}:{one}" not in hidden}) == 1
                    spans[document_id] = {min(revisions)}
                chunks = [chunk for chunk in chunks if chunk.revision in spans[chunk.document_id]]
            assert set(spans) == set(documents), "a document vanished"
            assert all(len(revisions) == 1 for revisions in spans.values()), "a document doubled"
            for document_id, blocks in documents.items():
                mine = [chunk for chunk in chunks if chunk.document_id == document_id]
                covered = sum(len(chunk.text) for chunk in mine)
                assert covered >= len(text_of(blocks)) * 0.98, "a part of a document is missing"
                assert len({chunk.text for chunk in mine}) == len(mine)
            rounds += 1
            await asyncio.sleep(0.05)

    searching = asyncio.create_task(search())
    for document_id, blocks in documents.items():
        await client.index(collection.id, document_id, blocks, revision=2)
    done.set()
    await searching
    assert rounds >= 5
    sizes = [len(text) for text in await visible(client, store, "reindex")]
    assert max(sizes) > 400


@on_every_database
async def test_a_change_of_model_moves_the_collection_at_the_end_and_can_be_taken_back(
    client: Client, store: VectorStore
) -> None:
    collection = await client.create("model")
    documents = {f"model-{n}": article(seed=f"Model{n}") for n in range(3)}
    for document_id, blocks in documents.items():
        await client.index(collection.id, document_id, blocks)
    [before] = (await client.locate("model")).collections
    changed = collection_pb2.Collection(id=collection.id, settings={"embedding": {"dimensions": 256}})
    after = await update(client, changed, "settings.embedding.dimensions")
    assert after.settings.embedding.dimensions == 256
    revisions = dict.fromkeys(documents, 1)
    for document_id, blocks in documents.items():
        [now] = (await client.locate("model")).collections
        assert (now.space, now.collection_key) == (before.space, before.collection_key)
        # Queries must be embedded by the model that is searched.
        assert now.collection.settings.embedding.dimensions == 384
        revisions[document_id] = 2
        await client.index(collection.id, document_id, blocks, revision=2)
        assert len({text.split(" ")[0] for text in await visible(client, store, "model")}) >= 3
    [moved] = (await client.locate("model")).collections
    assert (moved.space, moved.collection_key) == ("chunks_l2_256", f"{collection.id}:2")
    assert (await client.get("model")).document_count == 3
    total = len(await visible(client, store, "model"))
    back = collection_pb2.Collection(id=collection.id, settings={"embedding": {"dimensions": 384}})
    await update(client, back, "settings.embedding.dimensions")
    [again] = (await client.locate("model")).collections
    assert (again.space, again.collection_key) == (before.space, before.collection_key)
    assert len(await visible(client, store, "model")) == total


@on_every_database
@pytest.mark.parametrize("others_first", [True, False])
async def test_a_document_that_a_change_of_model_overtakes_is_sent_back_and_not_lost(
    client: Client, store: VectorStore, others_first: bool
) -> None:
    collection = await client.create("overtaken")
    await client.index(collection.id, "other", article(seed="Other"))
    begun, moved = asyncio.Event(), asyncio.Event()

    async def slowly() -> AsyncIterator[pb.IndexDocumentRequest]:
        sent = [r async for r in requests(client.scope, document("slow", collection.id), article(seed="Slow"))]
        yield sent[0]
        begun.set()
        await moved.wait()
        for request in sent[1:]:
            yield request

    async def index() -> None:
        async for _ in client.stub.IndexDocument(slowly(), timeout=60):
            pass

    async def hidden() -> list[str]:
        return list((await client.locate("overtaken")).collections[0].hidden_revisions)

    indexing = asyncio.create_task(index())
    await begun.wait()
    while await hidden() != ["slow:1"]:
        pass  # until the service has taken it up
    changed = collection_pb2.Collection(id=collection.id, settings={"embedding": {"dimensions": 256}})
    await update(client, changed, "settings.embedding.dimensions")
    if others_first:
        await client.index(collection.id, "other", article(seed="Other"), revision=2)
        assert (await client.locate("overtaken")).collections[0].space == "chunks_l2_256"
    moved.set()
    with pytest.raises(Unavailable, match="move to another embedding model"):
        await indexing
    again = await client.index(collection.id, "slow", article(seed="Slow"))
    assert again.chunks_stored == again.chunks_expected
    if not others_first:
        assert (await client.locate("overtaken")).collections[0].space == "chunks_l2_384"
        await client.index(collection.id, "other", article(seed="Other"), revision=2)
    assert (await client.locate("overtaken")).collections[0].space == "chunks_l2_256"
    texts = await visible(client, store, "overtaken")
    assert len(texts) == len(set(texts)) == 2 * again.chunks_stored


@on_every_database
async def test_a_document_deleted_while_it_is_indexed_stays_deleted(client: Client, store: VectorStore) -> None:
    collection = await client.create("race")
    header = document("race-1", collection.id)
    blocks = article(sections=300)
    half = asyncio.Event()
    deleted = asyncio.Event()

    async def slowly() -> AsyncIterator[pb.IndexDocumentRequest]:
        sent = 0
        async for request in requests(client.scope, header, blocks):
            yield request
            sent += 1
            if sent == 21:  # more than is cut at once
                await deleted.wait()

    async def index() -> None:
        async for event in client.stub.IndexDocument(slowly(), timeout=60):
            if event.progress.chunks_stored:
                half.set()

    indexing = asyncio.create_task(index())
    await half.wait()
    request = pb.DeleteDocumentChunksRequest(scope=client.scope, collection_id=collection.id, document_id="race-1")
    await client.stub.DeleteDocumentChunks(request)
    deleted.set()
    with pytest.raises(Aborted, match="deleted or replaced"):
        await indexing
    assert await visible(client, store, "race") == []
    assert await store.count("chunks_l2_384", f'collection_key == "{collection.id}:1"') == 0


@on_every_database
async def test_two_attempts_at_once_end_as_one(client: Client, store: VectorStore) -> None:
    collection = await client.create("twins")
    created = timestamp_pb2.Timestamp(seconds=1_790_000_000)
    blocks = article(sections=40)
    results = await asyncio.gather(
        *(client.index(collection.id, "twins-1", blocks, create_time=created) for _ in range(3))
    )
    assert len({result.chunks_expected for result in results}) == 1
    texts = await visible(client, store, "twins")
    assert len(texts) == len(set(texts)) == results[0].chunks_expected


@on_every_database
async def test_collections_of_a_tenant_are_limited_under_concurrency(client: Client) -> None:
    def create(number: int) -> Any:
        collection = collection_pb2.Collection(name=f"limited-{number}")
        return client.stub.CreateCollection(
            pb.CreateCollectionRequest(
                scope=scope_pb2.Scope(tenant_id="few", user_id="u", roles=[role_pb2.ROLE_ADMIN]),
                collection=collection,
                max_tenant_collections=3,
            )
        )

    outcomes = await asyncio.gather(*(create(number) for number in range(8)), return_exceptions=True)
    refused = [one for one in outcomes if isinstance(one, ResourceExhausted)]
    assert len(refused) == 5
    assert {one.reason for one in refused} == {"QUOTA_EXCEEDED"}
    assert refused[0].metadata["hint"].endswith("footnote limits set few --collections 6")


@on_every_database
@pytest.mark.parametrize(
    "about",
    [
        {"name": "a\0"},
        {"description": "d\0"},
        {"metadata": {"k\0": ["\0"]}},
        {"settings": {"prompt": {"locale": "\0"}}},
    ],
    ids=lambda about: next(iter(about)),
)
async def test_a_zero_byte_of_a_caller_is_no_fault(client: Client, about: dict[str, Any]) -> None:
    wanted = collection_pb2.Collection(**{"name": "zero", **about})
    with suppress(InvalidArgument):
        made = (
            await client.stub.CreateCollection(pb.CreateCollectionRequest(scope=client.scope, collection=wanted))
        ).collection
        assert (await client.get(made.id)).id == made.id


async def test_a_collection_can_be_looked_up_without_counting_its_documents(client: Client) -> None:
    made = await client.create("uncounted", max_documents=3)
    await client.index(made.id, "uncounted-1", article(1, 1))
    counted = await client.get("uncounted")
    assert counted.document_count == 1
    request = pb.GetCollectionRequest(scope=client.scope, collection="uncounted", without_counts=True)
    found = (await client.stub.GetCollection(request)).collection
    assert (found.document_count, found.chunk_count) == (0, 0)
    counted.document_count = counted.chunk_count = 0
    assert found == counted
