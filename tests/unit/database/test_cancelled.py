"""A task that is cancelled inside a transaction leaves no lock: at any moment, and without the garbage collector."""

import asyncio
import gc
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest
import sqlalchemy as sa
from footnote_database.engine import address
from footnote_database.migrations import Migrations
from footnote_database.traits import Pool, Traits, Writers
from footnote_database.transactions import Database

MOMENTS = 120
"""At which a transaction is cancelled, evenly apart over the time that one takes."""


@pytest.fixture(autouse=True)
def uncollected() -> Iterator[None]:
    """Locks must be released without the garbage collector, which may run minutes later."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A SQLite file with one empty table."""
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE facts (number INTEGER)")
    return tmp_path / "a.db"


def database(path: Path, writers: Writers) -> Database:
    migrations = Migrations(versions=path.parent, metadata=sa.MetaData(), lock=1)
    return Database(
        address("", path),
        Traits(
            name="test",
            migrations=migrations,
            synchronous="FULL",
            busy_seconds=5,
            writers=writers,
            sqlite_pool=Pool(2, 2),
        ),
    )


def is_free(path: Path) -> bool:
    """Return whether another connection may write."""
    with closing(sqlite3.connect(path, timeout=0.5, isolation_level=None)) as other:
        try:
            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")
        except sqlite3.OperationalError:
            return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize(("writers", "times"), list(product(Writers, (1, 3))))
async def test_no_moment_of_a_transaction_leaves_the_file_locked(path: Path, writers: Writers, times: int) -> None:
    base = database(path, writers)

    async def write() -> None:
        async with base.write() as connection:
            await connection.execute(sa.text("INSERT INTO facts VALUES (1)"))
            await connection.execute(sa.text("SELECT number FROM facts"))
            await connection.execute(sa.text("UPDATE facts SET number = 2 WHERE number = 1"))

    await write()
    began = time.perf_counter()
    for _ in range(5):
        await write()
    whole = (time.perf_counter() - began) / 5
    for moment in range(MOMENTS):
        task = asyncio.create_task(write())
        end = time.perf_counter() + whole * moment / MOMENTS
        while time.perf_counter() < end:  # noqa: ASYNC110 - moments, not events
            await asyncio.sleep(0)
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        await asyncio.gather(task, return_exceptions=True)
        assert await asyncio.to_thread(is_free, path), f"locked after a cancel at moment {moment}"
    await write()
    await base.close()


async def test_nothing_goes_on_for_ever_after_those_who_are_cancelled_often(path: Path) -> None:
    base = database(path, Writers.IMMEDIATE)
    for moment in range(40):
        task = asyncio.create_task(_read(base))
        for _ in range(moment):
            await asyncio.sleep(0)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        await asyncio.gather(task, return_exceptions=True)
    async with asyncio.timeout(10):
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)
    await base.close()
    for thread in threading.enumerate():  # that tell the loop of their end
        if "_connection_worker_thread" in thread.name:
            await asyncio.to_thread(thread.join, 10)


async def _read(base: Database) -> None:
    async with base.read() as connection:
        await connection.execute(sa.text("SELECT number FROM facts"))


async def test_a_lock_held_for_long_makes_the_database_unwell(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("footnote_database.transactions._CHECK_SECONDS", 0.3)
    base = database(path, Writers.IMMEDIATE)
    assert await base.check() is None
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert await base.check() == "test database: no answer within 0.3 s"
    other.execute("ROLLBACK")
    other.close()
    async with asyncio.timeout(10):
        while await base.check() is not None:
            pass
    await base.close()
