"""Index versions while the model is set back, beside the sweeper or a document, on a real SQLite file or PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import sqlalchemy as sa
from footnote.types.v1.collection_pb2 import Collection, CollectionSettings, EmbeddingSettings
from footnote_database.transactions import now_ms
from footnote_indexing.adapters.database import Database
from footnote_indexing.adapters.index_versions import IndexVersionTable, check_unmoved
from footnote_indexing.adapters.model_moves import ModelMoveTable
from footnote_indexing.adapters.tables import collections, index_versions
from footnote_indexing.model import BUILDING, CURRENT, DELETED, RETIRED, IndexVersion, Stored
from footnote_kit.errors import NotFound
from support import postgres

NEW, OLD = (EmbeddingSettings(provider="builtin", dimensions=size) for size in (256, 384))


def wanting(model: EmbeddingSettings) -> Collection:
    """The collection with these settings."""
    return Collection(id="c", settings=CollectionSettings(embedding=model))


@pytest.fixture(params=["sqlite", "postgresql"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """A database with a collection that moved from OLD to NEW; its first index version is due to be purged."""
    url = ""
    if request.param == "postgresql":
        url = await postgres.new_database(request.getfixturevalue("postgres_url"))
    made = Database(url, tmp_path)
    await made.migrate()
    async with made.write() as connection:
        values = {"id": "c", "tenant_id": "t", "name": "files", "owner_id": "u", "visibility": 1}
        values |= {
            "index_version": 2,
            "holder": "",
            "version": 1,
            "data": wanting(OLD).SerializeToString(),
            "created_at": 0,
            "updated_at": 0,
        }
        await connection.execute(sa.insert(collections).values(**values))
        for number, state, embedding in ((1, RETIRED, OLD), (2, CURRENT, NEW)):
            one = IndexVersion("c", number, "t", state, 0, embedding)
            await IndexVersionTable(made).insert(connection, one)
        first = sa.update(index_versions).where(index_versions.c.number == 1)
        await connection.execute(first.values(purge_at=now_ms() - 60_000))
    yield made
    await made.close()


SEARCHED = IndexVersion("c", 2, "t", CURRENT, 0, NEW)


async def targets(database: Database) -> Sequence[IndexVersion]:
    """Return what a document goes into that came while the collection was to go back to its first model."""
    moves = ModelMoveTable(database, IndexVersionTable(database), rollback_window=3600)
    return await moves.targets(Stored(wanting(OLD), SEARCHED))


async def back_to_old(database: Database) -> IndexVersion:
    """Change the collection back to its first model, and return the index version that is built for it."""
    searched, building = await targets(database)
    assert searched == SEARCHED
    return building


async def test_a_change_back_never_gets_an_index_version_that_is_being_purged(database: Database) -> None:
    table = IndexVersionTable(database)
    [taken] = await table.take_due()
    assert taken.number == 1
    assert (await back_to_old(database)).number == 3
    assert {one.number: one.state for one in await table.all_of("c")} == {1: DELETED, 2: CURRENT, 3: BUILDING}
    assert [one.number for one in await table.take_due()] == [1], "an interrupted purge is not repeated"


async def test_an_index_version_that_a_change_back_revives_is_not_purged(database: Database) -> None:
    table = IndexVersionTable(database)
    assert (await back_to_old(database)).number == 1
    assert await table.take_due() == []
    assert {one.number: one.state for one in await table.all_of("c")} == {1: BUILDING, 2: CURRENT}


async def test_a_document_that_comes_while_the_model_is_set_back_begins_no_index_version(
    database: Database,
) -> None:
    """The harness found it, seed 913053: no document could be written any more, and the reindexing never ended."""
    async with database.write() as connection:  # the collection that was read is to move, and no longer is
        data = wanting(NEW).SerializeToString()
        await connection.execute(sa.update(collections).values(data=data))
    assert await targets(database) == [SEARCHED]
    async with database.read() as connection:
        await check_unmoved(connection, "c", SEARCHED.number, {SEARCHED.number})


async def test_what_is_built_for_a_model_that_is_no_longer_wanted_keeps_no_document_out(database: Database) -> None:
    """Earlier versions could leave one behind."""
    await back_to_old(database)
    async with database.write() as connection:
        data = wanting(NEW).SerializeToString()
        await connection.execute(sa.update(collections).values(data=data))
    async with database.read() as connection:
        await check_unmoved(connection, "c", SEARCHED.number, {SEARCHED.number})
    moves = ModelMoveTable(database, IndexVersionTable(database), rollback_window=3600)
    assert not await moves.settle("c")


async def test_a_document_of_a_deleted_collection_begins_no_index_version(database: Database) -> None:
    async with database.write() as connection:
        await connection.execute(sa.delete(collections))
    with pytest.raises(NotFound):
        await targets(database)
    assert [one.number for one in await IndexVersionTable(database).all_of("c")] == [1, 2]
