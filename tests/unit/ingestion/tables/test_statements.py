"""Statements over tables: what is let through, and what is refused before it runs; and the engine behind that."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from footnote_ingestion.tables.session import Session
from footnote_ingestion.tables.statements import RefusedStatement, checked
from support.hostile_queries import FUNCTIONS, HOSTILE, REACHING_OUT, STATEMENTS

VIEWS = ["t_abc_1", "t_abc_2"]


def test_hostile_statements_are_refused_before_they_run() -> None:
    for statement in HOSTILE:
        with pytest.raises(RefusedStatement):
            pytest.fail(f"let through: {checked(statement, VIEWS)}")


def test_there_are_three_hundred_of_them() -> None:
    assert len(set(HOSTILE)) >= 300


def test_no_statement_is_logged(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    for statement in ("EXECUTE secret_7", "PREPARE secret_7 AS SELECT 1", "CALL secret_7()"):
        with pytest.raises(RefusedStatement):
            checked(statement, VIEWS)
    assert "secret_7" not in "".join(capfd.readouterr()) + caplog.text


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT SUM(a), AVG(b), COUNT(*), COUNT(DISTINCT c) FROM t_abc_1 WHERE d LIKE 'x%' AND e BETWEEN 1 AND 2",
        'SELECT "a b", SUM("c › d") AS s FROM t_abc_1 GROUP BY 1 HAVING SUM("c › d") > 5 ORDER BY s DESC LIMIT 3',
        "SELECT x.a, y.a - x.a FROM t_abc_1 AS x FULL JOIN t_abc_2 AS y USING (k) WHERE x.a IS DISTINCT FROM y.a",
        "WITH s AS (SELECT a, SUM(b) AS b FROM t_abc_1 GROUP BY a) SELECT * FROM s WHERE b > (SELECT AVG(b) FROM s)",
        "SELECT a, RANK() OVER (PARTITION BY b ORDER BY c DESC) FROM t_abc_1",
        "SELECT YEAR(d), MONTH(d), COUNT(*) FROM t_abc_1 WHERE d >= DATE '2024-01-01' GROUP BY 1, 2",
        "SELECT a FROM t_abc_1 UNION ALL SELECT a FROM t_abc_2",
    ],
)
def test_questions_about_tables_are_let_through(statement: str) -> None:
    assert checked(statement, VIEWS)


def test_a_part_of_a_statement_never_reaches_the_catalogue() -> None:
    """Where the part's own name is read inside of it, the engine would look for a table of that name."""
    ran = checked("WITH sqlite_master AS (SELECT * FROM sqlite_master) SELECT * FROM sqlite_master", VIEWS)
    with pytest.raises(duckdb.Error):
        duckdb.connect().execute(ran)


def test_long_and_deep_statements_are_refused() -> None:
    for statement in (
        "SELECT " + "(" * 3000 + "1" + ")" * 3000,
        "SELECT " + "1+" * 3500 + "1",
        "SELECT '" + "x" * 9000,
    ):
        with pytest.raises(RefusedStatement):
            checked(statement, VIEWS)


REACHING = (
    *(f"SELECT * FROM {one}" for one in FUNCTIONS[:18]),
    *(one for one in STATEMENTS if one.startswith(("SET ", "RESET ", "INSTALL", "LOAD", "FORCE", "COPY", "EXPORT"))),
    "ATTACH '/tmp/x.db'", "SELECT * FROM '/etc/passwd'", "IMPORT DATABASE '/tmp/x'", *REACHING_OUT[:-1],
)  # fmt: skip


@pytest.mark.parametrize("statement", REACHING)
def test_the_engine_reaches_nothing_also_where_nothing_was_checked(statement: str, tmp_path: Path) -> None:
    """The second wall: the session's own lock."""
    session = Session(tmp_path / "tables", 256 << 20)
    with pytest.raises(duckdb.Error):
        session.connection.execute(statement)
