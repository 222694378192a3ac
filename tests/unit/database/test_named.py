"""The queries that name what a damaged log has lost can be asked of each service's database."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from footnote_database import transactions
from footnote_database.traits import Traits
from footnote_edge.adapters.database import TRAITS as EDGE
from footnote_indexing.adapters.database import TRAITS as INDEXING
from footnote_ingestion.adapters.database import TRAITS as DOCUMENTS
from sqlalchemy import make_url


@pytest.mark.parametrize("traits", [EDGE, INDEXING, DOCUMENTS], ids=lambda one: one.name)
async def test_what_is_named_has_one_column_of_known_tables(tmp_path: Path, traits: Traits) -> None:
    file = tmp_path / "one.db"
    database = transactions.Database(make_url(f"sqlite+aiosqlite:///{file}"), traits)
    await database.migrate()
    await database.close()
    assert traits.named
    with closing(sqlite3.connect(file)) as connection:
        for query in traits.named.values():
            assert len(connection.execute(query).description) == 1
