"""A schema is migrated completely or not at all, whenever the process is killed."""

import sqlite3
from contextlib import closing
from importlib import import_module
from pathlib import Path

import pytest
import sqlalchemy as sa
from footnote_database.engine import address
from footnote_database.migrations import Migrations
from footnote_database.traits import Traits
from footnote_database.transactions import Database
from support.schemas import MIGRATE

SERVICES = ("edge", "ingestion", "indexing")


class KilledError(Exception):
    """What stands for the kill: what was committed before it stays, as it does when a process is gone."""


def traits_of(service: str) -> Traits:
    found = import_module(f"footnote_{service}.adapters.database").TRAITS
    assert isinstance(found, Traits)
    return found


async def migrate(file: Path, traits: Traits, statements: int | None) -> int:
    """Migrate a file, killed before the statement of that number; return how many there were."""
    database = Database(address("", file), traits)
    run = 0

    def count(*_: object) -> None:
        nonlocal run
        if run == statements:
            raise KilledError
        run += 1

    sa.event.listen(database.engine.sync_engine, "before_cursor_execute", count)
    try:
        await database.migrate()
    finally:
        await database.close()
    return run


def schema(file: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(file)) as connection:
        return sorted(connection.execute("SELECT name, sql FROM sqlite_master").fetchall())


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.slow
async def test_a_migration_that_is_killed_leaves_the_schema_as_it_was(
    service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Migrations, "upgrade", MIGRATE)
    traits = traits_of(service)
    statements = await migrate(tmp_path / "whole.db", traits, None)
    assert statements > 10
    for number in range(0, statements, 3):
        with pytest.raises(KilledError):
            await migrate(tmp_path / "killed.db", traits, number)
        assert schema(tmp_path / "killed.db") == []
    await migrate(tmp_path / "killed.db", traits, None)
    assert schema(tmp_path / "killed.db") == schema(tmp_path / "whole.db")
