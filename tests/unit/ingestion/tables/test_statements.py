"""Statements over tables: what is let through, and what is refused before it runs; and the engine behind that."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from footnote_ingestion.tables.engine import Session
from footnote_ingestion.tables.statements import RefusedStatement, checked

VIEWS = ["t_abc_1", "t_abc_2"]
FUNCTIONS = (
    "read_csv('/etc/passwd')", "read_csv_auto('x')", "read_text('/etc/passwd')", "read_blob('/etc/passwd')",
    "read_parquet('x')", "read_json('x')", "read_json_auto('x')", "read_json_objects('x')", "read_ndjson('x')",
    "parquet_scan('x')", "parquet_metadata('x')", "parquet_schema('x')", "parquet_file_metadata('x')",
    "parquet_kv_metadata('x')", "parquet_bloom_probe('x', 'a', 1)", "sniff_csv('x')", "glob('/*')", "read_duckdb('x')",
    "sqlite_scan('x', 'y')", "postgres_scan('x', 'y', 'z')", "postgres_query('x', 'y')", "mysql_query('x', 'y')",
    "iceberg_scan('x')", "delta_scan('x')", "st_read('x')", "read_xlsx('x')", "duckdb_settings()", "duckdb_secrets()",
    "duckdb_functions()", "duckdb_tables()", "duckdb_views()", "duckdb_columns()", "duckdb_databases()",
    "duckdb_extensions()", "duckdb_logs()", "duckdb_temporary_files()", "duckdb_memory()", "duckdb_variables()",
    "which_secret('s3://x', 's3')", "pragma_database_size()", "pragma_show('x')", "pragma_table_info('x')",
    "pragma_storage_info('x')", "pragma_version()", "query('SELECT 1')",
    "query_table('x')", "json_execute_serialized_sql('x')",
    "range(1000000000000)", "generate_series(1, 1000000000000)", "repeat_row(1, num_rows=1000000000000)", "unnest([1])",
    "test_all_types()", "summary(x)", "checkpoint()", "force_checkpoint()", "repeat('x', 100)", "arrow_scan(1, 2, 3)",
    "pandas_scan(1)", "python_map_function(1)", "seq_scan('x')", "index_scan('x')", "read_arrow('x')",
    "load_aws_credentials()",
    "shell('id')", "http_get('http://x')", "open_prompt('x')", "scrooge('x')",
)  # fmt: skip
SCALARS = (
    "getenv('HOME')", "current_setting('memory_limit')", "getvariable('x')", "version()", "current_user",
    "current_database()", "current_schema()", "current_query()", "txid_current()", "now()", "current_date",
    "current_timestamp", "random()", "uuid()", "gen_random_uuid()", "setseed(0.5)", "nextval('s')", "currval('s')",
    "error('x')", "sleep_ms(100000)", "repeat('x', 1000000000)", "lpad('x', 1000000000, 'y')", "rpad('x', 9, 'y')",
    "list_value(1)", "range(1000000000)", "generate_series(1, 1000000000)", "regexp_matches('a', '(a+)+$')",
    "regexp_replace('a', 'b', 'c')", "'a' SIMILAR TO 'b'", "md5('x')", "hash('x')", "sha256('x')", "encode('x')",
    "parse_path('x')", "json_serialize_sql('SELECT 1')", "json_deserialize_sql('x')", "write_log('x')",
    "add_parquet_key('a', 'b')", "in_search_path('a', 'b')", "pg_typeof(1)", "typeof(1)", "stats(1)", "alias(1)",
    "list_transform([1], x -> x)", "[x FOR x IN [1]]", "{'a': 1}", "MAP {'a': 1}", "$1", "?", "bit_count(1)",
    "aggregate([1], 'sum')", "string_agg('x', 'y')", "group_concat('x')", "list('x')", "array_agg(1)", "histogram(1)",
    "CAST('x' AS BLOB)", "CAST('x' AS JSON)", "'x'::STRUCT(a INT)", "COLUMNS('.*')", "factorial(20)", "1 ** 1000",
)  # fmt: skip
STATEMENTS = (
    "PRAGMA database_list", "PRAGMA enable_profiling", "SET memory_limit='1TB'", "RESET memory_limit",
    "SET GLOBAL enable_external_access=true", "INSTALL httpfs", "LOAD httpfs", "FORCE INSTALL spatial",
    "ATTACH '/tmp/x.db'", "ATTACH ':memory:' AS y", "DETACH x", "USE x", "COPY t_abc_1 TO '/tmp/x'",
    "COPY (SELECT 1) TO '/dev/stdout'", "COPY t_abc_1 FROM '/etc/passwd'", "EXPORT DATABASE '/tmp/x'",
    "IMPORT DATABASE '/tmp/x'", "CREATE TABLE x AS SELECT 1", "CREATE VIEW x AS SELECT 1", "CREATE MACRO f(x) AS x",
    "CREATE SECRET (TYPE s3)", "CREATE TYPE x AS ENUM ('a')", "CREATE SEQUENCE s", "CREATE SCHEMA s",
    "CREATE TEMP TABLE x (y INT)", "DROP VIEW t_abc_1", "ALTER VIEW t_abc_1 RENAME TO x", "DELETE FROM t_abc_1",
    "INSERT INTO t_abc_1 VALUES (1)", "UPDATE t_abc_1 SET a = 1", "TRUNCATE t_abc_1", "VACUUM", "ANALYZE", "CHECKPOINT",
    "CALL pragma_version()", "EXPLAIN SELECT 1", "EXPLAIN ANALYZE SELECT 1", "DESCRIBE t_abc_1", "SHOW TABLES",
    "SUMMARIZE t_abc_1", "PREPARE p AS SELECT 1", "EXECUTE p", "DEALLOCATE p", "BEGIN", "COMMIT", "VALUES (1)",
    "FROM t_abc_1 SELECT getenv('HOME')", "SELECT 1; SELECT 2", "SELECT 1; DROP VIEW t_abc_1", "", ";", "--", "SELECT",
    "PIVOT t_abc_1 ON a USING sum(b)", "UNPIVOT t_abc_1 ON a INTO NAME n VALUE v", "SELECT * FROM t_abc_1, t_abc_2",
    "SELECT * FROM t_abc_1 CROSS JOIN t_abc_2", "SELECT * FROM t_abc_1 NATURAL JOIN t_abc_2",
    "SELECT * FROM t_abc_1 POSITIONAL JOIN t_abc_2",
    "WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT 1 FROM r) SELECT * FROM r",
    "SELECT * FROM '/etc/passwd'", "SELECT * FROM \"/etc/passwd\"", "SELECT * FROM 'https://x.invalid/a.csv'",
    "SELECT * FROM 's3://x/y.parquet'", "SELECT * FROM 'x.json'", "SELECT * FROM information_schema.tables",
    "SELECT * FROM sqlite_master", "SELECT * FROM sqlite_schema", "SELECT * FROM pg_catalog.pg_class",
    "SELECT * FROM main.t_abc_1", "SELECT * FROM memory.main.t_abc_1", "SELECT * FROM raw_t_abc_1",
    "SELECT * FROM t_other_1", "SELECT * FROM duckdb_tables", "SELECT * FROM df", "SELECT * FROM VIEWS",
    "SELECT * FROM (VALUES (1)) v", "SELECT * FROM t_abc_1 TABLESAMPLE 10%", "SELECT * INTO x FROM t_abc_1",
    "SELECT * FROM t_abc_1 AT (VERSION => 1)", "SELECT (SELECT a FROM t_other_1)", "SELECT * FROM t_abc_1 FOR UPDATE",
    "SELECT 1 UNION ALL SELECT a FROM t_other_1", "SELECT * EXCLUDE (a) FROM read_csv('x')",
    "SELECT /* */ a FROM t_abc_1 WHERE a = (SELECT content FROM read_text('/etc/passwd'))",
    "SELECT a FROM t_abc_1 QUALIFY getenv('x') = 'y'", "SELECT a FROM t_abc_1 ORDER BY getenv('x')",
    "SELECT a FROM t_abc_1 GROUP BY getenv('x')", "SELECT a FROM t_abc_1 LIMIT (SELECT 1 FROM read_text('x'))",
    "SELECT CASE WHEN 1 = 1 THEN getenv('x') END", "SELECT COALESCE(NULL, current_setting('x'))",
)  # fmt: skip
HOSTILE = (
    *(f"SELECT * FROM {one}" for one in FUNCTIONS),
    *(f"SELECT {one} FROM t_abc_1" for one in SCALARS),
    *STATEMENTS,
)


@pytest.mark.parametrize("statement", HOSTILE)
def test_hostile_statements_are_refused_before_they_run(statement: str) -> None:
    with pytest.raises(RefusedStatement):
        checked(statement, VIEWS)


def test_there_are_two_hundred_of_them() -> None:
    assert len(set(HOSTILE)) >= 200


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
    "ATTACH '/tmp/x.db'", "SELECT * FROM '/etc/passwd'", "IMPORT DATABASE '/tmp/x'",
)  # fmt: skip


@pytest.mark.parametrize("statement", REACHING)
def test_the_engine_reaches_nothing_also_where_nothing_was_checked(statement: str, tmp_path: Path) -> None:
    """The second wall: the session's own lock."""
    session = Session(tmp_path / "tables", 256 << 20)
    with pytest.raises(duckdb.Error):
        session.connection.execute(statement)
