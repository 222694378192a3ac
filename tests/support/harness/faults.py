"""Injects a plan's faults into the processes of a deployment, and leaves everything running."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

import psutil

from support.deployment import PART, Deployment
from support.frozen import freeze, thaw
from support.harness.damage import VICTIMS
from support.harness.modes import Ground
from support.harness.plan import Fault
from support.harness.reference_model import ReferenceModel
from support.harness.tables import Tables

FLAPS = 6
SUPERVISED = 1.0
"""Seconds between two checks whether a launch has ended."""
READY = 240.0
"""Seconds within which every service must be ready after the last fault, on a loaded machine."""
ENDS = 90.0
"""Seconds within which a process must end after SIGTERM, on a loaded machine."""
APPEARS = 120.0
"""Seconds within which the process of a fault must exist."""


class Faults:
    """Injects faults into one deployment. All methods block: call them on a thread."""

    def __init__(self, running: Deployment, world: ReferenceModel, ground: Ground, tables: Tables) -> None:
        self._running = running
        self._world = world
        self._ground = ground
        self._tables = tables
        self._ended: Callable[[], bool] = lambda: False

    async def strike(self, faults: tuple[Fault, ...], begun: Callable[[], int], ended: Callable[[], bool]) -> None:
        """Inject each fault at its moment, in order; afterwards every service is ready.

        `begun` returns how many steps the lanes have begun, `ended` whether they have ended all of them.
        """
        self._ended = ended
        for fault in faults:
            await self._lanes(fault.after, begun)
            await asyncio.sleep(fault.delay)
            self._world.note(f"FAULT {fault}")
            for victim in fault.victims:
                self._world.counts[f"{fault.kind} of {victim}"] += 1
            await asyncio.to_thread(self._one, fault)
        await asyncio.to_thread(self._ready)

    def amid_start(self, kills: tuple[tuple[str, float], ...]) -> None:
        """Start all services and kill them, each time a moment after the log of a database has begun to fill."""
        for part, delay in kills:
            log = self._running.folder / f"{VICTIMS[part][1]}-wal"
            self._running.spawn()
            ends = time.monotonic() + APPEARS
            while not (log.exists() and log.stat().st_size):
                if time.monotonic() > ends or any(one.poll() is not None for one in self._running.processes.values()):
                    raise TimeoutError(f"{log} does not fill: {self._running.log(VICTIMS[part][0])[-2000:]}")
                time.sleep(0.005)
            time.sleep(delay)
            self._running.kill()
            self._world.note(f"killed {delay:.2f} s into the upgrade of {part}")
            self._world.counts[f"kills amid the upgrade of {part}"] += 1

    async def _lanes(self, after: int, begun: Callable[[], int]) -> None:
        """Wait until the lanes have begun this many steps; meanwhile restart processes that have ended."""
        looked = time.monotonic()
        while begun() < after:
            await asyncio.sleep(0.01)
            if time.monotonic() - looked > SUPERVISED:
                await asyncio.to_thread(self._revive)
                looked = time.monotonic()

    def _ready(self) -> None:
        ends = time.monotonic() + READY
        while True:
            self._revive()
            try:
                self._running.wait(READY)
                return
            except RuntimeError:  # a process has ended
                if time.monotonic() > ends:
                    raise

    def _revive(self) -> None:
        """Restart processes that have ended, as a supervisor does.

        A launch ends when one of its processes is killed before all are ready, in one sentence and with exit code 1.
        """
        for target, process in list(self._running.processes.items()):
            if process.poll() is not None:
                self._world.note(f"{target} ended with {process.returncode}")
                self._world.counts["launches broken off by a kill"] += 1
                self._running.kill(target)
                self._running.spawn(target)

    def _one(self, fault: Fault) -> None:
        if fault.kind == "lock":
            [table] = fault.victims
            self._tables.lock(table, fault.hold)
        elif fault.kind == "term":
            self._terminate(fault.victims)
        elif fault.kind == "restart" or (set(fault.victims) & set(self._ground.servers) and fault.kind == "kill"):
            self._away(fault)
        elif fault.kind == "kill":
            self._kill(fault.victims)
            if fault.again is not None:
                time.sleep(fault.again)
                self._world.counts["kills in recovery"] += 1
                self._kill(fault.victims)
        else:
            self._hold(fault)

    def _kill(self, victims: tuple[str, ...]) -> None:
        """Kill processes (SIGKILL) at one moment; restart those without a supervisor, without waiting for them."""
        if "whole" in victims or ("edge" in victims and not self._running.separate):
            self._running.kill()
            self._running.spawn()
            return
        own = [one for one in victims if one in self._running.processes]
        others = self._found(one for one in victims if one not in own)
        for process in others:
            with suppress(psutil.NoSuchProcess):  # it died with its parent
                process.kill()
        if own:
            self._running.kill(*own)
            self._running.spawn(*own)
        psutil.wait_procs(others, timeout=APPEARS)

    def _terminate(self, victims: tuple[str, ...]) -> None:
        """Stop processes gracefully, as a rolling restart does, and start them again."""
        targets = tuple(self._running.processes) if "whole" in victims else victims
        for target in targets:
            process = self._running.processes.pop(target)
            process.terminate()
            try:
                process.wait(ENDS)
            except subprocess.TimeoutExpired:
                self._world.problem(f"{target} did not end within {ENDS:g} s of SIGTERM")
                process.kill()
                process.wait()
        self._running.spawn(*targets)

    def _hold(self, fault: Fault) -> None:
        """Freeze processes (SIGSTOP) for a while, once or repeatedly."""
        times = FLAPS if fault.kind == "flap" else 1
        for _ in range(times):
            servers = [self._ground.servers[one] for one in fault.victims if one in self._ground.servers]
            held = [one.pid for one in self._found(one for one in fault.victims if one not in self._ground.servers)]
            try:
                for server in servers:
                    server.freeze()
                for pid in held:
                    freeze(pid)
                time.sleep(fault.hold / times)
            finally:
                for server in servers:
                    server.thaw()
                for pid in held:
                    thaw(pid)
            if times > 1:
                time.sleep(0.1)

    def _away(self, fault: Fault) -> None:
        """Kill or stop servers, and start them again after a while."""
        servers = [self._ground.servers[one] for one in fault.victims if one in self._ground.servers]
        try:
            for server in servers:
                if fault.kind == "kill":
                    server.kill()
                else:
                    server.stop()
            if others := tuple(one for one in fault.victims if one not in self._ground.servers):
                self._kill(others)
            time.sleep(fault.hold)
        finally:
            for server in servers:
                server.start()

    def _found(self, victims: Iterable[str]) -> list[psutil.Process]:
        """Return the processes of victims, as soon as each exists; parsers that nobody needs have none."""
        found = [self._process(one) for one in victims]
        return [one for one in found if one is not None]

    def _process(self, victim: str) -> psutil.Process | None:
        ends = time.monotonic() + APPEARS
        while True:
            self._revive()
            process = self._find(victim)
            if process is not None:
                return process
            # Ingestion starts killed parsers again for the next file only, and lanes that have ended bring none.
            if victim == "parsers" and self._ended():
                self._world.counts["faults of absent parsers"] += 1
                return None
            if time.monotonic() > ends:
                raise TimeoutError(f"there is no process of {victim}")
            time.sleep(0.02)

    def _find(self, victim: str) -> psutil.Process | None:
        # Of `serve all` the first process is edge's, and the others end with it.
        target = "all" if victim == "edge" and not self._running.separate else victim
        if target in self._running.processes:
            return psutil.Process(self._running.processes[target].pid)
        port = 0 if victim in ("engine", "parsers") else int(self._running.address(victim).rpartition(":")[2])
        for first in self._running.processes.values():
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                for child in psutil.Process(first.pid).children(recursive=True):
                    line = child.cmdline()
                    if victim == "engine":
                        if line and line[0].endswith("/milvus"):
                            return child
                    elif victim == "parsers":
                        if "footnote_ingestion.worker.fork_server" in line:
                            return child
                    elif child.name() == PART and port in {one.laddr.port for one in child.net_connections("tcp")}:
                        return child
        return None
