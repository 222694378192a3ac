"""The table of replicas' heartbeats."""

from collections.abc import Collection, Mapping

import sqlalchemy as sa

from footnote_edge.adapters.database import Database
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
