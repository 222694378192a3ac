"""Moving a collection to another embedding model while it is searched under the old one.

While a collection's settings name another model than the searched index version, every document is written into both.
Searches see it at once in the old index version. When the new one holds every searched document, searches move over in
one transaction. The old one is kept for a while, so that setting the old model again undoes the move.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from footnote.types.v1 import collection_pb2
from footnote_database.transactions import now_ms
from footnote_kit.access import collection_missing
from footnote_kit.logs import get_logger
from footnote_store.rows import space_name
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_indexing.adapters.database import Database
from footnote_indexing.adapters.index_versions import IndexVersionTable, read
from footnote_indexing.adapters.tables import collections, index_versions, revisions
from footnote_indexing.model import BUILDING, CURRENT, DELETED, RETIRED, IndexVersion, Stored

_log = get_logger("footnote.indexing.switching")


class ModelMoveTable:
    """Decides which index versions a document goes into, and when searches move."""

    def __init__(self, database: Database, index_versions_: IndexVersionTable, rollback_window: float) -> None:
        self._database = database
        self._index_versions = index_versions_
        self._rollback_ms = int(rollback_window * 1000)

    async def targets(self, found: Stored) -> Sequence[IndexVersion]:
        """Return the index versions to write to: the searched one, and the one being built, if any."""
        if found.collection.settings.embedding == found.index_version.embedding:
            return [found.index_version]
        building = await self._building(found)
        return [building] if building.state == CURRENT else [found.index_version, building]

    async def _building(self, found: Stored) -> IndexVersion:
        """Return the index version being built for the model in the collection's settings; begin one if there is none.

        It may already be searched: after the collection was read, another request moved it or set its old model again.
        Raises NotFound when the collection was deleted.
        """
        async with self._database.write() as connection:
            # The model that is wanted now: no document is written into an index version for another one, which would
            # keep out all of them.
            wanted = await _lock(connection, found.collection.id)
            if wanted is None:
                raise collection_missing(found.collection.id)
            query = sa.select(index_versions).where(index_versions.c.collection_id == found.collection.id)
            # Locked, so that the sweeper does not take one that is revived here.
            rows = list(await connection.execute(query.order_by(index_versions.c.number).with_for_update()))
            for row in rows:
                same = row.embedding == wanted.SerializeToString(deterministic=True)
                if same and row.state in (BUILDING, CURRENT):
                    return read(row)
            await self._index_versions.mark(connection, found.collection.id, DELETED, only=BUILDING)
            for row in rows:
                if row.state == RETIRED and row.embedding == wanted.SerializeToString(deterministic=True):
                    await self._index_versions.revive(connection, read(row), BUILDING)
                    return read(row)
            number = max(row.number for row in rows) + 1
            # Both index versions hold the same ids, so they must be in different spaces.
            taken = {read(row).space for row in rows}
            variant = next(v for v in range(len(taken) + 1) if space_name(wanted.dimensions, v) not in taken)
            new = IndexVersion(found.collection.id, number, found.index_version.tenant_id, BUILDING, variant, wanted)
            await self._index_versions.insert(connection, new)
            return new

    async def settle(self, collection_id: str) -> bool:
        """Move searches to the index version being built if it holds all searched documents; return whether it did."""
        async with self._database.write() as connection:
            wanted = await _lock(connection, collection_id)
            query = sa.select(index_versions).where(index_versions.c.collection_id == collection_id)
            rows = {row.state: row for row in await connection.execute(query)}
            if BUILDING not in rows or CURRENT not in rows or read(rows[BUILDING]).embedding != wanted:
                return False
            old, new = rows[CURRENT], rows[BUILDING]
            there, missing = revisions.alias(), revisions.alias()
            has = sa.exists().where(
                there.c.collection_id == collection_id,
                there.c.index_version == new.number,
                there.c.document_id == missing.c.document_id,
                there.c.revision >= missing.c.revision,
                there.c.state == CURRENT,
            )
            left = await connection.execute(
                sa.select(sa.func.count())
                .select_from(missing)
                .where(
                    missing.c.collection_id == collection_id,
                    missing.c.index_version == old.number,
                    missing.c.state == CURRENT,
                    ~has,
                )
            )
            if left.scalar_one():
                return False
            until = now_ms() + self._rollback_ms
            await self._index_versions.mark(connection, collection_id, RETIRED, only=CURRENT, purge_at=until)
            await self._index_versions.revive(connection, read(new), CURRENT)
            await connection.execute(
                sa.update(collections).where(collections.c.id == collection_id).values(index_version=new.number)
            )
        _log.info("collection_switched", collection_id=collection_id, index_version=new.number, space=read(new).space)
        return True


async def _lock(connection: AsyncConnection, collection_id: str) -> collection_pb2.EmbeddingSettings | None:
    """Lock a collection against other changes of its index versions, until the transaction ends; return its model.

    This locks the collection's row: locks on its index versions would miss index versions added meanwhile. None is a
    collection that was deleted.
    """
    mine = sa.select(collections.c.data).where(collections.c.id == collection_id).with_for_update()
    data = (await connection.execute(mine)).scalar_one_or_none()
    return None if data is None else collection_pb2.Collection.FromString(data).settings.embedding
