"""Tables kept beside a file: a zip archive with one Parquet file per table, and a list of them with columns.

For column 3 the Parquet file has `t3`, the text as written. If any cell has such a value, it has `n3` (a number), `d3`
(a day or time) and `b3` (a boolean). `m3` is a cell's own unit. `row` is the number of the row, which with the column
gives each value's cell.
"""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import duckdb
from footnote.types.v1.table_pb2 import COLUMN_TYPE_NUMBER, Measure, TableDescription
from google.protobuf.json_format import MessageToDict, ParseDict

from footnote_ingestion.tables import LAYOUT
from footnote_ingestion.tables.collected import RowData, TableData

LIST = "tables.json"
MOST_BYTES = 256 * 1024 * 1024
"""Largest archive kept; files with larger tables cannot be queried."""
_PREFIX = {"number": "n", "date": "d", "boolean": "b"}
_SQL = {"n": "DOUBLE", "d": "TIMESTAMP", "b": "BOOLEAN", "t": "VARCHAR", "m": "VARCHAR"}
# Rows wait in a text file, smaller than the sandbox's limit on file size, then go into the engine.
_FLUSH_BYTES = 16 * 1024 * 1024
_READ = (
    "header=false, null_padding=true, delim=',', quote='\"', escape='\"', nullstr='', auto_detect=false, "
    "parallel=false, max_line_size=8388608"
)


class Keeper:
    """Writes rows into an engine's memory, and finally each table as Parquet; `folder` is for temporary files."""

    def __init__(self, engine: duckdb.DuckDBPyConnection, folder: Path) -> None:
        self._engine = engine
        self._folder = folder
        self._waiting: dict[int, tuple[IO[str], list[str]]] = {}
        self._made: dict[int, list[str]] = {}

    def add(self, table: TableData, row: RowData) -> None:
        """Add a row of a table."""
        names, values = ["row", "sections"], [str(row.number), " › ".join(row.sections)]
        for number, cell in row.cells.items():
            names.append(f"t{number}")
            values.append(cell.text)
            if cell.kind:
                names.append(f"{_PREFIX[cell.kind]}{number}")
                values.append(str(cell.value))
            if cell.measure is not None:
                names.append(f"m{number}")
                values.append(measure_text(cell.measure))
        self._write(table.number, names, values)

    def _write(self, number: int, names: list[str], values: list[str]) -> None:
        file, header = self._waiting.get(number) or self._begin(number)
        known = {name: place for place, name in enumerate(header)}
        for name in names:
            if name not in known:
                known[name] = len(header)
                header.append(name)
        line = [""] * len(header)
        for name, value in zip(names, values, strict=True):
            line[known[name]] = value.replace("\0", "")
        csv.writer(file).writerow(line)
        if file.tell() > _FLUSH_BYTES:
            self._flush(number)

    def _begin(self, number: int) -> tuple[IO[str], list[str]]:
        for other in list(self._waiting):  # except for nested tables, a table is read to its end before the next begins
            self._flush(other)
        file = (self._folder / f"rows-{number}.csv").open("w+", encoding="utf-8", newline="")
        self._waiting[number] = (file, list(self._made.get(number, ["row", "sections"])))
        return self._waiting[number]

    def _flush(self, number: int) -> None:
        file, header = self._waiting.pop(number)
        file.close()
        path = self._folder / f"rows-{number}.csv"
        made = self._made.setdefault(number, [])
        if not made:
            self._engine.execute(f"CREATE TABLE x{number} (row BIGINT, sections VARCHAR)")
            made += ["row", "sections"]
        for name in header[len(made) :]:
            self._engine.execute(f"ALTER TABLE x{number} ADD COLUMN {name} {_SQL[name[0]]}")
        made[:] = header
        # Rows before a column was known have fewer values than the others.
        read = ", ".join(f"'{name}': 'VARCHAR'" for name in header)
        cast = ", ".join(
            f"CAST({name} AS {'BIGINT' if name == 'row' else 'VARCHAR' if name == 'sections' else _SQL[name[0]]})"
            for name in header
        )
        self._engine.execute(
            f"INSERT INTO x{number} SELECT {cast} FROM read_csv(?, columns={{{read}}}, {_READ})",
            [str(path)],
        )
        path.unlink()

    def finish(self, tables: dict[int, TableData], archive: Path) -> bool:
        """Write the archive; False if there is nothing to keep or it is too large."""
        for number in list(self._waiting):
            self._flush(number)
        if not self._made:
            return False
        with zipfile.ZipFile(archive, "w") as out:
            out.writestr(LIST, json.dumps({"layout": LAYOUT, "tables": [_said(table) for table in tables.values()]}))
            for number in self._made:
                path = self._folder / f"{number}.parquet"
                self._engine.execute(f"COPY x{number} TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
                out.write(path, path.name)
                path.unlink()
        return archive.stat().st_size <= MOST_BYTES

    def close(self) -> None:
        """Free the engine's memory."""
        for number in self._made:
            self._engine.execute(f"DROP TABLE IF EXISTS x{number}")


def measure_text(measure: Measure) -> str:
    """Return a measure as text, so that equal measures have equal texts."""
    return json.dumps(MessageToDict(measure), sort_keys=True)


def _said(table: TableData) -> dict[str, object]:
    columns = [
        {
            "headers": column.headers, "names_rows": column.names_rows, "type": int(column.type),
            "measure": MessageToDict(column.measure), "samples": column.samples, "others": column.others,
        }
        for column in table.columns
    ]  # fmt: skip
    return {
        "number": table.number, "name": table.name, "rows": table.rows, "columns": columns, "note": table.note,
    }  # fmt: skip


def names_of(columns: list[str]) -> Iterator[str]:
    """Yield names that are non-empty and distinct without regard to case."""
    taken = {"_row"}
    for place, name in enumerate(columns, 1):
        wanted = base = name or f"Column {place}"
        again = 1
        while wanted.casefold() in taken:
            again += 1
            wanted = f"{base} ({again})"
        taken.add(wanted.casefold())
        yield wanted


def read_list(archive: zipfile.ZipFile, document_id: str, filename: str) -> list[TableDescription]:
    """Return the tables of an archive; raises `ValueError` for another layout."""
    said = json.loads(archive.read(LIST))
    if said["layout"] != LAYOUT:
        raise ValueError("the archive is of another version")
    return [_description(one, document_id, filename) for one in said["tables"]]


def _description(one: dict[str, object], document_id: str, filename: str) -> TableDescription:
    number, columns = one["number"], one["columns"]
    assert isinstance(number, int)
    assert isinstance(columns, list)
    view = view_of(document_id, number)
    described = TableDescription(
        document_id=document_id,
        filename=filename,
        number=number,
        name=str(one["name"]),
        view=view,
    )
    described.rows = int(str(one["rows"]))
    names = names_of([" › ".join(column["headers"]) for column in columns])
    for place, (name, column) in enumerate(zip(names, columns, strict=True), 1):
        into = described.columns.add(
            number=place, name=name, type=column["type"], samples=column["samples"], other_cells=column["others"]
        )
        if column["measure"]:
            ParseDict(column["measure"], into.measure)
        has_numbers = into.type == COLUMN_TYPE_NUMBER and not column["names_rows"]
        if has_numbers and not (into.measure.scale or into.measure.unit):
            into.note = str(one.get("note", ""))
    return described


def view_of(document_id: str, number: int) -> str:
    """Return the view name of a table in queries."""
    return f"t_{document_id[:12]}_{number}"
