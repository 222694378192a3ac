"""Transient database errors: an unavailable, full or locked database, no free connection, and insert conflicts."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from footnote_kit import transient_errors
from footnote_kit.errors import Unavailable
from sqlalchemy.exc import DBAPIError, IntegrityError, TimeoutError

_FULL = {sqlite3.SQLITE_FULL}
_AWAY = {
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_NOMEM,
}  # fmt: skip
_FULL_STATES = {"53100"}
_AWAY_STATES = ("08", "53", "57", "55P03", "40001", "40P01", "25006", "25P03")
"""Prefixes of PostgreSQL's error codes: connection, resources, shutdown and terminated sessions, locks, a server that
is read-only at the moment, a transaction that was idle for too long."""
_AWAY_WORDS = "The database does not answer now"


def read(error: Exception) -> Unavailable | None:
    """Return the typed error of a transient failure; None for a defect of this project."""
    if isinstance(error, TimeoutError):
        return transient_errors.unavailable("All connections to the database are in use", transient_errors.DATABASE)
    if not isinstance(error, DBAPIError):
        return None
    driver = error.orig
    code = getattr(driver, "sqlite_errorcode", None)
    state = str(getattr(driver, "sqlstate", "") or "")
    if (code is not None and code & 0xFF in _FULL) or state in _FULL_STATES:
        return transient_errors.unavailable(
            "There is no room left on the disk of the database", transient_errors.DISK, 10.0
        )
    gone = code is not None and code & 0xFF in _AWAY
    if gone or state.startswith(_AWAY_STATES) or error.connection_invalidated:
        return away()
    return None


class NotReached(Unavailable):
    """No server listens at the database's address, or it hangs up at once or does not respond."""


def away() -> Unavailable:
    """Return the error for a database that is unavailable."""
    return transient_errors.unavailable(_AWAY_WORDS, transient_errors.DATABASE)


def not_reached() -> NotReached:
    """Return the error for a database that accepts no connection."""
    return NotReached(
        _AWAY_WORDS,
        metadata={transient_errors.WAITING: transient_errors.DATABASE},
        retry_after=transient_errors.RETRY_SECONDS,
    )


transient_errors.register(read)


P = ParamSpec("P")
R = TypeVar("R")


def retry_on_conflict(change: Callable[P, Awaitable[R]]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return a change, a whole transaction, that is retried once after a conflict on an inserted row.

    Between the read and the insert, a concurrent transaction may have inserted the row; the second read sees it. This
    happens in PostgreSQL; SQLite has one writer.
    """

    @wraps(change)
    async def made(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await change(*args, **kwargs)
        except IntegrityError:
            return await change(*args, **kwargs)

    return made
