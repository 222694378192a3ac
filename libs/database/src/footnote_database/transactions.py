"""A database with its connections for reading and its transactions for writing, migrated before first use."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path

from footnote_kit.errors import Unavailable
from sqlalchemy import URL, text
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.schema import CreateSchema

from footnote_database.engine import connect
from footnote_database.traits import Traits, Writers

_CHECK_SECONDS = 5.0
_RETRY_SECONDS = 2.0


class Database:
    """SQLite or PostgreSQL; the same code runs on both.

    A block that is cancelled is rolled back, and its connection goes back to the pool all the same.
    """

    def __init__(self, url: URL, traits: Traits) -> None:
        self._url = url
        self._traits = traits
        self.engine = connect(url, traits)
        self._turn: AbstractAsyncContextManager[None] = nullcontext()
        if self.is_sqlite and traits.writers is Writers.TURNS:
            self._turn = asyncio.Lock()

    @property
    def is_sqlite(self) -> bool:
        """Whether it is SQLite, else it is PostgreSQL."""
        return self.dialect == "sqlite"

    @property
    def dialect(self) -> str:
        """The kind of database: "sqlite" or "postgresql"."""
        return self.engine.dialect.name

    async def migrate(self) -> None:
        """Bring the schema up to date, and make the folder of a SQLite file; replicas do it one after the other."""
        if (folder := self._folder()) is not None:
            await asyncio.to_thread(folder.mkdir, mode=0o700, parents=True, exist_ok=True)
        async with self.write() as connection:
            if not self.is_sqlite:
                lock = {"key": self._traits.migrations.lock}
                await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), lock)
                if self._traits.schema is not None:
                    await connection.execute(CreateSchema(self._traits.schema, if_not_exists=True))
            await connection.run_sync(self._traits.migrations.upgrade)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """Give a connection for queries."""
        async with self._translated(), self.engine.connect() as connection:
            yield connection

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """Give a connection in a transaction, committed at the end unless an exception leaves the block."""
        async with self._translated(), self._turn, self.engine.connect() as connection:
            await connection.execution_options(writes=True)
            async with connection.begin():
                yield connection

    async def check(self) -> str | None:
        """Return None when the database answers, else why not."""
        try:
            async with asyncio.timeout(_CHECK_SECONDS), self.engine.connect() as connection:
                await connection.execute(text("SELECT 1"))
        except Exception as error:
            return f"{self._traits.name} database: {type(error).__name__}"
        return None

    async def close(self) -> None:
        """Close all connections."""
        await self.engine.dispose()

    def _folder(self) -> Path | None:
        file = self._url.database
        return Path(file).parent if self.is_sqlite and file and not file.startswith((":", "file:")) else None

    @asynccontextmanager
    async def _translated(self) -> AsyncIterator[None]:
        try:
            yield
        except (OperationalError, InterfaceError, ConnectionError, TimeoutError) as error:
            if not self._traits.refused:
                raise
            raise Unavailable(self._traits.refused, retry_after=_RETRY_SECONDS) from error
