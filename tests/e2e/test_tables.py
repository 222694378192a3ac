"""Questions that tables answer: computed, the cells as footnotes; and queries of the tables themselves."""

import io
import time

import openpyxl
import pytest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, DeleteCollectionRequest
from footnote.edge.v1.system_pb2 import GetTraceRequest
from footnote.edge.v1.tables_pb2 import GetTableRequest, ListTablesRequest, QueryTablesRequest
from footnote.types.v1.answer_pb2 import BASIS_COMPUTED, VERDICT_SUPPORTED
from footnote.types.v1.collection_pb2 import Collection
from support.edge_client import EdgeClient

pytestmark = pytest.mark.slow

ROWS = 1500
DIFFERING = {"ART-0007": 5, "ART-0700": -3, "ART-1499": 12}


def workbook() -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Stocks"
    sheet.append(["Article", "Dépôt", "Stock"])
    for number in range(ROWS):
        sheet.append([f"ART-{number:04}", "Lyon" if number % 2 else "Nice", number % 97])
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


def inventory() -> bytes:
    lines = (f"ART-{number:04};{number % 97 + DIFFERING.get(f'ART-{number:04}', 0)}" for number in range(1, ROWS + 1))
    return ("Article;Stock\n" + "\n".join(lines) + "\n").encode()


async def test_two_files_are_compared_with_footnotes_in_both(edge: EdgeClient) -> None:
    await edge.stub.CreateCollection(CreateCollectionRequest(collection=Collection(name="stocks")))
    book = await edge.put(workbook(), "production.xlsx", "stocks")
    rows = await edge.put(inventory(), "inventaire.csv", "stocks")
    question = "Compare les stocks entre production.xlsx et inventaire.csv"
    await edge.answer(question, collections=["stocks"])  # the first one starts processes
    began = time.monotonic()
    done = await edge.answer(question, collections=["stocks"])
    seconds = time.monotonic() - began
    print(f"compared {ROWS} rows in {seconds:.2f} s")
    for article, value in DIFFERING.items():
        assert f"- {article}: {value:+d} [" in done.answer.text
    assert "ART-0001:" not in done.answer.text
    assert {one.document_id for one in done.answer.citations} == {book.id, rows.id}
    assert all((one.support, one.basis) == (VERDICT_SUPPORTED, BASIS_COMPUTED) for one in done.answer.citations)
    assert "ART-0000" in done.answer.text  # only in production.xlsx
    assert f"ART-{ROWS}" in done.answer.text  # only in inventaire.csv
    for one in done.answer.citations:
        marker = done.answer.text[one.marker_span.start : one.marker_span.end]
        assert marker == f"[{one.number}]"

    done = await edge.answer("Quel est le total du stock à Lyon dans production.xlsx ?", collections=["stocks"])
    assert str(sum(number % 97 for number in range(1, ROWS, 2))) in done.answer.text
    (claim,) = done.answer.claims
    assert claim.basis == BASIS_COMPUTED
    traced = (await edge.stub.GetTrace(GetTraceRequest(trace_id=done.trace_id))).spans
    (statement,) = {one.attributes["db.query.text"] for one in traced if "db.query.text" in one.attributes}
    assert statement.startswith("SELECT SUM(c1) FROM")
    assert not any(word in statement for word in ("Lyon", "Stock", "Dépôt"))
    assert done.answer.citations[0].locator.sheet.sheet == "Stocks"

    done = await edge.answer("Quel est le poids total du stock dans production.xlsx ?", collections=["stocks"])
    assert all(one.basis != BASIS_COMPUTED for one in done.answer.citations)  # nothing there is a weight
    assert any("Not understood in the question: poids." in warning for warning in done.answer.warnings)
    spans = {one.name for one in (await edge.stub.GetTrace(GetTraceRequest(trace_id=done.trace_id))).spans}
    assert any("ComputeAnswer" in name for name in spans)
    assert not any("WriteTableQuery" in name for name in spans)  # there is no model to write one

    (table,) = (await edge.stub.ListTables(ListTablesRequest(document_id=book.id))).tables
    assert (table.name, table.rows) == ("Stocks", ROWS)
    page = await edge.stub.GetTable(GetTableRequest(document_id=book.id, number=1, page_size=2))
    assert [[cell.text for cell in row.cells] for row in page.rows] == [
        ["ART-0000", "Nice", "0"],
        ["ART-0001", "Lyon", "1"],
    ]
    found = await edge.stub.QueryTables(
        QueryTablesRequest(document_ids=[book.id], query=f'SELECT MAX("Stock") FROM {table.view}')
    )
    assert found.result.rows[0][0] == 96
    await edge.stub.DeleteCollection(DeleteCollectionRequest(collection="stocks"))
