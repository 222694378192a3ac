"""A launch: the services of this process, and those of child processes if there are any."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from footnote_kit.logs import get_logger
from footnote_kit.native_logs import stderr
from footnote_kit.settings import STAGES, KitSettings

from footnote_cli import service_process, targets
from footnote_cli.forked import ForkedProcess
from footnote_cli.supervise import Launch, StartError, Supervisor, credential_of
from footnote_cli.targets import Target, split

_PAUSES = (0.2, 1.0, 5.0, 15.0)
"""Seconds before a process that exited by itself is restarted; the last value repeats.

A process killed before all are ready is restarted after each of these pauses; then the launch ends.
"""
_STEADY_SECONDS = 60.0
"""After running this long, restarts begin with the first pause again."""
_LINE_BYTES = 1 << 20
_BOUND, _SERVING, _TASKS, _READY = range(4)
_log = get_logger("footnote.launcher")


class ProcessKilled(StartError):
    """A signal ended a process of the launch before it was ready: the process itself reported no error."""


class ServiceProcess:
    """A child process of this launch."""

    def __init__(self, config: service_process.ProcessConfig, forked: ForkedProcess | None = None) -> None:
        self._config = config
        self._forked = forked
        self._process: asyncio.subprocess.Process | ForkedProcess | None = None
        self.addresses: dict[str, str] = {}
        """The addresses of its services."""
        self.announced: dict[str, str] = {}
        """Further addresses, by name."""
        self.late: dict[str, str] = {}
        """Services that were not ready in time, and why."""
        self.killed = 0
        """How often it was killed before all were ready."""

    @property
    def name(self) -> str:
        """The names of its services."""
        return ",".join(self._config.target.services)

    @property
    def pid(self) -> int:
        """Its process id, 0 before it starts."""
        return self._process.pid if self._process is not None else 0

    async def begin(self) -> None:
        """Start the process; it waits for no other until it has bound its ports.

        The first start uses the forked process, if there is one. Later this process has threads, and must not fork.
        """
        if self._forked is not None:
            self._process, self._forked = self._forked, None
            await self._process.attach(_LINE_BYTES)
            self._send(self._config.text())
            return
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", service_process.MODULE,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=stderr(),
            start_new_session=True, limit=_LINE_BYTES,
        )  # fmt: skip
        self._send(self._config.text())

    async def bound(self) -> None:
        """Wait until it has bound its ports."""
        self.addresses = (await self._receive("addresses"))["addresses"]
        # Clients that know an address find it there again after a restart.
        ports = {name: int(address.rpartition(":")[2]) for name, address in self.addresses.items()}
        self._config = replace(self._config, launch=replace(self._config.launch, ports=ports))

    async def serve(self, addresses: Mapping[str, str], vector_store_uri: str) -> None:
        """Send it all addresses, and wait until it answers."""
        self._send(json.dumps({"addresses": dict(addresses), "vector_store_uri": vector_store_uri}))
        await self._receive("serving")

    async def start_tasks(self) -> None:
        """Let it start the tasks that call other services, once all others serve."""
        self._send(json.dumps({"go": True}))
        self.announced = (await self._receive("announced"))["announced"]

    async def wait_ready(self) -> None:
        """Wait until it is ready, or its time limit passes."""
        self.late = (await self._receive("late"))["late"]

    async def ended(self) -> int:
        """Wait until it exits."""
        assert self._process is not None
        return await self._process.wait()

    async def stop(self, seconds: float) -> None:
        """Stop it in order; kill it when that takes too long."""
        if self._process is None or self._process.returncode is not None:
            return
        self._send(json.dumps({"stop": True}))
        try:
            async with asyncio.timeout(seconds):
                await self._process.wait()
        except TimeoutError:
            _log.error("part_does_not_end", services=self.name, pid=self.pid)
            self._process.kill()
            await self._process.wait()

    def _send(self, text: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        if not self._process.stdin.is_closing():
            self._process.stdin.write(text.encode() + b"\n")

    async def _receive(self, expected: str) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line.endswith(b"\n"):
            code = await self._process.wait()
            kind = ProcessKilled if code < 0 else StartError
            raise kind(f"{self.name} did not start: its process ended with {code}")
        said: dict[str, Any] = json.loads(line)
        if expected not in said:
            raise StartError(str(said.get("failed", f"{self.name} did not start: it did not report {expected}")))
        return said


class Fleet:
    """Everything that one launch runs; with one process, only this process's services."""

    def __init__(
        self,
        target: Target,
        settings: KitSettings,
        folder: Path,
        port_base: int | None,
        port: int | None = None,
        processes: int = 1,
        forked: Sequence[ForkedProcess] = (),
    ) -> None:
        """Take the number of `processes`, and those already `forked`. Raises StartError as Supervisor does."""
        own, *others = split(target, processes)
        launch = Launch(target.services, credential_of(target, settings, folder))
        self._settings = settings
        self.supervisor = Supervisor(own, settings, folder, port_base, port, launch)
        self.processes = [
            ServiceProcess(
                service_process.ProcessConfig(one, _own_metrics(settings, number), folder, port_base, launch), waiting
            )
            for number, (one, waiting) in enumerate(zip_longest(others, forked), 1)
        ]
        self._watches: list[asyncio.Task[None]] = []
        self._ending = False

    async def start(self) -> None:
        """Start everything; StartError if something does not start. `stop` cleans up in either case."""
        for one in self.processes:
            await one.begin()
        own = asyncio.to_thread(targets.load, self.supervisor.services)
        await _together(self.supervisor.start_engine(), own)
        self.supervisor.before_engine_ends(self._stop_processes)
        self.supervisor.bind()
        await _together(*(self._stage(one, _BOUND) for one in self.processes))
        runtime = self.supervisor.runtime
        for one in self.processes:
            runtime.addresses.update(one.addresses)
        await _together(self.supervisor.serve(), *(self._stage(one, _SERVING) for one in self.processes))
        await _together(*(self._stage(one, _TASKS) for one in self.processes))
        await self.supervisor.start_tasks()

    async def _stage(self, one: ServiceProcess, stage: int) -> None:
        """Take a process from one stage of its start to the next; a killed one restarts and catches up."""
        first = stage
        while True:
            try:
                for step in range(first, stage + 1):
                    await self._step(one, step)
                return
            except ProcessKilled as error:
                if one.killed >= len(_PAUSES):
                    raise
                _log.error("part_killed_at_start", services=one.name, reason=str(error))
            await asyncio.sleep(_PAUSES[one.killed])
            one.killed += 1
            await one.begin()
            first = _BOUND

    async def _step(self, one: ServiceProcess, step: int) -> None:
        runtime = self.supervisor.runtime
        if step == _BOUND:
            await one.bound()
        elif step == _SERVING:
            await one.serve(runtime.addresses, runtime.vector_store_uri)
        elif step == _TASKS:
            await one.start_tasks()
        else:
            await one.wait_ready()

    async def wait_ready(self) -> dict[str, str]:
        """Wait until all services are ready, or the time limit passes; return those that are not, and why."""
        own = asyncio.create_task(self.supervisor.wait_ready())
        await asyncio.gather(own, *(self._stage(one, _READY) for one in self.processes))
        late = own.result()
        self._watches = [asyncio.create_task(self._keep(one), name=f"process-{one.name}") for one in self.processes]
        for one in self.processes:
            late |= one.late
        return late

    @property
    def addresses(self) -> dict[str, str]:
        """All addresses, by stage or name."""
        found = {**self.supervisor.addresses}
        for one in self.processes:
            found |= one.addresses | one.announced
        return {name: found[name] for name in (*(stage for stage in STAGES if stage in found), *found)}

    def publish(self) -> None:
        """Write the addresses into the data folder, until it stops."""
        self.supervisor.publish(self.addresses)

    async def stop(self) -> None:
        """Stop edge first, then the stages, then the engine."""
        self._ending = True
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)
        await self.supervisor.stop()
        await self._stop_processes()

    async def _stop_processes(self) -> None:
        seconds = 2 * self._settings.grace_seconds + self._settings.drain_seconds + 10
        await asyncio.gather(*(one.stop(seconds) for one in self.processes))

    async def _keep(self, one: ServiceProcess) -> None:
        """Restart a process that exited by itself; the other services continue meanwhile."""
        pauses = list(_PAUSES)
        loop = asyncio.get_running_loop()
        while not self._ending:
            began = loop.time()
            code = await one.ended()
            if loop.time() - began > _STEADY_SECONDS:
                pauses = list(_PAUSES)
            _log.error("part_ended", services=one.name, code=code)
            await asyncio.sleep(pauses[0] if len(pauses) == 1 else pauses.pop(0))
            try:
                await one.begin()
                for step in (_BOUND, _SERVING, _TASKS, _READY):
                    await self._step(one, step)
                _log.info("part_started_again", services=one.name)
            except (StartError, OSError) as error:
                _log.error("part_does_not_start", services=one.name, reason=str(error))


async def _together(*steps: Any) -> None:
    """Wait for all; the first error is raised."""
    results: Sequence[BaseException | None] = await asyncio.gather(*steps, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result


def _own_metrics(settings: KitSettings, number: int) -> KitSettings:
    """Return the settings of the process with this number: its metrics get the next ports."""
    if not settings.metrics_port:
        return settings
    return settings.model_copy(update={"metrics_port": settings.metrics_port + number})
