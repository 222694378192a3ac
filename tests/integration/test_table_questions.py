"""Questions that are computed from tables without a model, over gRPC: what comes out, and what is said of it."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from uuid import uuid4

import openpyxl
import pytest
import pytest_asyncio
from footnote.ingestion.v1 import ingestion_service_pb2 as pb
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_SYSTEM
from footnote_ingestion.app import build
from footnote_kit.testing import serve_app
from support.ingestion_client import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")

ORDERS = """Order;Buyer;Town;State;Ordered;Pieces;Reserve;Amount (EUR)
B-1;Berg, Anna;Lyon;unpaid;03.06.2025;10;4;100,00
B-2;Roth, Karl;Nice;paid;05.06.2025;3;4;50,50
B-3;Berg, Anna;Lyon;paid;07.07.2025;1;4;25,00
B-4;Adam, Jean;Nice;unpaid;09.07.2025;9;9;24,50
B-5;Roth, Karl;Brest;entry;11.07.2025;7;8;200,00
"""


def pay() -> bytes:
    """A workbook with a sheet for each month, whose last row adds up the others, named in a column of numbers."""
    book = openpyxl.Workbook()
    for sheet, month in ((book.active, "January"), (book.create_sheet(), "February")):
        assert sheet is not None
        sheet.title = month
        sheet.append(["No.", "Name", "Hours", "Overtime"])
        for row in ([1001, "Berg, Anna", 160, 4], [1002, "Roth, Karl", 120, 8], [1003, "Adam, Jean", 80, 0]):
            sheet.append([*row[:3], row[3] + (month == "February")])
        sheet.append(["Total", None, 360, 12 + 3 * (month == "February")])
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def spending() -> bytes:
    """A workbook with a list of amounts, and a sheet with their sums by programme."""
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.title = "Spending"
    for row in (["Code", "Programme", "Amount"], ["01-1", "Roads", 50], ["02-1", "Parks", 40], ["01-2", "Roads", 30]):
        book.active.append(row)
    by_programme = book.create_sheet("By programme")
    for row in (["Programme", "Amount", "Percent"], ["Roads", 80, 66.7], ["Parks", 40, 33.3]):
        by_programme.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


class Asked:
    """Documents of one tenant, and what is computed from them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._ids: dict[str, str] = {}

    async def put(self, name: str, content: bytes) -> None:
        document = (await self._client.upload(content, name)).document
        await self._client.parse(document.id)
        self._ids[name] = document.id

    async def computed(self, name: str, question: str, locale: str = "en") -> pb.ComputeAnswerResponse:
        return await self._client.stub.ComputeAnswer(
            pb.ComputeAnswerRequest(
                scope=self._client.scope, question=question, document_ids=[self._ids[name]], locale=locale
            )
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def asked(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Asked]:
    """Ingestion that holds a list of orders and a workbook of two months."""
    async with serve_app(build, data_dir=tmp_path_factory.mktemp("data")) as served:
        found = Asked(Client(served, Scope(tenant_id=uuid4().hex, user_id="u", roles=[ROLE_SYSTEM])))
        await found.put("orders.csv", ORDERS.encode())
        await found.put("pay.xlsx", pay())
        await found.put("spending.xlsx", spending())
        yield found


@pytest.mark.parametrize(
    ("name", "question", "locale", "said"),
    [
        ("orders.csv", "How many different towns are there?", "en", "different values of Town: 3"),
        ("orders.csv", "Wie viele verschiedene Town gibt es?", "de", "verschiedener Werte von Town: 3"),
        ("orders.csv", "How many different towns have buyers?", "en", "different values of Town: 3"),
        ("orders.csv", "Difference between pieces and reserve of B-1", "en", "where Order = B-1: 6"),
        ("orders.csv", "What percentage of the total amount is Lyon?", "en", "in percent: 31.25 %"),
        ("orders.csv", "What share of the orders is unpaid?", "en", "Share of State = unpaid in the number of rows"),
        ("orders.csv", "What share of the orders is unpaid?", "en", "in percent: 40 %"),
        ("orders.csv", "How many orders have pieces below the reserve?", "en", "where Pieces < Reserve: 3"),
        ("orders.csv", "Which orders have pieces at least the reserve?", "en", "- B-4: 9"),
        ("orders.csv", "Total amount of all entries", "en", "Sum of Amount (EUR): 400 EUR"),
        ("orders.csv", "top 2 towns by amount", "en", "- Brest: 200 EUR\n- Lyon: 125 EUR"),
        ("orders.csv", "Total amount of Anna Berg", "en", "where Buyer = Berg, Anna: 125 EUR"),
        ("pay.xlsx", "Total overtime in January", "en", "Overtime: 12"),
        ("pay.xlsx", "Total overtime in February, please", "en", "Overtime: 15"),
        ("pay.xlsx", "Average hours of February", "en", "Hours: 120"),
        ("spending.xlsx", "Which programme has the highest amount?", "en", "- Roads: 80"),
    ],
)
async def test_it_is_computed(asked: Asked, name: str, question: str, locale: str, said: str) -> None:
    found = (await asked.computed(name, question, locale)).computation
    assert said in found.text
    assert found.confirmed
    assert not found.doubts


@pytest.mark.parametrize(
    ("question", "said", "left_out"),
    [
        ("How many paid consignments came from the buyers?", "State = paid: 2", "consignments, came"),
        ("What did the total amount reach in Lyon?", "Town = Lyon: 125 EUR", "reach"),
        ("What is the average amount booked?", "Amount (EUR): 80 EUR", "booked"),
    ],
)
async def test_a_word_that_is_left_out_is_said_as_a_doubt(
    asked: Asked, question: str, said: str, left_out: str
) -> None:
    found = await asked.computed("orders.csv", question)
    assert said in found.computation.text
    assert found.computation.confirmed
    assert found.computation.doubts == [f"The query leaves out of the question: {left_out}."]
    assert found.tables, "for what may read the question better"


@pytest.mark.parametrize(
    "question",
    [
        "Total amount of Toulouse",  # a name
        "Total amount without Lyon",  # it turns the meaning
        "Total amount of Lyon rather than Nice",
        "Total amount booked, dispatched and returned",  # too many
        "Total amount of order 77",  # a number
        "Total shipping for Lyon",  # nothing that it would be the total of
        "How many consignments came?",  # nothing that counts which
        "What share of Lyon's amount is unpaid?",  # of Lyon, or of all
        "What percentage of the amount is pieces in Lyon?",  # one column of another
        "Average amount of the second order booked",  # an ordinal
        "What did the total amount reach in Brest?",  # one cell, which is quoted
        "Total overtime in March",  # another month than any sheet's
        "Which name has the highest hours?",  # in either month
    ],
)
async def test_what_would_change_the_number_is_never_left_out(asked: Asked, question: str) -> None:
    for name in ("orders.csv", "pay.xlsx"):
        assert not (await asked.computed(name, question)).computation.text
