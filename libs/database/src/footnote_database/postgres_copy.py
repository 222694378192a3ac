"""Copies databases from SQLite to PostgreSQL in a single transaction, verified before it commits.

The copy is complete or absent. An interrupted copy leaves empty tables behind, and can be repeated.
"""

import contextlib
import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from footnote_kit.errors import FailedPrecondition
from sqlalchemy.exc import DBAPIError

from footnote_database import integrity
from footnote_database.engine import shown

_BATCH = 500
_LOCK = 7_100_099
"""PostgreSQL's advisory lock that allows one copy at a time."""
_MODULUS = 1 << 256


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDatabase:
    """A database to copy: its file, and the schema of its tables in PostgreSQL.

    `schema` is None for the database's default schema. `tables` names the tables that this release uses; tables in
    the file from earlier releases are copied too. None means all tables of the schema. `version_table` holds the
    schema's version, and stays as the migrations wrote it.
    """

    name: str
    file: Path
    schema: str | None
    tables: frozenset[str] | None
    version_table: str


@dataclass(frozen=True, slots=True)
class Copied:
    """A copied table: its number of rows, and a checksum of their values that ignores their order."""

    part: str
    table: str
    rows: int
    checksum: str


class _Sum:
    """Counts rows and sums their hashes; `parsed` are JSON columns, in which PostgreSQL may change the spacing."""

    def __init__(self, parsed: Collection[str] = ()) -> None:
        self.rows = 0
        self._parsed = parsed
        self._total = 0

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row."""
        plain = {name: _parsed(value) if name in self._parsed else _plain(value) for name, value in row.items()}
        words = json.dumps(plain, sort_keys=True)
        self._total += int.from_bytes(hashlib.sha256(words.encode()).digest(), "big")
        self.rows += 1

    @property
    def checksum(self) -> str:
        """The sum in hexadecimal digits."""
        return f"{self._total % _MODULUS:064x}"


def copy(
    databases: Sequence[SourceDatabase], target: sa.Connection, progress: Callable[[Copied], None]
) -> list[Copied]:
    """Copy all rows of the databases within the target's transaction, which the caller commits.

    The target's tables must exist, with the schema version of the files. Raises FailedPrecondition when a target
    table has rows, or a file has a table or column that the target lacks. Also raises it when PostgreSQL refuses a
    row, or the written data differs from what was read.
    """
    target.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    found = {database.name: _tables(database, target) for database in databases}
    for database in databases:
        _refuse_rows(database, found[database.name], target)
    copied = []
    for database in databases:
        if not database.file.exists():
            continue
        engine = sa.create_engine(f"sqlite:///file:{database.file}?mode=ro&uri=true", poolclass=sa.NullPool)
        try:
            with engine.connect() as source:
                _refuse_unknown(database, found[database.name], source)
                for table in found[database.name]:
                    one = _copy_table(database, table, source, target)
                    copied.append(one)
                    progress(one)
        finally:
            engine.dispose()
    return copied


def _tables(database: SourceDatabase, target: sa.Connection) -> list[sa.Table]:
    """Return a database's tables as they are in PostgreSQL, referenced tables first."""
    metadata = sa.MetaData()
    there = sa.inspect(target).get_table_names(database.schema)
    ours = set(there) if database.tables is None else database.tables | _in_file(database)
    wanted = [name for name in there if name != database.version_table and name in ours]
    if not wanted:
        raise FailedPrecondition(
            f"The tables of the {database.name} database are not there: bring its schema up to date."
        )
    metadata.reflect(target, schema=database.schema, only=wanted)
    return metadata.sorted_tables


def _in_file(database: SourceDatabase) -> set[str]:
    """Return the names of a file's tables: migrations leave some that this release no longer reads."""
    if not database.file.exists():
        return set()
    with integrity.read_only(database.file) as connection:
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return {str(name) for (name,) in found if not str(name).startswith("sqlite_")}


def _refuse_rows(database: SourceDatabase, tables: Iterable[sa.Table], target: sa.Connection) -> None:
    for table in tables:
        if target.scalar(sa.select(sa.exists(sa.select(sa.literal(1)).select_from(table)))):
            raise FailedPrecondition(
                f"The target already holds rows of the {database.name} database (table {table.fullname}): name an "
                "empty PostgreSQL database, which no service has been started on."
            )


def _refuse_unknown(database: SourceDatabase, tables: Iterable[sa.Table], source: sa.Connection) -> None:
    """Refuse a file with tables or columns that the target lacks, because the copy would omit them."""
    room = {table.name: {column.name for column in table.columns} for table in tables}
    seen = sa.inspect(source)
    for name in seen.get_table_names():
        if name == database.version_table:
            continue
        lacking = {column["name"] for column in seen.get_columns(name)} - room.get(name, set())
        if lacking:
            raise FailedPrecondition(
                f"{database.file} has {name}.{sorted(lacking)[0]}, which the schema in PostgreSQL lacks: use the "
                "release that wrote the file."
            )


def _copy_table(database: SourceDatabase, table: sa.Table, source: sa.Connection, target: sa.Connection) -> Copied:
    if not sa.inspect(source).has_table(table.name):
        return Copied(database.name, table.fullname, 0, _Sum().checksum)
    there = {column["name"] for column in sa.inspect(source).get_columns(table.name)}
    columns = [column for column in table.columns if column.name in there and column.computed is None]
    parsed = {column.name for column in columns if _is_json(column)}
    read, written = _Sum(parsed), _Sum(parsed)
    insert = table.insert().values({column.name: _parameter(column) for column in columns})
    try:
        for rows in _batches(source, sa.select(*map(_typed, columns)).select_from(sa.table(table.name))):
            for row in rows:
                read.add(row)
            target.execute(insert, rows)
        for rows in _batches(target, sa.select(*map(_back, columns))):
            for row in rows:
                written.add(row)
        _advance_sequences(table, target)
    except DBAPIError as error:
        state = getattr(error.orig, "sqlstate", None) or type(error.orig).__name__
        raise FailedPrecondition(
            f"A row of {database.name}.{table.name} could not be copied ({state}): {error.orig}. Nothing was copied."
        ) from error
    if (read.rows, read.checksum) != (written.rows, written.checksum):
        raise FailedPrecondition(
            f"{written.rows} rows of {database.name}.{table.name} differ from the {read.rows} that were read. Nothing "
            "was copied; report it."
        )
    return Copied(database.name, table.fullname, read.rows, read.checksum)


def _batches(connection: sa.Connection, query: sa.Select[Any]) -> Iterator[list[dict[str, Any]]]:
    with connection.execute(query, execution_options={"yield_per": _BATCH}) as result:
        for rows in result.mappings().partitions():
            yield [{name: _moment(value) for name, value in row.items()} for row in rows]


def _is_json(column: sa.Column[Any]) -> bool:
    return isinstance(column.type, sa.JSON)


def _typed(column: sa.Column[Any]) -> sa.ColumnElement[Any]:
    """Return a column of the file with the target's type; JSON as text, as SQLite stores it."""
    return sa.column(column.name, sa.Text() if _is_json(column) else column.type.as_generic())


def _parameter(column: sa.Column[Any]) -> sa.ColumnElement[Any]:
    if _is_json(column):  # as text, because SQL's NULL would otherwise become JSON's null
        return sa.cast(sa.bindparam(column.name, type_=sa.Text()), column.type)
    return sa.bindparam(column.name, type_=column.type)


def _back(column: sa.Column[Any]) -> sa.ColumnElement[Any]:
    return sa.cast(column, sa.Text()).label(column.name) if _is_json(column) else column


def _moment(value: Any) -> Any:
    """Return a value as both databases store it: times with a zone, and no zero bytes, which PostgreSQL refuses."""
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    return shown(value)


def _parsed(value: Any) -> Any:
    """Return parsed JSON; an invalid text stays as it is, and PostgreSQL refuses it."""
    with contextlib.suppress(ValueError, TypeError):
        return json.loads(value)
    return value


def _plain(value: Any) -> Any:
    """Return a value in a JSON form that is the same for both databases."""
    if isinstance(value, bytes | memoryview):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, datetime):
        return {"time": value.isoformat()}
    if isinstance(value, float):
        return {"float": value.hex()}
    return value


def _advance_sequences(table: sa.Table, target: sa.Connection) -> None:
    """Advance a table's sequences past the copied rows."""
    quoted = target.dialect.identifier_preparer.format_table(table)
    for column in table.columns:
        sequence = target.scalar(
            sa.text("SELECT pg_get_serial_sequence(:table, :column)"), {"table": quoted, "column": column.name}
        )
        if sequence is None:
            continue
        highest = target.scalar(sa.select(sa.func.max(column)))
        if highest is not None:
            target.execute(sa.text("SELECT setval(:sequence, :highest)"), {"sequence": sequence, "highest": highest})
