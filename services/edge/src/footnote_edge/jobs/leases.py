"""Replicas' leases: each renews its own every few seconds, and takes over jobs of expired ones.

A replica is alive while its heartbeat changes, measured by the observer's monotonic clock: a clock that jumps, the
database's or a replica's, neither ends nor prolongs a lease. A replica that could not renew its own lease, because the
database was down, expires no other until all have had time to renew.

Claims on documents in groups (`groups.py`) end with their replica's lease; the reconciler then finds their documents.
"""

import asyncio
import time
from collections.abc import Callable

from dbos import DBOS
from footnote_kit.logs import get_logger
from footnote_kit.periodic import PeriodicTasks

from footnote_edge.jobs.ports import GroupClaims, ReplicaLeases

BEAT_SECONDS = 4.0
LEASE_SECONDS = 18.0
"""Seconds without a heartbeat after which a lease expires; with the pause between two checks, under half a minute."""


_log = get_logger(__name__)


class Leases:
    """This replica's lease, and a view of the others; the callback gets the number of live replicas at each check."""

    def __init__(
        self,
        leases: ReplicaLeases,
        claims: GroupClaims,
        name: str,
        clock: Callable[[], float] = time.monotonic,
        on_change: Callable[[int], None] | None = None,
    ) -> None:
        self._leases = leases
        self._claims = claims
        self._name = name
        self._clock = clock
        self._on_change = on_change
        self.on_orphans: Callable[[], None] = lambda: None
        """Called when documents have lost the replica that had them in its groups; set with the reconciler."""
        self.alive = 1
        """Live replicas at the last check, this one included."""
        self.others: frozenset[str] = frozenset()
        """Names of the other live replicas."""
        self._last = self._since = -LEASE_SECONDS
        self._seen: dict[str, tuple[int, float]] = {}
        """By replica: its last heartbeat, and when it was first seen here."""
        self._rounds = PeriodicTasks("leases", self.renew, BEAT_SECONDS, service="edge", jitter=0.0)

    async def start(self) -> None:
        """Start to renew the lease; claims under this name are of an earlier process, whose queue is gone."""
        await self._claims.drop(self._name)
        await self._rounds.start()

    async def close(self) -> None:
        """End the lease, so that another replica takes over at its next check."""
        await self._rounds.stop()
        try:
            await self._leases.end(self._name)
        except Exception as error:  # other replicas will notice
            _log.warning("lease_not_given_back", error=type(error).__name__)

    async def renew(self) -> int:
        """Renew the lease, and requeue the jobs and documents of expired ones; return of how many replicas."""
        owners = await self._owners()
        holders = await self._claims.holders() - {self._name}
        beats = await self._leases.beat(self._name, owners | holders)
        if self._clock() - self._last > LEASE_SECONDS / 2:
            self._since = self._clock()
        self._last = self._clock()
        dead = self._overdue(beats)
        self.alive = len(beats) - len(dead)
        self.others = frozenset(beats) - dead - {self._name}
        if self._on_change is not None:
            self._on_change(self.alive)
        if not self._may_judge():
            return 0
        for name in dead & owners:
            await asyncio.to_thread(DBOS._recover_pending_workflows, [name])
            _log.warning("jobs_taken_over", replica=name)
        for name in dead & holders:
            orphans = await self._claims.drop(name)
            _log.warning("claims_ended", replica=name, documents=orphans)
        if dead & holders:
            self.on_orphans()
        if idle := dead - owners - holders:
            await self._leases.remove({name: beats[name] for name in idle})
        return len(dead & (owners | holders))

    def _overdue(self, beats: dict[str, int]) -> set[str]:
        """Return the replicas whose heartbeat is too old, or that have ended their lease."""
        now = self._clock()
        self._seen = {
            name: seen if (seen := self._seen.get(name)) is not None and seen[0] == beat else (beat, now)
            for name, beat in beats.items()
        }
        return {name for name, (beat, since) in self._seen.items() if not beat or now - since > LEASE_SECONDS}

    async def _owners(self) -> set[str]:
        """Return the names of the replicas with running jobs."""
        found = await DBOS.list_workflows_async(status="PENDING", load_input=False, load_output=False)
        return {one.executor_id for one in found if one.executor_id} - {self._name}

    def _may_judge(self) -> bool:
        return self._clock() - self._since >= LEASE_SECONDS
