"""Moving a collection to another embedding model while it is searched under the old one.

While a collection's settings name another model than the searched generation, every document is written into both.
Searches see it at once in the old generation. When the new one holds every searched document, searches move over in one
transaction. The old one is kept for a while, so that setting the old model again undoes the move.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from footnote.types.v1 import collection_pb2
from footnote_database.times import now_ms
from footnote_kit.logs import get_logger
from footnote_store.rows import space_name
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_indexing.adapters.database import Database
from footnote_indexing.adapters.generations import GenerationTable, read
from footnote_indexing.adapters.tables import collections, generations, revisions
from footnote_indexing.model import BUILDING, CURRENT, DELETED, RETIRED, Generation, Stored

_log = get_logger("footnote.indexing.switching")


class ModelMoveTable:
    """Decides which generations a document goes into, and when searches move."""

    def __init__(self, database: Database, generations_: GenerationTable, rollback_window: float) -> None:
        self._database = database
        self._generations = generations_
        self._rollback_ms = int(rollback_window * 1000)

    async def targets(self, found: Stored) -> Sequence[Generation]:
        """Return the generations to write to: the searched one, and the one being built, if any."""
        wanted = found.collection.settings.embedding
        if wanted == found.generation.embedding:
            return [found.generation]
        building = await self._building(found, wanted)
        return [building] if building.state == CURRENT else [found.generation, building]

    async def _building(self, found: Stored, wanted: collection_pb2.EmbeddingSettings) -> Generation:
        """Return the generation being built for a model; begin one if there is none.

        It may already be searched: another request moved the collection after it was read.
        """
        async with self._database.write() as connection:
            await _lock(connection, found.collection.id)
            query = sa.select(generations).where(generations.c.collection_id == found.collection.id)
            rows = list(await connection.execute(query.order_by(generations.c.number)))
            for row in rows:
                same = row.embedding == wanted.SerializeToString(deterministic=True)
                if same and row.state in (BUILDING, CURRENT):
                    return read(row)
            await self._generations.mark(connection, found.collection.id, DELETED, only=BUILDING)
            for row in rows:
                if row.state == RETIRED and row.embedding == wanted.SerializeToString(deterministic=True):
                    await self._generations.revive(connection, read(row), BUILDING)
                    return read(row)
            number = max(row.number for row in rows) + 1
            # Both generations hold the same ids, so they must be in different spaces.
            taken = {read(row).space for row in rows}
            variant = next(v for v in range(len(taken) + 1) if space_name(wanted.dimensions, v) not in taken)
            new = Generation(found.collection.id, number, found.generation.tenant_id, BUILDING, variant, wanted)
            await self._generations.insert(connection, new)
            return new

    async def settle(self, collection_id: str) -> bool:
        """Move searches to the generation being built if it holds all searched documents; return whether it did."""
        async with self._database.write() as connection:
            await _lock(connection, collection_id)
            query = sa.select(generations).where(generations.c.collection_id == collection_id)
            rows = {row.state: row for row in await connection.execute(query)}
            if BUILDING not in rows or CURRENT not in rows:
                return False
            old, new = rows[CURRENT], rows[BUILDING]
            there, missing = revisions.alias(), revisions.alias()
            has = sa.exists().where(
                there.c.collection_id == collection_id,
                there.c.generation == new.number,
                there.c.document_id == missing.c.document_id,
                there.c.revision >= missing.c.revision,
                there.c.state == CURRENT,
            )
            left = await connection.execute(
                sa.select(sa.func.count())
                .select_from(missing)
                .where(
                    missing.c.collection_id == collection_id,
                    missing.c.generation == old.number,
                    missing.c.state == CURRENT,
                    ~has,
                )
            )
            if left.scalar_one():
                return False
            until = now_ms() + self._rollback_ms
            await self._generations.mark(connection, collection_id, RETIRED, only=CURRENT, purge_at=until)
            await self._generations.revive(connection, read(new), CURRENT)
            await connection.execute(
                sa.update(collections).where(collections.c.id == collection_id).values(generation=new.number)
            )
        _log.info("collection_switched", collection_id=collection_id, generation=new.number, space=read(new).space)
        return True


async def _lock(connection: AsyncConnection, collection_id: str) -> None:
    """Lock a collection against other changes of its generations, until the transaction ends.

    This locks the collection's row: locks on its generations would miss generations added meanwhile.
    """
    await connection.execute(sa.select(collections.c.id).where(collections.c.id == collection_id).with_for_update())
