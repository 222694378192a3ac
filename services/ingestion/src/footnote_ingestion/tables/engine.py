"""Runs statements over kept tables, in an in-memory engine that is locked before the first statement."""

from __future__ import annotations

import threading
import time
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

import duckdb
from footnote.types.v1.table_pb2 import (
    COLUMN_TYPE_BOOLEAN,
    COLUMN_TYPE_DATE,
    COLUMN_TYPE_NUMBER,
    TableDescription,
    TableRowCells,
)
from google.protobuf.json_format import Parse

from footnote_ingestion.tables.statements import RefusedStatement, checked
from footnote_ingestion.tables.table_archive import read_list

MOST_ROWS = 1000
_MOST_TEXT = 2000
_VALUE = {COLUMN_TYPE_NUMBER: "n", COLUMN_TYPE_DATE: "d", COLUMN_TYPE_BOOLEAN: "b"}
_SETTINGS = (
    "SET temp_directory=''",
    "SET python_enable_replacements=false",
    "SET parquet_metadata_cache=true",
    "SET autoinstall_known_extensions=false",
    "SET autoload_known_extensions=false",
    "SET enable_external_access=false",
    "SET lock_configuration=true",
)

_TIMER_STACK = 256 * 1024
_MOST_WAITING, _SHORTEST = 3, 0.05
"""How many times its processor time a statement may take by the clock; seconds too short to wait for."""


class Session:
    """A locked engine, created once per process and before the sandbox: at its start it inspects the machine.

    It opens only files in `folder`, and uses half of the process's memory and one thread. Later statements cannot
    change any setting.
    """

    def __init__(self, folder: Path, process_bytes: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.memory = f"{process_bytes // 2 >> 20}MiB"
        self.connection = duckdb.connect(config={"threads": 1, "memory_limit": self.memory})
        self.connection.execute(f"SET allowed_directories=['{folder}/']")
        for statement in _SETTINGS:
            self.connection.execute(statement)


class TooCostly(Exception):
    """A statement exceeded its time or memory."""


@dataclass(frozen=True, slots=True)
class Archive:
    """A document's archive of tables, with the document it belongs to."""

    path: Path
    document_id: str
    filename: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A statement's result: column names, plain values, whether there were more rows, the statement as run."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    truncated: bool
    query: str


class Engine:
    """The tables of some documents as views, for the duration of the block."""

    def __init__(self, archives: Iterable[Archive], session: Session, seconds: float) -> None:
        self._seconds = seconds
        self._session = session
        self._files: list[Path] = []
        self.tables: list[TableDescription] = []
        self._archives = tuple(archives)
        self._connection = session.connection
        self._late = threading.Event()
        self._done = threading.Event()
        self._watch = threading.Thread(target=self._interrupt_when_late, daemon=True)

    def __enter__(self) -> Self:
        # One thread for all statements, with a small stack: the process may map little memory, and the usual stack of
        # 8 MiB was refused.
        threading.stack_size(_TIMER_STACK)
        self._watch.start()
        for archive in self._archives:
            self._open(archive, self._session.folder)
        return self

    def __exit__(self, *args: object) -> None:
        self._done.set()
        self._watch.join()
        for table in self.tables:
            for view in (table.view, "raw_" + table.view):
                self._connection.execute(f"DROP VIEW IF EXISTS {quoted(view)}")
        for path in self._files:
            path.unlink(missing_ok=True)

    def _interrupt_when_late(self) -> None:
        """End the statements after their time: the process's own, since a busy machine gives it little a second."""
        of_process, by_clock = time.process_time() + self._seconds, time.monotonic() + _MOST_WAITING * self._seconds
        left = self._seconds
        while left > _SHORTEST:
            if self._done.wait(left):
                return
            left = min(of_process - time.process_time(), by_clock - time.monotonic())
        self._late.set()
        self._connection.interrupt()

    def _open(self, archive: Archive, folder: Path) -> None:
        with zipfile.ZipFile(archive.path) as inside:
            tables = read_list(inside, archive.document_id, archive.filename)
            self.tables += tables
            for table in tables:
                path = folder / f"{table.view}.parquet"
                with inside.open(f"{table.number}.parquet") as packed, path.open("wb") as out:
                    while part := packed.read(1 << 20):
                        out.write(part)
                self._files.append(path)
                self._view(table, path)

    def _view(self, table: TableDescription, path: Path) -> None:
        there = {one[0] for one in self._connection.execute(f"DESCRIBE SELECT * FROM '{path}'").fetchall()}
        columns = ["row AS _row"]
        for column in table.columns:
            source = f"{_VALUE.get(column.type, 't')}{column.number}"
            value = source if source in there else "NULL"
            columns.append(f"{value} AS {quoted(column.name)}")
        self._connection.execute(f"CREATE VIEW {quoted('raw_' + table.view)} AS SELECT * FROM '{path}'")
        self._connection.execute(f"CREATE VIEW {quoted(table.view)} AS SELECT {', '.join(columns)} FROM '{path}'")

    def query(self, query: str) -> Answer:
        """Run an untrusted statement; raises `RefusedStatement`, `TooCostly`."""
        statement = checked(query, [table.view for table in self.tables])
        columns, rows = self.run(statement, most=MOST_ROWS + 1)
        return Answer(
            columns, [[_plain(value) for value in row] for row in rows[:MOST_ROWS]], len(rows) > MOST_ROWS, statement
        )

    def run(
        self, statement: str, parameters: Sequence[object] = (), most: int = 0
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run a trusted or checked statement within its time; at most `most` rows, 0 for all."""
        if self._late.is_set():
            raise TooCostly(f"takes longer than the {self._seconds:g} seconds allowed")
        try:
            cursor = self._connection.execute(statement, parameters or None)
            names = [one[0] for one in cursor.description or ()]
            return names, cursor.fetchmany(most) if most else cursor.fetchall()
        except duckdb.InterruptException:
            raise TooCostly(f"takes longer than the {self._seconds:g} seconds allowed") from None
        except (duckdb.OutOfMemoryException, MemoryError):
            raise TooCostly(f"needs more than the {self._session.memory} of memory allowed") from None
        except duckdb.Error as error:
            raise RefusedStatement(f"does not run: {str(error).partition(chr(10))[0][:300]}") from None

    def rows(self, number: int, after: int, size: int) -> list[TableRowCells]:
        """Return rows of the table with this number, after place `after`, with their cells."""
        table = next(table for table in self.tables if table.number == number)
        raw = quoted("raw_" + table.view)
        names, rows = self.run(f"SELECT * FROM {raw} LIMIT {size} OFFSET {after}")
        return [_cells_of(dict(zip(names, row, strict=True)), table) for row in rows]


def quoted(name: str) -> str:
    """Return a name quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def _cells_of(row: dict[str, Any], table: TableDescription) -> TableRowCells:
    cells = TableRowCells(row=row["row"])
    for column in table.columns:
        number = column.number
        if (text := row.get(f"t{number}")) is None:
            continue
        into = cells.cells.add(text=text)
        into.cell.table, into.cell.row, into.cell.column = table.number, row["row"], number
        if (value := row.get(f"n{number}")) is not None:
            into.cell.number = value
        elif (day := row.get(f"d{number}")) is not None:
            into.cell.date = _plain(day)
        elif (boolean := row.get(f"b{number}")) is not None:
            into.cell.boolean = boolean
        if measure := row.get(f"m{number}"):
            Parse(measure, into.cell.measure)
    return cells


def _plain(value: Any) -> Any:
    """Convert a value to a JSON type."""
    if isinstance(value, datetime):
        midnight = (value.hour, value.minute, value.second, value.microsecond) == (0, 0, 0, 0)
        return (value.date() if midnight else value).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal | int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, str):
        return value[:_MOST_TEXT]
    return value if value is None or isinstance(value, bool) else str(value)[:_MOST_TEXT]
