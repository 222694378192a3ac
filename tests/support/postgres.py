"""A real PostgreSQL server for tests, from binaries found on this machine."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

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
        return "PostgreSQL is not installed"
    if os.geteuid() == 0 and _system_user() is None:
        return "PostgreSQL does not run as root, and there is no user for it"
    return None


def _system_user() -> str | None:
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None)


@contextmanager
def server() -> Iterator[str]:
    """Run a server of its own and yield its URL without a database, as in `postgresql://postgres@127.0.0.1:5555`."""
    programs = bin_dir()
    assert programs is not None
    user = _system_user() if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="footnote-pg-"))
    if user is not None:
        shutil.chown(folder, user)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = folder / "data"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "user": user, "cwd": folder}
    process = None
    try:
        setup = [programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N"]
        subprocess.run(setup, check=True, **quiet)  # type: ignore[call-overload]
        options = ["-c", "fsync=off", "-c", "listen_addresses=127.0.0.1", "-c", "shared_buffers=16MB"]
        command = [programs / "postgres", "-D", data, "-p", str(port), "-k", folder, *options]
        process = subprocess.Popen(command, **quiet)  # type: ignore[call-overload]
        end = time.monotonic() + _START_SECONDS
        while subprocess.run(
            [programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)], check=False
        ).returncode:
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("PostgreSQL did not start")
            time.sleep(0.1)
        yield f"postgresql://postgres@127.0.0.1:{port}"
    finally:
        if process is not None:
            process.terminate()
            process.wait(timeout=20)
        shutil.rmtree(folder, ignore_errors=True)


async def new_database(url: str) -> str:
    """Create an empty database on the server at `url`; returns its URL."""
    import asyncpg

    name = f"test_{uuid4().hex}"
    connection = await asyncpg.connect(f"{url}/postgres")
    try:
        await connection.execute(f'create database "{name}"')
    finally:
        await connection.close()
    return f"{url}/{name}"
