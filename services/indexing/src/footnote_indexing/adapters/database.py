"""The service's database: SQLite in the data folder, or PostgreSQL by URL.

Commits survive a power cut (synchronous FULL), as in every service: otherwise their databases could diverge. In
PostgreSQL the tables are in the database's own schema, distinguished from others by their names.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from footnote.types.v1.collection_pb2 import Collection, EmbeddingSettings
from footnote_database import transactions
from footnote_database.engine import address
from footnote_database.migrations import Migrations
from footnote_database.parts import Parts
from footnote_database.storage import Sample, readable
from footnote_database.traits import Traits, Writers
from footnote_kit import epochs
from footnote_kit.epochs import Epoch
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_indexing.adapters.tables import metadata
from footnote_indexing.ports import RowLedger

FILE = "indexing.db"
MIGRATIONS = Migrations(
    versions=Path(__file__).parent / "migrations",
    metadata=metadata,
    lock=7102001,
    version_table="indexing_alembic_version",
)
TRAITS = Traits(
    name="indexing",
    migrations=MIGRATIONS,
    synchronous="FULL",
    busy_seconds=10,
    writers=Writers.TURNS,
    holds="collections, their rights and settings, and the list of what is indexed, own vectors included",
    named={
        "collections": "SELECT id || ' of ' || datetime(created_at / 1000, 'unixepoch') FROM indexing_collections",
        "own vectors": "SELECT document_id FROM indexing_revisions WHERE document_id LIKE collection_id || '/%'",
    },
)


SAMPLES = (
    Sample(
        database="indexing",
        name="collections",
        query="SELECT data FROM indexing_collections ORDER BY rowid DESC",
        read=readable(Collection),
        effect="Calls for these collections fail.",
    ),
    Sample(
        database="indexing",
        name="embedders of collections",
        query="SELECT embedding FROM indexing_generations ORDER BY rowid DESC",
        read=readable(EmbeddingSettings),
        effect="Searches of these collections fail.",
    ),
)
"""Samples of the messages that the database stores as bytes, for checks that they can still be decoded."""


class Database(transactions.Database):
    """Publishes an epoch with every write, so that readers here and in other services can validate their caches."""

    def __init__(self, url: str, folder: Path) -> None:
        super().__init__(address(url, folder / FILE), TRAITS)
        self._epoch = Epoch(folder / epochs.FILE) if self.is_sqlite else None
        self._collections = Epoch(folder / epochs.COLLECTIONS_FILE) if self.is_sqlite else None

    def current(self) -> str | None:
        """Return a name that changes with every write; None for a database with other writers."""
        return self._epoch.name if self._epoch is not None else None

    def current_of_collections(self) -> str | None:
        """Return a name that changes with every write except those of `write_documents`; None with other writers."""
        return self._collections.name if self._collections is not None else None

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """Yield a connection in a transaction, committed at the end unless an exception leaves the block."""
        try:
            async with super().write() as connection:
                yield connection
        finally:
            if self._collections is not None:
                self._collections.advance()
            if self._epoch is not None:
                self._epoch.advance()

    @asynccontextmanager
    async def write_documents(self) -> AsyncIterator[AsyncConnection]:
        """Yield the same for writes that only move a document towards being searched.

        Such writes change no collection and no right. Writes that hide documents do not belong here: readers must not
        go on with cached knowledge after them.
        """
        try:
            async with super().write() as connection:
                yield connection
        finally:
            if self._epoch is not None:
                self._epoch.advance()

    async def close(self) -> None:
        """Close all connections and end the epochs."""
        for epoch in (self._epoch, self._collections):
            if epoch is not None:
                epoch.close()
        await super().close()


class Losses:
    """Records, over restarts, that the ledger lost its newest commits and was not compared with the store since."""

    def __init__(self, parts: Parts, rows: RowLedger) -> None:
        self._parts = parts
        self._rows = rows

    async def rows(self) -> RowLedger | None:
        """Return where rows of own vectors are entered that only the store holds; None without a loss."""
        return self._rows if await asyncio.to_thread(self._parts.lacks, TRAITS.part) else None

    async def settled(self) -> None:
        """Record that the store was compared with the ledger since the loss."""
        await asyncio.to_thread(self._parts.forget_loss, TRAITS.part)
