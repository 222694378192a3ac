"""Runs rounds: operations and faults at once, then a pause, then an audit of everything that was acknowledged."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from footnote.types.v1.role_pb2 import ROLE_ADMIN
from footnote_edge.offline import keys as offline
from footnote_kit.clients import open_channel
from footnote_kit.errors import FootnoteError

from support.deployment import Deployment
from support.harness import audit, earlier, message_audit, storage_audit, vector_steps
from support.harness.caller import Caller
from support.harness.damage import Damage
from support.harness.document_steps import Lane
from support.harness.faults import READY, Faults
from support.harness.modes import Ground, Mode, ground
from support.harness.plan import Plan, Step, Upgrade, plan
from support.harness.reference_model import ReferenceModel
from support.harness.tables import Tables
from support.starting import Starter

PHASE = "ms of "
"""Prefix of counts in milliseconds."""
REST = 90.0
"""Seconds until all work is done after the last fault: no backoff lasts nearly as long."""

ENV = {
    "FOOTNOTE_EDGE_AUTH": "keys",
    # Short intervals of background tasks, so that an audit need not wait for them.
    "FOOTNOTE_EDGE_RECONCILE_SECONDS": "1",
    "FOOTNOTE_EDGE_RETRY_CEILING_SECONDS": "2",
    "FOOTNOTE_INGESTION_SWEEP_SECONDS": "1",
    "FOOTNOTE_INDEXING_PURGE_GRACE": "0.5",
    "FOOTNOTE_INDEXING_ROLLBACK_WINDOW": "2",
    "FOOTNOTE_INDEXING_SWEEP_INTERVAL": "0.5",
}

CATEGORIES = ("lost", "doubled", "ghost", "half", "unfinished", "failed", "differs")

STANDING = (
    "documents", "documents in ERROR", "chunks", "own rows", "jobs", "rows in the store", "files doomed by grace",
    "spool folders of the dead", "questions owed to memory",
)  # fmt: skip
"""Counts of what exists at an audit; the report shows the largest."""


class Host:
    """A deployment with its reference model."""

    def __init__(self, folder: Path, mode: Mode, ground: Ground, starter: Starter) -> None:
        env = ENV if mode.separate else {**ENV, "FOOTNOTE_PROCESSES": "3"}
        self.mode = mode
        self.running = Deployment(folder, separate=mode.separate, env={**env, **ground.env}, starter=starter)
        self.world = ReferenceModel()
        self._ground = ground
        self._tables = Tables(folder, ground.database)
        self._secret = ""

    def start(self, upgrade: Upgrade | None) -> None:
        """Start, on the data of an earlier release if the plan has one."""
        with self._timed("start"):
            self._start(upgrade)

    def _start(self, upgrade: Upgrade | None) -> None:
        if upgrade is not None:
            earlier.begin(self.running.folder, upgrade.state, self.world)
            strikes = Faults(self.running, self.world, self._ground, self._tables)
            strikes.amid_start(upgrade.kills)
        self._secret = asyncio.run(_first_key(self.running.folder, self._ground))
        self.running.spawn()
        self.running.wait(READY)

    async def round(self, plan: Plan) -> list[str]:
        """Run a round and return the findings of its audit."""
        world = self.world
        world.note(f"ROUND of seed {plan.seed}")
        begun = 0

        def count() -> None:
            nonlocal begun
            begun += 1

        # One channel for each: a channel that waits for a dead server must not delay the others.
        with self._timed("steps and faults"):
            async with asyncio.timeout(900), asyncio.TaskGroup() as group:
                lanes = [group.create_task(self._lane(plan, steps, count)) for steps in plan.lanes]
                strikes = Faults(self.running, world, self._ground, self._tables)
                group.create_task(
                    strikes.strike(plan.faults, lambda: begun, lambda: all(lane.done() for lane in lanes))
                )
        found = []
        if plan.damage:
            damage = Damage(self.running, world, self.running.folder.with_name(f"{self.running.folder.name}-damage"))
            with self._timed("damage"):
                found = await asyncio.to_thread(damage.strike, plan.damage, plan.seed)
        async with open_channel(self.running.address(), peer="edge") as channel:
            found += await self._audit(Caller(channel, world, self._secret), plan)
        problems, world.problems = world.problems, []
        return problems + found

    async def _lane(self, plan: Plan, steps: tuple[Step, ...], count: Callable[[], None]) -> None:
        async with open_channel(self.running.address(), peer="edge") as channel:
            await Lane(self.world, Caller(channel, self.world, self._secret), plan.seed, count).run(steps)

    async def _audit(self, caller: Caller, plan: Plan) -> list[str]:
        world, tables = self.world, self._tables
        with self._timed("rest"):
            found = await _rest(lambda: audit.unfinished(caller, world))
            found += await _rest(lambda: storage_audit.jobs(tables, world))
        with self._timed("audit"):
            return found + await self._compared(caller, plan)

    async def _compared(self, caller: Caller, plan: Plan) -> list[str]:
        world, running, tables = self.world, self.running, self._tables
        found = await _rest(lambda: audit.catalogue(caller, world))
        found += await _rest(lambda: audit.chunks(caller, world))
        found += await _rest(lambda: _ledger(tables, caller))
        found += await _rest(lambda: storage_audit.store(running, tables, world))
        found += await _rest(lambda: storage_audit.files(running.folder, tables, world))
        found += await _rest(lambda: message_audit.conversations(caller, world))
        found += await _rest(lambda: message_audit.ratings(caller, world))
        found += await _rest(lambda: vector_steps.audit(caller, world))
        found += await _rest(lambda: message_audit.memory(running, tables, world))
        found += await _rest(lambda: message_audit.api_keys(caller, world))
        return found + await _rest(lambda: audit.found_again(caller, world, plan.seed))

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        """Count the milliseconds of a phase."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self.world.counts[f"{PHASE}{what}"] += round((time.monotonic() - begun) * 1000)


async def _ledger(tables: Tables, caller: Caller) -> list[str]:
    return await storage_audit.ledger(tables, await audit.shown(caller))


async def _rest(look: Callable[[], Awaitable[list[str]]]) -> list[str]:
    """Audit until there are no findings or the time is over; return the last findings."""
    ends = time.monotonic() + REST
    while True:
        try:
            found = await look()
        except FootnoteError as error:
            found = [f"unfinished: an audit was refused: {error!r}"]
        if not found or time.monotonic() > ends:
            return found
        await asyncio.sleep(0.5)


async def _first_key(folder: Path, ground: Ground) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FOOTNOTE_EDGE_DATABASE_URL", ground.database)
        database, keys = await offline(folder)
    try:
        _, secret = await keys.create("harness", "default", earlier.USER, ROLE_ADMIN)
    finally:
        await database.close()
    return secret


@contextmanager
def host(folder: Path, mode: Mode, starter: Starter, upgrade: Upgrade | None = None) -> Iterator[Host]:
    """Start a deployment for rounds and stop it afterwards."""
    with ground(mode, folder) as beneath_it:
        made = Host(folder, mode, beneath_it, starter)
        try:
            made.start(upgrade)
            yield made
        finally:
            made.running.stop()


@contextmanager
def counting(total: Counter[str], one: Host) -> Iterator[None]:
    """Add the counts of a round to the total, even if it fails."""
    try:
        yield
    finally:
        total.update({name: count for name, count in one.world.counts.items() if name not in STANDING})
        total |= Counter({name: one.world.counts[name] for name in STANDING})  # the largest at any time
        one.world.counts.clear()


def report(total: Counter[str], mode: str, rounds: int) -> str:
    """Return the counts as lines."""
    lines = [
        f"{mode}: {rounds} rounds, {total['acknowledged']} calls acknowledged, {total['lost answers']} answers lost"
    ]
    lines.append(", ".join(f"{name} {total[name]}" for name in CATEGORIES))
    rest = sorted(set(total) - {*CATEGORIES, "acknowledged", "lost answers"})
    lines.append(", ".join(f"{name} {total[name]}" for name in rest if not name.startswith(PHASE)))
    spent = {name.removeprefix(PHASE): total[name] / 1000 / max(1, rounds) for name in rest if name.startswith(PHASE)}
    phases = ", ".join(f"{name} {seconds:.1f}" for name, seconds in spent.items())
    return "\n".join([*lines, f"{sum(spent.values()):.1f} s a round: {phases}"])


def run(one: Host, seed: int, total: Counter[str]) -> None:
    """Run the round of a seed; findings fail the test with the seed and the last events."""
    made = plan(seed, one.mode)
    with counting(total, one):
        try:
            found = asyncio.run(one.round(made))
        except Exception as error:
            found = [f"failed: {error!r}"]
        for line in found:
            category = line.partition(":")[0]
            total[category if category in CATEGORIES else "differs"] += 1
    if found:
        last = "\n  ".join(one.world.journal)
        what = "\n  ".join(found[:40])
        replay = f"FOOTNOTE_FAULTS_MODE={one.mode.name} FOOTNOTE_FAULTS_SEED={seed}"
        pytest.fail(f"{replay} went wrong ({len(found)} findings):\n  {what}\nlast:\n  {last}")
