"""The edge's database: one engine, migrated to the newest schema before first use."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from alembic import command
from alembic.config import Config
from footnote_kit import zero_bytes
from footnote_kit.sqlite import FORGET
from sqlalchemy import Connection, event, make_url, text
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.schema import CreateSchema

SCHEMA = "edge"
"""PostgreSQL schema of our tables; SQLite has a file of its own instead."""


class Database:
    """Opens sessions on SQLite or PostgreSQL; the same code runs on both."""

    def __init__(self, url: str) -> None:
        self._url = make_url(url)
        self.is_sqlite = self._url.get_backend_name() == "sqlite"
        # Whichever driver the URL names, or none as most do: these two are ours.
        self._url = self._url.set(drivername="sqlite+aiosqlite" if self.is_sqlite else "postgresql+asyncpg")
        if self.is_sqlite:
            self.engine: AsyncEngine = create_async_engine(
                self._url, connect_args={"timeout": 30}, hide_parameters=True
            )
            event.listen(self.engine.sync_engine, "connect", _tune_sqlite)
        else:
            settings = {"search_path": SCHEMA}
            self.engine = create_async_engine(
                self._url,
                pool_size=10,
                max_overflow=10,
                pool_pre_ping=True,
                hide_parameters=True,
                connect_args={"server_settings": settings},
            )
        event.listen(self.engine.sync_engine, "before_cursor_execute", zero_bytes.replace, retval=True)
        self.sessions: async_sessionmaker[AsyncSession] = async_sessionmaker(self.engine, expire_on_commit=False)

    async def migrate(self) -> None:
        """Bring the schema up to date; two replicas that start together do it one after the other."""
        if self.is_sqlite and self._url.database:
            await asyncio.to_thread(Path(self._url.database).parent.mkdir, mode=0o700, parents=True, exist_ok=True)
        async with self.engine.begin() as connection:
            if not self.is_sqlite:
                await connection.execute(text("SELECT pg_advisory_xact_lock(7100)"))
                await connection.execute(CreateSchema(SCHEMA, if_not_exists=True))
            await connection.run_sync(_upgrade)

    async def ping(self) -> str | None:
        """Return None when the database answers, else why not."""
        try:
            async with asyncio.timeout(5), self.engine.connect() as connection:
                await connection.execute(text("SELECT 1"))
        except Exception as error:
            return f"edge database: {type(error).__name__}"
        return None

    async def close(self) -> None:
        """Close all connections."""
        await self.engine.dispose()


def utc(moment: datetime) -> datetime:
    """Return a time from the database with its zone: all are written in UTC, and SQLite hands them back bare."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _upgrade(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _tune_sqlite(connection: object, _record: object) -> None:
    cursor = connection.cursor()  # type: ignore[attr-defined]
    # NORMAL keeps every commit through a crash of the process; only a power cut may cost the last ones.
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "busy_timeout=30000", FORGET):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
