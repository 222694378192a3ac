"""Creates a new SQLite schema as migrations left it the first time in this process: they cost a third of edge's start.

What migrations do to data that is there, and to PostgreSQL, they do each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from footnote_database.migrations import Migrations
from sqlalchemy import Connection

MIGRATE = Migrations.upgrade
"""What the product does, for tests of the migrations themselves."""
_THERE = "SELECT name, type, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY rowid"


@dataclass(frozen=True, slots=True)
class Schema:
    """What an empty database holds after its migrations."""

    statements: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Any, ...]], ...]
    """An INSERT and its values."""

    @staticmethod
    def of(connection: Connection) -> Schema:
        """Read it."""
        there = connection.exec_driver_sql(_THERE).all()
        rows: list[tuple[str, tuple[Any, ...]]] = []
        for name, _, _ in (one for one in there if one.type == "table"):
            for row in connection.exec_driver_sql(f'SELECT * FROM "{name}"').all():
                rows.append((f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(row))})', tuple(row)))
        return Schema(tuple(one.sql for one in there), tuple(rows))

    def create(self, connection: Connection) -> None:
        """Create it in an empty database."""
        for statement in self.statements:
            connection.exec_driver_sql(statement)
        for insert, values in self.rows:
            connection.exec_driver_sql(insert, values)


def reuse() -> None:
    """Let `Migrations` do so from now on."""
    made: dict[object, Schema] = {}

    def upgraded(self: Migrations, connection: Connection, revision: str = "head") -> None:
        key = self.version_table, *sorted(self.versions.iterdir())
        known = made.get(key)
        is_new = (
            revision == "head"
            and connection.dialect.name == "sqlite"
            and connection.exec_driver_sql(_THERE).first() is None
        )
        if is_new and known is not None:
            known.create(connection)
            return
        MIGRATE(self, connection, revision)
        if is_new:
            made[key] = Schema.of(connection)

    Migrations.upgrade = upgraded  # type: ignore[method-assign]
