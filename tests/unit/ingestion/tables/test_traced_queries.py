"""What a trace shows of a query: its structure, and no text of a document unless contents are recorded."""

from __future__ import annotations

import pytest
from footnote.stages.v1.scope_pb2 import Scope
from footnote_ingestion.tables.statements import checked
from footnote_ingestion.tables.traced_queries import record_query, without_texts
from footnote_kit import context, names, telemetry

VIEW = "t_abcdefabcdef_1"


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        (
            f"SELECT SUM(\"Units\") FROM {VIEW} WHERE Town = 'O''Hara' AND \"Units\" > 1500.5 ORDER BY _row LIMIT 3",
            f'SELECT SUM(c1) FROM "{VIEW}" WHERE c2 = ? AND c1 > ? ORDER BY "_row" LIMIT ?',
        ),
        (
            f"WITH secret AS (SELECT a, SUM(b) AS b FROM {VIEW} GROUP BY 1) SELECT * FROM secret",
            f'WITH c1 AS (SELECT c2, SUM(c3) AS c3 FROM "{VIEW}" GROUP BY ?) SELECT * FROM c1 AS c4',
        ),
        (
            f"SELECT a FROM {VIEW} AS Müller /* Anna */ WHERE d >= DATE '2024-01-01' -- Berta",
            f'SELECT c1 FROM "{VIEW}" AS c2 WHERE c3 >= CAST(? AS DATE)',
        ),
        (f'SELECT "say ""hi"" 7" FROM {VIEW}', f'SELECT c1 FROM "{VIEW}"'),
    ],
)
def test_texts_numbers_and_names_of_documents_are_left_out(query: str, shown: str) -> None:
    assert without_texts(checked(query, [VIEW])) == shown


@pytest.mark.parametrize("wanted", [False, True])
def test_a_span_has_the_texts_only_where_contents_are_recorded(wanted: bool) -> None:
    context.bind_scope(Scope(tenant_id="t", user_id="u"))
    statement = checked(f'SELECT "Salary" FROM {VIEW} WHERE "Name" = \'Anna\'', [VIEW])
    telemetry.capture_content(wanted)
    try:
        with telemetry.span("query"):
            trace_id = telemetry.current_trace_id()
            record_query(statement)
    finally:
        telemetry.capture_content(False)
    (found,) = telemetry.ring.spans(int(trace_id, 16), "t")
    recorded = str((found.attributes or {})[names.DB_QUERY_TEXT])
    assert recorded.startswith("SELECT")
    assert ("Anna" in recorded, "Salary" in recorded) == (wanted, wanted)
    assert f'FROM "{VIEW}"' in recorded
