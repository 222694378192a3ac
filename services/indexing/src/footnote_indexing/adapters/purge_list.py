"""Which revisions' rows are to be removed from the store, and when."""

import sqlalchemy as sa
from footnote_database.transactions import now_ms
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_indexing.adapters.database import Database
from footnote_indexing.adapters.revision_rows import WRITER_TIMEOUT_MS, being_written, entry_of, is_revision
from footnote_indexing.adapters.tables import HIDDEN, revisions
from footnote_indexing.model import CURRENT, RETIRED, WRITING, Entry, RevisionKey


def _expired(before: object) -> sa.ColumnElement[bool]:
    return sa.and_(revisions.c.state == CURRENT, revisions.c.expire_at <= before)


def _abandoned(before: object) -> sa.ColumnElement[bool]:
    return sa.and_(HIDDEN, revisions.c.state == WRITING, revisions.c.updated_at <= before)


# Built once, as they are asked every two seconds.
_STALE = sa.union_all(
    *(
        sa.select(revisions.c.revision).where(stale)
        for stale in (_expired(sa.bindparam("expired_before")), _abandoned(sa.bindparam("abandoned_before")))
    )
).limit(1)
_DUE = (
    sa.select(revisions)
    .where(revisions.c.purge_at <= sa.bindparam("now"))
    .order_by(revisions.c.purge_at)
    .limit(sa.bindparam("most"))
)


class PurgeTable:
    """The RETIRED part of the ledger: entries stay until the sweeper has purged their rows."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def retire_stale(self, expired_before: int, abandoned_before: int) -> int:
        """Retire revisions that expired before one time, and incomplete ones last written before another."""
        times = {"expired_before": expired_before, "abandoned_before": abandoned_before}
        # There is almost never anything to retire; an empty write would start a new epoch and invalidate every cache.
        async with self._database.read() as connection:
            if (await connection.execute(_STALE, times)).first() is None:
                return 0
        async with self._database.write() as connection:
            retired = [
                await connection.execute(sa.update(revisions).where(stale).values(state=RETIRED, purge_at=now_ms()))
                for stale in (_expired(expired_before), _abandoned(abandoned_before))
            ]
            return sum(one.rowcount for one in retired)

    async def due(self, limit: int) -> list[Entry]:
        """Return retired revisions that are due to be purged."""
        async with self._database.read() as connection:
            return [entry_of(row) for row in await connection.execute(_DUE, {"now": now_ms(), "most": limit})]

    async def is_due(self, key: RevisionKey) -> bool:
        """Return whether a revision is still due to be purged."""
        due = sa.select(revisions.c.revision).where(is_revision(key), revisions.c.purge_at <= now_ms())
        async with self._database.read() as connection:
            return (await connection.execute(due)).first() is not None

    async def forget(self, key: RevisionKey) -> None:
        """Remove the entry of a revision whose rows are purged."""
        async with self._database.write_documents() as connection:
            await connection.execute(sa.delete(revisions).where(is_revision(key), revisions.c.state == RETIRED))

    async def drop_index_version(self, collection_id: str, index_version: int) -> bool:
        """Remove a purged index version's entries; return whether any remain because a writer may be at work."""
        async with self._database.write() as connection:
            await drop(connection, collection_id, index_version)
            query = sa.select(revisions.c.revision).where(
                revisions.c.collection_id == collection_id, revisions.c.index_version == index_version
            )
            return (await connection.execute(query.limit(1))).first() is not None


async def drop(connection: AsyncConnection, collection_id: str, index_version: int = 0) -> None:
    """Remove all entries of a collection or one index version, inside a transaction; their rows are purged together.

    Revisions being written are retired instead, so that their writers notice.
    """
    chosen = [revisions.c.collection_id == collection_id]
    if index_version:
        chosen.append(revisions.c.index_version == index_version)
    await connection.execute(sa.delete(revisions).where(*chosen, revisions.c.state == CURRENT, ~being_written()))
    await connection.execute(
        sa.update(revisions)
        .where(*chosen, being_written())
        .values(state=RETIRED, purge_at=now_ms() + WRITER_TIMEOUT_MS, updated_at=now_ms())
    )
