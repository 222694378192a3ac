"""Generations of a collection: the same documents under one embedding model, in one physical space.

One generation is searched: CURRENT. After a change of model the next one is BUILDING. When it holds every document it
becomes CURRENT, and the old one RETIRED. The old one is kept for a while so that the change can be undone, then purged.
"""

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from footnote.types.v1 import collection_pb2
from footnote_database.times import now_ms
from footnote_kit.errors import Unavailable
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_indexing.adapters.database import Database
from footnote_indexing.adapters.tables import collections, generations
from footnote_indexing.model import BUILDING, CURRENT, Generation


def read(row: sa.Row[tuple[object, ...]]) -> Generation:
    """Convert a row of the table."""
    embedding = collection_pb2.EmbeddingSettings.FromString(row.embedding)
    return Generation(row.collection_id, row.number, row.tenant_id, row.state, row.variant, embedding)


class GenerationTable:
    """The table of generations."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(self, connection: AsyncConnection, generation: Generation) -> None:
        """Add a generation inside a transaction."""
        await connection.execute(
            sa.insert(generations).values(
                collection_id=generation.collection_id, number=generation.number, tenant_id=generation.tenant_id,
                state=generation.state, variant=generation.variant,
                embedding=generation.embedding.SerializeToString(deterministic=True),
            )
        )  # fmt: skip

    async def all_of(self, collection_id: str) -> list[Generation]:
        """Return every generation of a collection, oldest first."""
        query = (
            sa.select(generations).where(generations.c.collection_id == collection_id).order_by(generations.c.number)
        )
        async with self._database.read() as connection:
            return [read(row) for row in await connection.execute(query)]

    async def mark(
        self, connection: AsyncConnection, collection_id: str, state: str, only: str = "", purge_at: int | None = None
    ) -> Sequence[Generation]:
        """Set the state of a collection's generations (with `only`, of those in that state); return them as before."""
        chosen = [generations.c.collection_id == collection_id]
        if only:
            chosen.append(generations.c.state == only)
        rows = [read(row) for row in await connection.execute(sa.select(generations).where(*chosen))]
        when = now_ms() if purge_at is None else purge_at
        await connection.execute(sa.update(generations).where(*chosen).values(state=state, purge_at=when))
        return rows

    async def searched(self) -> list[Generation]:
        """Return the searched generations of all collections."""
        async with self._database.read() as connection:
            query = sa.select(generations).where(generations.c.state == CURRENT)
            return [read(row) for row in await connection.execute(query)]

    async def due(self) -> list[Generation]:
        """Return the generations that are due to be purged."""
        query = sa.select(generations).where(generations.c.purge_at <= now_ms())
        async with self._database.read() as connection:
            return [read(row) for row in await connection.execute(query)]

    async def find(self, collection_id: str, number: int) -> Generation | None:
        """Return one generation, or None if it does not exist."""
        query = sa.select(generations).where(
            generations.c.collection_id == collection_id, generations.c.number == number
        )
        async with self._database.read() as connection:
            row = (await connection.execute(query)).first()
            return read(row) if row is not None else None

    async def postpone(self, generation: Generation, milliseconds: int) -> None:
        """Schedule another purge for later: a writer may still be at work on the generation."""
        await self._set(generation, purge_at=now_ms() + milliseconds)

    async def revive(self, connection: AsyncConnection, generation: Generation, state: str) -> None:
        """Give a generation that was to be purged another state, inside a transaction."""
        await connection.execute(_one(generation).values(state=state, purge_at=None))

    async def _set(self, generation: Generation, **values: object) -> None:
        async with self._database.write() as connection:
            await connection.execute(_one(generation).values(**values))

    async def forget(self, generation: Generation) -> None:
        """Delete the entry of a purged generation."""
        async with self._database.write() as connection:
            await connection.execute(
                sa.delete(generations).where(
                    generations.c.collection_id == generation.collection_id,
                    generations.c.number == generation.number,
                    generations.c.purge_at.is_not(None),
                )
            )


def _one(generation: Generation) -> sa.Update:
    return sa.update(generations).where(
        generations.c.collection_id == generation.collection_id, generations.c.number == generation.number
    )


async def check_unmoved(
    connection: AsyncConnection, collection_id: str, generation: int, written: Collection[int] | None
) -> None:
    """Raise Unavailable if a generation is no longer the collection's, or if a needed one is missing from `written`.

    The next attempt finds the right generations. `written` is None for rows that cannot be in another generation. The
    collection does not move until the transaction ends.
    """
    mine = sa.select(collections.c.id).where(collections.c.id == collection_id)
    await connection.execute(mine.with_for_update(read=True))
    live = sa.select(generations.c.number).where(
        generations.c.collection_id == collection_id, generations.c.state.in_((CURRENT, BUILDING))
    )
    numbers = set((await connection.execute(live)).scalars())
    # A deleted collection has none; other checks detect the deletion.
    if numbers and (generation not in numbers or (written is not None and not numbers <= set(written))):
        raise Unavailable("The collection began to move to another model meanwhile; send it once more")
