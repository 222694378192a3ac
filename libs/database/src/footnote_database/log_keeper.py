"""Empties the write-ahead logs of SQLite files: what is deleted is overwritten, and the log does not keep it either."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from footnote_kit.logs import get_logger
from footnote_kit.periodic import PeriodicTasks

from footnote_database.sqlite import FORGET

EVERY = 15.0
"""Seconds between looks at the logs; what was deleted has left them within twice that."""
_BUSY = 2.0

_log = get_logger("footnote.sqlite")


def log_keeper(*paths: Path) -> PeriodicTasks:
    """Return the rounds that empty the logs of some files now and then: until it is reused, a log keeps old pages.

    Files that are not there are left alone, so that those of other databases may be named as well.
    """

    async def keep() -> None:
        await asyncio.to_thread(empty_logs, paths)

    return PeriodicTasks("sqlite-logs", keep, EVERY, at_once=False, jitter=0.0)


def empty_logs(paths: Sequence[Path]) -> None:
    """Move what is in the write-ahead logs of these files into them and cut the logs to nothing.

    A log that a reader holds on to is left for the next time.
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
