"""A whole deployment as its own processes, by the real launcher: as `serve all` divides it, or one per service."""

import asyncio
import fcntl
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

import psutil
from footnote_kit.clients import check_health, open_channel
from footnote_kit.credential import ServiceCredential, new_secret
from footnote_kit.secret_file import shared
from footnote_kit.settings import DEFAULT_PORTS, STAGES
from footnote_store.endpoint import socket_path, socket_uri

from support import base_environment, starting
from support.starting import Started, Starter

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 90.0
STOP_SECONDS = 40.0
OTHERS = {"http": 7180}
PART = "footnote-part"
"""The name of the processes that a launch divides its services among, as the system lists it."""


class Deployment:
    """Processes of one data folder."""

    def __init__(
        self,
        folder: Path,
        *,
        separate: bool = False,
        env: dict[str, str] | None = None,
        patience: float = START_SECONDS,
        starter: Starter | None = None,
    ) -> None:
        self.folder = folder
        self._starter = starter or _starter(env or {})
        self._patience = patience
        self.separate = separate
        self.processes: dict[str, subprocess.Popen[bytes] | Started] = {}
        # One process with all services believes this besides the secret of its launch, which is secret; services
        # apart find theirs in the folder.
        self.token = new_secret()
        self._env = env or {}
        self._accepted: tuple[str, ...] = ()
        # Fixed for the deployment's life, so that clients find it at the same address after a restart.
        self.ports, kept = _free_ports()
        weakref.finalize(self, kept.close)

    def start(self, *targets: str) -> None:
        """Start what is not running, all of it or these targets, and wait until it listens."""
        self.spawn(*targets)
        self.wait()

    def spawn(self, *targets: str) -> None:
        """Start what is not running without waiting for it."""
        for target in targets or self.targets():
            path, environment = self.folder / f"{target}.log", self._environment(target)
            arguments = ["serve", target, *self._options(target)]
            if self._starter is not None:
                self.processes[target] = self._starter.start(arguments, environment, path)
                continue
            with path.open("ab") as log:
                self.processes[target] = subprocess.Popen(
                    [sys.executable, "-m", "footnote_cli.main", *arguments],
                    stdout=subprocess.DEVNULL, stderr=log, env=environment, start_new_session=True,
                )  # fmt: skip

    def wait(self, seconds: float | None = None) -> None:
        """Wait until every service is ready, its patience long; the failing process's log is in the error."""
        asyncio.run(self._serving(seconds))

    @contextmanager
    def accepting(self, *parts: str) -> Iterator[None]:
        """Accept that these parts are missing or have lost what a damaged log held, in the starts of a block."""
        self._accepted = parts
        try:
            yield
        finally:
            self._accepted = ()

    def targets(self) -> tuple[str, ...]:
        """Return what this deployment's processes run."""
        return ("store", *STAGES) if self.separate else ("all",)

    def kill(self, *targets: str) -> None:
        """End processes as a power cut would, all of them or these, the engine that one of them runs included."""
        parts: list[psutil.Process] = []
        for target in targets or tuple(self.processes):
            process = self.processes.pop(target)
            with suppress(psutil.NoSuchProcess):
                parts += psutil.Process(process.pid).children()
            process.send_signal(signal.SIGKILL)
            process.wait()
        psutil.wait_procs(parts, timeout=STOP_SECONDS)  # the kernel ends them with their parent, a moment later
        deadline = time.monotonic() + STOP_SECONDS
        if "store" not in self.processes and (not targets or not self.separate or "store" in targets):
            while _listens(socket_path(self.folder / "store")):  # it dies with its parent, a moment later
                if time.monotonic() > deadline:
                    raise RuntimeError("the vector engine outlived its parent")
                time.sleep(0.02)

    def stop(self) -> None:
        """End all processes in order."""
        running, self.processes = self.processes, {}
        for process in reversed(running.values()):
            process.terminate()
        for process in running.values():
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def log(self, target: str = "all") -> str:
        """Return what a process has logged."""
        path = self.folder / f"{target}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def address(self, name: str = "edge") -> str:
        """Return host and port of a service."""
        return f"127.0.0.1:{self.ports[name]}"

    def store_uri(self) -> str:
        """Return where the vector engine is."""
        return socket_uri(self.folder / "store")

    def memory_bytes(self) -> int:
        """Return the memory of all services' processes, without the engine's and the parsers'."""
        found = [psutil.Process(process.pid) for process in self.processes.values()]
        found += [child for one in found for child in one.children() if child.name() == PART]
        return sum(one.memory_info().rss for one in found)

    def credential(self) -> ServiceCredential:
        """Return what a caller of a stage proves itself with."""
        return shared(self.folder) if self.separate else ServiceCredential(self.token)

    async def _serving(self, seconds: float | None = None) -> None:
        # Ports are bound before services answer on them; the health services report when they do.
        patience = self._patience if seconds is None else seconds
        async with asyncio.timeout(patience), AsyncExitStack() as stack:
            for stage in STAGES:
                channel = await stack.enter_async_context(open_channel(self.address(stage), peer=stage))
                while await check_health(channel, stage) is not None:
                    for target, process in self.processes.items():
                        if process.poll() is not None:
                            raise RuntimeError(f"{target} ended with {process.returncode}: {self.log(target)[-3000:]}")
                    await asyncio.sleep(0.05)

    def _options(self, target: str) -> list[str]:
        accepted = [word for part in self._accepted for word in ("--accept", part)]
        if target == "all":
            return ["--data-dir", str(self.folder), "--port-base", str(self.ports["edge"]), *accepted]
        port = ["--port", str(self.ports[target])] if target in self.ports else []
        return ["--data-dir", str(self.folder), *port, *accepted]

    def _environment(self, target: str) -> dict[str, str]:
        own = {"PYTHONPATH": os.pathsep.join(sys.path), "FOOTNOTE_LOG_FORMAT": "json"}
        if self.separate:
            own |= {f"FOOTNOTE_{stage.upper()}_ADDRESS": self.address(stage) for stage in STAGES}
            own["FOOTNOTE_EDGE_HTTP_PORT"] = str(self.ports["http"])
        else:
            own["FOOTNOTE_SERVICE_TOKEN"] = self.token
        return {**base_environment.inherited(), **own, **self._env}


@contextmanager
def deployment(folder: Path, *, separate: bool = False, env: dict[str, str] | None = None) -> Iterator[Deployment]:
    """Start a deployment and stop it afterwards."""
    running = Deployment(folder, separate=separate, env=env)
    try:
        running.start()
        yield running
    finally:
        running.stop()


def _starter(env: dict[str, str]) -> Starter | None:
    """Return what a deployment with these variables is forked from; None where it is to start by itself.

    Benches measure starts and memory. Variables that are not Footnote's can matter while code is loaded.
    """
    test = os.environ.get("PYTEST_CURRENT_TEST", "")
    by_itself = not test or test.startswith("tests/bench/") or not all(name.startswith("FOOTNOTE_") for name in env)
    return None if by_itself else starting.shared()


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(str(path)) == 0


def _free_ports() -> tuple[dict[str, int], IO[str]]:
    """Return ports as `--port-base` lays them out, all of them free, outside of those that systems give away.

    With them comes what keeps other tests away from them until it is closed: those of a deployment that is killed or
    has not begun are free as well, and another's would answer there in its place.
    """
    offsets = {name: port - DEFAULT_PORTS["edge"] for name, port in {**DEFAULT_PORTS, **OTHERS}.items()}
    for base in random.sample(range(20_000, 30_000, 100), 100):
        kept = (Path(tempfile.gettempdir()) / f"footnote-ports-{base}").open("w")
        with ExitStack() as stack, suppress(OSError):
            failed = stack.enter_context(ExitStack())
            failed.callback(kept.close)
            fcntl.flock(kept, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for offset in offsets.values():
                stack.enter_context(socket.socket()).bind(("127.0.0.1", base + offset))
            failed.pop_all()
            return {name: base + offset for name, offset in offsets.items()}, kept
    raise RuntimeError("no free ports")
