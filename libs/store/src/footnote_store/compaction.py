"""Rewriting the embedded engine's file, so that nothing of deleted rows is left in it.

The engine leaves deleted rows in free pages of its SQLite file. It may not run meanwhile: it takes a locked file for
a write that was done, so nobody else may as much as read the file while it runs.
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
    """Whether the file was written to since it was last rewritten."""
    try:
        written = database.stat().st_mtime_ns
    except OSError:
        return False
    try:
        return _marker(database).stat().st_mtime_ns < written
    except OSError:
        return True


def age(database: Path) -> float:
    """Return the seconds since the file was last rewritten; infinite when it never was."""
    try:
        return time.time() - _marker(database).stat().st_mtime
    except OSError:
        return math.inf


def compact(database: Path) -> bool:
    """Rewrite the file without its free pages, if it was written to since; return whether it was done.

    The engine must not be running. A file that cannot be rewritten stays as it is.
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
