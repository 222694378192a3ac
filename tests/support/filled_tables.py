"""Three rows for every table, with values that databases are known to alter."""

import json
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

TEXTS = ("", "Größe „ß“ 火 🦩\n'; --", "a" * 10)
JSONS = ('{"b": 1.50, "a": [null, "é"]}', "[]", '"word"')
ROWS = 3
_JSON_AS_TEXT = {"attributes"}
"""Of the job ledger: text in SQLite, JSON in PostgreSQL."""


def fill(file: Path, version_table: str) -> dict[str, int]:
    """Add rows to each table of a SQLite file; return how many there are by table."""
    engine = sa.create_engine(f"sqlite:///{file}")
    try:
        metadata = sa.MetaData()
        metadata.reflect(engine)
        with engine.begin() as connection:
            for table in metadata.sorted_tables:
                if table.name != version_table:
                    connection.execute(table.insert(), [_row(table, number) for number in range(ROWS)])
    finally:
        engine.dispose()
    return counts(file, version_table)


def counts(file: Path, version_table: str) -> dict[str, int]:
    """Count the rows of each table of a SQLite file."""
    with closing(sqlite3.connect(file)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
            for name in names
            if name != version_table and not name.startswith("sqlite_")
        }


def _row(table: sa.Table, number: int) -> dict[str, Any]:
    return {column.name: _value(column, number) for column in table.columns}


def _value(column: sa.Column[Any], number: int) -> Any:
    unique = column.primary_key or bool(column.foreign_keys) or column.name in ("id", "name", "hash")
    if column.nullable and not column.primary_key and number == 0:
        return None
    kind = column.type
    if isinstance(kind, sa.JSON):
        return json.loads(JSONS[number % len(JSONS)])
    if isinstance(kind, sa.Boolean):
        return bool(number % 2)
    if isinstance(kind, sa.DateTime):
        return datetime(2026, 11, 20 + number, 23, 59, 58, 123456 * number)
    if isinstance(kind, sa.LargeBinary):
        return bytes([0, 255, number])
    if isinstance(kind, sa.Float | sa.Numeric) and not isinstance(kind, sa.Integer):
        return 0.1 + 0.2 + number
    if isinstance(kind, sa.Integer):
        wide = isinstance(kind, sa.BigInteger)
        return number + 1 if unique or not wide else (2**53 + number)
    if column.name in _JSON_AS_TEXT:
        return JSONS[number % len(JSONS)]
    text = f"key-{number}" if unique else TEXTS[number % len(TEXTS)]
    return text[: kind.length] if isinstance(kind, sa.String) and kind.length else text
