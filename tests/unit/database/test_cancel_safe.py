"""A statement is one job of its connection's thread, and transactions are no less for it."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from footnote_database import cancel_safe
from footnote_database.engine import address
from footnote_database.migrations import Migrations
from footnote_database.traits import Pool, Traits, Writers
from footnote_database.transactions import Database


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of what was run on threads and waited for."""
    run: list[str] = []
    execute = cancel_safe.Connection._execute

    async def counted(self: Any, function: Any, *args: Any, **options: Any) -> Any:
        run.append(function.__name__)
        return await execute(self, function, *args, **options)

    monkeypatch.setattr(cancel_safe.Connection, "_execute", counted)
    return run


@pytest.fixture(params=list(Writers))
async def base(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """A SQLite database of one row, by each kind of writer."""
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute("CREATE TABLE facts (number INTEGER)")
        connection.execute("INSERT INTO facts VALUES (1)")
        connection.commit()
    traits = Traits(
        name="test",
        migrations=Migrations(versions=tmp_path, metadata=sa.MetaData(), lock=1),
        synchronous="FULL",
        busy_seconds=0.1,
        writers=request.param,
        sqlite_pool=Pool(1, 0),
    )
    made = Database(address("", tmp_path / "a.db"), traits)
    async with made.read() as connection:  # opens it
        await connection.execute(sa.text("SELECT 1"))
    yield made
    await made.close()


async def test_each_statement_is_one_job_and_a_commit_another(base: Database, jobs: list[str]) -> None:
    async with base.read() as connection:
        assert (await connection.execute(sa.text("SELECT number FROM facts"))).scalars().all() == [1]
    assert jobs == ["_statement"]
    jobs.clear()
    async with base.write() as connection:
        done = await connection.execute(sa.text("UPDATE facts SET number = 2"))
        assert done.rowcount == 1
        await connection.execute(sa.text("INSERT INTO facts VALUES (:number)"), [{"number": 3}, {"number": 4}])
    assert jobs == ["_statement", "_statement", "commit"]
    async with base.read() as connection:
        rows = await connection.execute(sa.text("SELECT number FROM facts ORDER BY number"))
        assert [row.number for row in rows] == [2, 3, 4]


async def test_what_fails_is_undone_before_the_next_comes(base: Database) -> None:
    async def fail() -> None:
        async with base.write() as connection:
            await connection.execute(sa.text("DELETE FROM facts"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    async with base.read() as connection:
        assert (await connection.execute(sa.text("SELECT number FROM facts"))).scalars().all() == [1]


async def test_reads_of_one_block_see_one_state(base: Database, tmp_path: Path) -> None:
    if base._traits.writers is not Writers.IMMEDIATE:
        pytest.skip("reads are in transactions with IMMEDIATE only")
    with closing(sqlite3.connect(tmp_path / "a.db")) as other:
        async with base.read() as connection:
            assert (await connection.execute(sa.text("SELECT number FROM facts"))).scalar_one() == 1
            other.execute("UPDATE facts SET number = 2")
            other.commit()
            assert (await connection.execute(sa.text("SELECT number FROM facts"))).scalar_one() == 1
        async with base.read() as connection:
            assert (await connection.execute(sa.text("SELECT number FROM facts"))).scalar_one() == 2


async def test_who_goes_on_after_a_refused_beginning_writes_in_a_transaction(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as other:
        other.execute("CREATE TABLE facts (number INTEGER)")
        connection = await cancel_safe._opening(str(tmp_path / "a.db"), timeout=0.0, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        connection.begin(writes=True)
        cursor = connection.cursor()
        with pytest.raises(sqlite3.OperationalError):
            await cursor.execute("INSERT INTO facts VALUES (1)")
        other.execute("ROLLBACK")
        await cursor.execute("INSERT INTO facts VALUES (1)")
        await connection.rollback()
        assert other.execute("SELECT count(*) FROM facts").fetchone() == (0,)
        await connection.close()
