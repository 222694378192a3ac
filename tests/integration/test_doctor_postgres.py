"""What the doctor says of databases on a server of PostgreSQL's."""

import asyncio
import os
from pathlib import Path

import asyncpg
import pytest
from footnote_cli.admin.deployment import deployment_of
from footnote_cli.admin.findings import Finding
from footnote_cli.admin.stores import databases
from footnote_database.transactions import Database
from sqlalchemy import make_url
from support import postgres

pytestmark = pytest.mark.full

VARIABLE = "FOOTNOTE_INGESTION_DATABASE_URL"


async def said(folder: Path) -> Finding:
    return next(
        one for one in [one async for one in databases(deployment_of(folder))] if one.check == "documents database"
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder that only its owner may read."""
    os.mkdir(tmp_path / "data", 0o700)  # noqa: PTH102
    return tmp_path / "data"


async def does(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def test_a_server_that_is_not_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "postgresql://ann:hunter22@127.0.0.1:1/footnote")
    found = await said(folder)
    assert found.state == "broken"
    assert found.found == "no server answers at 127.0.0.1:1 (ConnectionRefusedError)"
    assert found.advice == f"Start it, or set its address right ({VARIABLE})."


async def test_a_database_that_is_not_there(folder: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, f"{postgres_url}/nowhere")
    found = await said(folder)
    assert found.state == "broken"
    assert found.found.endswith("has no database nowhere")
    assert found.advice == "Make it: CREATE DATABASE nowhere; or name another one."


async def test_a_server_that_takes_no_writes(folder: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    url = await postgres.new_database(postgres_url)
    await does(url, f"ALTER DATABASE {make_url(url).database} SET default_transaction_read_only = on")
    monkeypatch.setenv(VARIABLE, url)
    found = await said(folder)
    assert found.state == "broken"
    assert found.found.endswith("the server takes no writes at the moment")


async def test_a_wrong_password(folder: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place = await asyncpg.connect(f"{postgres_url}/postgres")
    try:
        hba = Path(await place.fetchval("SHOW hba_file"))
        await place.execute("CREATE ROLE guarded LOGIN PASSWORD 'right horse'")
        kept = await asyncio.to_thread(hba.read_text)
        await asyncio.to_thread(hba.write_text, "host all guarded 127.0.0.1/32 scram-sha-256\n" + kept)
        await place.execute("SELECT pg_reload_conf()")
    finally:
        await place.close()
    url = make_url(await postgres.new_database(postgres_url)).set(username="guarded", password="wrong horse")
    monkeypatch.setenv(VARIABLE, url.render_as_string(hide_password=False))
    found = await said(folder)
    assert found.state == "broken"
    assert "refuses the user guarded or the password" in found.found
    assert "horse" not in found.found + found.advice
    assert VARIABLE in found.advice


async def test_a_user_without_rights(folder: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = await postgres.new_database(postgres_url)
    await does(one, "DROP ROLE IF EXISTS looker", "CREATE ROLE looker LOGIN")
    url = make_url(one).set(username="looker").render_as_string(hide_password=False)
    monkeypatch.setenv(VARIABLE, url)
    # It may not make the tables.
    found = await said(folder)
    assert found.state == "broken"
    assert "looker may not make the schema ingestion" in found.found
    assert "GRANT CREATE ON DATABASE" in found.advice
    # They exist, belong to another role, and it may not write them.
    monkeypatch.setenv(VARIABLE, one)
    await migrated(folder)
    await does(
        one,
        "GRANT USAGE, CREATE ON SCHEMA ingestion TO looker",
        "GRANT SELECT ON ALL TABLES IN SCHEMA ingestion TO looker",
    )
    monkeypatch.setenv(VARIABLE, url)
    found = await said(folder)
    assert found.state == "broken"
    assert "looker may not change" in found.found
    assert "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ingestion TO looker" in found.advice
    await does(one, "DROP OWNED BY looker")


async def migrated(folder: Path) -> None:
    one = deployment_of(folder).database("documents")
    assert one.traits is not None
    database = Database(one.url, one.traits)
    await database.migrate()
    await database.close()


async def test_schemas_older_newer_and_right(folder: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = await postgres.new_database(postgres_url)
    monkeypatch.setenv(VARIABLE, one)
    found = await said(folder)
    assert (found.state, found.advice) == ("warning", "The first start creates them.")
    await migrated(folder)
    assert (await said(folder)).state == "ok"
    await does(one, "UPDATE ingestion.alembic_version SET version_num = '0006'")
    older = await said(folder)
    assert older.state == "warning"
    assert "schema 0006, older than this release's " in older.found
    assert "footnote admin migrate" in older.advice
    await does(one, "UPDATE ingestion.alembic_version SET version_num = '9999'")
    newer = await said(folder)
    assert newer.state == "broken"
    assert "was written by a later release (schema 9999)" in newer.found
    assert "postgres@" not in newer.advice
