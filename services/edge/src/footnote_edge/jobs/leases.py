"""Who is at work on jobs: each replica says every few seconds that it is alive, and takes over from those that do not.

A replica is alive as long as what it says changes, by the time that passes at whoever looks: a clock that is put on or
back, the database's or a replica's, ends nobody's lease and prolongs none. One that could not say so itself for a
while, because the database was away, judges nobody until all have had the time to say so again.
"""

import asyncio
import time
from collections.abc import Callable

import sqlalchemy as sa
from dbos import DBOS
from footnote_kit.logs import get_logger
from footnote_kit.periodic import PeriodicTasks
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import ReplicaRow

BEAT_SECONDS = 4.0
LEASE_SECONDS = 18.0
"""After so long without a word a replica is given up; with the pause between two looks that is below half a minute."""

_CLOCK = {
    "postgresql": sa.text("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"),
    "sqlite": sa.text("SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"),
}

_log = get_logger(__name__)


class Leases:
    """This replica's lease, and a look at those of the others; `told` hears at each look how many there are."""

    def __init__(
        self,
        database: Database,
        name: str,
        clock: Callable[[], float] = time.monotonic,
        told: Callable[[int], None] | None = None,
    ) -> None:
        self._database = database
        self._name = name
        self._clock = clock
        self._told = told
        self.alive = 1
        """Replicas at work when it was last looked, this one among them."""
        self.others: frozenset[str] = frozenset()
        """Names of the others of them."""
        self._last = self._since = -LEASE_SECONDS
        self._seen: dict[str, tuple[int, float]] = {}
        """By replica: what it said last, and when that was first seen here."""
        self._rounds = PeriodicTasks("leases", self.look, BEAT_SECONDS, service="edge", jitter=0.0)

    async def start(self) -> None:
        """Begin to say that this replica is alive."""
        await self._rounds.start()

    async def close(self) -> None:
        """Say that it is no longer: what it leaves is taken over at the next look of another."""
        await self._rounds.stop()
        try:
            async with self._database.write() as connection:
                await connection.execute(sa.update(ReplicaRow).where(ReplicaRow.name == self._name).values(beat=0))
        except Exception as error:  # it is found out by the others
            _log.warning("lease_not_given_back", error=type(error).__name__)

    async def look(self) -> int:
        """Renew the lease, and put the jobs of replicas whose lease ran out back into their queues; return how many."""
        owners = await self._owners()
        async with self._database.write() as connection:
            now = int((await connection.execute(_CLOCK[self._database.dialect])).scalar_one())
            await self._beat(connection, now)
            for unknown in sorted(owners - await self._known(connection)):
                # Gone before it could say anything, or given back: it has as long as the others from now on.
                await connection.execute(sa.insert(ReplicaRow).values(name=unknown, beat=now))
            rows = (await connection.execute(sa.select(ReplicaRow.name, ReplicaRow.beat))).all()
        beats = {str(name): int(beat) for name, beat in rows}
        dead = self._overdue(beats)
        self.alive = len(beats) - len(dead)
        self.others = frozenset(beats) - dead - {self._name}
        if self._told is not None:
            self._told(self.alive)
        if not self._may_judge():
            return 0
        for name in dead & owners:
            await asyncio.to_thread(DBOS._recover_pending_workflows, [name])
            _log.warning("jobs_taken_over", replica=name)
        if idle := dead - owners:
            async with self._database.write() as connection:
                for name in idle:
                    unmoved = sa.and_(ReplicaRow.name == name, ReplicaRow.beat == beats[name])
                    await connection.execute(sa.delete(ReplicaRow).where(unmoved))
        return len(dead & owners)

    def _overdue(self, beats: dict[str, int]) -> set[str]:
        """Return who has said nothing new for too long, or that it is no more."""
        now = self._clock()
        self._seen = {
            name: seen if (seen := self._seen.get(name)) is not None and seen[0] == beat else (beat, now)
            for name, beat in beats.items()
        }
        return {name for name, (beat, since) in self._seen.items() if not beat or now - since > LEASE_SECONDS}

    async def _owners(self) -> set[str]:
        """Return the names under which jobs are at work."""
        found = await DBOS.list_workflows_async(status="PENDING", load_input=False, load_output=False)
        return {one.executor_id for one in found if one.executor_id} - {self._name}

    async def _known(self, connection: AsyncConnection) -> set[str]:
        return set((await connection.execute(sa.select(ReplicaRow.name))).scalars())

    async def _beat(self, connection: AsyncConnection, now: int) -> None:
        mine = ReplicaRow.name == self._name
        done = await connection.execute(sa.update(ReplicaRow).where(mine).values(beat=now))
        if done.rowcount != 1:
            await connection.execute(sa.insert(ReplicaRow).values(name=self._name, beat=now))
        if self._clock() - self._last > LEASE_SECONDS / 2:
            self._since = self._clock()
        self._last = self._clock()

    def _may_judge(self) -> bool:
        return self._clock() - self._since >= LEASE_SECONDS
