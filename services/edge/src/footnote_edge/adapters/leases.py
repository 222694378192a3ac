"""The tables of replicas' heartbeats, and of the documents in their groups."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

import sqlalchemy as sa
from footnote_database.failures import retry_on_conflict
from footnote_database.transactions import utc
from sqlalchemy.dialects import postgresql, sqlite

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.replica_tables import GroupClaimRow as Row
from footnote_edge.adapters.replica_tables import ReplicaRow

_CLOCK = {
    "postgresql": sa.text("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"),
    "sqlite": sa.text("SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"),
}


class LeaseTable:
    """Reads and writes heartbeats, in milliseconds by the database's clock."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def beat(self, name: str, owners: Collection[str]) -> dict[str, int]:
        """Write a replica's heartbeat, and a first one of unknown `owners` of jobs; return all heartbeats by name."""
        async with self._database.write() as connection:
            now = int((await connection.execute(_CLOCK[self._database.dialect])).scalar_one())
            done = await connection.execute(sa.update(ReplicaRow).where(ReplicaRow.name == name).values(beat=now))
            if done.rowcount != 1:
                await connection.execute(sa.insert(ReplicaRow).values(name=name, beat=now))
            known = set((await connection.execute(sa.select(ReplicaRow.name))).scalars())
            for unknown in sorted(set(owners) - known):
                # It died before its first heartbeat, or its row was deleted: its lease begins now.
                await connection.execute(sa.insert(ReplicaRow).values(name=unknown, beat=now))
            rows = (await connection.execute(sa.select(ReplicaRow.name, ReplicaRow.beat))).all()
        return {str(row[0]): int(row[1]) for row in rows}

    async def end(self, name: str) -> None:
        """End a replica's lease."""
        async with self._database.write() as connection:
            await connection.execute(sa.update(ReplicaRow).where(ReplicaRow.name == name).values(beat=0))

    async def remove(self, beats: Mapping[str, int]) -> None:
        """Delete leases whose heartbeat is still this."""
        async with self._database.write() as connection:
            for name, beat in beats.items():
                unmoved = sa.and_(ReplicaRow.name == name, ReplicaRow.beat == beat)
                await connection.execute(sa.delete(ReplicaRow).where(unmoved))


class GroupClaimTable:
    """Reads and writes claims; of two replicas that claim a document, one gets it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        insert = sqlite.insert(Row) if database.is_sqlite else postgresql.insert(Row)
        self._insert = insert.on_conflict_do_nothing(index_elements=["document_id"])

    @retry_on_conflict
    async def take(self, replica: str, document_ids: Collection[str]) -> set[str]:
        """Claim documents that nobody has, in one transaction; return those that the replica has now."""
        now = datetime.now(UTC)
        # In one order: two replicas that claim the same documents do not wait for each other.
        rows = [{"document_id": one, "replica": replica, "create_time": now} for one in sorted(document_ids)]
        async with self._database.write() as connection:
            await connection.execute(self._insert, rows)
            mine = sa.select(Row.document_id).where(Row.document_id.in_(document_ids), Row.replica == replica)
            return set((await connection.execute(mine)).scalars())

    async def kept(self, replica: str, document_ids: Collection[str]) -> set[str]:
        """Return those of documents that the replica still has."""
        mine = sa.select(Row.document_id).where(Row.document_id.in_(document_ids), Row.replica == replica)
        async with self._database.read() as connection:
            return set((await connection.execute(mine)).scalars())

    async def release(self, replica: str, document_ids: Collection[str]) -> None:
        """Delete a replica's claims on documents."""
        mine = sa.and_(Row.document_id.in_(document_ids), Row.replica == replica)
        async with self._database.write() as connection:
            await connection.execute(sa.delete(Row).where(mine))

    async def holder(self, document_id: str) -> str | None:
        """Return the replica that has a document."""
        async with self._database.read() as connection:
            query = sa.select(Row.replica).where(Row.document_id == document_id)
            return (await connection.execute(query)).scalar_one_or_none()

    async def holders(self) -> set[str]:
        """Return all replicas with claims."""
        async with self._database.read() as connection:
            return set((await connection.execute(sa.select(Row.replica).distinct())).scalars())

    async def oldest(self) -> datetime | None:
        """Return when the oldest claim was made."""
        async with self._database.read() as connection:
            found = (await connection.execute(sa.select(sa.func.min(Row.create_time)))).scalar_one_or_none()
        return None if found is None else utc(found)

    async def drop(self, replica: str) -> int:
        """Delete all claims of a replica that is gone; return how many there were."""
        async with self._database.write() as connection:
            return (await connection.execute(sa.delete(Row).where(Row.replica == replica))).rowcount
