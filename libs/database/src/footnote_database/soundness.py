"""Whether a database can be worked with: a damaged, missing or newer one is told at the start, in a sentence."""

import contextlib
import sqlite3
from pathlib import Path

from footnote_kit.errors import FailedPrecondition

CHECKED_BYTES = 64 * 1024 * 1024
"""Size up to which every page of a file is read at the start; of a larger one the beginning and the schema."""

_BROKEN = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def check_file(path: Path, name: str) -> None:
    """Raise FailedPrecondition for a SQLite file that is there and damaged; one that is not there is made later."""
    if not path.exists():
        return
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=10)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if path.stat().st_size <= CHECKED_BYTES:
                [(found,)] = connection.execute("PRAGMA quick_check(1)").fetchall()
                if found != "ok":
                    raise damaged(path, name)
    except sqlite3.DatabaseError as error:
        if (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF in _BROKEN:
            raise damaged(path, name) from error
        raise


def damaged(path: Path, name: str) -> FailedPrecondition:
    """Return the error for a file that cannot be read whole."""
    return FailedPrecondition(
        f"The {name} database {path} is damaged: put back a copy of it, with the service stopped, or save what is left "
        f'with: sqlite3 "{path}" .recover'
    )


def missing(path: Path, name: str, witness: Path) -> FailedPrecondition:
    """Return the error for a file that is gone while what belongs to it is there."""
    return FailedPrecondition(
        f"The {name} database {path} is missing, while {witness} holds what belongs to it: put back a copy of it, or "
        f"move {witness} away to begin anew."
    )


def newer(where: str, name: str, version: str) -> FailedPrecondition:
    """Return the error for a database that a later release has brought to a schema that this one does not know."""
    return FailedPrecondition(
        f"The {name} database {where} was written by a later release (schema {version}): start that one, or put back "
        "the copy that was made before it."
    )
