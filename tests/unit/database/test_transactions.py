"""The library of databases, with all traits in which services differ, on SQLite and on PostgreSQL."""

import asyncio
import gc
import threading
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path

import pytest
import sqlalchemy as sa
from footnote_database.engine import address
from footnote_database.migrations import Migrations
from footnote_database.traits import Pool, Traits, Writers
from footnote_database.transactions import Database
from footnote_kit.errors import Unavailable
from sqlalchemy.exc import DBAPIError, OperationalError
from support import postgres

FIRST = '''"""First."""
import sqlalchemy as sa
from alembic import op
revision = "0001"
down_revision = None

def upgrade() -> None:
    op.create_table("counters", sa.Column("name", sa.Text, primary_key=True), sa.Column("value", sa.Integer))
'''
SECOND = '''"""Second."""
import sqlalchemy as sa
from alembic import op
revision = "0002"
down_revision = "0001"

def upgrade() -> None:
    op.execute("INSERT INTO counters VALUES ('a', 0)")
'''
METADATA = sa.MetaData()
COUNTERS = sa.Table("counters", METADATA, sa.Column("name", sa.Text, primary_key=True), sa.Column("value", sa.Integer))
RAISE = COUNTERS.update().values(value=COUNTERS.c.value + 1)
MANY = 12

Make = Callable[..., Database]
KINDS = ["sqlite", "postgresql"]


def versions(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "0001_first.py").write_text(FIRST)
    (folder / "0002_second.py").write_text(SECOND)
    return folder


def traits(folder: Path, **own: object) -> Traits:
    migrations = Migrations(versions=versions(folder / "versions"), metadata=METADATA, lock=42)
    return Traits(**{  # type: ignore[arg-type]
        "name": "test", "migrations": migrations, "synchronous": "NORMAL", "busy_seconds": 20,
        "writers": Writers.DRIVER, **own,
    })  # fmt: skip


@pytest.fixture(params=KINDS)
async def url(request: pytest.FixtureRequest) -> str:
    """ "" for SQLite, then the address of a new PostgreSQL database."""
    if request.param == "postgresql":
        return await postgres.new_database(request.getfixturevalue("postgres_url"))
    return ""


@asynccontextmanager
async def opened(url: str, folder: Path, **own: object) -> AsyncIterator[Database]:
    database = Database(address(url, folder / "data" / "test.db"), traits(folder, **own))
    try:
        await database.migrate()
        yield database
    finally:
        await database.close()


async def value(database: Database) -> int:
    async with database.read() as connection:
        return int((await connection.execute(sa.select(COUNTERS.c.value))).scalar_one())


async def broken(database: Database) -> None:
    async with database.write() as connection:
        await connection.execute(RAISE)
        await connection.execute(sa.text("SELECT * FROM nowhere"))


@pytest.mark.parametrize("writers", Writers)
@pytest.mark.parametrize("schema", [None, "own"])
@pytest.mark.slow
async def test_what_a_block_writes_is_there_all_of_it_or_nothing(
    url: str, tmp_path: Path, writers: Writers, schema: str | None
) -> None:
    async with opened(url, tmp_path, writers=writers, schema=schema) as database:
        await database.migrate()  # a second time changes nothing
        async with database.write() as connection:
            await connection.execute(RAISE)
        assert await value(database) == 1
        with pytest.raises(DBAPIError):
            await broken(database)
        assert await value(database) == 1
        if url and schema:
            async with database.read() as connection:
                query = "SELECT table_schema FROM information_schema.tables WHERE table_name = "
                for table in ("counters", "alembic_version"):
                    assert (await connection.execute(sa.text(f"{query}'{table}'"))).scalar_one() == schema


async def test_a_server_that_takes_no_writes_is_not_ready(postgres_url: str, tmp_path: Path) -> None:
    url = await postgres.new_database(postgres_url)
    change = sa.text(f'ALTER DATABASE "{sa.make_url(url).database}" SET default_transaction_read_only = on')
    async with opened(url, tmp_path) as database:
        assert await database.check() is None
        async with database.write() as connection:
            await connection.execute(change)
        await database.engine.dispose()  # connections from before write on
        assert await database.check() == "test database: the server takes no writes at the moment"
        async with database.engine.connect() as connection:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            await connection.execute(sa.text("SET default_transaction_read_only = off"))
            await connection.execute(sa.text(change.text.replace("= on", "= off")))
            await connection.invalidate()
        assert await database.check() is None


@pytest.mark.parametrize("writers", Writers)
async def test_writers_at_once_lose_nothing(url: str, tmp_path: Path, writers: Writers) -> None:
    async with opened(url, tmp_path, writers=writers) as database:

        async def once() -> None:
            async with database.write() as connection:
                await connection.execute(RAISE)

        await asyncio.gather(*(once() for _ in range(MANY)))
        assert await value(database) == MANY


@pytest.mark.parametrize("writers", [Writers.TURNS, Writers.IMMEDIATE])
async def test_who_reads_before_writing_is_not_refused_on_sqlite(tmp_path: Path, writers: Writers) -> None:
    """What distinguishes these two from the driver's own way: read, think, write, at once and with nothing lost."""
    async with opened("", tmp_path, writers=writers) as database:

        async def once() -> None:
            async with database.write() as connection:
                now = (await connection.execute(sa.select(COUNTERS.c.value))).scalar_one()
                await asyncio.sleep(0.002)
                await connection.execute(COUNTERS.update().values(value=now + 1))

        await asyncio.gather(*(once() for _ in range(MANY)))
        assert await value(database) == MANY


@pytest.mark.parametrize("writers", Writers)
@pytest.mark.parametrize("kind", ["read", "write"])
async def test_a_cancelled_block_is_undone_and_gives_its_connection_back(
    url: str, tmp_path: Path, writers: Writers, kind: str
) -> None:
    small = Pool(1, 0, seconds=10)
    async with opened(url, tmp_path, writers=writers, sqlite_pool=small, postgres_pool=small) as database:

        async def hang(began: asyncio.Event) -> None:
            async with database.write() if kind == "write" else database.read() as connection:
                if kind == "write":
                    await connection.execute(RAISE)
                began.set()
                await asyncio.Event().wait()

        for _ in range(3):
            began = asyncio.Event()
            task = asyncio.create_task(hang(began))
            async with asyncio.timeout(20):
                await began.wait()
            task.cancel()
            await asyncio.wait({task})
            assert task.cancelled()
        assert await value(database) == 0
        assert database.engine.pool.checkedout() == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("synchronous", "foreign_keys", "busy", "writers"),
    list(product([("FULL", 2), ("NORMAL", 1), ("OFF", 0)], [False, True], [1, 30], Writers)),
)
async def test_every_connection_of_sqlite_has_its_traits(
    tmp_path: Path, synchronous: tuple[str, int], foreign_keys: bool, busy: int, writers: Writers
) -> None:
    own = {"synchronous": synchronous[0], "foreign_keys": foreign_keys, "busy_seconds": busy, "writers": writers}
    database = Database(address("", tmp_path / "test.db"), traits(tmp_path, **own))
    expected = {
        "synchronous": synchronous[1], "foreign_keys": int(foreign_keys), "busy_timeout": busy * 1000,
        "journal_mode": "wal", "secure_delete": 1,
    }  # fmt: skip
    async with database.read() as first, database.read() as second:
        for connection in (first, second):
            seen = {name: (await connection.exec_driver_sql(f"PRAGMA {name}")).scalar_one() for name in expected}
            assert seen == expected
    await database.close()


async def test_the_limits_of_a_pool_are_those_given(url: str, tmp_path: Path) -> None:
    pool = Pool(1, 1, seconds=0.05)
    async with (
        opened(url, tmp_path, sqlite_pool=pool, postgres_pool=pool) as database,
        database.read(),
        database.read(),
    ):
        with pytest.raises(sa.exc.TimeoutError):
            await database.read().__aenter__()


async def test_zero_bytes_are_replaced_and_errors_quote_no_value(url: str, tmp_path: Path) -> None:
    async with opened(url, tmp_path) as database:
        async with database.write() as connection:
            await connection.execute(COUNTERS.insert().values(name="se\0cret", value=1))
        async with database.read() as connection:
            names = set((await connection.execute(sa.select(COUNTERS.c.name))).scalars())
        assert names == {"a", "se\ufffdcret"}
        with pytest.raises(DBAPIError) as raised:
            async with database.write() as connection:
                await connection.execute(COUNTERS.insert().values(name="a", value=98765432))
        assert "98765432" not in str(raised.value)


async def test_replicas_that_start_together_migrate_one_after_the_other(postgres_url: str, tmp_path: Path) -> None:
    url = await postgres.new_database(postgres_url)
    replicas = [Database(address(url, tmp_path), traits(tmp_path, schema="own")) for _ in range(4)]
    try:
        await asyncio.gather(*(one.migrate() for one in replicas))
        assert await value(replicas[0]) == 0
    finally:
        for one in replicas:
            await one.close()


@pytest.mark.parametrize("name", ["plain", "with space", "per%cent", "100%(here)s", "co:lon", "com,ma"])
async def test_the_folder_of_the_versions_may_have_any_name(tmp_path: Path, name: str) -> None:
    async with opened("", tmp_path / name) as database:
        assert await value(database) == 0
        assert (tmp_path / name / "data").stat().st_mode & 0o777 == 0o700


async def test_migrations_go_as_far_as_they_are_told(url: str, tmp_path: Path) -> None:
    own = traits(tmp_path)
    database = Database(address(url, tmp_path / "test.db"), own)
    try:
        async with database.write() as connection:
            await connection.run_sync(lambda plain: own.migrations.upgrade(plain, "0001"))
        async with database.read() as connection:
            assert (await connection.execute(sa.select(COUNTERS))).all() == []
        await database.migrate()
        assert await value(database) == 0
    finally:
        await database.close()


async def test_services_that_share_a_schema_keep_their_versions_apart(url: str, tmp_path: Path) -> None:
    own = Migrations(versions=versions(tmp_path / "versions"), metadata=METADATA, lock=43, version_table="own_version")
    async with opened(url, tmp_path, migrations=own) as database, database.read() as connection:
        assert (await connection.execute(sa.text("SELECT version_num FROM own_version"))).scalar_one() == "0002"


@pytest.mark.parametrize("refused", ["", "The test database does not answer"])
@pytest.mark.parametrize("kind", ["read", "write"])
async def test_what_the_server_refuses_is_unavailable_where_that_is_wanted(
    tmp_path: Path, refused: str, kind: str
) -> None:
    away = "postgresql://u@127.0.0.1:1/d"
    (tmp_path / "a file").touch()
    for found in (away, f"sqlite:///{tmp_path / 'a file' / 'x.db'}"):
        database = Database(address(found, tmp_path), traits(tmp_path, refused=refused))
        with pytest.raises(Unavailable if refused or found == away else OperationalError) as raised:
            async with database.read() if kind == "read" else database.write():
                pass
        if isinstance(raised.value, Unavailable):
            assert raised.value.message == (refused or "The database does not answer now")
            assert raised.value.retry_after == 2.0
        assert (await database.check() or "").lower().removeprefix("the ").startswith("test database")
        await database.close()
        # The driver's thread tells the loop of a connection that failed after everybody has been told: let it.
        for thread in threading.enumerate():
            if "_connection_worker_thread" in thread.name:
                await asyncio.to_thread(thread.join, 10)


async def test_a_database_that_answers_has_nothing_to_say(url: str, tmp_path: Path) -> None:
    async with opened(url, tmp_path) as database:
        assert await database.check() is None
        assert database.dialect == ("postgresql" if url else "sqlite")
        assert database.is_sqlite is not bool(url)


async def test_closing_leaves_no_connection_behind_that_somebody_still_used(url: str, tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def outlives_its_caller(database: Database) -> None:
        async with database.write() as connection:
            await connection.execute(RAISE)
            begun.set()
            await asyncio.sleep(0.1)

    async with opened(url, tmp_path) as database:
        task = asyncio.create_task(outlives_its_caller(database))
        await begun.wait()
    await task
    del database, task
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        gc.collect()
    assert [str(one.message) for one in said] == []


async def test_a_full_disk_is_said_as_such_where_others_only_do_not_answer(tmp_path: Path) -> None:
    base = Database(
        address("", tmp_path / "test.db"), traits(tmp_path, refused="The documents database does not answer")
    )
    await base.migrate()

    async def fill() -> None:
        async with base.write() as connection:
            await connection.execute(sa.text("PRAGMA max_page_count=8"))
            await connection.execute(sa.insert(COUNTERS), [{"name": "x" * 900 + str(n), "value": n} for n in range(99)])

    with pytest.raises(Unavailable, match="no room left on the disk") as caught:
        await fill()
    assert caught.value.metadata == {"waiting": "DISK"}
    await base.close()
