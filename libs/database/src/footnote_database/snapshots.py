"""Consistent copies of live databases: SQLite by its backup API, PostgreSQL by its client programs."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
from pathlib import Path

from footnote_kit.errors import FailedPrecondition
from footnote_kit.private import child_environment
from sqlalchemy import URL

_BUSY_SECONDS = 60.0


def copy_file(source: Path, target: Path) -> None:
    """Copy a SQLite file as of one moment while others write to it. Raises sqlite3.Error."""
    with (
        contextlib.closing(sqlite3.connect(source, timeout=_BUSY_SECONDS)) as here,
        contextlib.closing(sqlite3.connect(target)) as there,
    ):
        here.backup(there)  # all pages at once: one read transaction, which blocks no writer of a WAL file
        there.execute("PRAGMA journal_mode=DELETE")  # a single file, without a log beside it


def dump(url: URL, target: Path) -> None:
    """Dump all schemas of a PostgreSQL database as of one moment. Raises FailedPrecondition."""
    _run("pg_dump", url, "--format=custom", "--no-owner", "--no-privileges", f"--file={target}")


def load(url: URL, source: Path) -> None:
    """Restore a dump into an empty PostgreSQL database, in one transaction. Raises FailedPrecondition."""
    _run("pg_restore", url, "--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error", str(source))


def _run(program: str, url: URL, *arguments: str) -> None:
    found = shutil.which(program)
    if found is None:
        raise FailedPrecondition(
            f"A PostgreSQL database needs {program}, which is not installed: install PostgreSQL's client programs, "
            "of the server's version or newer"
        )
    # The password must not be on the command line, which every user of the machine can read.
    where = url.set(drivername="postgresql", password=None).render_as_string(hide_password=False)
    environment = {**child_environment(), **{k: v for k, v in os.environ.items() if k.startswith("PG")}}
    if url.password:
        environment["PGPASSWORD"] = str(url.password)
    done = subprocess.run(
        [found, "--no-password", f"--dbname={where}", *arguments],
        env=environment, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["it said nothing"]
        raise FailedPrecondition(f"{program} failed: {lines[0]}")
