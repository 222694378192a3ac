"""What the numbers of written queries are counted in: each as its own columns; none where these differ."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import sqlglot
from footnote.types.v1.table_pb2 import COLUMN_TYPE_NUMBER, ColumnDescription, TableComputation, TableDescription
from footnote_ingestion.tables.computing import Computing
from footnote_ingestion.tables.query_units import QueryUnits
from footnote_ingestion.tables.written_queries import WrittenQuery
from support.table_engine import opened

FIRMS = (
    "Region;Revenue (EUR million);Cost (EUR thousand);Weight (kg);Share (%)\n"
    "North;5;900;7;25\nSouth;7;800;8;50\nNorth;6;950;9;25\n"
)
REVENUE, COST, WEIGHT, SHARE = '"Revenue (EUR million)"', '"Cost (EUR thousand)"', '"Weight (kg)"', '"Share (%)"'


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], TableComputation]:
    """Computes a statement over the table of firms, which it calls T."""

    def written(query: str) -> TableComputation:
        with opened(tmp_path, firms=FIRMS) as (engine, own):
            query = query.replace("FROM T", f'FROM "{engine.tables[0].view}"')
            return WrittenQuery(engine, own.of, Computing(engine, own.of).subject).answer("The firms", query, "en")

    return written


@pytest.mark.parametrize(("query", "ends"), [
    (f"SELECT MAX({REVENUE}) AS a, MAX({COST}) AS b FROM T", ["a 7 × 10^6 EUR, b 950 × 10^3 EUR"]),
    (f"SELECT AVG({WEIGHT}) AS a, AVG({SHARE}) AS b FROM T", ["a 8 kg, b 33.33 %"]),
    (f"SELECT COUNT(*) AS a, SUM({WEIGHT}) AS b FROM T", ["a 3, b 24 kg"]),
    (f"SELECT 100.0 * SUM({COST}) / SUM({REVENUE}) FROM T", [": 14722.22"]),
    (f"SELECT SUM({WEIGHT} * {REVENUE}) FROM T", [": 145"]),
    (f"SELECT SUM({WEIGHT}) - MIN({WEIGHT}) - 1 FROM T", [": 16 kg"]),
    (f"SELECT SUM(CASE WHEN \"Region\" = 'North' THEN {WEIGHT} ELSE 0 END) FROM T", [": 16 kg"]),
    (f'SELECT "Region", ROUND(SUM({COST}), 1) AS c FROM T GROUP BY 1 ORDER BY 1',
     ["- North: 1850 × 10^3 EUR", "- South: 800 × 10^3 EUR"]),
    (f'SELECT MAX(s) FROM (SELECT "Region", SUM({WEIGHT}) AS s FROM T GROUP BY 1) AS x', [": 16 kg"]),
    (f'WITH x AS (SELECT "Region", SUM({WEIGHT}) AS s FROM T GROUP BY 1) SELECT MAX(x.s) FROM x', [": 16 kg"]),
    ("SELECT * FROM T LIMIT 1",
     [f"{REVENUE} 5 × 10^6 EUR, {COST} 900 × 10^3 EUR, {WEIGHT} 7 kg, {SHARE} 25 %".replace('"', "")]),
])  # fmt: skip
def test_each_number_has_the_unit_of_its_own_columns(
    write: Callable[[str], TableComputation], query: str, ends: list[str]
) -> None:
    found = write(query)
    assert not found.mixed
    lines = found.text.splitlines()[-len(ends) :]
    assert all(line.endswith(end) for line, end in zip(lines, ends, strict=True)), found.text


@pytest.mark.parametrize(("query", "mixed"), [
    (f"SELECT SUM({REVENUE}) - SUM({COST}) FROM T", "× 10^3 EUR, × 10^6 EUR"),
    (f"SELECT SUM({WEIGHT} + {SHARE}) FROM T", "%, kg"),
    (f"SELECT MAX(GREATEST({WEIGHT}, {SHARE})) FROM T", "%, kg"),
    (f"SELECT SUM(CASE WHEN \"Region\" = 'North' THEN {WEIGHT} ELSE {SHARE} END) FROM T", "%, kg"),
])  # fmt: skip
def test_numbers_of_different_units_are_not_put_together(
    write: Callable[[str], TableComputation], query: str, mixed: str
) -> None:
    found = write(query)
    assert found.mixed == mixed
    assert not found.text


def test_parts_that_are_named_twice_by_each_next_one_are_read_once() -> None:
    column = ColumnDescription(number=1, name="a", type=COLUMN_TYPE_NUMBER)
    parts = ["p0 AS (SELECT a FROM t)", *(f"p{at} AS (SELECT a + a AS a FROM p{at - 1})" for at in range(1, 40))]
    for last in ("SELECT a FROM p39", "SELECT x.a FROM p39 x JOIN p39 y ON x.a = y.a"):
        tree = sqlglot.parse_one(f"WITH {', '.join(parts)} {last}", dialect="duckdb")
        asked: list[str] = []

        def unit(table: TableDescription, one: ColumnDescription, asked: list[str] = asked) -> str:
            asked.append(one.name)
            return "kg"

        QueryUnits(tree, {"t": TableDescription(columns=[column])}, unit).of(["a"])
        assert len(asked) <= 1
