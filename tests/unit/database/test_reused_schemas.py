"""The schemas that tests reuse are what migrations make."""

import pytest
from footnote_database.migrations import Migrations
from footnote_edge.adapters import database as edge
from footnote_indexing.adapters import database as indexing
from footnote_ingestion.adapters import database as ingestion
from sqlalchemy import create_engine
from support.schemas import Schema


@pytest.mark.parametrize("migrations", [edge.MIGRATIONS, indexing.MIGRATIONS, ingestion.MIGRATIONS])
def test_a_reused_schema_is_what_migrations_make(migrations: Migrations) -> None:
    with create_engine("sqlite://").begin() as made:
        migrations.upgrade(made, migrations.known()[-1])  # a revision by its name is never reused
        expected = Schema.of(made)
    for _ in range(2):  # the second, if not the first of this process
        with create_engine("sqlite://").begin() as reused:
            migrations.upgrade(reused)
            found = Schema.of(reused)
            assert sorted(found.statements) == sorted(expected.statements)  # indexes are made in any order
            assert found.rows == expected.rows
            assert migrations.is_newest(reused)
