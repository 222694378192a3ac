"""Connection settings for all SQLite files of this project."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Any, Literal

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
