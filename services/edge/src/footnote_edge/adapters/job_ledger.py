"""The database of dbos's ledger of jobs: a SQLite file of one process, or a schema that replicas share."""

import asyncio
import logging
from pathlib import Path
from typing import Any

from dbos import DBOS
from footnote_database import integrity
from footnote_database.parts import Part, Parts
from footnote_database.sqlite import ForgettingConnection, file_of, write_ahead
from footnote_database.storage import Library
from footnote_database.transactions import START_WAIT_SECONDS
from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError

_VANISHED = {
    "application_name": "dbos_transact",
    "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 4, "tcp_user_timeout": 30_000,
}  # fmt: skip
"""libpq options that give up a silently vanished host after half a minute.

By default dbos would wait as long as the system does: hours.
"""


def migrate_ledger(url: str) -> None:
    """Migrate the ledger's tables at a URL, as each launch does."""
    _hush_dbos()
    DBOS.migrate(url)


PART = Part("jobs", "work in hand: documents on their way, reindexings, deletions of collections")
LEDGER = Library(schema="dbos", version_table="dbos_migrations", migrate=migrate_ledger)


class JobLedger:
    """Prepares the database at a URL for dbos, which opens it."""

    wait_seconds = START_WAIT_SECONDS
    """Seconds for which a start waits for a database server."""
    failures: tuple[type[Exception], ...] = (DBAPIError,)
    """Errors of the driver, which does not say whether they are transient."""

    def __init__(self, url: str, folder: Path, parts: Parts | None = None) -> None:
        self.url = url
        self._folder = folder
        self._parts = parts

    @property
    def alone(self) -> bool:
        """Whether one process has the ledger: that in a file has no other replica."""
        return file_of(self.url) is not None

    def engine_options(self) -> dict[str, Any]:
        """Return the options of dbos's engine."""
        # Errors would quote the parameters, and deleted content must not survive in logs.
        options: dict[str, Any] = {"hide_parameters": True}
        if self.url.startswith("sqlite"):
            options["connect_args"] = {"factory": ForgettingConnection}
        else:
            given = make_url(self.url).query
            options["connect_args"] = {name: value for name, value in _VANISHED.items() if name not in given}
        return options

    async def prepare(self) -> None:
        """Create the folder, and check a file; raises if it is not sound or not this installation's."""
        _hush_dbos()
        await asyncio.to_thread(self._prepare)

    def _prepare(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (file := file_of(self.url)) is None:
            return
        accepted = self._parts is not None and self._parts.accepts(PART)
        integrity.check_file(file, PART.name, discards=True, accepted=accepted)
        if self._parts is not None:
            self._parts.check_file(PART, file)
        write_ahead(file)
        if self._parts is not None:
            self._parts.note(PART, file)


def _hush_dbos() -> None:
    # dbos writes to the console in its own format unless its logger has a handler; ours formats all logs.
    logger = logging.getLogger("dbos")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
        logger.addFilter(_is_news)
        logger.propagate = True


def _is_news(record: logging.LogRecord) -> bool:
    """Leave out what a job reports that the end of the process interrupts: it goes on at the next start."""
    error = record.exc_info[1] if record.exc_info else None
    return not (isinstance(error, RuntimeError) and "after shutdown" in str(error))
