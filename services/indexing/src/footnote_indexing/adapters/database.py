"""The service's database: SQLite in the data folder, or PostgreSQL by URL.

A commit outlives a crash of the process; only a power cut may cost SQLite the last ones (synchronous NORMAL). In
PostgreSQL the tables are in the database's own schema, told from others by their names.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from footnote_database import transactions
from footnote_database.engine import address
from footnote_database.migrations import Migrations
from footnote_database.traits import Traits, Writers
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_indexing.adapters.tables import metadata

FILE = "indexing.db"
MIGRATIONS = Migrations(
    versions=Path(__file__).parent / "migrations",
    metadata=metadata,
    lock=7102001,
    version_table="indexing_alembic_version",
)
_TRAITS = Traits(name="indexing", migrations=MIGRATIONS, synchronous="NORMAL", busy_seconds=10, writers=Writers.TURNS)


class Database(transactions.Database):
    """Counts what is written, so that readers know whether what they remember still holds."""

    def __init__(self, url: str, folder: Path) -> None:
        super().__init__(address(url, folder / FILE), _TRAITS)
        self._writes = 0

    @property
    def version(self) -> int | None:
        """A number that changes with every write; None for a database that others may write to as well."""
        return self._writes if self.is_sqlite else None

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """Give a connection in a transaction, committed at the end unless an exception leaves the block."""
        try:
            async with super().write() as connection:
                yield connection
        finally:
            self._writes += 1
