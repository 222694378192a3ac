"""A real PostgreSQL server for tests, from binaries found on this machine."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil

from support.frozen import freeze, thaw

_START_SECONDS = 30.0


def bin_dir() -> Path | None:
    """The folder of PostgreSQL's programs, None when it is not installed."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if (on_path := shutil.which("initdb")) is not None:
        folders.append(Path(on_path).resolve().parent)
    return next((folder for folder in folders if (folder / "postgres").exists()), None)


def why_not() -> str | None:
    """Why no server can be started here; None when one can."""
    if bin_dir() is None:
        return "PostgreSQL is not installed (apt-get install postgresql)"
    if os.geteuid() == 0 and _system_user() is None:
        return "PostgreSQL does not run as root, and there is no user for it"
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        return "PostgreSQL does not run as root, and there is no setpriv to become another user by"
    return None


def _system_user() -> str | None:
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None)


class PostgresServer:
    """A server on a fixed port of loopback, which can go away, hang and come back with what it holds.

    With `certificates` (its `cert`, its `key` and the `ca` of its callers) it speaks TLS to callers with a certificate
    and nothing else to anybody.
    """

    def __init__(self, folder: Path, certificates: Mapping[str, Path] | None = None) -> None:
        programs = bin_dir()
        assert programs is not None
        self._programs = programs
        self._folder = folder
        self._user = _system_user() if os.geteuid() == 0 else None
        if self._user is not None:
            shutil.chown(folder, self._user)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self._run([programs / "initdb", "-D", folder / "data", "-U", "postgres", "-A", "trust", "-N"])
        self._secured = [] if certificates is None else _secure(folder / "data", certificates, self._user)

    @property
    def url(self) -> str:
        """Address without a database, as in `postgresql://postgres@127.0.0.1:5555`."""
        return f"postgresql://postgres@127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = [*self._secured, "-c", "fsync=off", "-c", "listen_addresses=127.0.0.1", "-c", "shared_buffers=16MB"]
        place = ["-D", self._folder / "data", "-p", str(self._port), "-k", self._folder]
        command = [*self._as_user(), self._programs / "postgres", *place, *options]
        self._process = subprocess.Popen(command, **self._quiet())
        end = time.monotonic() + _START_SECONDS
        ready = [self._programs / "pg_isready", "-q", "-h", str(self._folder), "-p", str(self._port)]
        while subprocess.run(ready, check=False).returncode:
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("PostgreSQL did not start")
            time.sleep(0.1)

    def stop(self) -> None:
        """End it in order, its callers' connections with it."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """End it, all of its processes, as a power cut would."""
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """Let it take connections and answer nothing."""
        for one in self._all():
            with suppress(ProcessLookupError):  # it has ended
                freeze(one.pid)

    def thaw(self) -> None:
        """Let it go on."""
        for one in self._all():
            with suppress(ProcessLookupError):
                thaw(one.pid)

    def _end(self, how: signal.Signals) -> None:
        ended = self._all()
        process, self._process = self._process, None
        if process is not None:
            # A killed server's processes see it themselves, but not at once, and hold up its return until they have.
            for one in ended if how is signal.SIGKILL else ended[:1]:
                with suppress(psutil.NoSuchProcess):
                    one.send_signal(how)
            process.wait(timeout=20)
            psutil.wait_procs(ended, timeout=20)

    def _all(self) -> list[psutil.Process]:
        """Return the server's process and those it has started."""
        if self._process is None:
            return []
        first = psutil.Process(self._process.pid)
        return [first, *first.children(recursive=True)]

    def _quiet(self) -> dict[str, Any]:
        return {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": self._folder}

    def _as_user(self) -> list[str]:
        """Return what begins a command that is another user's.

        Not subprocess's own `user`, for which it forks: the child of a process with calls of gRPC's under way may end
        by a segmentation fault before it has become anything.
        """
        if self._user is None:
            return []
        entry = pwd.getpwnam(self._user)
        return ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups", "--"]

    def _run(self, command: list[str | Path]) -> None:
        subprocess.run([*self._as_user(), *command], check=True, **self._quiet())


@contextmanager
def postgres_server(certificates: Mapping[str, Path] | None = None) -> Iterator[PostgresServer]:
    """Run a server of its own."""
    folder = Path(tempfile.mkdtemp(prefix="footnote-pg-"))
    try:
        running = PostgresServer(folder, certificates)
        try:
            running.start()
            yield running
        finally:
            running.thaw()
            running.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def server(certificates: Mapping[str, Path] | None = None) -> Iterator[str]:
    """Run a server of its own and yield its URL without a database."""
    with postgres_server(certificates) as running:
        yield running.url


def _secure(data: Path, certificates: Mapping[str, Path], user: str | None) -> list[str]:
    """Have a server take callers with a certificate only; return its further options."""
    options = ["-c", "ssl=on"]
    for name, path in certificates.items():
        copy = data / f"{name}.pem"
        shutil.copyfile(path, copy)
        copy.chmod(0o600)  # it refuses a key that others can read
        if user is not None:
            shutil.chown(copy, user)
        options += ["-c", f"ssl_{name}_file={copy}"]
    (data / "pg_hba.conf").write_text("local all all trust\nhostssl all all 127.0.0.1/32 trust clientcert=verify-ca\n")
    return options


async def new_database(url: str, *, like: str = "template1") -> str:
    """Create an empty database on the server at `url`, or a copy of another one; returns its URL."""
    import asyncpg

    name = f"test_{uuid4().hex}"
    connection = await asyncpg.connect(f"{url}/postgres")
    try:
        await connection.execute(f'create database "{name}" template "{like}"')
    finally:
        await connection.close()
    return f"{url}/{name}"


async def migrated_database(url: str, service: str) -> str:
    """Create one with a service's empty tables; a copy of the first, since to migrate anew costs a second of a core."""
    if (url, service) not in _MIGRATED:
        from footnote_database.engine import address
        from footnote_database.transactions import Database

        first, adapters = await new_database(url), f"footnote_{service}.adapters"
        tables = Database(address(first, Path()), import_module(f"{adapters}.database").TRAITS)
        await tables.migrate()
        await tables.close()
        if service == "edge":
            await asyncio.to_thread(import_module(f"{adapters}.job_ledger").migrate_ledger, first)
        _MIGRATED[url, service] = first.rpartition("/")[2]
    return await new_database(url, like=_MIGRATED[url, service])


_MIGRATED: dict[tuple[str, str], str] = {}
"""Names of databases that hold a service's tables, by server and service."""
