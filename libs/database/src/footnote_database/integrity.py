"""Checks a database at start-up, reports a damaged, missing or newer one in a sentence; forces files to the disk."""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path

from footnote_kit.errors import FailedPrecondition
from footnote_kit.logs import get_logger

from footnote_database import salvage
from footnote_database.damaged_log import LostCommits, discard, lost_commits

CHECKED_BYTES = 64 * 1024 * 1024
"""Size up to which every page is checked at start-up; of a larger file, the beginning, schema and length."""

_log = get_logger(__name__)
_BROKEN = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def read_only(path: Path) -> contextlib.closing[sqlite3.Connection]:
    """Open a SQLite file for reading, for a block; raises sqlite3.Error.

    A damaged write-ahead log is refused here too: a first connection would drop what the next start has to report.
    """
    if lost_commits(path) is not None:
        raise sqlite3.OperationalError("the write-ahead log is damaged")
    return contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True))


def check_log(path: Path, name: str) -> None:
    """Raise FailedPrecondition for a damaged write-ahead log; changes nothing."""
    if (lost := lost_commits(path)) is not None:
        raise damaged_log(path, name, lost)


def check_file(
    path: Path,
    name: str,
    *,
    discards: bool = False,
    accepted: bool = False,
    named: Mapping[str, str] | None = None,
) -> None:
    """Raise FailedPrecondition for a damaged SQLite file; a missing file passes, because it is created later.

    A damaged write-ahead log is refused too. Only the start of the service that owns the file `discards` it: if the
    file has all of its commits, or if their loss is `accepted`. SQLite then goes on without the newest ones. `named`
    are queries that name what these held, by kind; see `salvage`.

    The names are logged first, because nothing knows them afterwards. That the loss is accepted is logged only when no
    later start can find the damaged log again, not even after a kill or a power cut.
    """
    if not path.exists():
        return
    if (lost := lost_commits(path)) is not None:
        held = salvage.names(path, lost, named or {})
        if lost.mixed or not discards or (lost.count != 0 and not accepted):
            raise damaged_log(path, name, lost, salvage.sentence(held))
        _log.error(
            "damaged_log_dropped",
            database=name,
            commits_lost=lost.count,
            until=lost.until.isoformat(),
            still_legible={kind: one[: salvage.MOST] for kind, one in held.items()},
        )
        if lost.ahead:
            discard(path)
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=10)) as connection:
            if lost is not None:
                # A later start would find the dropped commits in the log and refuse them again.
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                sync(path.with_name(path.name + "-wal"), path.parent)
                _log.error("damaged_log_accepted", database=name, commits_lost=lost.count)
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if _is_cut(path, connection):
                raise damaged(path, name)
            if path.stat().st_size <= CHECKED_BYTES:
                [(found,)] = connection.execute("PRAGMA quick_check(1)").fetchall()
                if found != "ok":
                    raise damaged(path, name)
    except sqlite3.DatabaseError as error:
        if _is_broken(error):
            raise damaged(path, name) from error
        raise


class BackgroundCheck:
    """Checks every page of a file too large for the start-up check, on a thread, while the database is in use.

    `damage` describes the damage found. It is None until then, and stays None when the file is sound or unreadable.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.damage: str | None = None
        self._path = path
        self._name = name
        self._ended = False
        self._connection: sqlite3.Connection | None = None
        self._thread = threading.Thread(target=self._run, name=f"look-{name}", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop the check; takes a moment."""
        self._ended = True
        if (connection := self._connection) is not None:
            with contextlib.suppress(sqlite3.Error):  # the connection closed at this moment
                connection.interrupt()
        self._thread.join(5)

    def _run(self) -> None:
        try:
            opened = sqlite3.connect(f"file:{self._path}?mode=ro", uri=True, timeout=10, check_same_thread=False)
            with contextlib.closing(opened) as connection:
                self._connection = connection
                if not self._ended and connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                    self._found()
        except sqlite3.Error as error:
            if _is_broken(error):
                self._found()
            elif not self._ended:
                _log.warning("database_not_looked_through", database=self._name, error=type(error).__name__)
        finally:
            self._connection = None

    def _found(self) -> None:
        self.damage = damaged(self._path, self._name).message
        _log.error("database_damaged", database=self._name, hint=self.damage)


def begin_check(path: Path, name: str) -> BackgroundCheck | None:
    """Start to check the pages that `check_file` left out; None when it checked all."""
    return BackgroundCheck(path, name) if path.exists() and path.stat().st_size > CHECKED_BYTES else None


def _is_broken(error: sqlite3.Error) -> bool:
    return (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF in _BROKEN


def _is_cut(path: Path, connection: sqlite3.Connection) -> bool:
    """Return whether a file is shorter than its pages. While others write, recent pages may still be in the log."""
    beside = path.with_name(path.name + "-wal")
    if beside.exists() and beside.stat().st_size:
        return False
    [(pages,)], [(size,)] = (connection.execute(f"PRAGMA {one}").fetchall() for one in ("page_count", "page_size"))
    return bool(path.stat().st_size < pages * size)


def damaged(path: Path, name: str) -> FailedPrecondition:
    """Return the error for a damaged file."""
    return FailedPrecondition(
        f"The {name} database {path} is damaged: put back a copy of it, with the service stopped, or save what is left "
        f'with: sqlite3 "{path}" .recover'
    )


def damaged_log(path: Path, name: str, lost: LostCommits, held: str = "") -> FailedPrecondition:
    """Return the error for a damaged write-ahead log; `held` is a sentence about what was lost."""
    if lost.mixed:
        return damaged(path, name)
    if lost.count == 0:
        return FailedPrecondition(
            f"The write-ahead log of the {name} database {path} is damaged, and nothing is lost: the database has all "
            "of its commits. Start the service, which discards the log."
        )
    commits = {None: "commits since the last checkpoint", 1: "newest commit"}.get(
        lost.count, f"newest {lost.count} commits"
    )
    # What to do comes first: a long list of what was lost is cut where it is printed.
    said = (
        f"The write-ahead log of the {name} database {path} is damaged: its {commits}, until {lost.until:%F %T} UTC, "
        "cannot be read. Put back a copy of the database and its log, with the service stopped, or start with "
        f"--accept {name} to go on without them. {held}"
    )
    return FailedPrecondition(said.rstrip())


def missing(path: Path, name: str, witness: Path) -> FailedPrecondition:
    """Return the error for a missing file whose related data exists."""
    return FailedPrecondition(
        f"The {name} database {path} is missing, while {witness} holds what belongs to it: put back a copy of it, "
        f"with the service stopped, or start with --accept {name} to go on without the list of them."
    )


def newer(where: str, name: str, version: str) -> FailedPrecondition:
    """Return the error for a database whose schema comes from a later release."""
    return FailedPrecondition(
        f"The {name} database {where} was written by a later release (schema {version}): start that one, or put back "
        "the copy that was made before it."
    )


def sync(*paths: Path) -> None:
    """Force what is written of these files, and what is in these folders, to the disk; skips what cannot be opened."""
    for path in paths:
        with contextlib.suppress(OSError):  # it is not there, or its file system cannot do it
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
