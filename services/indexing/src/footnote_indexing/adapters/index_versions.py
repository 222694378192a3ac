"""Index versions of a collection: the same documents under one embedding model, in one physical space.

One index version is searched: CURRENT. After a change of model the next one is BUILDING. When it holds every document
it becomes CURRENT, and the old one RETIRED. The old one is kept for a while so that the change can be undone, then
purged.
"""

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from footnote.types.v1 import collection_pb2
from footnote_database.transactions import now_ms
from footnote_kit.access import OPEN_TO_ALL
from footnote_kit.errors import Unavailable
from footnote_kit.wall_clock import deletion_time
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_indexing.adapters.database import Database
from footnote_indexing.adapters.tables import collections, index_versions
from footnote_indexing.model import BUILDING, CURRENT, DELETED, Audience, IndexVersion, audiences_of


def read(row: sa.Row[tuple[object, ...]]) -> IndexVersion:
    """Convert a row of the table."""
    embedding = collection_pb2.EmbeddingSettings.FromString(row.embedding)
    return IndexVersion(row.collection_id, row.number, row.tenant_id, row.state, row.variant, embedding)


class IndexVersionTable:
    """The table of index versions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(self, connection: AsyncConnection, index_version: IndexVersion) -> None:
        """Add an index version inside a transaction."""
        await connection.execute(
            sa.insert(index_versions).values(
                collection_id=index_version.collection_id, number=index_version.number,
                tenant_id=index_version.tenant_id, state=index_version.state, variant=index_version.variant,
                embedding=index_version.embedding.SerializeToString(deterministic=True),
            )
        )  # fmt: skip

    async def all_of(self, collection_id: str) -> list[IndexVersion]:
        """Return every index version of a collection, oldest first."""
        query = (
            sa.select(index_versions)
            .where(index_versions.c.collection_id == collection_id)
            .order_by(index_versions.c.number)
        )
        async with self._database.read() as connection:
            return [read(row) for row in await connection.execute(query)]

    async def mark(
        self, connection: AsyncConnection, collection_id: str, state: str, only: str = "", purge_at: int | None = None
    ) -> Sequence[IndexVersion]:
        """Set the state of a collection's index versions, with `only` of those in that state; return them as before."""
        chosen = [index_versions.c.collection_id == collection_id]
        if only:
            chosen.append(index_versions.c.state == only)
        rows = [read(row) for row in await connection.execute(sa.select(index_versions).where(*chosen))]
        when = now_ms() if purge_at is None else purge_at
        await connection.execute(sa.update(index_versions).where(*chosen).values(state=state, purge_at=when))
        return rows

    async def all(self) -> list[IndexVersion]:
        """Return every index version of all collections."""
        async with self._database.read() as connection:
            return [read(row) for row in await connection.execute(sa.select(index_versions))]

    async def searched(self) -> list[IndexVersion]:
        """Return the searched index versions of all collections."""
        async with self._database.read() as connection:
            query = sa.select(index_versions).where(index_versions.c.state == CURRENT)
            return [read(row) for row in await connection.execute(query)]

    async def take_due(self) -> list[IndexVersion]:
        """Mark the index versions that are due to be purged as deleted, and return them.

        Afterwards a change back to their model begins a new index version, instead of one that loses its rows.
        """
        due = index_versions.c.purge_at <= int(deletion_time() * 1000)
        query = sa.select(index_versions).where(due)
        async with self._database.read() as connection:
            # An empty write would start a new epoch and invalidate every cache.
            if (await connection.execute(query.limit(1))).first() is None:
                return []
        async with self._database.write() as connection:
            found = [read(row) for row in await connection.execute(query.with_for_update())]
            await connection.execute(sa.update(index_versions).where(due).values(state=DELETED))
        return found

    async def find(self, collection_id: str, number: int) -> IndexVersion | None:
        """Return one index version, or None if it does not exist."""
        query = sa.select(index_versions).where(
            index_versions.c.collection_id == collection_id, index_versions.c.number == number
        )
        async with self._database.read() as connection:
            row = (await connection.execute(query)).first()
            return read(row) if row is not None else None

    async def audience(self, index_version: IndexVersion) -> Audience:
        """Return who may read the texts of a collection."""
        query = sa.select(collections.c.visibility).where(collections.c.id == index_version.collection_id)
        async with self._database.read() as connection:
            visibility = (await connection.execute(query)).scalar_one_or_none()
        of_all, own = audiences_of(index_version)
        return of_all if visibility in OPEN_TO_ALL else own

    async def postpone(self, index_version: IndexVersion, milliseconds: int) -> None:
        """Schedule another purge for later: a writer may still be at work on the index version."""
        await self._set(index_version, purge_at=now_ms() + milliseconds)

    async def revive(self, connection: AsyncConnection, index_version: IndexVersion, state: str) -> None:
        """Give an index version that was to be purged another state, inside a transaction."""
        await connection.execute(_one(index_version).values(state=state, purge_at=None))

    async def _set(self, index_version: IndexVersion, **values: object) -> None:
        async with self._database.write() as connection:
            await connection.execute(_one(index_version).values(**values))

    async def forget(self, index_version: IndexVersion) -> None:
        """Delete the entry of a purged index version."""
        async with self._database.write() as connection:
            await connection.execute(
                sa.delete(index_versions).where(
                    index_versions.c.collection_id == index_version.collection_id,
                    index_versions.c.number == index_version.number,
                    index_versions.c.purge_at.is_not(None),
                )
            )


def _one(index_version: IndexVersion) -> sa.Update:
    return sa.update(index_versions).where(
        index_versions.c.collection_id == index_version.collection_id, index_versions.c.number == index_version.number
    )


async def check_unmoved(
    connection: AsyncConnection, collection_id: str, index_version: int, written: Collection[int] | None
) -> None:
    """Raise Unavailable if an index version is not the collection's any more, or `written` lacks a needed one.

    The next attempt finds the right index versions. `written` is None for rows that cannot be in another index version.
    The collection does not move until the transaction ends.
    """
    mine = sa.select(collections.c.data).where(collections.c.id == collection_id).with_for_update(read=True)
    data = (await connection.execute(mine)).scalar_one_or_none()
    if data is None:
        return  # other checks detect the deletion
    wanted = collection_pb2.Collection.FromString(data).settings.embedding
    query = sa.select(index_versions).where(
        index_versions.c.collection_id == collection_id, index_versions.c.state.in_((CURRENT, BUILDING))
    )
    live = [read(row) for row in await connection.execute(query)]
    # One that is being built for a model that is no longer wanted gets no document.
    needed = {one.number for one in live if one.state == CURRENT or one.embedding == wanted}
    is_gone = index_version not in {one.number for one in live}
    if live and (is_gone or (written is not None and not needed <= set(written))):
        raise Unavailable("The collection began to move to another embedding model; send it again")
