"""Index versions between the sweeper and a change back to their model, on a real SQLite file and a real PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from footnote.types.v1.collection_pb2 import Collection, EmbeddingSettings
from footnote_database.times import now_ms
from footnote_indexing.adapters.database import Database
from footnote_indexing.adapters.index_versions import IndexVersionTable
from footnote_indexing.adapters.model_moves import ModelMoveTable
from footnote_indexing.adapters.tables import index_versions
from footnote_indexing.model import BUILDING, CURRENT, DELETED, RETIRED, IndexVersion, Stored
from support import postgres

NEW, OLD = (EmbeddingSettings(provider="builtin", dimensions=size) for size in (256, 384))


@pytest.fixture(params=["sqlite", "postgresql"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """A database with a collection that moved from OLD to NEW; its first index version is due to be purged."""
    url = ""
    if request.param == "postgresql":
        url = await postgres.new_database(request.getfixturevalue("postgres_url"))
    made = Database(url, tmp_path)
    await made.migrate()
    async with made.write() as connection:
        for number, state, embedding in ((1, RETIRED, OLD), (2, CURRENT, NEW)):
            one = IndexVersion("c", number, "t", state, 0, embedding)
            await IndexVersionTable(made).insert(connection, one)
        first = sa.update(index_versions).where(index_versions.c.number == 1)
        await connection.execute(first.values(purge_at=now_ms() - 1))
    yield made
    await made.close()


async def back_to_old(database: Database) -> IndexVersion:
    """Change the collection back to its first model, and return the index version that is built for it."""
    searched = IndexVersion("c", 2, "t", CURRENT, 0, NEW)
    wanted = Collection(id="c", settings={"embedding": {"provider": OLD.provider, "dimensions": OLD.dimensions}})
    moves = ModelMoveTable(database, IndexVersionTable(database), rollback_window=3600)
    targets = await moves.targets(Stored(wanted, searched))
    assert targets[0] == searched
    return targets[1]


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
