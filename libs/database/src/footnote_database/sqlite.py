"""Connection settings for all SQLite files of this project, and truncation of their write-ahead logs."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from footnote_kit.logs import get_logger
from footnote_kit.periodic import PeriodicTasks

FORGET = "secure_delete=ON"
"""Pragma for every connection: deleted rows are overwritten with zeros, in the file and its log."""

Synchronous = Literal["FULL", "NORMAL", "OFF"]
"""The durability of a commit. FULL survives a power cut. NORMAL survives a crash of the process, but a power cut may
lose the last commits. OFF is like NORMAL, but a power cut may corrupt the file."""


def pragmas(synchronous: Synchronous, *, foreign_keys: bool = False) -> tuple[str, ...]:
    """Return the pragmas of a connection: write-ahead log, durability, overwriting of deleted data, foreign keys."""
    checks = ("foreign_keys=ON",) if foreign_keys else ()
    return ("journal_mode=WAL", f"synchronous={synchronous}", *checks, FORGET)


def open_file(path: Path, synchronous: Synchronous, busy_seconds: float) -> sqlite3.Connection:
    """Open a file without SQLAlchemy, in autocommit; wait up to `busy_seconds` for a foreign lock."""
    connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)
    try:
        for pragma in pragmas(synchronous):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def write_ahead(path: Path) -> None:
    """Switch a file to write-ahead logging for good, so that polling readers and writers do not block each other."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


class ForgettingConnection(sqlite3.Connection):
    """A connection for other libraries: it overwrites deleted data, and its commits survive a power cut."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.execute(f"PRAGMA {FORGET}")
        self.execute("PRAGMA synchronous=FULL")


def file_of(url: str) -> Path | None:
    """Return the file that an SQLite URL of SQLAlchemy names; None for another database or one in memory."""
    kind, found, rest = url.partition(":///")
    return Path(rest.partition("?")[0]) if found and kind.startswith("sqlite") and rest else None


EVERY = 15.0
"""Seconds between rounds; deleted data has left the logs within twice that."""
_BUSY = 2.0

_log = get_logger("footnote.sqlite")


def log_keeper(*paths: Path) -> PeriodicTasks:
    """Return the periodic task that empties the logs of some files: a log keeps old pages until it is reused.

    Missing files are ignored, so files of other databases may be named as well.
    """

    async def keep() -> None:
        await asyncio.to_thread(empty_logs, paths)

    return PeriodicTasks("sqlite-logs", keep, EVERY, at_once=False, jitter=0.0)


def empty_logs(paths: Sequence[Path]) -> None:
    """Checkpoint the write-ahead logs of these files and truncate the logs.

    A log that a reader still uses is left for the next round.
    """
    for path in paths:
        log = path.with_name(path.name + "-wal")
        try:
            if not log.exists() or log.stat().st_size == 0:
                continue
            with contextlib.closing(sqlite3.connect(path, timeout=_BUSY)) as connection:
                connection.execute(f"PRAGMA {FORGET}")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except (sqlite3.Error, OSError) as error:
            _log.warning("sqlite_log_not_emptied", file=path.name, error=type(error).__name__)
