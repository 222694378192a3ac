"""Runs statements over kept tables, in an in-memory engine that is locked before the first statement."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Self

import duckdb
from footnote.types.v1.table_pb2 import TableDescription, TableRowCells
from google.protobuf.json_format import Parse

from footnote_ingestion.tables.opened import Archive, KeptTable, quoted
from footnote_ingestion.tables.session import Session
from footnote_ingestion.tables.statements import RefusedStatement, checked

MOST_ROWS = 1000
_MOST_TEXT = 2000

_TIMER_STACK = 256 * 1024
_MOST_WAITING, _SHORTEST = 3, 0.05
"""How many times its processor time a statement may take by the clock; seconds too short to wait for."""


class TooCostly(Exception):
    """A statement exceeded its time or memory."""


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
        self._kept: dict[str, KeptTable] = {}
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
        try:
            kept = self._session.archives.show(self._archives)
        except BaseException as error:
            self._stop()
            if isinstance(error, duckdb.Error):
                raise self._stopped(error) from None
            raise
        self._kept = {table.described.view: table for table in kept}
        self.tables += [table.described for table in kept]
        return self

    def __exit__(self, *args: object) -> None:
        self._stop()

    def _stop(self) -> None:
        self._done.set()
        self._watch.join()
        self._session.archives.rest()

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

    def texts(self, table: TableDescription, column: int, longest: int, most: int) -> list[str]:
        """Return at most `most` different texts of a column, without those longer than `longest` characters."""
        kept = self._kept[table.view]
        if (known := kept.texts.get(column)) is None:
            name, raw = f"t{column}", quoted("raw_" + table.view)
            statement = f"SELECT DISTINCT {name} FROM {raw} WHERE length({name}) <= {longest} LIMIT {most}"
            known = [str(row[0]) for row in self.run(statement)[1] if row[0]]
            self._session.archives.note_texts(kept, column, known)
        return known

    def kept_columns(self, table: TableDescription) -> frozenset[str]:
        """Return the names of the columns that are kept of a table, as "n3"."""
        return self._kept[table.view].columns

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
            raise self._overdue()
        try:
            cursor = self._connection.execute(statement, parameters or None)
            names = [one[0] for one in cursor.description or ()]
            return names, cursor.fetchmany(most) if most else cursor.fetchall()
        except (duckdb.Error, MemoryError) as error:
            raise self._stopped(error) from None

    def _overdue(self) -> TooCostly:
        return TooCostly(f"takes longer than the {self._seconds:g} seconds allowed")

    def _stopped(self, error: Exception) -> TooCostly | RefusedStatement:
        """Return an error of the engine as the caller's: it took too much, or it does not run."""
        if isinstance(error, duckdb.InterruptException):
            return self._overdue()
        if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
            return TooCostly(f"needs more than the {self._session.memory} of memory allowed")
        return RefusedStatement(f"does not run: {str(error).partition(chr(10))[0][:300]}")

    def rows(self, number: int, after: int, size: int) -> list[TableRowCells]:
        """Return rows of the table with this number, after place `after`, with their cells."""
        table = next(table for table in self.tables if table.number == number)
        raw = quoted("raw_" + table.view)
        names, rows = self.run(f"SELECT * FROM {raw} LIMIT {size} OFFSET {after}")
        return [_cells_of(dict(zip(names, row, strict=True)), table) for row in rows]


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
