"""Truncates SQLite's write-ahead logs, so that overwritten deleted data does not survive in a log."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from footnote_kit.logs import get_logger
from footnote_kit.periodic import PeriodicTasks

from footnote_database.sqlite import FORGET

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
