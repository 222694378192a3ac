"""A database that cannot be worked with is refused at the start, in a sentence that says what to do."""

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from footnote_database.engine import address
from footnote_database.migrations import Migrations
from footnote_database.traits import Traits, Writers
from footnote_database.transactions import Database
from footnote_kit.errors import FailedPrecondition
from support import postgres

_REST = 'with the service stopped, or save what is left with: sqlite3 "%s" .recover'

FIRST = '''"""First."""
import sqlalchemy as sa
from alembic import op
revision = "0001"
down_revision = None

def upgrade() -> None:
    op.create_table("facts", sa.Column("text", sa.Text))
'''


@pytest.fixture(params=["sqlite", "postgresql"])
async def url(request: pytest.FixtureRequest) -> str:
    """ "" for SQLite, then the address of a new PostgreSQL database."""
    if request.param == "postgresql":
        return await postgres.new_database(request.getfixturevalue("postgres_url"))
    return ""


def database(url: str, folder: Path) -> Database:
    (folder / "versions").mkdir(exist_ok=True)
    (folder / "versions" / "0001_first.py").write_text(FIRST)
    migrations = Migrations(versions=folder / "versions", metadata=sa.MetaData(), lock=7)
    traits = Traits(name="facts", migrations=migrations, synchronous="FULL", busy_seconds=5, writers=Writers.IMMEDIATE)
    return Database(address(url, folder / "facts.db"), traits)


async def start(url: str, folder: Path) -> None:
    base = database(url, folder)
    try:
        await base.migrate()
    finally:
        await base.close()


@pytest.mark.slow
async def test_a_schema_of_a_later_release_is_refused(url: str, tmp_path: Path) -> None:
    await start(url, tmp_path)
    base = database(url, tmp_path)
    async with base.write() as connection:
        await connection.execute(sa.text("UPDATE alembic_version SET version_num = '0999'"))
    await base.close()
    with pytest.raises(FailedPrecondition, match=r"facts database .* later release \(schema 0999\)") as caught:
        await start(url, tmp_path)
    assert "postgres:postgres@" not in str(caught.value)


@pytest.mark.parametrize("where", ["beginning", "middle", "end", "all"])
async def test_a_damaged_file_is_refused(tmp_path: Path, where: str) -> None:
    await start("", tmp_path)
    path = tmp_path / "facts.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executemany("INSERT INTO facts VALUES (?)", [(f"Fact {one}. " * 50,) for one in range(500)])
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = path.read_bytes()
    half = len(whole) // 2 // 4096 * 4096
    damage = {
        "beginning": b"\xff" * 100 + whole[100:],
        "middle": whole[:half] + b"\xff" * 8192 + whole[half + 8192 :],
        "end": whole[:half],
        "all": b"\xff" * len(whole),
    }
    path.write_bytes(damage[where])
    with pytest.raises(FailedPrecondition, match=r"facts database .* is damaged: put back a copy") as caught:
        await start("", tmp_path)
    assert str(path) in str(caught.value)
    path.write_bytes(whole)
    await start("", tmp_path)


async def test_no_file_and_an_empty_one_are_begun(tmp_path: Path) -> None:
    (tmp_path / "facts.db").touch()
    await start("", tmp_path)
    assert (tmp_path / "facts.db").stat().st_size


@pytest.mark.parametrize("damaged", [True, False])
async def test_a_large_file_is_read_through_while_it_is_worked_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: bool
) -> None:
    monkeypatch.setattr("footnote_database.integrity.CHECKED_BYTES", 2**20)
    await start("", tmp_path)
    path = tmp_path / "facts.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany("INSERT INTO facts VALUES (?)", [("x" * 3000,)] * 1000)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    if damaged:
        with path.open("r+b") as file:
            file.seek(400 * 4096)
            file.write(b"\xff" * 4096)
    base = database("", tmp_path)
    await base.migrate()
    begin_check = base._background
    assert begin_check is not None
    await asyncio.to_thread(begin_check._thread.join, 30)
    found = await base.check()
    assert found == (
        f"The facts database {path} is damaged: put back a copy of it, {_REST % path}" if damaged else None
    )
    await base.close()


@pytest.mark.slow
async def test_who_closes_a_database_does_not_wait_for_its_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("footnote_database.integrity.CHECKED_BYTES", 2**20)
    await start("", tmp_path)
    with closing(sqlite3.connect(tmp_path / "facts.db")) as connection, connection:
        connection.executemany("INSERT INTO facts VALUES (?)", [("x" * 3000,)] * 50_000)
    base = database("", tmp_path)
    await base.migrate()
    began = time.monotonic()
    await base.close()
    assert time.monotonic() - began < 4
    assert base._background is not None
    assert not base._background._thread.is_alive()
    assert base._background.damage is None


@pytest.mark.parametrize("bytes_less", [1, 4096, 400 * 4096])
async def test_a_large_file_that_was_cut_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bytes_less: int
) -> None:
    monkeypatch.setattr("footnote_database.integrity.CHECKED_BYTES", 2**20)
    await start("", tmp_path)
    path = tmp_path / "facts.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany("INSERT INTO facts VALUES (?)", [("x" * 3000,)] * 1000)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - bytes_less)
    with pytest.raises(FailedPrecondition, match="is damaged"):
        await start("", tmp_path)
