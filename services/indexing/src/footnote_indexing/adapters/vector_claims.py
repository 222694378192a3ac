"""Which searched revisions have rows without a vector, and which worker holds them."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

import sqlalchemy as sa
from footnote_database.transactions import now_ms

from footnote_indexing.adapters.database import Database
from footnote_indexing.adapters.revision_rows import hold_rows, is_revision
from footnote_indexing.adapters.tables import OWED, revisions
from footnote_indexing.model import CURRENT, RevisionKey

_PER_VECTOR = 50
"""Milliseconds that a vector is reckoned to take: e5 makes about 20 a second on two cores."""


def _free(now: object, latest: object) -> sa.ColumnElement[bool]:
    """Return the condition that no claim holds, whose end is between these times."""
    return sa.or_(revisions.c.claimed_until.is_(None), ~revisions.c.claimed_until.between(now, latest))


# Built once, as it is asked every second.
_OWED = (
    sa.select(revisions)
    .where(OWED, revisions.c.state == CURRENT, _free(sa.bindparam("now"), sa.bindparam("latest")))
    .order_by(revisions.c.updated_at + revisions.c.vectors_owed * _PER_VECTOR, revisions.c.document_id)
    .limit(sa.bindparam("most"))
)


class VectorClaimTable:
    """The vectors owed. A claim keeps other replicas away, and expires when its holder has died.

    It also ends when the rows are relabelled. Its end names it: a worker that lost its claim changes nothing here.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held: dict[RevisionKey, int] = {}
        """Until when this process holds its claims, as the table has it."""

    async def claim(self, besides: Collection[RevisionKey], seconds: float) -> tuple[RevisionKey, bool] | None:
        """Claim the revision that would have been done first if work on each had begun at once; None if none is owed.

        Small documents thus pass large ones, and no stream of later ones keeps a large one waiting for ever.

        Returns its key, and whether its texts have a contextual header.
        """
        now, longest = now_ms(), int(seconds * 1000)
        # A claim further ahead was made before the clock was set back; that of a relabelling lasts twice as long.
        latest = now + 3 * longest
        async with self._database.read() as connection:
            rows = list(await connection.execute(_OWED, {"now": now, "latest": latest, "most": len(besides) + 1}))
        for row in rows:
            key = RevisionKey(row.collection_id, row.index_version, row.document_id, row.revision)
            if key not in besides and await self._set(key, _free(now, latest), claimed_until=now + longest):
                self._held[key] = now + longest
                return key, bool(row.contextual_header)
        return None

    async def missing(
        self, collection_id: str, index_version: int, document_id: str, after: str, most: int
    ) -> list[tuple[str, int]]:
        """Return searched documents that lack vectors and how many, by id after one; only `document_id` unless ""."""
        query = (
            sa.select(revisions.c.document_id, revisions.c.vectors_owed)
            .where(
                revisions.c.collection_id == collection_id,
                revisions.c.index_version == index_version,
                revisions.c.state == CURRENT,
                OWED,
                revisions.c.document_id > after,
            )
            .order_by(revisions.c.document_id)
            .limit(most)
        )
        if document_id:
            query = query.where(revisions.c.document_id == document_id)
        async with self._database.read() as connection:
            return [(row.document_id, int(row.vectors_owed)) for row in await connection.execute(query)]

    async def owed(self) -> int:
        """Return how many vectors the searched revisions of all tenants lack."""
        query = sa.select(sa.func.sum(revisions.c.vectors_owed)).where(OWED, revisions.c.state == CURRENT)
        async with self._database.read() as connection:
            return int((await connection.execute(query)).scalar_one() or 0)

    @asynccontextmanager
    async def writing(self, key: RevisionKey) -> AsyncIterator[bool]:
        """Yield whether the claim holds; a replica that relabels the rows reads them after the block's end."""
        query = sa.select(revisions.c.revision).where(is_revision(key), revisions.c.state == CURRENT, self._holds(key))
        async with self._database.read() as connection:
            await hold_rows(connection, key.document_id)
            yield (await connection.execute(query)).first() is not None

    async def paid(self, key: RevisionKey, number: int, seconds: float) -> bool:
        """Record that `number` vectors were written and extend the claim; return whether it still holds."""
        left = sa.case((revisions.c.vectors_owed > number, revisions.c.vectors_owed - number), else_=1)
        until = now_ms() + int(seconds * 1000)
        if not await self._set(key, self._holds(key), vectors_owed=left, claimed_until=until):
            return False
        self._held[key] = until
        return True

    async def searched(self, key: RevisionKey) -> bool:
        """Return whether a revision is searched."""
        query = sa.select(revisions.c.revision).where(is_revision(key), revisions.c.state == CURRENT)
        async with self._database.read() as connection:
            return (await connection.execute(query)).first() is not None

    async def settled(self, key: RevisionKey) -> None:
        """Record that every row has its vector, if the claim still holds."""
        await self._set(key, self._holds(key), vectors_owed=0, claimed_until=None)
        self._held.pop(key, None)

    async def release(self, key: RevisionKey) -> None:
        """Release the claim, so that another replica can try."""
        await self._set(key, self._holds(key), claimed_until=None)
        self._held.pop(key, None)

    async def forget_claims(self) -> None:
        """Delete all claims at start, where this process is the only writer: every earlier holder has died."""
        if self._database.current() is None:
            return
        query = sa.select(revisions.c.revision).where(revisions.c.claimed_until.is_not(None)).limit(1)
        async with self._database.read() as connection:
            if (await connection.execute(query)).first() is None:
                return
        async with self._database.write() as connection:
            await connection.execute(sa.update(revisions).values(claimed_until=None))

    def _holds(self, key: RevisionKey) -> sa.ColumnElement[bool]:
        return revisions.c.claimed_until == self._held.get(key, 0)

    async def _set(self, key: RevisionKey, only: sa.ColumnElement[bool], **values: object) -> bool:
        async with self._database.write_documents() as connection:
            done = await connection.execute(
                sa.update(revisions).where(is_revision(key), revisions.c.state == CURRENT, only).values(**values)
            )
            return bool(done.rowcount == 1)
