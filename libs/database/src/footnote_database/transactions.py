"""A database with connections for reading and transactions for writing, migrated before first use."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from footnote_kit import transient_errors
from footnote_kit.backoff import Backoff
from footnote_kit.errors import FootnoteError, Unavailable
from footnote_kit.logs import get_logger
from sqlalchemy import URL, Connection, text
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.pool import QueuePool
from sqlalchemy.schema import CreateSchema

from footnote_database import integrity
from footnote_database.engine import begin, connect
from footnote_database.failures import NotReached, read
from footnote_database.migrations import Newer
from footnote_database.parts import Parts
from footnote_database.traits import Traits, Writers

START_WAIT_SECONDS = 60.0
"""Seconds that a starting service waits for its server."""
_START_PAUSES = Backoff(0.25, 2.0)
_MIGRATION_SECONDS = 3600.0
_CHECK_SECONDS = 5.0
_RETRY_SECONDS = 2.0
READ_ONLY = text("SELECT current_setting('transaction_read_only')")
"""Asks PostgreSQL whether transactions are read-only: "on" at a standby, and where a full disk made them so."""
NO_WRITES = "the server takes no writes at the moment"
_LOOKS = 150  # checks for connections in use, at close
_LOOK_SECONDS = 0.02

_log = get_logger(__name__)


class Database:
    """SQLite or PostgreSQL; the same code runs on both.

    A cancelled block is rolled back after the running statement has ended, and its connection always returns to the
    pool.
    """

    def __init__(self, url: URL, traits: Traits) -> None:
        self._url = url
        self._traits = traits
        self.engine = connect(url, traits)
        self._checking: asyncio.Task[str | None] | None = None
        self._background: integrity.BackgroundCheck | None = None
        self._turn: AbstractAsyncContextManager[None] = nullcontext()
        if self.is_sqlite and traits.writers is Writers.TURNS:
            self._turn = asyncio.Lock()

    @property
    def is_sqlite(self) -> bool:
        """Whether this is SQLite; otherwise it is PostgreSQL."""
        return self.dialect == "sqlite"

    @property
    def dialect(self) -> str:
        """The kind of database: "sqlite" or "postgresql"."""
        return self.engine.dialect.name

    async def migrate(self, wait_seconds: float = 0.0, parts: Parts | None = None) -> None:
        """Migrate the schema in one transaction, and create the folder of a SQLite file.

        Replicas migrate one after the other. An unavailable server is retried for `wait_seconds`, because after a
        common failure the services may start before it.

        Raises FailedPrecondition for a damaged file and for a schema of a later release. With `parts`, also for a
        database that was created and is missing, or is another installation's.
        """
        if self.is_sqlite:
            await self._migrate_file(parts)
            return
        # Migrations may take long, and so may the wait for another replica's.
        slow = Database(self._url, replace(self._traits, command_seconds=_MIGRATION_SECONDS))
        ends, failed = time.monotonic() + wait_seconds, 0
        try:
            while True:
                try:
                    return await self._upgrade(slow, parts)
                except Exception as error:
                    known = error if isinstance(error, FootnoteError) else transient_errors.read(error)
                    if (
                        known is None
                        or transient_errors.waits_for(known) != transient_errors.DATABASE
                        or time.monotonic() > ends
                    ):
                        raise
                failed += 1
                _log.warning("database_waited_for", database=self._traits.name, seconds=round(ends - time.monotonic()))
                await asyncio.sleep(_START_PAUSES.pause(failed))
        finally:
            await slow.close()

    async def _migrate_file(self, parts: Parts | None) -> None:
        if (file := self._file()) is not None:
            await asyncio.to_thread(file.parent.mkdir, mode=0o700, parents=True, exist_ok=True)
            # The first connection decides what of the file's log counts, so nothing opens it before this check.
            accepted = parts is not None and parts.accepts(self._traits.part)
            if parts is not None and accepted:  # before anything is lost, so that a kill in between forgets nothing
                await asyncio.to_thread(parts.note_loss, self._traits.part)
            named = self._traits.named
            await asyncio.to_thread(
                integrity.check_file, file, self._traits.name, discards=True, accepted=accepted, named=named
            )
            if parts is not None:
                await asyncio.to_thread(parts.check_file, self._traits.part, file)
                await asyncio.to_thread(parts.begin, self._traits.part)
        await self._upgrade(self)
        if file is not None:
            if parts is not None:
                await asyncio.to_thread(parts.note, self._traits.part, file)
            self._background = await asyncio.to_thread(integrity.begin_check, file, self._traits.name)

    async def _upgrade(self, through: Database, parts: Parts | None = None) -> None:
        async with through.write() as connection:
            if self.is_sqlite:
                # Otherwise each schema change would commit by itself, and a kill in between would leave half a
                # migration.
                await connection.run_sync(begin)
            else:
                lock = {"key": self._traits.migrations.lock}
                await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), lock)
                if self._traits.schema is not None:
                    await connection.execute(CreateSchema(self._traits.schema, if_not_exists=True))
            if parts is not None:  # on a server only: a file was checked before it was opened
                there = await connection.run_sync(self._traits.migrations.is_there)
                where = self._url.render_as_string(hide_password=True)
                what = f"{self._traits.name} database {where}"
                if parts.accepts(self._traits.part):  # first, so that a kill in between forgets nothing
                    await asyncio.to_thread(parts.note_loss, self._traits.part)
                await asyncio.to_thread(parts.check, self._traits.part, what, there, "put back a dump of it")
                await asyncio.to_thread(parts.begin, self._traits.part)
            try:
                await connection.run_sync(self._traits.migrations.upgrade)
            except Newer as error:
                where = self._url.render_as_string(hide_password=True)
                raise integrity.newer(where, self._traits.name, str(error)) from error
        if parts is not None:
            await asyncio.to_thread(parts.note, self._traits.part)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """Open a connection for queries."""
        async with self._translated(), self.engine.connect() as connection:
            yield connection

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """Open a transaction; it commits at the end of the block, or rolls back on an exception."""
        async with self._translated(), self._turn, self.engine.connect() as connection:
            await connection.execution_options(writes=True)
            async with connection.begin():
                yield connection

    async def check(self) -> str | None:
        """Return None when the database responds, accepts writers and is not known to be damaged, else the reason.

        A large file is checked after the start, and may turn out to be damaged later.
        """
        if self._background is not None and self._background.damage is not None:
            return self._background.damage
        if (file := self._file()) is not None and not file.exists():
            return f"The {self._traits.name} database {file} is gone: stop the service and put back a copy of it"
        # A statement is never cancelled, so this wait has a limit, and concurrent callers share one check.
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._check())
        await asyncio.wait([self._checking], timeout=_CHECK_SECONDS)
        if not self._checking.done():
            return f"{self._traits.name} database: no answer within {_CHECK_SECONDS:g} s"
        error = self._checking.exception()
        reason = self._checking.result() if error is None else type(error).__name__
        return reason and f"{self._traits.name} database: {reason}"

    async def _check(self) -> str | None:
        async with self.engine.connect() as connection:
            if self.is_sqlite:
                # Takes the lock that every writer needs, and writes nothing.
                await connection.run_sync(_take_and_leave)
                return None
            if await connection.scalar(READ_ONLY) == "off":
                return None
        await self.engine.dispose()  # a connection keeps what it was opened with: to a standby, or to a full server
        return NO_WRITES

    async def close(self) -> None:
        """Close all connections; those in use when they return to the pool.

        A health check, or a write that outlives its caller, may still hold one that no other code would close. A
        connection that does not return within seconds is abandoned.
        """
        if self._background is not None:
            await asyncio.to_thread(self._background.end)
        pool = self.engine.pool
        try:
            for _ in range(_LOOKS):
                if not isinstance(pool, QueuePool) or not pool.checkedout():
                    break
                await asyncio.sleep(_LOOK_SECONDS)
        finally:
            await self.engine.dispose()
        await asyncio.sleep(0)  # the driver's sockets close one iteration of the event loop after their connections

    def _file(self) -> Path | None:
        file = self._url.database
        return Path(file) if self.is_sqlite and file and not file.startswith((":", "file:")) else None

    @asynccontextmanager
    async def _translated(self) -> AsyncIterator[None]:
        try:
            yield
        except (OperationalError, InterfaceError, ConnectionError, TimeoutError, PoolTimeout, NotReached) as error:
            if not self._traits.refused:
                raise
            known = error if isinstance(error, NotReached) else read(error)
            if known is not None and transient_errors.waits_for(known) == transient_errors.DISK:
                raise known from error  # it answers, and says what to do
            metadata = {transient_errors.WAITING: transient_errors.DATABASE} if known is None else known.metadata
            raise Unavailable(self._traits.refused, retry_after=_RETRY_SECONDS, metadata=metadata) from error


def _take_and_leave(connection: Connection) -> None:
    cursor = connection.connection.cursor()
    try:
        cursor.execute("BEGIN IMMEDIATE")
        cursor.execute("ROLLBACK")
    finally:
        cursor.close()


def now_ms() -> int:
    """Return the current time in unix milliseconds."""
    return int(time.time() * 1000)


def utc(moment: datetime) -> datetime:
    """Return a time from the database with its UTC zone, which SQLite drops."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
