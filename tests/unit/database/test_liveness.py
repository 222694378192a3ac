"""A frozen or endlessly busy PostgreSQL server: waiting callers soon get an error."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from footnote_database import liveness
from footnote_database.engine import address
from footnote_database.failures import NotReached
from footnote_database.migrations import Migrations
from footnote_database.traits import Pool, Traits, Writers
from footnote_database.transactions import Database
from footnote_kit import transient_errors
from footnote_kit.errors import Unavailable
from sqlalchemy.exc import DBAPIError
from support import postgres
from support.postgres import PostgresServer

pytestmark = [pytest.mark.full, pytest.mark.skipif(postgres.why_not() is not None, reason=str(postgres.why_not()))]

METADATA = sa.MetaData()
FIRST = '''"""First."""
from alembic import op
revision = "0001"
down_revision = None

def upgrade() -> None:
    op.execute("CREATE TABLE t (x INTEGER)")
    op.execute("INSERT INTO t VALUES (1)")
    op.execute("SELECT pg_sleep(2.5)")
'''
COMMAND = 2.0
ASK = sa.text("SELECT x FROM t")
RAISE = sa.text("UPDATE t SET x = x + 1")


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A PostgreSQL server that can be frozen and killed."""
    with postgres.postgres_server() as running:
        yield running


def made(url: str, folder: Path) -> Database:
    (folder / "versions").mkdir(exist_ok=True)
    (folder / "versions" / "0001_first.py").write_text(FIRST)
    migrations = Migrations(versions=folder / "versions", metadata=METADATA, lock=44)
    return Database(
        address(url, folder),
        Traits(
            name="test", migrations=migrations, synchronous="FULL", busy_seconds=1, writers=Writers.DRIVER,
            postgres_pool=Pool(3, 0, seconds=1.0), connect_seconds=1.0, command_seconds=COMMAND,
        ),
    )  # fmt: skip


@pytest.fixture
async def database(server: PostgresServer, tmp_path: Path) -> AsyncIterator[Database]:
    """A database on that server; the server goes on at the end."""
    opened = made(await postgres.new_database(server.url), tmp_path)
    await opened.migrate()  # takes longer than statements may
    yield opened
    server.thaw()
    await opened.close()


async def value(database: Database) -> int:
    async with database.read() as connection:
        return int((await connection.execute(ASK)).scalar_one())


async def use(database: Database, what: str) -> None:
    if what == "read":
        await value(database)
        return
    async with database.write() as connection:
        await connection.execute(RAISE)


@pytest.mark.parametrize("kept", [0, 1, 3])
@pytest.mark.parametrize("what", ["read", "write"])
async def test_a_server_that_stands_still_is_told_of_soon_and_used_again_when_it_goes_on(
    database: Database, server: PostgresServer, kept: int, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(liveness, "ANSWER_SECONDS", 0.5)
    await database.engine.dispose()

    async def keep() -> None:
        async with database.read() as connection:
            await connection.execute(ASK)
            await asyncio.sleep(0.2)

    await asyncio.gather(*(keep() for _ in range(kept)))
    server.freeze()
    began = time.monotonic()
    ended = await asyncio.gather(*(use(database, what) for _ in range(6)), return_exceptions=True)
    took = time.monotonic() - began
    server.thaw()
    assert all(isinstance(one, Exception) and waits(one) for one in ended), ended
    assert took < 4
    before = await value(database)
    await use(database, "write")
    assert await value(database) == before + 1


def waits(error: Exception) -> bool:
    known = error if isinstance(error, Unavailable) else transient_errors.read(error)
    return known is not None and transient_errors.waits_for(known) == transient_errors.DATABASE


async def test_a_server_that_stops_amid_a_transaction_is_told_of_within_the_time_of_a_statement(
    database: Database, server: PostgresServer
) -> None:
    moments = []

    async def stopped(step: str) -> None:
        async with database.write() as connection:
            await connection.execute(RAISE)
            server.freeze()
            moments.append(time.monotonic())
            if step == "statement":
                await connection.execute(RAISE)

    for step in ("statement", "commit"):
        with pytest.raises(NotReached):
            await stopped(step)
        took = time.monotonic() - moments[-1]
        server.thaw()
        assert COMMAND - 0.5 < took < COMMAND + 4, step
        assert await value(database) in (1, 2)


async def test_a_statement_that_waits_for_a_lock_too_long_leaves_nothing_behind(database: Database) -> None:
    async with database.write() as holder:
        await holder.execute(RAISE)
        with pytest.raises(NotReached):
            async with database.write() as connection:
                await connection.execute(RAISE)
    assert await value(database) == 2
    await use(database, "write")
    assert await value(database) == 3


async def test_a_connection_that_the_server_closed_is_replaced(database: Database, tmp_path: Path) -> None:
    assert await value(database) == 1
    end = sa.text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid != pg_backend_pid()")
    other = made(database.engine.url.render_as_string(hide_password=False), tmp_path)
    try:
        async with other.read() as connection:
            await connection.execute(end)
    finally:
        await other.close()
    assert [await value(database) for _ in range(3)] == [1, 1, 1]


@pytest.mark.parametrize("how", ["stopped", "frozen"])
async def test_a_server_that_is_away_at_the_start_is_waited_for(
    server: PostgresServer, tmp_path: Path, how: str
) -> None:
    database = made(await postgres.new_database(server.url), tmp_path)
    away, back = (server.stop, server.start) if how == "stopped" else (server.freeze, server.thaw)
    await asyncio.to_thread(away)
    try:
        began = time.monotonic()
        with pytest.raises(Unavailable):
            await database.migrate(0.5)
        assert time.monotonic() - began < 4
        task = asyncio.create_task(database.migrate(30))
        await asyncio.sleep(2)
        assert not task.done()
    finally:
        await asyncio.to_thread(back)
    await task
    assert await value(database) == 1
    await database.close()


async def test_a_database_that_is_not_there_is_not_waited_for(server: PostgresServer, tmp_path: Path) -> None:
    database = made(f"{server.url}/nobody_made_it", tmp_path)
    began = time.monotonic()
    with pytest.raises((DBAPIError, OSError, Exception)) as caught:
        await database.migrate(30)
    assert time.monotonic() - began < 10
    assert not waits(caught.value)
    await database.close()


async def test_a_connection_is_used_again(database: Database) -> None:
    async def backend() -> int:
        async with database.read() as connection:
            return int((await connection.execute(sa.text("SELECT pg_backend_pid()"))).scalar_one())

    assert len({await backend() for _ in range(5)}) == 1
