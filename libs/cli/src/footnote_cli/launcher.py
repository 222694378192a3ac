"""`footnote serve TARGET`: settings, lock, signals; `supervise` does the work."""

import asyncio
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from footnote_kit import private, process
from footnote_kit.settings import STAGES, KitSettings
from pydantic import ValidationError

from footnote_cli import forked
from footnote_cli.console import is_screen, say
from footnote_cli.fleet import Fleet
from footnote_cli.folder import FolderInUse, locked
from footnote_cli.supervise import StartError, store_is_shared, wrong_settings
from footnote_cli.targets import STATEFUL, UnknownTarget, how_many, parse

TOKEN_VARIABLE = "FOOTNOTE_SERVICE_TOKEN"


def serve(
    target: str = "all",
    *,
    data_dir: Path | None = None,
    host: str | None = None,
    port_base: int | None = None,
    port: int | None = None,
    log_level: str | None = None,
    log_format: str | None = None,
    processes: str | None = None,
    accept: tuple[str, ...] = (),
) -> int:
    """Serve until SIGTERM or Ctrl-C and return the exit code: 0 after an orderly stop, 1 for a failed start.

    None means the value from the environment (FOOTNOTE_…). `port_base` is the port of edge, the others follow; 0 takes
    free ones. `port` is for a target of one service. When all are ready, one line on stdout says so, and
    `<data_dir>/addresses.json` has the addresses.
    """
    given: dict[str, Any] = {
        "data_dir": data_dir,
        "listen_host": host,
        "log_level": log_level,
        "log_format": log_format,
        "processes": processes,
        "accept": accept or None,
    }
    private.keep()
    try:
        wanted = parse(target)
        settings = KitSettings(**{key: value for key, value in given.items() if value is not None})
        forked.forget(TOKEN_VARIABLE)  # engine, parsers and other children do not need it
        if port is not None and len(wanted.services) + wanted.engine != 1:
            raise StartError("--port is for a target of one service; use --port-base for several")
        if processes is not None and wanted.services != STAGES:
            raise StartError("--processes is for all services together; one alone is one process")
        whole = wanted.services == STAGES
        number = how_many(settings.processes, _cores(), store_is_shared(settings)) if whole else 1
        folder = _make_folder(settings.data_dir)
        with locked(folder, STATEFUL.intersection(wanted.services)):
            waiting = _forked(number - 1)
            exported = process.configure(settings, wanted.services)
            private.tighten(folder)
            fleet = Fleet(wanted, settings, folder, port_base, port, number, waiting)
            asyncio.run(_run(fleet, len(wanted.services) > 1, exported))
    except ValidationError as error:
        for problem in wrong_settings(error, "FOOTNOTE_"):
            say(problem, stderr=True)
        return 1
    except (UnknownTarget, FolderInUse, StartError, OSError) as error:
        say(str(error), stderr=True)
        return 1
    return 0


def _forked(number: int) -> list[forked.ForkedProcess]:
    """Return this many forked processes; none if forking is not possible or not wanted."""
    if not number or not forked.can_fork():
        return []
    forked.load()
    return forked.fork(number)


def _make_folder(path: Path) -> Path:
    """Return the data folder, created if missing; StartError when it cannot be used."""
    folder = path.expanduser().resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(0, "it cannot be written to")
    except OSError as error:
        raise StartError(f"{folder} cannot be the data folder: {error.strerror}") from error
    return folder


def _cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


async def _run(fleet: Fleet, wait_ready: bool, exported: process.ProcessTelemetry) -> None:
    """Start, wait for a signal, stop."""
    stop = asyncio.Event()
    _on_signals(stop)
    if exported.metrics_address:
        fleet.supervisor.runtime.announce("metrics", exported.metrics_address)
    starting = asyncio.create_task(_start(fleet, wait_ready))
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((starting, stopped), return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
            await stopped
    finally:
        for task in (starting, stopped):
            task.cancel()
        await asyncio.gather(starting, stopped, return_exceptions=True)
        await fleet.stop()
        await exported.close()


async def _start(fleet: Fleet, wait_ready: bool) -> None:
    """Start and announce it."""
    await fleet.start()
    # A single stage may wait for its peers indefinitely; its health service reports that.
    late = await fleet.wait_ready() if wait_ready else {}
    process.collect_garbage_seldom()  # off since the command began
    fleet.publish()
    for name, reason in late.items():
        say(f"{name} is not ready yet: {reason}", stderr=True)
    word = "ready" if wait_ready and not late else "listening"
    say(_announcement(word, fleet.addresses, fleet.supervisor.runtime.data_dir, is_screen()))


def _announcement(word: str, addresses: Mapping[str, str], folder: Path, for_people: bool) -> str:
    """Return all addresses: a list for people, one line for readers of a pipe."""
    if not for_people:
        where = "  ".join(f"{name} {address}" for name, address in addresses.items())
        return f"footnote is {word}: {where}  (data: {folder}; Ctrl-C stops)"
    shown = {
        **addresses,
        **({"http": f"http://{addresses['http']}/ (in a browser: the console)"} if "http" in addresses else {}),
        "data": folder,
    }
    lines = (f"  {name:<14}{where}" for name, where in shown.items())
    return "\n".join([f"footnote is {word}; Ctrl-C stops it.", *lines])


def _on_signals(stop: asyncio.Event) -> None:
    """Let the first SIGTERM or Ctrl-C request an orderly stop; a later Ctrl-C stops at once.

    A signal within a second of the first is its echo: `make` and `timeout` signal the process and then its group.
    """
    loop = asyncio.get_running_loop()
    first: list[float] = []

    def handle(name: signal.Signals) -> None:
        if first and name is signal.SIGINT and loop.time() - first[0] > 1:
            os._exit(130)
        first.append(loop.time())
        stop.set()

    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, handle, name)
