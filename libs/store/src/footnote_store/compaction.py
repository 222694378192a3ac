"""Compacts the embedded engine's file, so that no data of deleted rows remains in it.

The engine leaves deleted rows in free pages of its SQLite file. It must not run during compaction: it treats a write
to a locked file as done. For the same reason no other process may even read the file while the engine runs.
"""

from __future__ import annotations

import contextlib
import math
import sqlite3
import time
from pathlib import Path

from footnote_kit.logs import get_logger

_log = get_logger("footnote.store.compaction")


def needs_compaction(database: Path) -> bool:
    """Return whether the file was written since its last compaction."""
    try:
        written = database.stat().st_mtime_ns
    except OSError:
        return False
    try:
        return _marker(database).stat().st_mtime_ns < written
    except OSError:
        return True


def age(database: Path) -> float:
    """Return the seconds since the last compaction; infinity when there was none."""
    try:
        return time.time() - _marker(database).stat().st_mtime
    except OSError:
        return math.inf


def compact(database: Path) -> bool:
    """Compact the file if it was written since the last time; return whether that happened.

    The engine must not be running. After a failure the file stays as it is.
    """
    if not needs_compaction(database):
        return False
    try:
        with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as connection:
            connection.execute("PRAGMA secure_delete=ON")
            connection.execute("VACUUM")
        _marker(database).touch()
    except (sqlite3.Error, OSError) as error:
        _log.warning("store_not_compacted", error=type(error).__name__)
        return False
    return True


def _marker(database: Path) -> Path:
    return database.with_name("compacted")
