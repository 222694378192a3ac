"""The embedding cache in its own SQLite file, accessed on its own thread."""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import time
from typing import TypeVar

import numpy as np
from footnote_database.sqlite import open_file
from footnote_kit.logs import get_logger
from footnote_providers.base import Vectors

_log = get_logger("footnote.indexing.cache")
A = TypeVar("A")
T = TypeVar("T")
_COUNT_EVERY = 2000
_OLDEST = "DELETE FROM vectors WHERE rowid IN (SELECT rowid FROM vectors {} ORDER BY expires LIMIT ?)"
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_SLICE = 500  # below SQLite's limit of host parameters everywhere


class SqliteCache:
    """Vectors by key with an expiry; beyond `max_entries` the oldest are removed."""

    def __init__(self, path: Path, ttl: float, max_entries: int = 500_000) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._ttl = ttl
        self._max_entries = max_entries
        self._uncounted = _COUNT_EVERY
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedding-cache")
        self._connection: sqlite3.Connection | None = None
        self._path = path

    async def get(self, keys: Sequence[str]) -> Mapping[str, Vectors]:
        """Return the vectors that are cached and not expired."""
        return await self._run(self._get, list(keys), {})

    async def put(self, vectors: Mapping[str, Vectors]) -> None:
        """Store vectors."""
        await self._run(self._put, dict(vectors), None)

    async def delete(self, keys: Sequence[str]) -> None:
        """Delete vectors."""
        await self._run(self._delete, list(keys), None)

    async def count(self) -> int:
        """Return the number of entries."""
        return await self._run(lambda _: self._count(), None, 0)

    async def close(self) -> None:
        """Close the file."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    async def _run(self, function: Callable[[A], T], argument: A, otherwise: T) -> T:
        """Run on the thread; a file that fails counts as an empty cache and does not fail the document."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._unbroken, function, argument)
        except (sqlite3.Error, OSError) as error:
            _log.warning("embedding_cache_failed", error=type(error).__name__, reason=str(error))
            return otherwise

    def _unbroken(self, function: Callable[[A], T], argument: A) -> T:
        """Call a function; where the file turns out to be damaged, begin it anew and call the function again."""
        try:
            return function(argument)
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _DAMAGED:
                raise
            _log.warning("embedding_cache_begun_anew", file=str(self._path), reason=str(error))
            self._close()
            for end in ("", "-wal", "-shm"):
                self._path.with_name(self._path.name + end).unlink(missing_ok=True)
            return function(argument)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            # Losing the newest entries in a power cut costs a few embeddings; waiting for the disk would cost all.
            connection = open_file(self._path, synchronous="OFF", busy_seconds=2.0)
            connection.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB NOT NULL, expires REAL NOT NULL)"
            )
            connection.execute("CREATE INDEX IF NOT EXISTS vectors_by_expiry ON vectors (expires)")
            self._connection = connection
        return self._connection

    def _get(self, keys: list[str]) -> dict[str, Vectors]:
        found: dict[str, Vectors] = {}
        for start in range(0, len(keys), _SLICE):
            part = keys[start : start + _SLICE]
            marks = ",".join("?" * len(part))
            query = f"SELECT key, vector FROM vectors WHERE expires > ? AND key IN ({marks})"
            for key, vector in self._open().execute(query, (time(), *part)):
                found[key] = np.frombuffer(vector, dtype=np.float32)
        return found

    def _put(self, vectors: dict[str, Vectors]) -> None:
        expires = time() + self._ttl
        connection = self._open()
        rows = [
            (key, np.ascontiguousarray(vector, dtype=np.float32).tobytes(), expires) for key, vector in vectors.items()
        ]
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
        self._prune(connection, len(rows))
        connection.execute("COMMIT")

    def _prune(self, connection: sqlite3.Connection, written: int) -> None:
        """Delete what is expired or too much, the oldest first; not all at once, as other calls wait meanwhile."""
        most = _SLICE + 2 * written
        connection.execute(_OLDEST.format("WHERE expires <= ?"), (time(), most))
        self._uncounted += written
        if self._uncounted >= _COUNT_EVERY:
            surplus = self._count() - self._max_entries
            connection.execute(_OLDEST.format(""), (min(max(surplus, 0), most),))
            if surplus <= most:
                self._uncounted = 0

    def _delete(self, keys: list[str]) -> None:
        self._open().executemany("DELETE FROM vectors WHERE key = ?", [(key,) for key in keys])

    def _count(self) -> int:
        return int(self._open().execute("SELECT count(*) FROM vectors").fetchone()[0])

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
