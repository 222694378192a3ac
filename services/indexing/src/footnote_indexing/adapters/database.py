"""The service's database: SQLite in the data folder, or PostgreSQL by URL."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import time
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from footnote_kit import zero_bytes
from footnote_kit.sqlite import FORGET
from sqlalchemy import Connection, event
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

_MIGRATION_LOCK = 7102001


def now_ms() -> int:
    """Return the time in unix milliseconds."""
    return int(time() * 1000)


class Database:
    """Connections and transactions. Writers of SQLite take turns here instead of finding it locked."""

    def __init__(self, url: str, folder: Path) -> None:
        if not url:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            url = f"sqlite+aiosqlite:///{folder / 'indexing.db'}"
        parsed = sa.make_url(url)
        sqlite = parsed.get_backend_name() == "sqlite"
        # Whichever driver the URL names, or none as most do: these two are ours.
        parsed = parsed.set(drivername="sqlite+aiosqlite" if sqlite else "postgresql+asyncpg")
        self._engine = create_async_engine(parsed, pool_pre_ping=not sqlite, hide_parameters=True)
        event.listen(self._engine.sync_engine, "before_cursor_execute", zero_bytes.replace, retval=True)
        self._turn: asyncio.Lock | None = None
        self._writes = 0
        if self._engine.dialect.name == "sqlite":
            self._turn = asyncio.Lock()
            event.listen(self._engine.sync_engine, "connect", _set_pragmas)

    @property
    def dialect(self) -> str:
        """The kind of database: "sqlite" or "postgresql"."""
        return self._engine.dialect.name

    @property
    def version(self) -> int | None:
        """A number that changes with every write; None for a database that others may write to as well."""
        return None if self._turn is None else self._writes

    async def migrate(self) -> None:
        """Bring the schema up to date."""
        async with self._engine.begin() as connection:
            if self.dialect == "postgresql":
                # Replicas that start together: one migrates, the others wait and find it done.
                await connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
            await connection.run_sync(_upgrade)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """Give a connection for queries."""
        async with self._engine.connect() as connection:
            yield connection

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """Give a connection in a transaction, committed at the end unless an exception leaves the block."""
        if self._turn is None:
            async with self._engine.begin() as connection:
                yield connection
        else:
            try:
                async with self._turn, self._engine.begin() as connection:
                    yield connection
            finally:
                self._writes += 1

    async def close(self) -> None:
        """Close all connections."""
        await self._engine.dispose()


def _set_pragmas(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "busy_timeout=10000", FORGET):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _upgrade(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
