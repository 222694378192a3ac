"""One process of a launch, with some of its services: `python -m footnote_cli.service_process`, not for manual use.

It reads its configuration and commands from stdin and reports its progress on stdout, one JSON object per line. So the
launch's secret appears in no arguments and no environment. It exits on request, or when its parent has ended.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from footnote_kit import private, process
from footnote_kit.credential import ServiceCredential
from footnote_kit.settings import STAGES, KitSettings

from footnote_cli import targets
from footnote_cli.supervise import Launch, StartError, Supervisor
from footnote_cli.targets import Target

MODULE = __name__ if __name__ != "__main__" else "footnote_cli.service_process"
NAME = "footnote-part"
"""The process name in system listings; at most 15 bytes."""
_SET_PDEATHSIG, _SET_NAME = 1, 15


@dataclass(frozen=True, slots=True)
class ProcessConfig:
    """What a process of a launch runs, and the launch that it belongs to."""

    target: Target
    settings: KitSettings
    folder: Path
    port_base: int | None
    launch: Launch

    def text(self) -> str:
        """Return it as a line of JSON, which contains secrets."""
        settings = self.settings.model_dump(mode="json")
        credential = self.launch.credential
        return json.dumps({
            "parent": os.getpid(), "settings": settings, "folder": str(self.folder), "port_base": self.port_base,
            "services": self.target.services, "uses_store": self.target.uses_store, "ports": dict(self.launch.ports),
            "credential": None if credential is None else credential.exported(),
        })  # fmt: skip

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> ProcessConfig:
        """Parse such a line."""
        known = message["credential"]
        launch = Launch(STAGES, None if known is None else ServiceCredential.imported(known), message["ports"])
        target = Target(tuple(message["services"]), uses_store=message["uses_store"])
        return cls(target, KitSettings(**message["settings"]), Path(message["folder"]), message["port_base"], launch)


class _ParentPipe:
    """The messages to and from the parent process."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._received: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.stopping = asyncio.Event()
        """Set when this process is to end."""

    async def listen(self) -> None:
        """Read messages until the input ends."""
        reader = asyncio.StreamReader()
        pipe = os.fdopen(0, "rb", 0)  # sys.stdin may be None in a forked process
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        while (line := await reader.readline()).endswith(b"\n"):
            message: dict[str, Any] = json.loads(line)
            if "stop" in message:
                break
            self._received.put_nowait(message)
        self.stopping.set()

    async def receive(self) -> dict[str, Any]:
        """Return the next message."""
        return await self._received.get()

    def send(self, **what: Any) -> None:
        """Report progress."""
        with suppress(BrokenPipeError):  # the reader has gone, and we exit too
            self._out.write(json.dumps(what) + "\n")
            self._out.flush()


def main() -> None:
    """Run one process until it is asked to stop."""
    gc.disable()  # until everything is loaded, which is never freed
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # library output must not mix with our messages
    private.keep()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    message = json.loads(_first_line())
    _die_with(message["parent"])
    config = ProcessConfig.of(message)
    exported = process.configure(config.settings, config.target.services)
    targets.load(config.target.services)  # while the launch starts the engine
    asyncio.run(_run(config, exported, out))


def _first_line() -> bytes:
    """Read a line and not a byte more: the rest is for the event loop."""
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            sys.exit(0)
        line += byte
    return bytes(line)


def _die_with(parent: int) -> None:
    """Let the kernel kill this process when its parent dies."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_SET_PDEATHSIG, signal.SIGKILL)
        libc.prctl(_SET_NAME, NAME.encode())  # a forked process shows its parent's command line
    if os.getppid() != parent:
        os._exit(0)


async def _run(config: ProcessConfig, exported: process.ProcessTelemetry, out: TextIO) -> None:
    """Start, serve until asked to stop, stop."""
    parent = _ParentPipe(out)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, parent.stopping.set)
    listening = asyncio.create_task(parent.listen())
    supervisor = Supervisor(config.target, config.settings, config.folder, config.port_base, launch=config.launch)
    if exported.metrics_address:
        supervisor.runtime.announce(f"metrics-{config.target.services[0]}", exported.metrics_address)
    starting = asyncio.create_task(_start(supervisor, parent))
    over = asyncio.create_task(parent.stopping.wait())
    try:
        await asyncio.wait((starting, over), return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
            await over
    except (StartError, OSError) as error:
        parent.send(failed=str(error))
    finally:
        for task in (starting, over, listening):
            task.cancel()
        await asyncio.gather(starting, over, listening, return_exceptions=True)
        await supervisor.stop()
        await exported.close()


async def _start(supervisor: Supervisor, parent: _ParentPipe) -> None:
    """Start step by step, in step with the other processes."""
    supervisor.bind()
    parent.send(addresses=supervisor.addresses)
    message = await parent.receive()
    supervisor.runtime.addresses.update(message["addresses"])
    supervisor.runtime.vector_store_uri = message["vector_store_uri"]
    await supervisor.serve()
    parent.send(serving=True)
    await parent.receive()
    await supervisor.start_tasks()
    parent.send(announced=dict(supervisor.runtime.announced))
    late = await supervisor.wait_ready()
    process.collect_garbage_seldom()
    parent.send(late=late)


if __name__ == "__main__":
    main()
