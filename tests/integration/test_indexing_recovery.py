"""Ledger and store are compared and reconciled."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
from footnote.indexing.v1 import indexing_service_pb2 as pb
from footnote.internal.indexing.v1alpha1 import upkeep_service_pb2 as upkeep
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_SYSTEM
from footnote.types.v1.vector_pb2 import VectorRow
from footnote_database.parts import Parts
from footnote_indexing.adapters import inventory
from footnote_indexing.adapters.database import TRAITS, Database, Losses
from footnote_indexing.adapters.index_versions import IndexVersionTable
from footnote_indexing.adapters.inventory import InventoryTable
from footnote_indexing.adapters.row_ledger import RowTable
from footnote_indexing.app import build
from footnote_indexing.settings import Settings
from footnote_indexing.upkeep.recovery import Findings, Recovery
from footnote_indexing.writing.store_writer import StoreWriter
from footnote_kit.errors import InvalidArgument, PermissionDenied
from footnote_kit.testing import serve_app
from footnote_store.compiler import quote
from footnote_store.rows import Row
from footnote_store.store import VectorStore
from google.protobuf.field_mask_pb2 import FieldMask
from support.blocks import article
from support.chunks import make_chunk
from support.indexing import Client
from support.sqlite_file import change

pytestmark = pytest.mark.full


@pytest.fixture
async def store(uri: str) -> AsyncIterator[VectorStore]:
    """The vector store beneath indexing."""
    store = VectorStore(uri)
    yield store
    await store.close()


async def damaged(client: Client, **more: object) -> list[tuple[str, int, int, int]]:
    """What the service says is damaged: document, revision, chunks written, chunks there."""
    request = upkeep.ListDamagedDocumentsRequest(scope=client.scope, **more)
    response = await client.upkeep.ListDamagedDocuments(request)
    assert all(document.tenant_id == "t" and document.collection_id for document in response.documents)
    return [(d.document_id, d.revision, d.chunks_expected, d.chunks_stored) for d in response.documents]


async def test_rows_without_an_entry_go_and_documents_with_wrong_rows_are_listed_until_a_new_revision(
    uri: str, store: VectorStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database("", tmp_path / "indexing")
    recovery = Recovery(InventoryTable(database), IndexVersionTable(database), StoreWriter(store, Settings()))
    async with serve_app(build, vector_store_uri=uri, data_dir=tmp_path) as served:
        client = Client(served.channel)
        collection = await client.create("recovery")
        for number in range(4):
            result = await client.index(collection.id, f"recovery-{number}", article(seed=f"R{number}"))
        chunks = result.chunks_stored
        [item] = (await client.locate("recovery")).collections
        key = f'collection_key == "{item.collection_key}"'
        with monkeypatch.context() as patched:  # where totals are equal, no document is looked at
            patched.delattr(InventoryTable, "searched")
            assert await recovery.check_all() == [Findings()]
        monkeypatch.setattr(inventory, "_PAGE", 2)

        orphan = make_chunk("Nobody knows me.", document_id="orphan", collection_id=collection.id)
        tail = make_chunk("After the end.", document_id="recovery-3", collection_id=collection.id, ordinal=900)
        for chunk in (orphan, tail):
            await store.upsert(item.space, [Row(chunk, item.collection_key, [1.0] * 384, "nobody")])
        assert await recovery.check_all() == [Findings(rows_removed=2)]
        assert await recovery.check_all() == [Findings()]
        assert await damaged(client) == []

        assert await store.delete(item.space, f'{key} and document_id == "recovery-1" and ordinal == 2') == 1
        assert await recovery.check_all() == [Findings(damaged=("recovery-1",))]
        twin = (await store.query(item.space, f'{key} and document_id == "recovery-2"', 1))[0]
        await store.insert(item.space, [Row(twin, item.collection_key, [1.0] * 384, "twin")])
        assert await recovery.check_all() == [Findings(damaged=("recovery-2",))]
        assert await recovery.check_all() == [Findings()], "said once"
        expected = [("recovery-1", 1, chunks, chunks - 1), ("recovery-2", 1, chunks, chunks + 1)]
        assert sorted(await damaged(client)) == expected
        stranger = Client(served.channel, Scope(tenant_id="t2", user_id="u", roles=[ROLE_ADMIN]))
        assert await damaged(stranger) == []
        with pytest.raises(PermissionDenied, match="all tenants"):
            await damaged(stranger, all_tenants=True)
        service = Client(served.channel, Scope(tenant_id="t2", user_id="u", roles=[ROLE_SYSTEM]))
        assert sorted(await damaged(service, all_tenants=True)) == expected
        assert len(await damaged(client, limit=1)) == 1
        with pytest.raises(InvalidArgument, match="limit"):
            await damaged(client, limit=1001)
        pages, token = [], ""
        for _ in range(3):
            asked = upkeep.ListDamagedDocumentsRequest(scope=client.scope, limit=1, page_token=token)
            page = await client.upkeep.ListDamagedDocuments(asked)
            pages.append([one.document_id for one in page.documents])
            token = page.next_page_token
        assert (pages, token) == ([["recovery-1"], ["recovery-2"], []], "")
        with pytest.raises(InvalidArgument, match="page_token"):
            await damaged(client, page_token="unknown")

        for number in (1, 2):
            blocks = article(seed=f"R{number}")
            renewed = await client.index(collection.id, f"recovery-{number}", blocks, revision=2)
            assert (renewed.chunks_stored, renewed.embedded) == (chunks, 0)
        assert await damaged(client) == []
        assert (await client.get("recovery")).chunk_count == 4 * chunks
    await database.close()


@pytest.mark.parametrize("left", [0, 2])
async def test_a_change_of_labels_that_finds_rows_missing_has_the_document_listed(
    uri: str, store: VectorStore, tmp_path: Path, left: int
) -> None:
    """As a kill of the engine amid a change leaves them: the old rows are deleted, the new ones not yet there."""
    async with serve_app(build, vector_store_uri=uri, data_dir=tmp_path) as served:
        client = Client(served.channel)
        collection = await client.create(f"labels-{left}")
        written = (await client.index(collection.id, "labelled", article(seed="L"))).chunks_stored
        [item] = (await client.locate(collection.name)).collections
        document = Document(id="labelled", collection_id=collection.id, revision=1, tags=["new"])
        change = pb.UpdateDocumentChunksRequest(scope=client.scope, document=document)
        await client.stub.UpdateDocumentChunks(change)
        assert await damaged(client) == []
        gone = f'collection_key == "{item.collection_key}" and ordinal >= {left}'
        assert await store.delete(item.space, gone) == written - left
        document.tags[0] = "newer"
        await client.stub.UpdateDocumentChunks(pb.UpdateDocumentChunksRequest(scope=client.scope, document=document))
        assert await damaged(client) == [("labelled", 1, written, left)]


@pytest.mark.parametrize("accepted", [True, False])
async def test_own_vectors_that_the_ledger_lost_are_listed_again_or_named(
    uri: str, store: VectorStore, tmp_path: Path, accepted: bool
) -> None:
    database = Database("", tmp_path / "indexing")
    parts = Parts(tmp_path / "aside")  # the service settles its own
    if accepted:
        parts.note_loss(TRAITS.part)
    losses = Losses(parts, RowTable(database))
    recovery = Recovery(InventoryTable(database), IndexVersionTable(database), StoreWriter(store, Settings()), losses)
    async with serve_app(build, vector_store_uri=uri, data_dir=tmp_path) as served:
        client = Client(served.channel)
        name = f"own-{accepted}"
        made = await client.create(name, embedding={"provider": "none", "dimensions": 2})

        async def add(text: str, numbers: range) -> None:
            rows = [VectorRow(id=f"r{n}", text=f"{text} {n}", vector=[1.0, float(n)]) for n in numbers]
            await client.stub.AddVectors(pb.AddVectorsRequest(scope=client.scope, collection=name, rows=rows))

        async def texts() -> list[str]:
            listed = await client.stub.ListVectors(pb.ListVectorsRequest(scope=client.scope, collection=name))
            return [row.text for row in listed.rows]

        await add("Old", range(6))
        await add("New", range(2))
        # As a damaged log leaves it: the newest commits are gone, of new rows and of a changed one.
        await change(
            tmp_path / "indexing" / "indexing.db",
            "DELETE FROM indexing_revisions WHERE document_id LIKE '%/r4' OR document_id LIKE '%/r5'",
            "DELETE FROM indexing_revisions WHERE document_id LIKE '%/r1' AND revision = 2",
            "UPDATE indexing_revisions SET state = 'CURRENT', purge_at = NULL WHERE document_id LIKE '%/r1'",
        )
        assert await texts() == ["New 0", "Old 1", "Old 2", "Old 3"]
        [found] = [one for one in await recovery.check_all() if one != Findings()]
        lost = tuple(f"{made.id}/{key}" for key in ("r1:2", "r4:1", "r5:1"))
        if accepted:
            assert found == Findings(listed_again=lost)
            assert await texts() == ["New 0", "New 1", "Old 2", "Old 3", "Old 4", "Old 5"]
        else:
            assert found == Findings(rows_removed=3)
            assert await texts() == ["New 0", "Old 1", "Old 2", "Old 3"]
        assert await recovery.check_all() == [Findings()]
        assert not parts.lacks(TRAITS.part), "what was lost is settled once"
    await database.close()


@pytest.mark.parametrize("accepted", [True, False])
async def test_own_vectors_whose_ids_are_encoded_in_the_store_stay(
    uri: str, store: VectorStore, tmp_path: Path, accepted: bool
) -> None:
    database = Database("", tmp_path / "indexing")
    parts = Parts(tmp_path / "aside")  # the service settles its own
    losses = Losses(parts, RowTable(database))
    recovery = Recovery(InventoryTable(database), IndexVersionTable(database), StoreWriter(store, Settings()), losses)
    ids = ["100%", "it's"]
    async with serve_app(build, vector_store_uri=uri, data_dir=tmp_path) as served:
        client = Client(served.channel)
        made = await client.create(f"encoded-{accepted}", embedding={"provider": "none", "dimensions": 2})
        rows = [VectorRow(id=one, text="Text", vector=[1.0, 2.0]) for one in ids]
        await client.stub.AddVectors(pb.AddVectorsRequest(scope=client.scope, collection=made.name, rows=rows))
        if accepted:
            parts.note_loss(TRAITS.part)
            lost = "DELETE FROM indexing_revisions WHERE document_id LIKE '%/it''s'"
            await change(tmp_path / "indexing" / "indexing.db", lost)
            assert await recovery.check_all() == [Findings(listed_again=(f"{made.id}/it's:1",))]
        else:
            orphan = make_chunk("Nobody knows me.", document_id="orphan", collection_id=made.id)
            [item] = (await client.locate(made.name)).collections
            await store.upsert(item.space, [Row(orphan, item.collection_key, [1.0] * 2, "nobody")])
            assert await recovery.check_all() == [Findings(rows_removed=1)]
        listed = await client.stub.ListVectors(pb.ListVectorsRequest(scope=client.scope, collection=made.name))
        assert [row.id for row in listed.rows] == ids
        assert (await client.get(made.name)).chunk_count == 2
        assert await recovery.check_all() == [Findings()]
    await database.close()


async def test_changed_rows_of_which_the_ledger_lost_the_change_are_listed_as_the_store_holds_them(
    uri: str, store: VectorStore, tmp_path: Path
) -> None:
    """The old rows are purged already, so that the store holds as many rows as the ledger lists."""
    database = Database("", tmp_path / "indexing")
    parts = Parts(tmp_path / "aside")  # the service settles its own
    parts.note_loss(TRAITS.part)
    losses = Losses(parts, RowTable(database))
    recovery = Recovery(InventoryTable(database), IndexVersionTable(database), StoreWriter(store, Settings()), losses)
    async with serve_app(build, vector_store_uri=uri, data_dir=tmp_path) as served:
        client = Client(served.channel)
        made = await client.create("changed", embedding={"provider": "none", "dimensions": 2})
        for text in ("Old", "New"):
            rows = [VectorRow(id=f"r{n}", text=f"{text} {n}", vector=[1.0, 2.0]) for n in range(3)]
            await client.stub.AddVectors(pb.AddVectorsRequest(scope=client.scope, collection="changed", rows=rows))
        [item] = (await client.locate("changed")).collections
        old = [f"{made.id}/r{n}:1" for n in range(3)]
        gone = f"collection_key == {quote(item.collection_key)} and revision_key in [{', '.join(map(quote, old))}]"
        await store.delete(item.space, gone)
        await change(
            tmp_path / "indexing" / "indexing.db",
            "DELETE FROM indexing_revisions WHERE revision = 2",
            "UPDATE indexing_revisions SET state = 'CURRENT', purge_at = NULL",
        )
        [found] = await recovery.check_all()
        assert found == Findings(listed_again=tuple(f"{made.id}/r{n}:2" for n in range(3)))
        listed = await client.stub.ListVectors(pb.ListVectorsRequest(scope=client.scope, collection="changed"))
        assert [row.text for row in listed.rows] == ["New 0", "New 1", "New 2"]
        assert await recovery.check_all() == [Findings()]
    await database.close()


async def test_own_vectors_whose_deletion_the_ledger_lost_are_listed_no_more(
    uri: str, store: VectorStore, tmp_path: Path
) -> None:
    database = Database("", tmp_path / "indexing")
    parts = Parts(tmp_path / "aside")  # the service settles its own
    parts.note_loss(TRAITS.part)
    losses = Losses(parts, RowTable(database))
    recovery = Recovery(InventoryTable(database), IndexVersionTable(database), StoreWriter(store, Settings()), losses)
    async with serve_app(build, vector_store_uri=uri, data_dir=tmp_path) as served:
        client = Client(served.channel)
        made = await client.create("deleted", embedding={"provider": "none", "dimensions": 2})
        rows = [VectorRow(id=f"r{n}", text=f"Row {n}", vector=[1.0, 2.0]) for n in range(3)]
        await client.stub.AddVectors(pb.AddVectorsRequest(scope=client.scope, collection="deleted", rows=rows))
        await client.stub.DeleteVectors(
            pb.DeleteVectorsRequest(scope=client.scope, collection="deleted", ids=["r0", "r2"])
        )
        await change(
            tmp_path / "indexing" / "indexing.db", "UPDATE indexing_revisions SET state = 'CURRENT', purge_at = NULL"
        )
        await recovery.check_all()
        listed = await client.stub.ListVectors(pb.ListVectorsRequest(scope=client.scope, collection="deleted"))
        assert [row.text for row in listed.rows] == ["Row 1"]
        with closing(sqlite3.connect(tmp_path / "indexing" / "indexing.db", timeout=60)) as ledger:
            held = ledger.execute("SELECT document_id FROM indexing_revisions WHERE state = 'CURRENT'").fetchall()
        assert [one for (one,) in held] == [f"{made.id}/r1"]
    await database.close()


async def test_own_vectors_added_again_while_lost_deletions_are_looked_for_stay(
    uri: str, store: VectorStore, tmp_path: Path
) -> None:
    database = Database("", tmp_path / "indexing")
    parts = Parts(tmp_path / "aside")  # the service settles its own
    parts.note_loss(TRAITS.part)
    async with serve_app(build, vector_store_uri=uri, data_dir=tmp_path) as served:
        client = Client(served.channel)
        await client.create("again", embedding={"provider": "none", "dimensions": 2})
        row = VectorRow(id="r", text="Row", vector=[1.0, 2.0])
        await client.stub.AddVectors(pb.AddVectorsRequest(scope=client.scope, collection="again", rows=[row]))
        await client.stub.DeleteVectors(pb.DeleteVectorsRequest(scope=client.scope, collection="again", ids=["r"]))
        await change(
            tmp_path / "indexing" / "indexing.db", "UPDATE indexing_revisions SET state = 'CURRENT', purge_at = NULL"
        )

        class Meanwhile(InventoryTable):
            async def known(self, collection_id: str, index_version: int) -> set[str]:
                row.text = "Row, added again"
                await client.stub.AddVectors(pb.AddVectorsRequest(scope=client.scope, collection="again", rows=[row]))
                return await super().known(collection_id, index_version)

        losses = Losses(parts, RowTable(database))
        writer = StoreWriter(store, Settings())
        await Recovery(Meanwhile(database), IndexVersionTable(database), writer, losses).check_all()
        listed = await client.stub.ListVectors(pb.ListVectorsRequest(scope=client.scope, collection="again"))
        assert [one.text for one in listed.rows] == ["Row, added again"]
    await database.close()


async def test_rows_that_the_ledger_lost_go_from_an_index_that_is_being_built_too(
    uri: str, store: VectorStore, tmp_path: Path
) -> None:
    """Else they are found beside the document's next revision, as soon as the new index is searched."""
    database = Database("", tmp_path / "indexing")
    parts = Parts(tmp_path / "aside")  # the service settles its own
    parts.note_loss(TRAITS.part)
    losses = Losses(parts, RowTable(database))
    recovery = Recovery(InventoryTable(database), IndexVersionTable(database), StoreWriter(store, Settings()), losses)
    async with serve_app(build, vector_store_uri=uri, data_dir=tmp_path) as served:
        client = Client(served.channel)
        made = await client.create("moving")
        for number in (1, 2):
            await client.index(made.id, f"moving-{number}", article(seed=f"M{number}"))
        made.settings.embedding.dimensions = 128
        await client.stub.UpdateCollection(
            pb.UpdateCollectionRequest(
                scope=client.scope,
                collection=made.id,
                resource=made,
                update_mask=FieldMask(paths=["settings.embedding.dimensions"]),
            )
        )
        written = (await client.index(made.id, "moving-1", article(seed="M1"), revision=2)).chunks_stored
        rows = f"collection_key == {quote(f'{made.id}:2')}"
        assert await store.count("chunks_l2_128", rows) == written
        await change(tmp_path / "indexing" / "indexing.db", "DELETE FROM indexing_revisions WHERE revision = 2")
        assert Findings(rows_removed=written) in await recovery.check_all()
        assert await store.count("chunks_l2_128", rows) == 0
    await database.close()


@pytest.mark.parametrize("accepted", [True, False])
async def test_rows_of_collections_that_the_ledger_lost_go_except_own_vectors_which_no_search_finds(
    uri: str, store: VectorStore, tmp_path: Path, accepted: bool
) -> None:
    database = Database("", tmp_path / "indexing")
    parts = Parts(tmp_path / "aside")  # the service settles its own
    if accepted:
        parts.note_loss(TRAITS.part)
    losses = Losses(parts, RowTable(database))
    recovery = Recovery(InventoryTable(database), IndexVersionTable(database), StoreWriter(store, Settings()), losses)
    async with serve_app(build, vector_store_uri=uri, data_dir=tmp_path) as served:
        client = Client(served.channel)
        items = []
        for name, dimensions in (("lost", 5), ("kept", 5), ("far", 6)):
            made = await client.create(f"{name}-{accepted}", embedding={"provider": "none", "dimensions": dimensions})
            rows = [VectorRow(id=f"r{n}", text=f"Row {n}", vector=[1.0] * dimensions) for n in range(3)]
            await client.stub.AddVectors(pb.AddVectorsRequest(scope=client.scope, collection=made.name, rows=rows))
            items += (await client.locate(made.name)).collections
        for name in ("papers", "library"):
            made = await client.create(f"{name}-{accepted}")
            chunks = (await client.index(made.id, f"{name}-{accepted}", article(seed=name))).chunks_stored
            items += (await client.locate(made.name)).collections
        mine = ", ".join(f"'{name}-{accepted}'" for name in ("lost", "far", "papers"))
        ids = f"SELECT id FROM indexing_collections WHERE name IN ({mine})"
        await change(
            tmp_path / "indexing" / "indexing.db",
            f"DELETE FROM indexing_revisions WHERE collection_id IN ({ids})",
            f"DELETE FROM indexing_generations WHERE collection_id IN ({ids})",
            f"DELETE FROM indexing_collections WHERE name IN ({mine})",
        )
        await recovery.check_all()
        counts = [await store.count(one.space, f'collection_key == "{one.collection_key}"') for one in items]
        assert counts == [3, 3, 3, 0 if accepted else chunks, chunks]
        searched = {one.collection_key for one in (await client.locate()).collections}
        assert searched == {items[1].collection_key, items[4].collection_key}


async def test_nothing_is_removed_by_a_ledger_that_has_no_collection(
    uri: str, store: VectorStore, tmp_path: Path
) -> None:
    database = Database("", tmp_path / "new")
    await database.migrate()
    parts = Parts(tmp_path / "aside")
    parts.note_loss(TRAITS.part)
    losses = Losses(parts, RowTable(database))
    recovery = Recovery(InventoryTable(database), IndexVersionTable(database), StoreWriter(store, Settings()), losses)
    async with serve_app(build, vector_store_uri=uri, data_dir=tmp_path / "data") as served:
        client = Client(served.channel)
        made = await client.create("whole")
        chunks = (await client.index(made.id, "whole", article(seed="W"))).chunks_stored
        [item] = (await client.locate("whole")).collections
        assert await recovery.check_all() == []
        assert await store.count(item.space, f'collection_key == "{item.collection_key}"') == chunks
    await database.close()
    await database.close()
