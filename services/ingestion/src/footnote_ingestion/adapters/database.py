"""The database of documents: SQLite in the data folder by default, or its own schema in PostgreSQL.

An accepted document survives a power cut (synchronous FULL): its uploader may no longer have the bytes.
"""

from __future__ import annotations

from pathlib import Path

from footnote_database import integrity, transactions
from footnote_database.engine import address
from footnote_database.migrations import Migrations
from footnote_database.parts import Parts
from footnote_database.traits import Pool, Traits, Writers

from footnote_ingestion.adapters.schema import metadata

FILE = "documents.db"
MIGRATIONS = Migrations(versions=Path(__file__).parent / "migrations", metadata=metadata, lock=7_101_001)
TRAITS = Traits(
    name="documents",
    migrations=MIGRATIONS,
    synchronous="FULL",
    busy_seconds=10,
    writers=Writers.IMMEDIATE,
    foreign_keys=True,
    schema="ingestion",
    sqlite_pool=Pool(4, 4),
    postgres_pool=Pool(8, 8, seconds=10),
    refused="The documents database does not answer",
    holds="the list of documents, their labels and states",
    named={"documents": "SELECT id || ' of ' || datetime(create_time / 1000000, 'unixepoch') FROM documents"},
)


class Database(transactions.Database):
    """The service's database; temporary refusals of the server raise `Unavailable`."""

    @classmethod
    async def open(cls, url: str, folder: Path, wait_seconds: float = 0.0, parts: Parts | None = None) -> Database:
        """Connect and migrate to the newest schema; wait up to `wait_seconds` seconds for a server that is down.

        Raises FailedPrecondition when the database file is missing while document files exist. Without it those files
        would have no owner, and their search entries would be removed.
        """
        file, blobs = folder / FILE, folder / "blobs" / "uploads"
        accepted = parts is not None and (parts.accepts(TRAITS.part) or parts.lacks(TRAITS.part))
        if not url and not accepted and not file.exists() and blobs.is_dir() and any(blobs.iterdir()):
            raise integrity.missing(file, "documents", blobs)
        database = cls(address(url, folder / FILE), TRAITS)
        try:
            await database.migrate(wait_seconds, parts)
        except BaseException:
            await database.close()
            raise
        return database
