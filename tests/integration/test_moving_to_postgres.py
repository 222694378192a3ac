"""`footnote admin migrate --to`: every table of every service, row for row, on PostgreSQL; and what it refuses."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from footnote_cli.admin.deployment import deployment_of
from footnote_cli.folder import locked
from footnote_cli.main import app
from footnote_cli.targets import STATEFUL
from footnote_database.storage import StoredDatabase
from support import postgres
from support.base_environment import inherited
from support.conditions import until
from support.filled_tables import ROWS, counts, fill
from typer.testing import CliRunner, Result

pytestmark = [pytest.mark.full, pytest.mark.slow]
SCHEMAS = {"edge": "edge", "jobs": "dbos", "indexing": "public", "documents": "ingestion"}


def version_table(one: StoredDatabase) -> str:
    return one.library.version_table if one.library is not None else one.migrations.version_table  # type: ignore[union-attr]


def move(folder: Path, url: str, *more: str) -> Result:
    return CliRunner().invoke(app, ["admin", "migrate", "--data-dir", str(folder), "--to", url, *more, "--json"])


def error(result: Result) -> str:
    assert result.exit_code != 0, result.output
    return str(json.loads(result.stderr.splitlines()[-1])["error"]["message"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a data folder whose four databases hold rows in every table."""
    made = tmp_path / "data"
    made.mkdir(mode=0o700)
    where = deployment_of(made)
    assert CliRunner().invoke(app, ["admin", "migrate", "--data-dir", str(made)]).exit_code == 0
    for one in where.databases:
        assert one.file is not None
        if one.library is not None:
            one.library.migrate(f"sqlite:///{one.file}")
        filled = fill(one.file, version_table(one))
        assert set(filled.values()) == {ROWS}, one.name
    return made


async def rows(url: str, table: str) -> list[dict[str, Any]]:
    connection = await asyncpg.connect(url)
    try:
        return [dict(row) for row in await connection.fetch(f"SELECT * FROM {table}")]
    finally:
        await connection.close()


def plain(value: Any) -> Any:
    """A value as both drivers can give it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")
    return int(value) if isinstance(value, bool) else value


def sorted_rows(found: list[dict[str, Any]]) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in found)


async def test_every_row_of_every_table_is_there_afterwards(folder: Path, postgres_url: str) -> None:
    url = await postgres.new_database(postgres_url)
    result = await asyncio.to_thread(move, folder, url)
    assert result.exit_code == 0, result.output + result.stderr
    told = json.loads(result.stdout)
    assert told["set"] == [
        "FOOTNOTE_INGESTION_DATABASE_URL", "FOOTNOTE_INDEXING_DATABASE_URL", "FOOTNOTE_EDGE_DATABASE_URL",
        "FOOTNOTE_EDGE_JOBS_DATABASE_URL",
    ]  # fmt: skip
    compared = 0
    for one in deployment_of(folder).databases:
        assert one.file is not None
        for table in counts(one.file, version_table(one)):
            here = f"{SCHEMAS[one.name]}.{table}"
            with closing(sqlite3.connect(one.file)) as connection:
                connection.row_factory = sqlite3.Row
                there = [dict(row) for row in connection.execute(f'SELECT * FROM "{table}"')]
            names = set(there[0])
            found = [{name: plain(row[name]) for name in names} for row in await rows(url, here)]
            assert sorted_rows(found) == sorted_rows(there), here
            compared += 1
    copied = [one for one in told["tables"] if one["rows"]]
    assert compared == len(copied) >= 30
    assert {one["rows"] for one in copied} == {ROWS}


async def test_numbers_that_the_database_gives_go_on_after_those_copied(folder: Path, postgres_url: str) -> None:
    url = await postgres.new_database(postgres_url)
    assert (await asyncio.to_thread(move, folder, url)).exit_code == 0
    connection = await asyncpg.connect(url)
    try:
        for table in ("edge.messages", "edge.feedback"):
            highest = await connection.fetchval(f"SELECT max(sequence) FROM {table}")
            name = await connection.fetchval("SELECT pg_get_serial_sequence($1, 'sequence')", table)
            assert await connection.fetchval("SELECT nextval($1::text::regclass)", name) == highest + 1
    finally:
        await connection.close()


@pytest.mark.full
async def test_a_target_that_holds_rows_is_refused_and_the_files_stay_as_they_are(
    folder: Path, postgres_url: str
) -> None:
    url = await postgres.new_database(postgres_url)
    before = {one.name: one.file.read_bytes() for one in deployment_of(folder).databases if one.file is not None}
    assert (await asyncio.to_thread(move, folder, url)).exit_code == 0
    assert "already holds rows" in error(await asyncio.to_thread(move, folder, url))
    for one in deployment_of(folder).databases:
        assert one.file is not None
        assert one.file.read_bytes() == before[one.name]
    for name, schema in SCHEMAS.items():  # one row of one table is enough
        kept = {"edge": "api_keys", "jobs": "queues", "indexing": "indexing_grants", "documents": "documents"}[name]
        other = await _copy_of(url)
        await _empty_but(other, f"{schema}.{kept}")
        assert f"{schema}.{kept}".removeprefix("public.") in error(await asyncio.to_thread(move, folder, other))


async def _copy_of(url: str) -> str:
    server, _, name = url.rpartition("/")
    connection = await asyncpg.connect(f"{server}/postgres")
    try:
        copy = f"copy_{uuid4().hex}"
        await connection.execute(f'CREATE DATABASE "{copy}" TEMPLATE "{name}"')
    finally:
        await connection.close()
    return f"{server}/{copy}"


async def _empty_but(url: str, table: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        found = await connection.fetch(
            "SELECT schemaname || '.' || tablename AS name FROM pg_tables WHERE schemaname = ANY($1::text[]) "
            "AND tablename NOT LIKE '%alembic_version' AND tablename <> 'dbos_migrations'", list(SCHEMAS.values()),
        )  # fmt: skip
        others = ", ".join(row["name"] for row in found if row["name"] != table)
        await connection.execute(f"TRUNCATE {others} CASCADE")
    finally:
        await connection.close()


def _begin(folder: Path, url: str) -> subprocess.Popen[bytes]:
    command = (sys.executable, "-m", "footnote_cli.main", "admin", "migrate", "--data-dir", str(folder), "--to", url)
    env = {**inherited(), "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)


async def test_a_copy_that_is_killed_leaves_nothing_and_is_run_again(folder: Path, postgres_url: str) -> None:
    url = await postgres.new_database(postgres_url)
    # The tables exist and one of them is locked: the copy hangs in the middle until it is killed.
    assert (await asyncio.to_thread(move, folder, url)).exit_code == 0
    await _empty_but(url, "none")
    holder, looker = await asyncpg.connect(url), await asyncpg.connect(url)
    try:
        lock = holder.transaction()
        await lock.start()
        await holder.execute("LOCK TABLE edge.messages IN SHARE MODE")
        process = await asyncio.to_thread(_begin, folder, url)
        await until(lambda: looker.fetchval("SELECT count(*) > 0 FROM pg_locks WHERE NOT granted"))
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        await asyncio.to_thread(process.wait)
        await lock.rollback()
        # The server sees that its caller is gone, and rolls back.
        here = "datname = current_database() AND backend_type = 'client backend'"
        await until(lambda: looker.fetchval(f"SELECT count(*) = 2 FROM pg_stat_activity WHERE {here}"))
    finally:
        await holder.close()
        await looker.close()
    for one in deployment_of(folder).databases:
        assert one.file is not None
        for table in counts(one.file, version_table(one)):
            assert await rows(url, f"{SCHEMAS[one.name]}.{table}") == []
    result = await asyncio.to_thread(move, folder, url)
    assert result.exit_code == 0, result.output


async def test_a_row_that_differs_afterwards_is_noticed_and_nothing_is_kept(folder: Path, postgres_url: str) -> None:
    url = await postgres.new_database(postgres_url)
    assert (await asyncio.to_thread(move, folder, url)).exit_code == 0
    await _empty_but(url, "none")
    connection = await asyncpg.connect(url)
    try:  # a database that bends what is written to it: one value of one row
        await connection.execute(
            "CREATE FUNCTION bend() RETURNS trigger AS $$ BEGIN NEW.title := NEW.title || '!'; RETURN NEW; END $$ "
            "LANGUAGE plpgsql"
        )
        await connection.execute(
            "CREATE TRIGGER bend BEFORE INSERT ON edge.conversations FOR EACH ROW EXECUTE FUNCTION bend()"
        )
    finally:
        await connection.close()
    assert "differ" in error(await asyncio.to_thread(move, folder, url))
    assert await rows(url, "ingestion.documents") == []


async def test_what_the_target_has_no_room_for_is_refused(folder: Path, postgres_url: str) -> None:
    url = await postgres.new_database(postgres_url)
    file = deployment_of(folder).database("documents").file
    assert file is not None
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE extra (word TEXT)")
    assert "has extra.word, which the schema in PostgreSQL lacks" in error(await asyncio.to_thread(move, folder, url))


async def test_what_cannot_be_done_is_refused_before_anything_is_changed(folder: Path, postgres_url: str) -> None:
    url = await postgres.new_database(postgres_url)
    with locked(folder, STATEFUL):
        assert "is in use" in error(await asyncio.to_thread(move, folder, url))
    assert "is no PostgreSQL database" in error(await asyncio.to_thread(move, folder, "sqlite:////tmp/x.db"))
    assert "is no PostgreSQL database" in error(await asyncio.to_thread(move, folder, postgres_url))
    assert "has no SQLite database" in error(await asyncio.to_thread(move, folder / "nothing", url))
    assert "has no database" in error(await asyncio.to_thread(move, folder, f"{postgres_url}/nowhere"))
    closed = "postgresql://postgres@127.0.0.1:1/x"
    assert "no server answers" in error(await asyncio.to_thread(move, folder, closed))
