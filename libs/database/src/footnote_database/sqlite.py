"""What every connection to a SQLite file of ours is told, whoever opens it."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Any, Literal

FORGET = "secure_delete=ON"
"""Pragma for every connection: bytes of deleted rows are overwritten with zeros, in the file and in its log."""

Synchronous = Literal["FULL", "NORMAL", "OFF"]
"""What a commit outlives: FULL a power cut; NORMAL a crash of the process, a power cut may cost the last ones; OFF as
NORMAL, but a power cut may cost the file."""


def pragmas(synchronous: Synchronous, *, foreign_keys: bool = False) -> tuple[str, ...]:
    """Return the pragmas of a connection: write-ahead log, durability, forgetting, and foreign keys where wanted."""
    checks = ("foreign_keys=ON",) if foreign_keys else ()
    return ("journal_mode=WAL", f"synchronous={synchronous}", *checks, FORGET)


def open_file(path: Path, synchronous: Synchronous, busy_seconds: float) -> sqlite3.Connection:
    """Open a file without SQLAlchemy, in autocommit; a lock of others is waited for `busy_seconds`."""
    connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)
    try:
        for pragma in pragmas(synchronous):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def write_ahead(path: Path) -> None:
    """Give a file its write-ahead log for life: readers, which poll, and writers do not hold each other up."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


class ForgettingConnection(sqlite3.Connection):
    """A connection that overwrites what it deletes, and whose commits outlive a power cut; for libraries' own."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.execute(f"PRAGMA {FORGET}")
        self.execute("PRAGMA synchronous=FULL")


def file_of(url: str) -> Path | None:
    """Return the file that a SQLAlchemy URL of SQLite names; None for another database or one in memory."""
    kind, found, rest = url.partition(":///")
    return Path(rest.partition("?")[0]) if found and kind.startswith("sqlite") and rest else None
