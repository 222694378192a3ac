"""The database: SQLite in the data folder by default, PostgreSQL by URL; migrated when the service starts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from footnote_kit import zero_bytes
from footnote_kit.errors import Unavailable
from footnote_kit.sqlite import FORGET
from sqlalchemy import Connection, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

# On PostgreSQL all stages may share one database: each keeps to its own schema.
SCHEMA = "ingestion"
_BUSY_MS = 10_000
_MIGRATION_LOCK = 7_101_001


class Database:
    """Connections for reading and for writing. What the server refuses for now is `Unavailable`."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self.is_sqlite = engine.dialect.name == "sqlite"

    @classmethod
    async def open(cls, url: str, folder: Path) -> Database:
        """Connect and migrate to the newest schema."""
        database = cls(_engine(url, folder))
        try:
            await database._migrate()
        except BaseException:
            await database.close()
            raise
        return database

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """Yield a connection for reading."""
        async with _translated(), self._engine.connect() as connection:
            yield connection

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """Yield a transaction, committed at the end of the block. On SQLite it is the only writer."""
        async with _translated(), self._engine.connect() as plain:
            connection = await plain.execution_options(writes=True)
            async with connection.begin():
                yield connection

    async def check(self) -> str | None:
        """None when the database answers, else why not."""
        try:
            async with self.read() as connection:
                await connection.execute(text("select 1"))
        except (Unavailable, DBAPIError, OSError):
            return "the database does not answer"
        return None

    async def close(self) -> None:
        """Close all connections."""
        await self._engine.dispose()

    async def _migrate(self) -> None:
        async with self.write() as connection:
            if not self.is_sqlite:
                await connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
                await connection.execute(text(f"create schema if not exists {SCHEMA}"))
            await connection.run_sync(_upgrade)


def _upgrade(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _engine(url: str, folder: Path) -> AsyncEngine:
    engine = _connected(url, folder)
    event.listen(engine.sync_engine, "before_cursor_execute", zero_bytes.replace, retval=True)
    return engine


def _connected(url: str, folder: Path) -> AsyncEngine:
    if not url:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        url = f"sqlite:///{folder / 'documents.db'}"
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        engine = create_async_engine(
            parsed.set(drivername="sqlite+aiosqlite"), pool_size=4, max_overflow=4, hide_parameters=True
        )
        _tame_sqlite(engine)
        return engine
    return create_async_engine(
        parsed.set(drivername="postgresql+asyncpg"),
        pool_size=8,
        max_overflow=8,
        pool_pre_ping=True,
        hide_parameters=True,
        pool_timeout=10,
        connect_args={"server_settings": {"search_path": SCHEMA}, "timeout": 10, "command_timeout": 60},
    )


def _tame_sqlite(engine: AsyncEngine) -> None:
    """Write-ahead log, waiting for locks, transactions begun by us: IMMEDIATE for writers."""

    @event.listens_for(engine.sync_engine, "connect")
    def connected(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the driver is not to begin transactions by itself
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", "synchronous=FULL", f"busy_timeout={_BUSY_MS}", "foreign_keys=ON", FORGET):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def begun(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@asynccontextmanager
async def _translated() -> AsyncIterator[None]:
    try:
        yield
    except (OperationalError, InterfaceError, ConnectionError, TimeoutError) as error:
        raise Unavailable("The documents database does not answer", retry_after=2.0) from error
