"""Tables as data, over gRPC: stored next to the file, described, read with their cells, queried in the sandbox."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import openpyxl
import pytest
import pytest_asyncio
from footnote.ingestion.v1 import ingestion_service_pb2 as pb
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_SYSTEM
from footnote.types.v1.table_pb2 import COLUMN_TYPE_DATE, COLUMN_TYPE_NUMBER, COLUMN_TYPE_TEXT
from footnote_ingestion.app import build
from footnote_ingestion.documents.tables import MOST_DOCUMENTS
from footnote_kit.errors import FailedPrecondition, InvalidArgument, NotFound
from footnote_kit.paging import PAGE_BYTES
from footnote_kit.testing import Served, serve_app
from support.ingestion_client import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")

CSV = "Item;Town;Units;Price (€);Seen\n" + "".join(
    f"I-{n};{'Lyon' if n % 2 else 'Nice'};{'' if n == 7 else n};{n},50;0{1 + n % 9}.03.2025\n" for n in range(1, 61)
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    """Ingestion for the whole module."""
    async with serve_app(build, data_dir=tmp_path_factory.mktemp("data")) as running:
        yield running


@pytest.fixture
def client(served: Served) -> Client:
    """A client of ingestion in a tenant of its own."""
    return Client(served, Scope(tenant_id=uuid4().hex, user_id="u", roles=[ROLE_SYSTEM]))


async def query(client: Client, statement: str, *ids: str) -> pb.QueryTablesResponse:
    request = pb.QueryTablesRequest(scope=client.scope, document_ids=ids, query=statement)
    return await client.stub.QueryTables(request)


async def described(client: Client, document_id: str) -> pb.DescribeTablesResponse:
    return await client.stub.DescribeTables(pb.DescribeTablesRequest(scope=client.scope, document_id=document_id))


def kept(client: Client) -> list[Path]:
    folder = client.data_dir / "ingestion" / "blobs" / "tables"
    return [path for path in folder.rglob("*") if path.is_file() and client.scope.tenant_id in str(path)]


async def test_a_table_is_described_and_read_with_its_cells(client: Client) -> None:
    document = (await client.upload(CSV.encode(), "stock.csv")).document
    await client.parse(document.id)
    (table,) = (await described(client, document.id)).tables
    assert [column.name for column in table.columns] == ["Item", "Town", "Units", "Price (€)", "Seen"]
    assert [column.type for column in table.columns] == [
        COLUMN_TYPE_TEXT, COLUMN_TYPE_TEXT, COLUMN_TYPE_NUMBER, COLUMN_TYPE_NUMBER, COLUMN_TYPE_DATE,
    ]  # fmt: skip
    assert (table.rows, table.filename, table.columns[3].measure.currency) == (60, "stock.csv", "EUR")
    request = pb.ReadTableRequest(scope=client.scope, document_id=document.id, number=1, page_size=40)
    first = await client.stub.ReadTable(request)
    request.page_token = first.next_page_token
    second = await client.stub.ReadTable(request)
    rows = [*first.rows, *second.rows]
    assert [row.row for row in rows] == list(range(2, 62))
    assert not second.next_page_token
    assert [one.text for one in rows[2].cells] == ["I-3", "Lyon", "3", "3,50", "04.03.2025"]
    assert (rows[2].cells[3].cell.row, rows[2].cells[3].cell.column, rows[2].cells[3].cell.number) == (4, 4, 3.5)
    assert len(rows[6].cells) == 4  # the empty one is left out
    with pytest.raises(NotFound) as caught:
        await client.stub.ReadTable(pb.ReadTableRequest(scope=client.scope, document_id=document.id, number=2))
    assert caught.value.reason == "TABLE_NOT_FOUND"


async def test_two_documents_are_queried_together(client: Client) -> None:
    book = openpyxl.Workbook()
    book.active.title = "Stock"
    for row in [("Item", "Units"), *((f"I-{n}", 2 * n) for n in range(1, 61))]:
        book.active.append(row)
    data = io.BytesIO()
    book.save(data)
    one = (await client.upload(CSV.encode(), "a.csv")).document
    two = (await client.upload(data.getvalue(), "b.xlsx")).document
    (a,), (b,) = (await described(client, one.id)).tables, (await described(client, two.id)).tables
    assert b.name == "Stock"
    statement = (
        f'SELECT x."Item", y."Units" - x."Units" AS d FROM {a.view} x JOIN {b.view} y USING ("Item") '
        "WHERE x.\"Town\" = 'Lyon' ORDER BY d DESC NULLS LAST LIMIT 2"
    )
    result = (await query(client, statement, one.id, two.id)).result
    assert [list(row) for row in result.rows] == [["I-59", 59.0], ["I-57", 57.0]]
    result = (await query(client, f'SELECT SUM("Units"), COUNT("Units"), MAX("Seen") FROM {a.view}', one.id)).result
    assert list(result.rows[0]) == [60 * 61 / 2 - 7, 59.0, "2025-03-09"]


async def test_tables_end_with_their_document(client: Client) -> None:
    document = (await client.upload(CSV.encode(), "stock.csv")).document
    await client.parse(document.id)
    assert len(kept(client)) == 1
    await client.replace(document.id, b"Item;Units\nA;1\nB;2\n", "stock.csv")
    assert kept(client) == []
    (table,) = (await described(client, document.id)).tables  # read on demand, and kept
    assert table.rows == 2
    assert len(kept(client)) == 1
    await client.delete(document.id)
    assert kept(client) == []
    with pytest.raises(NotFound):
        await described(client, document.id)


async def test_documents_without_tables_have_none(client: Client) -> None:
    document = (await client.upload(b"Some words, no table.\n" * 5000, "words.txt")).document
    assert not (await described(client, document.id)).tables
    await client.parse(document.id)
    assert not (await described(client, document.id)).tables
    with pytest.raises(InvalidArgument):
        await query(client, "SELECT 1", document.id)


async def test_tables_of_others_cannot_be_named(served: Served, client: Client) -> None:
    mine = (await client.upload(CSV.encode(), "mine.csv")).document
    other = Client(served, Scope(tenant_id=uuid4().hex, user_id="u", roles=[ROLE_SYSTEM]))
    theirs = (await other.upload(CSV.encode(), "theirs.csv")).document
    (table,) = (await described(other, theirs.id)).tables
    for ids in [(theirs.id,), (mine.id, theirs.id)]:
        with pytest.raises(NotFound):
            await query(client, f"SELECT * FROM {table.view}", *ids)
    with pytest.raises(InvalidArgument, match="not among those asked"):
        await query(client, f"SELECT * FROM {table.view}", mine.id)


async def test_a_statement_that_costs_too_much_ends_typed(client: Client) -> None:
    document = (await client.upload(("N\n" + "1\n" * 3000).encode(), "n.csv")).document
    (table,) = (await described(client, document.id)).tables
    name = table.columns[0].name
    joins = " ".join(f'JOIN {table.view} x{n} ON x0."{name}" = x{n}."{name}"' for n in range(1, 6))
    with pytest.raises(FailedPrecondition) as caught:
        await query(client, f"SELECT COUNT(*) FROM {table.view} x0 {joins}", document.id)
    assert caught.value.reason == "QUERY_TOO_COSTLY"
    assert (await query(client, f"SELECT COUNT(*) FROM {table.view}", document.id)).result.rows[0][0] == 3000


async def test_requests_are_bounded(client: Client) -> None:
    for ids, statement in [((), "SELECT 1"), (("x",) * (MOST_DOCUMENTS + 1), "SELECT 1"), (("x",), " ")]:
        with pytest.raises(InvalidArgument):
            await query(client, statement, *ids)


async def test_wide_rows_come_in_pages_that_every_client_accepts(client: Client) -> None:
    wide = ";".join(f"C{n}" for n in range(60)) + "\n"
    wide += "".join(";".join(f"r{row}c{n}".ljust(60, "x") for n in range(60)) + "\n" for row in range(1000))
    document = (await client.upload(wide.encode(), "wide.csv")).document
    await client.parse(document.id)
    (table,) = (await described(client, document.id)).tables
    request = pb.ReadTableRequest(scope=client.scope, document_id=document.id, number=1, page_size=1000)
    rows: list[int] = []
    while not rows or request.page_token:
        page = await client.stub.ReadTable(request)
        assert page.ByteSize() <= PAGE_BYTES
        assert page.total_size == 1000
        rows += [row.row for row in page.rows]
        request.page_token = page.next_page_token
    assert rows == list(range(2, 1002))
    result = (await query(client, f"SELECT _row, * FROM {table.view}", document.id)).result
    assert result.ByteSize() <= PAGE_BYTES
    assert result.truncated
    assert [row[0] for row in result.rows] == list(range(2, len(result.rows) + 2))
