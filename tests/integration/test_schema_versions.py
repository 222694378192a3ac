"""Data of the last three schema versions opens in this release; `footnote admin migrate` and what it refuses."""

import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from footnote_cli.admin.deployment import deployment_of
from footnote_cli.admin.findings import Finding
from footnote_cli.admin.stores import databases
from footnote_cli.folder import locked
from footnote_cli.main import app
from footnote_cli.targets import STATEFUL
from footnote_database.storage import StoredDatabase
from footnote_database.transactions import Database
from support import postgres
from typer.testing import CliRunner, Result

NAMES = ("edge", "indexing", "documents")
ENGINES = ("sqlite", "postgresql")
URLS = {"edge": "FOOTNOTE_EDGE_DATABASE_URL", "indexing": "FOOTNOTE_INDEXING_DATABASE_URL",
        "documents": "FOOTNOTE_INGESTION_DATABASE_URL"}  # fmt: skip
pytestmark = [pytest.mark.full, pytest.mark.slow]
Migrate = Callable[..., Result]


def versions(one: StoredDatabase) -> list[str]:
    """Return all versions, the oldest first."""
    assert one.migrations is not None
    return one.migrations.known()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder that only its owner may read."""
    made = tmp_path / "data"
    os.mkdir(made, 0o700)  # noqa: PTH102
    return made


@pytest.fixture
async def kept(
    request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[StoredDatabase, Path]:
    """Return a database on the engine that the test names, and its deployment's folder."""
    name, engine = request.param
    if engine == "postgresql":
        url = request.getfixturevalue("postgres_url")
        monkeypatch.setenv(URLS[name], await postgres.new_database(url))
    return deployment_of(folder).database(name), folder


@asynccontextmanager
async def closing(one: StoredDatabase) -> AsyncIterator[Database]:
    assert one.traits is not None
    database = Database(one.url, one.traits)
    try:
        yield database
    finally:
        await database.close()


async def at(one: StoredDatabase, version: str) -> None:
    """Bring an empty database to a version, and put a row into each of its tables."""
    assert one.traits is not None
    migrations, schema = one.traits.migrations, one.traits.schema
    if one.file is not None:
        one.file.parent.mkdir(mode=0o700, exist_ok=True)
    async with closing(one) as database, database.write() as connection:
        if schema is not None and not database.is_sqlite:
            await connection.execute(sa.schema.CreateSchema(schema, if_not_exists=True))
        await connection.run_sync(lambda plain: migrations.upgrade(plain, version))
        await connection.run_sync(fill)


def fill(connection: sa.Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SET session_replication_role = replica"))  # no keys of others are asked for
    else:
        connection.execute(sa.text("PRAGMA defer_foreign_keys = ON"))
    for table in tables(connection).sorted_tables:
        if "alembic" not in table.name and not connection.execute(sa.select(table).limit(1)).first():
            row = {column.name: value(column) for column in table.columns if not column.computed}
            connection.execute(table.insert().values(row))


def value(column: sa.Column[Any]) -> Any:
    kind = column.type
    if isinstance(kind, sa.Boolean):
        return True
    if isinstance(kind, sa.Integer | sa.Numeric | sa.Float):
        return 1
    if isinstance(kind, sa.DateTime):
        return datetime(2026, 1, 1, tzinfo=UTC)
    if isinstance(kind, sa.LargeBinary):
        return b"x"
    if isinstance(kind, sa.JSON):
        return {}
    return "x"


def tables(connection: sa.Connection) -> sa.MetaData:
    found = sa.MetaData()
    found.reflect(connection)
    return found


def counts(connection: sa.Connection) -> dict[str, int]:
    return {
        table.name: connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        for table in tables(connection).sorted_tables
        if "alembic" not in table.name
    }


async def counted(one: StoredDatabase) -> dict[str, int]:
    async with closing(one) as database, database.read() as connection:
        return await connection.run_sync(counts)


@pytest.fixture
def migrate(folder: Path) -> Migrate:
    """Runs `footnote admin migrate` on the folder."""
    return lambda *more: CliRunner().invoke(app, ["admin", "migrate", "--data-dir", str(folder), *more])


@pytest.mark.parametrize("back", [0, 1, 2, 3])
@pytest.mark.parametrize("kept", [(name, engine) for name in NAMES for engine in ENGINES], indirect=True, ids=str)
async def test_data_of_the_last_versions_opens(kept: tuple[StoredDatabase, Path], back: int) -> None:
    one, _ = kept
    await at(one, versions(one)[-1 - back])
    before = await counted(one)
    assert before
    assert set(before.values()) == {1}
    async with closing(one) as database:
        await database.migrate()
        assert await database.check() is None
        async with database.read() as connection:
            assert await connection.run_sync(one.migrations.current) == versions(one)[-1]  # type: ignore[union-attr]
    after = await counted(one)
    assert {name: after.get(name) for name in before} == before


async def finding(folder: Path, name: str) -> Finding:
    found = [one async for one in databases(deployment_of(folder))]
    return next(one for one in found if one.check == f"{name} database")


@pytest.mark.parametrize("kept", [("edge", "sqlite"), ("edge", "postgresql")], indirect=True, ids=str)
async def test_an_older_schema_is_told_and_migrated(kept: tuple[StoredDatabase, Path], folder: Path) -> None:
    one, _ = kept
    older, newest = versions(one)[-2:]
    await at(one, older)
    found = await finding(folder, "edge")
    assert found.state == "warning"
    assert f"schema {older}" in found.found
    assert f"this release's {newest}" in found.found
    assert "footnote admin backup" in found.advice
    assert "footnote admin migrate" in found.advice
    from footnote_cli.admin.migrate import migrate

    done = {step.name: step for step in await migrate(folder)}
    assert (done["edge"].before, done["edge"].after) == (older, newest)
    assert (await finding(folder, "edge")).state == "ok"
    assert all(step.before == step.after for step in await migrate(folder))


def test_migrate_says_what_it_did_and_that_nothing_was_to_do(migrate: Migrate, folder: Path) -> None:
    first = json.loads(migrate("--json").stdout)
    assert {step["name"]: step["before"] for step in first["databases"]} == dict.fromkeys(NAMES, "")
    assert all(step["after"] for step in first["databases"])
    again = migrate()
    assert again.exit_code == 0
    assert "up to date" in again.stdout


async def test_what_would_be_done_is_told_without_doing_it(folder: Path) -> None:
    from footnote_cli.admin.migrate import migrate

    one = deployment_of(folder).database("edge")
    await at(one, versions(one)[-2])
    [step] = [step for step in await migrate(folder, look_only=True) if step.name == "edge"]
    assert (step.before, step.after) == tuple(versions(one)[-2:])
    assert (await finding(folder, "edge")).state == "warning"


def test_a_folder_that_is_served_is_not_migrated(migrate: Migrate, folder: Path) -> None:
    with locked(folder, STATEFUL):
        refused = migrate()
    assert refused.exit_code == 1
    assert "is in use" in refused.stderr


async def test_a_newer_schema_is_refused_in_words(folder: Path) -> None:
    from footnote_cli.admin.migrate import migrate
    from footnote_kit.errors import FailedPrecondition

    one = deployment_of(folder).database("indexing")
    await at(one, versions(one)[-1])
    async with closing(one) as database, database.write() as connection:
        await connection.execute(sa.text("UPDATE indexing_alembic_version SET version_num = '9999'"))
    for look_only in (False, True):
        with pytest.raises(FailedPrecondition, match=r"later release .schema 9999.: start that one, or put back"):
            await migrate(folder, look_only=look_only)
    # Nothing else was begun: databases are looked at before the first is changed.
    assert not (folder / "edge" / "edge.db").exists()
