"""Keeps archives of tables open between the questions of a process, as Parquet files and views over them.

While statements run, the views of the archives asked exist and no others. The files of other archives stay, under names
that no statement can guess, until newer ones take their place or half a minute passes.
"""

from __future__ import annotations

import time
import zipfile
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import duckdb
from footnote.types.v1.table_pb2 import (
    COLUMN_TYPE_BOOLEAN,
    COLUMN_TYPE_DATE,
    COLUMN_TYPE_NUMBER,
    TableDescription,
)

from footnote_ingestion.tables.table_archive import read_list

MOST_ARCHIVES, MOST_BYTES = 20, 64 << 20
"""Archives that stay open between questions, and the bytes of their files."""
MOST_SECONDS = 30.0
"""How long an archive stays open after its last question, as an idle process does: its document may be deleted."""
_MOST_TEXTS = 1_000_000
"""Characters of columns' texts that are kept for the next question, in all archives together."""
_VALUE = {COLUMN_TYPE_NUMBER: "n", COLUMN_TYPE_DATE: "d", COLUMN_TYPE_BOOLEAN: "b"}


@dataclass(frozen=True, slots=True)
class Archive:
    """A document's archive of tables, with the document it belongs to."""

    path: Path
    document_id: str
    filename: str


@dataclass(frozen=True, slots=True)
class KeptTable:
    """A table with its file, the columns in it, and the texts of columns that were asked for so far."""

    described: TableDescription
    path: Path
    columns: frozenset[str]
    texts: dict[int, list[str]] = field(default_factory=dict)


@dataclass(slots=True)
class _Opened:
    tables: list[KeptTable]
    size: int
    shown: bool = False
    asked: float = 0.0


class OpenArchives:
    """The archives of one process, whose engine may read `folder` and nothing else."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
        self._connection = connection
        self._folder = folder
        self._opened: OrderedDict[tuple[object, ...], _Opened] = OrderedDict()

    def show(self, archives: Sequence[Archive]) -> list[KeptTable]:
        """Make the views of these archives exist, and no others; return their tables."""
        asked = {_identity(archive): archive for archive in archives}
        for identity, opened in self._opened.items():
            if identity not in asked:
                self._hide(opened)
        found: list[KeptTable] = []
        for identity, archive in asked.items():
            if identity not in self._opened:
                self._opened[identity] = self._open(archive)
            self._opened.move_to_end(identity)
            self._opened[identity].asked = time.monotonic()
            self._show(self._opened[identity])
            found += self._opened[identity].tables
        return found

    def rest(self) -> None:
        """Close the archives that were asked longest ago, until a process keeps no more than it may, nor longer."""
        size = sum(opened.size for opened in self._opened.values())
        past = time.monotonic() - MOST_SECONDS
        while self._opened:
            oldest = next(iter(self._opened.values()))
            if len(self._opened) <= MOST_ARCHIVES and size <= MOST_BYTES and oldest.asked > past:
                return
            _, closed = self._opened.popitem(last=False)
            size -= closed.size
            self._remove(closed)

    def note_texts(self, table: KeptTable, column: int, texts: list[str]) -> None:
        """Keep the texts of a table's column for the next question, unless there are too many."""
        size = sum(map(len, texts))
        every = [one.texts for opened in self._opened.values() for one in opened.tables]
        if size + sum(len(text) for by_column in every for kept in by_column.values() for text in kept) > _MOST_TEXTS:
            for by_column in every:
                by_column.clear()
        if size <= _MOST_TEXTS:
            table.texts[column] = texts

    def _open(self, archive: Archive) -> _Opened:
        opened = _Opened([], 0)
        try:
            with zipfile.ZipFile(archive.path) as inside:
                for table in read_list(inside, archive.document_id, archive.filename):
                    path = self._folder / f"{uuid4().hex}.parquet"
                    with inside.open(f"{table.number}.parquet") as packed, path.open("wb") as out:
                        opened.tables.append(KeptTable(table, path, frozenset()))
                        while part := packed.read(1 << 20):
                            opened.size += out.write(part)
                    columns = self._connection.execute(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
                    opened.tables[-1] = KeptTable(table, path, frozenset(str(one[0]) for one in columns))
        except BaseException:
            self._remove(opened)
            raise
        return opened

    def _show(self, opened: _Opened) -> None:
        if opened.shown:
            return
        opened.shown = True
        try:
            for table in opened.tables:
                for name, columns in (("raw_" + table.described.view, "*"), (table.described.view, _columns(table))):
                    self._connection.execute(f"CREATE VIEW {quoted(name)} AS SELECT {columns} FROM '{table.path}'")
        except BaseException:
            self._hide(opened)
            raise

    def _hide(self, opened: _Opened) -> None:
        if not opened.shown:
            return
        for table in opened.tables:
            for name in (table.described.view, "raw_" + table.described.view):
                self._connection.execute(f"DROP VIEW IF EXISTS {quoted(name)}")
        opened.shown = False

    def _remove(self, opened: _Opened) -> None:
        self._hide(opened)
        for table in opened.tables:
            table.path.unlink(missing_ok=True)


def quoted(name: str) -> str:
    """Return a name quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def _columns(table: KeptTable) -> str:
    """Return the columns of a table as queries see them."""
    columns = ["row AS _row"]
    for column in table.described.columns:
        source = f"{_VALUE.get(column.type, 't')}{column.number}"
        columns.append(f"{source if source in table.columns else 'NULL'} AS {quoted(column.name)}")
    return ", ".join(columns)


def _identity(archive: Archive) -> tuple[object, ...]:
    """Return what tells an archive apart: its document and names, and the checksums of all that it holds.

    A document that is read again has other checksums, wherever its archive lies; and one that is renamed other names.
    """
    with zipfile.ZipFile(archive.path) as inside:
        parts = tuple((one.filename, one.file_size, one.CRC) for one in inside.infolist())
    return archive.document_id, archive.filename, parts
