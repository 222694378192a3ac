"""A backup of databases that services share on one PostgreSQL server, and its restoring into another one."""

import shutil
from pathlib import Path

import asyncpg
import pytest
from footnote_cli.admin.backup import backup
from footnote_cli.admin.deployment import deployment_of
from footnote_cli.admin.restore import restore
from support import postgres

pytestmark = pytest.mark.full

SHARED = ("FOOTNOTE_EDGE_DATABASE_URL", "FOOTNOTE_INDEXING_DATABASE_URL", "FOOTNOTE_INGESTION_DATABASE_URL")


async def lines(url: str, statement: str) -> list[str]:
    connection = await asyncpg.connect(url)
    try:
        return [str(row[0]) for row in await connection.fetch(statement)]
    finally:
        await connection.close()


@pytest.mark.skipif(shutil.which("pg_dump") is None, reason="pg_dump is not installed (apt-get install postgresql)")
async def test_a_database_that_services_share_is_copied_and_filled_once(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    one, other = await postgres.new_database(postgres_url), await postgres.new_database(postgres_url)
    for name in SHARED:
        monkeypatch.setenv(name, one)
    await lines(one, "CREATE TABLE told AS SELECT 'heron' AS word UNION SELECT 'crane'")
    made = await backup(deployment_of(tmp_path / "data"), tmp_path / "saved")
    assert set(made.databases) == {"edge", "jobs", "indexing", "documents"}
    assert len({database.file for database in made.databases.values()}) == 1
    assert len(list((tmp_path / "saved" / "databases").iterdir())) == 1
    for name in SHARED:
        monkeypatch.setenv(name, other)
    await restore(tmp_path / "saved", tmp_path / "elsewhere")
    assert await lines(other, "SELECT word FROM told ORDER BY word") == ["crane", "heron"]
