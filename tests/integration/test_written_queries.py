"""Statements that a model wrote, over gRPC: held to what may run, computed again, and compared with the question."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
import pytest_asyncio
from footnote.ingestion.v1 import ingestion_service_pb2 as pb
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_SYSTEM
from footnote_ingestion.app import build
from footnote_kit.testing import serve_app
from support.ingestion_client import Client

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.full]

STOCK = "Item;Town;Units;Price (€);Seen\n" + "".join(
    f"I-{n};{'Lyon' if n % 2 else 'Nice'};{'' if n == 7 else n};{n},50;0{1 + n % 9}.03.2025\n" for n in range(1, 61)
)
COUNTED = "Item;Units\n" + "".join(f"I-{n};{n + (5 if n == 9 else 0)}\n" for n in range(3, 61))


class Tables:
    """Two tables of one tenant, and what a statement over them gives."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.ids: list[str] = []
        self.views: list[str] = []

    async def put(self) -> None:
        for name, text in (("stock.csv", STOCK), ("counted.csv", COUNTED)):
            document = (await self._client.upload(text.encode(), name)).document
            await self._client.parse(document.id)
            request = pb.DescribeTablesRequest(scope=self._client.scope, document_id=document.id)
            self.ids.append(document.id)
            self.views += [one.view for one in (await self._client.stub.DescribeTables(request)).tables]

    async def computed(self, question: str, query: str) -> pb.ComputeAnswerResponse:
        """Compute `query`, in which {0} and {1} are the tables."""
        return await self._client.stub.ComputeAnswer(
            pb.ComputeAnswerRequest(
                scope=self._client.scope, question=question, document_ids=self.ids, locale="en",
                query=query.format(*self.views),
            )
        )  # fmt: skip

    async def again(self, query: str) -> list[list[object]]:
        """Run a recorded statement as callers do."""
        request = pb.QueryTablesRequest(scope=self._client.scope, document_ids=self.ids, query=query)
        return [list(row) for row in (await self._client.stub.QueryTables(request)).result.rows]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tables(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Tables]:
    """Ingestion that holds the tables which statements query."""
    async with serve_app(build, data_dir=tmp_path_factory.mktemp("data")) as served:
        found = Tables(Client(served, Scope(tenant_id=uuid4().hex, user_id="u", roles=[ROLE_SYSTEM])))
        await found.put()
        yield found


@pytest.mark.parametrize(
    ("question", "query", "said"),
    [
        ("What is the total of Units in Lyon?", "SELECT SUM(\"Units\") FROM {0} WHERE \"Town\" = 'Lyon'", "893"),
        ("Average Price by Town", 'SELECT "Town", AVG("Price (€)") FROM {0} GROUP BY 1', "Nice: 31.5 EUR"),
        ("How many items have over 50 Units in stock.csv?", 'SELECT COUNT(*) FROM {0} WHERE "Units" > 50', "10"),
        ("The two items with the highest Price", 'SELECT "Item", "Price (€)" FROM {0} ORDER BY 2 DESC LIMIT 2', "I-59"),
        (
            "What is the difference of Units between stock.csv and counted.csv?",
            'SELECT "Item", b."Units" - a."Units" AS d FROM {0} a JOIN {1} b USING ("Item") WHERE "Item" = \'I-9\'',
            "I-9: 5",
        ),
        (
            "Units of the towns above the average",
            'WITH s AS (SELECT "Town" AS t, SUM("Units") AS u FROM {0} GROUP BY 1) '
            "SELECT t, u FROM s WHERE u > (SELECT AVG(u) FROM s)",
            "Nice: 930",
        ),
        ("Seen before 3 March 2025", "SELECT COUNT(*) FROM {0} WHERE \"Seen\" < DATE '2025-03-03'", "13"),
        ("Seen in March", 'SELECT COUNT(*) FROM {0} WHERE MONTH("Seen") = 3', "60"),
        ("Units in Nice", "SELECT SUM(\"Units\") FILTER (WHERE \"Town\" = 'Nice') FROM {0}", "930"),
        ("Which differ?", 'SELECT COUNT(*) FROM {0} a JOIN {1} b ON a."Item" = b."Item" '
         'WHERE a."Units" IS DISTINCT FROM b."Units"', "2"),
    ],
)  # fmt: skip
async def test_right_statements_are_computed_twice_and_can_be_run_again(
    tables: Tables, question: str, query: str, said: str
) -> None:
    answer = await tables.computed(question, query)
    assert not answer.problem
    assert answer.computation.confirmed
    assert said in answer.computation.text
    assert answer.computation.cells
    assert set(answer.computation.document_ids) <= set(tables.ids)
    assert await tables.again(answer.computation.query)


async def test_the_cells_are_those_that_went_in(tables: Tables) -> None:
    answer = await tables.computed("Units in Lyon", 'SELECT SUM("Units") FROM {0} WHERE "Town" = \'Lyon\'')
    (cells,) = answer.computation.cells
    assert (cells.column, cells.count, cells.ranges[0]) == ("Units", 29, "C2")
    assert "C8" not in cells.ranges  # row 8 holds no number
    first = await tables.computed("Highest price", 'SELECT "Item", "Price (€)" FROM {0} ORDER BY 2 DESC LIMIT 1')
    assert [list(one.ranges) for one in first.computation.cells] == [["D61"]]


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("What is the total of Units in Lyon?", 'SELECT SUM("Units") FROM {0}'),
        ("What is the total of Units in Lyon?", 'SELECT SUM("Units") FROM {0} WHERE "Town" = \'Nice\''),
        ("What is the total of Units in Lyon?", 'SELECT SUM("Units") FROM {0} WHERE "Town" <> \'Lyon\''),
        ("What is the total of Units in Lyon?", 'SELECT AVG("Units") FROM {0} WHERE "Town" = \'Lyon\''),
        ("What is the total of Units in Lyon?", 'SELECT SUM(DISTINCT "Units") FROM {0} WHERE "Town" = \'Lyon\''),
        ("What is the total of Units in Lyon?", 'SELECT SUM("Units") * 2 FROM {0} WHERE "Town" = \'Lyon\''),
        ("What is the total of Units in Lyon?", 'SELECT SUM("Price (€)") FROM {0} WHERE "Town" = \'Lyon\''),
        ("What is the total of Units in Lyon?", 'SELECT SUM("Units") FROM {0} WHERE "Town" = \'Lyon\' OR 1 = 1'),
        ("What is the total margin?", 'SELECT SUM("Price (€)") FROM {0}'),
        ("What is the total of Units?", 'SELECT SUM("Units") FROM {1}'),
        ("The two items with the highest Price", 'SELECT "Item", "Price (€)" FROM {0} ORDER BY 2 DESC LIMIT 3'),
        ("The two items with the highest Price", 'SELECT "Item", "Price (€)" FROM {0} ORDER BY 2 LIMIT 2'),
        ("How many items have over 50 Units in stock.csv?", 'SELECT COUNT(*) FROM {0} WHERE "Units" < 50'),
        ("How many items have over 50 Units in stock.csv?", 'SELECT COUNT(*) FROM {0} WHERE "Units" > 5'),
        ("What is the total of Units in Lyon in stock.csv?", 'SELECT SUM("Units") FROM {0} WHERE "Town" >= \'Lyon\''),
        ("What is the total of Units in stock.csv?", 'SELECT SUM("Units") FROM {0} WHERE "Units" > "Units" - 1'),
        ("What is the total of Units in stock.csv?", 'SELECT SUM("Units") FROM {0} WHERE "Units" = "Price (€)"'),
        ("What is the total of Units in stock.csv?", 'SELECT -SUM("Units") FROM {0}'),
        ("What is the average of Units in stock.csv?", 'SELECT ROUND(AVG("Units")) FROM {0}'),
        ("Which Item has the highest Units in stock.csv?",
         'SELECT "Item", "Units" FROM {0} ORDER BY CAST("Units" AS VARCHAR) DESC LIMIT 1'),
        ("Which Item has the highest Units in stock.csv?",
         'SELECT "Item", "Units" FROM {0} ORDER BY "Item" DESC LIMIT 1'),
        ("Which Item has the highest Units in stock.csv?",
         'SELECT "Item", "Units" FROM {0} ORDER BY "Town" DESC LIMIT 1'),
        ("What is the total of Units in stock.csv in 2025?",
         'SELECT SUM("Units") FROM {0} WHERE "Seen" >= DATE \'2025-03-04\''),
        ("What is the total of Units in stock.csv on 2025-03-04?",
         'SELECT SUM("Units") FROM {0} WHERE "Seen" BETWEEN DATE \'2025-03-04\' AND DATE \'2025-04-03\''),
        ("What is the total of Units in stock.csv between 2025-03-02 and 2025-03-04?",
         'SELECT SUM("Units") FROM {0} WHERE "Seen" >= DATE \'2025-03-02\' AND "Seen" < DATE \'2025-03-04\''),
    ],
)  # fmt: skip
async def test_wrong_statements_are_never_taken_for_what_was_asked(tables: Tables, question: str, query: str) -> None:
    answer = await tables.computed(question, query)
    assert answer.problem or answer.computation.doubts


@pytest.mark.parametrize(
    ("question", "query", "said"),
    [
        ("What is the total of Units in stock.csv in March 2025?",
         'SELECT SUM("Units") FROM {0} WHERE "Seen" BETWEEN DATE \'2025-03-01\' AND DATE \'2025-03-31\'',
         "Sum of Units where Seen BETWEEN 2025-03-01 AND 2025-03-31: 1823"),
        ("What is the total of Units in stock.csv on 4 March 2025?",
         'SELECT SUM("Units") FROM {0} WHERE "Seen" = DATE \'2025-03-04\'',
         "Sum of Units where Seen = 2025-03-04: 210"),
        ("What is the total of Units in stock.csv between 2025-03-02 and 2025-03-04?",
         'SELECT SUM("Units") FROM {0} WHERE "Seen" >= DATE \'2025-03-02\' AND "Seen" < DATE \'2025-03-05\'', "609"),
        ("What is the total of Units in stock.csv after 2025-03-04?",
         'SELECT SUM("Units") FROM {0} WHERE "Seen" > DATE \'2025-03-04\'', "1025"),
        ("Which Item has the highest Units in stock.csv?",
         'SELECT "Item", ROUND("Units", 2) AS u FROM {0} ORDER BY u DESC LIMIT 1', "I-60: 60"),
    ],
)  # fmt: skip
async def test_what_the_words_mean_leaves_no_doubt(tables: Tables, question: str, query: str, said: str) -> None:
    answer = await tables.computed(question, query)
    assert said in answer.computation.text
    assert answer.computation.confirmed
    assert not answer.computation.doubts


async def test_texts_are_said_as_they_stand(tables: Tables) -> None:
    answer = await tables.computed("How many?", """SELECT COUNT(*) FROM {0} WHERE "Town" <> 'L''Aigle "x"'""")
    assert answer.computation.formula.endswith('Town <> L\'Aigle "x"')


async def test_a_doubt_names_no_table(tables: Tables) -> None:
    query = 'SELECT "Item" FROM {0} WHERE "Units" = (SELECT MAX("Units") FROM {0})'
    doubts = " ".join((await tables.computed("Which item has the most units?", query)).computation.doubts)
    assert "SUBQUERY" in doubts
    assert tables.views[0] not in doubts


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("SELECT * FROM read_csv('/etc/passwd')", "not allowed|no table"),
        ("SELECT \"Units\" FROM t_other_1", "not among those asked"),
        ('SELECT SUM("Weight") FROM {0}', "does not run"),
        ('SELECT SUM("Item") FROM {0}', "does not run"),
        ("SELECT SUM(\"Units\") FROM {0} WHERE \"Town\" = 'Rome'", "no value"),
        ("SELECT COUNT(*) FROM {0} WHERE \"Town\" = 'Rome'", "no cell"),
        ("SELECT 1", "reads no table"),
        ('SELECT MEDIAN("Units") FROM {0}', "MEDIAN"),
        ('SELECT a."Item" FROM {0} a JOIN (SELECT "Item" FROM {1}) b ON a."Item" = b."Item"', "join tables alone"),
    ],
)  # fmt: skip
async def test_what_cannot_be_used_is_said_for_a_repair(tables: Tables, query: str, problem: str) -> None:
    answer = await tables.computed("Anything", query)
    assert not answer.computation.confirmed
    assert any(one in answer.problem for one in problem.split("|")), answer.problem


@pytest.mark.parametrize("text", ["O'Brien \\", 'say "hi"', "{x}", "'); import os; ('"])
async def test_no_text_ends_a_string_of_the_second_engine(tables: Tables, text: str) -> None:
    quoted = text.replace("'", "''").replace("{", "{{").replace("}", "}}")
    answer = await tables.computed(
        "How many?", f'SELECT COUNT(*), SUM("Units") FROM {{0}} WHERE "Town" <> \'{quoted}\''
    )
    assert answer.computation.confirmed
    assert "1823" in answer.computation.text


async def test_a_day_that_is_asked_for_is_not_passed_over(tables: Tables) -> None:
    assert not (await tables.computed("When was the highest Price seen?", "")).computation.text


async def test_forms_record_statements_that_callers_can_run(tables: Tables) -> None:
    for question, value in (
        ("What is the total of Price in Lyon?", 915.0),
        ("How many Items are in Nice?", 30.0),
        ("Which Item has the highest Price?", 60.5),
    ):
        answer = await tables.computed(question, "")
        assert answer.computation.confirmed, question
        assert (await tables.again(answer.computation.query))[0][-1] == value
    answer = await tables.computed("Compare Units between stock.csv and counted.csv", "")
    rows = {row[0]: row[1:3] for row in await tables.again(answer.computation.query)}
    assert rows["I-9"] == [9.0, 14.0]


async def test_where_nothing_is_understood_the_tables_are_given(tables: Tables) -> None:
    answer = await tables.computed("Which takings came in altogether?", "")
    assert [one.view for one in answer.tables] == tables.views
    assert not answer.computation.confirmed
