"""Queries over tables of one and two million rows: time, and memory of the process. The archive is made, not read."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import duckdb
import pytest
from footnote.types.v1.table_pb2 import COLUMN_TYPE_NUMBER, COLUMN_TYPE_TEXT
from footnote_ingestion.tables.engine import Engine
from footnote_ingestion.tables.opened import Archive
from footnote_ingestion.tables.session import Session
from footnote_ingestion.tables.table_archive import LAYOUT, LIST

pytestmark = pytest.mark.bench

ALLOWED = 300 << 20
COLUMNS = {"Article": COLUMN_TYPE_TEXT, "Town": COLUMN_TYPE_TEXT, "Stock": COLUMN_TYPE_NUMBER}
QUERIES = {
    "first total": 'SELECT SUM("Stock") FROM {view}',
    "total": 'SELECT SUM("Stock") FROM {view}',
    "filter": 'SELECT SUM("Stock") FROM {view} WHERE "Town" = \'Lyon\'',
    "group": 'SELECT "Town", AVG("Stock") FROM {view} GROUP BY 1',
    "top five": 'SELECT "Article", "Stock" FROM {view} ORDER BY 2 DESC, 1 LIMIT 5',
    "different": 'SELECT COUNT(DISTINCT "Article") FROM {view}',
}


def make(folder: Path, rows: int) -> None:
    """Write the archive of a table as ingestion keeps it."""
    made = (
        "SELECT i + 2 AS row, '' AS sections, 'A-' || i AS t1, ['Lyon', 'Nice', 'Bern'][(i % 3 + 1)::INT] AS t2, "
        f"(i % 997)::VARCHAR AS t3, (i % 997)::DOUBLE AS n3 FROM range({rows}) AS t(i)"
    )
    duckdb.connect().execute(f"COPY ({made}) TO '{folder}/1.parquet' (FORMAT parquet, COMPRESSION zstd)")
    columns = [
        {"headers": [name], "names_rows": False, "type": kind, "measure": {}, "samples": [], "others": 0}
        for name, kind in COLUMNS.items()
    ]
    table = {"number": 1, "name": "", "rows": rows, "columns": columns}
    with zipfile.ZipFile(folder / "archive.zip", "w") as out:
        out.writestr(LIST, json.dumps({"layout": LAYOUT, "tables": [table]}))
        out.write(folder / "1.parquet", "1.parquet")


def measure(folder: Path) -> None:
    """Print what each query takes, and what the process holds at most; run in a process that did nothing else."""
    session = Session(folder / "session", ALLOWED)
    for name, query in QUERIES.items():
        clock, processor = time.perf_counter(), time.process_time()
        with Engine([Archive(folder / "archive.zip", "abcdefabcdef", "a.csv")], session, 30.0) as engine:
            engine.query(query.format(view=engine.tables[0].view))
        print(f"{name}: {1e3 * (time.perf_counter() - clock):.0f} ms", end="")
        print(f", of the processor {1e3 * (time.process_time() - processor):.0f}")
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}")


@pytest.mark.parametrize("rows", [1_000_000, 2_000_000])
def test_millions_of_rows_are_queried_in_bounded_memory(rows: int, tmp_path: Path) -> None:
    make(tmp_path, rows)
    command = "import sys; from pathlib import Path; from test_bench_tables import measure; measure(Path(sys.argv[1]))"
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    ran = subprocess.run(
        [sys.executable, "-c", command, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    print(f"{rows} rows\n{ran.stdout}")
    assert int(ran.stdout.split()[-1]) < ALLOWED
