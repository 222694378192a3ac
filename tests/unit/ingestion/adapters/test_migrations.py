"""The migrations make the tables that the code works with, and take older documents along."""

from pathlib import Path
from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from footnote_ingestion.adapters import records, schema
from footnote_ingestion.adapters.database import MIGRATIONS, Database
from sqlalchemy import Connection, MetaData, Table, create_engine, insert, select

EMPTY: dict[type, object] = {object: [], int: 1, str: ""}
"""What a column of a type holds in the row of an old document."""


async def test_they_make_the_tables_that_the_code_knows(tmp_path: Path) -> None:
    opened = await Database.open("", tmp_path)
    try:

        def compare(connection: Connection) -> list[Any]:
            return compare_metadata(MigrationContext.configure(connection), schema.metadata)

        async with opened.read() as connection:
            assert await connection.run_sync(compare) == []
    finally:
        await opened.close()


async def test_a_document_of_an_older_version_is_read(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'documents.db'}")
    with engine.begin() as connection:
        MIGRATIONS.upgrade(connection, "0001")
        documents = Table("documents", MetaData(), autoload_with=connection)
        columns = [one for one in documents.columns if not one.nullable]
        row = {one.name: EMPTY[one.type.python_type] for one in columns} | {"id": "old", "state": "UPLOADED"}
        row |= dict.fromkeys(("authors", "keywords", "tags"), "[]") | {"structure": "", "metadata": ""}
        connection.execute(insert(documents).values(row))
    engine.dispose()
    opened = await Database.open("", tmp_path)
    try:
        async with opened.read() as reading:
            row = (await reading.execute(select(schema.documents))).mappings().one()
        stored = records.from_row(row)
        assert stored.document.id == "old"
        assert list(stored.document.warnings) == []
    finally:
        await opened.close()


async def test_items_of_sources_that_an_older_version_let_expire_stay(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'documents.db'}")
    origin = {"footnote_source": {"id": "s", "item": "a.txt"}}
    with engine.begin() as connection:
        MIGRATIONS.upgrade(connection, "0010")
        documents = Table("documents", MetaData(), autoload_with=connection)
        columns = [one for one in documents.columns if not one.nullable]
        row = {one.name: EMPTY[one.type.python_type] for one in columns} | {"expire_time": 5, "version": 7}
        lists = dict.fromkeys(("authors", "keywords", "tags"), "[]") | {"structure": ""}
        for name, metadata in (("item", origin), ("own", {"about": '"footnote_source": {'})):
            connection.execute(insert(documents).values(row | lists | {"id": name, "metadata": metadata}))
    engine.dispose()
    opened = await Database.open("", tmp_path)
    try:
        async with opened.read() as reading:
            rows = {row["id"]: row for row in (await reading.execute(select(schema.documents))).mappings()}
    finally:
        await opened.close()
    assert {name: row["expire_time"] for name, row in rows.items()} == {"item": None, "own": 5}
    assert [(row["version"], row["relabelled"]) for row in rows.values()] == [(8, 8), (7, None)]
    assert rows["item"]["update_time"] > 0
