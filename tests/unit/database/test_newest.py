"""A schema that is of the newest version is left as it is, without what migrates; any other is not taken for one."""

from importlib import import_module

import pytest
from footnote_database.migrations import Migrations
from sqlalchemy import create_engine, text

SERVICES = ("edge", "ingestion", "indexing")


def of(service: str) -> Migrations:
    found = import_module(f"footnote_{service}.adapters.database")
    return found.TRAITS.migrations if hasattr(found, "TRAITS") else found.MIGRATIONS  # type: ignore[no-any-return]


@pytest.mark.parametrize("service", SERVICES)
def test_only_the_last_version_is_the_newest(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    migrations = of(service)
    known = migrations.known()
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        assert not migrations.is_newest(connection)
        migrations.upgrade(connection, known[0])
        assert not migrations.is_newest(connection)
        migrations.upgrade(connection)
        assert migrations.current(connection) == known[-1]
        assert migrations.is_newest(connection)

        ran: list[str] = []
        monkeypatch.setattr("alembic.command.upgrade", lambda _config, revision: ran.append(revision))
        migrations.upgrade(connection)
        assert ran == []
        for version in (known[-2], ""):
            connection.execute(text(f"UPDATE {migrations.version_table} SET version_num = '{version}'"))
            assert not migrations.is_newest(connection)
        connection.execute(text(f"DELETE FROM {migrations.version_table}"))
        assert not migrations.is_newest(connection)
        migrations.upgrade(connection)
        assert ran == ["head"]
