"""Reads and locks the tables of a running deployment as another program might: SQLite files, or PostgreSQL."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg

Rows = list[tuple[Any, ...]]

FILES = {
    "documents": "ingestion/documents.db",
    "indexing": "indexing/indexing.db",
    "edge": "edge/edge.db",
    "jobs": "edge/jobs.db",
}
SCHEMAS = {"documents": "ingestion", "indexing": "public", "edge": "edge", "jobs": "dbos"}
"""The SQLite files by content, and the schemas if everything is in one PostgreSQL database."""


class Tables:
    """The tables of one deployment: below its folder, or in the database of a URL."""

    def __init__(self, folder: Path, url: str = "") -> None:
        self._folder = folder
        self._url = url

    async def read(self, of: str, query: str) -> Rows:
        """Return the rows of a query; OSError and the drivers' errors when the database is away."""
        if not self._url:
            return await asyncio.to_thread(_read, self._folder / FILES[of], query)
        connection = await asyncpg.connect(self._url, timeout=20)
        try:
            await connection.execute(f"SET search_path TO {SCHEMAS[of]}")
            return [tuple(row) for row in await connection.fetch(query)]
        finally:
            await connection.close()

    def lock(self, what: str, seconds: float) -> None:
        """Hold the write lock of a SQLite file, or of a table of PostgreSQL; blocks."""
        if self._url:
            asyncio.run(self._lock_table(what, seconds))
            return
        with closing(sqlite3.connect(self._folder / what, timeout=20, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            time.sleep(seconds)
            connection.execute("ROLLBACK")

    async def _lock_table(self, table: str, seconds: float) -> None:
        connection = await asyncpg.connect(self._url, timeout=20)
        try:
            async with connection.transaction():
                await connection.execute(f"LOCK TABLE {table} IN EXCLUSIVE MODE")
                await asyncio.sleep(seconds)
        finally:
            await connection.close()


def _read(path: Path, query: str) -> Rows:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=20)) as connection:
        return connection.execute(query).fetchall()
