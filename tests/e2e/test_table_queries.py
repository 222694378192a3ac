"""Statements that a scripted model writes, end to end: right, repaired and wrong ones, and how each was computed."""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.tables_pb2 import ListTablesRequest, QueryTablesRequest
from footnote.types.v1.answer_pb2 import BASIS_COMPUTED, VERDICT_NOT_CONFIRMED, VERDICT_SUPPORTED
from footnote.types.v1.collection_pb2 import Collection
from support.deployment import Deployment, deployment
from support.doubles.model_chat import Finish, ModelServer, Say, Step, serve_model
from support.edge_client import EdgeClient, edge_client

pytestmark = [pytest.mark.slow, pytest.mark.full, pytest.mark.asyncio(loop_scope="module")]

SALES = "Branch;Takings 2024;Takings 2025\n" + "".join(f"Branch {n};{100 * n};{250 - 100 * n}\n" for n in range(1, 7))
LOSS = "Which branch made the largest loss in 2025?"
RIGHT = 'SELECT "Branch", "Takings 2025" FROM {view} ORDER BY "Takings 2025" LIMIT 1'


class Writer:
    """The scripted model: each request for a statement takes the next one; every other request gets plain words."""

    def __init__(self) -> None:
        self.queries: list[str] = []
        self.asked: list[dict[str, Any]] = []

    def __call__(self, body: dict[str, Any]) -> Sequence[Step]:
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {"required": []})
        if schema["required"] == ["verdicts"]:
            return [Say(['{"verdicts": []}']), Finish()]
        if schema["required"] != ["query"]:
            return [Say(["Branch 1 took 100 [1]."]), Finish()]
        self.asked.append(json.loads(body["messages"][-1]["content"]))
        view = self.asked[-1]["tables"][0]["table"]
        query = self.queries.pop(0) if self.queries else ""
        return [Say([json.dumps({"query": query.replace("{view}", view)})]), Finish()]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def model() -> AsyncIterator[ModelServer]:
    """A scripted chat model on loopback."""
    async with serve_model() as server:
        yield server


@pytest.fixture(scope="module")
def running(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment that asks the scripted model."""
    env = {
        "FOOTNOTE_PROCESSES": "1", "FOOTNOTE_GENERATION_PROVIDER": "openai", "FOOTNOTE_OPENAI_BASE_URL": model.url,
        "FOOTNOTE_OPENAI_API_KEY": "sk-test-key-of-no-value",
    }  # fmt: skip
    folder: Path = tmp_path_factory.mktemp("written")
    with deployment(folder, env=env) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def edge(running: Deployment) -> AsyncIterator[EdgeClient]:
    """A client of a deployment that holds one table of sales."""
    async with edge_client(running.address()) as client:
        await client.stub.CreateCollection(CreateCollectionRequest(collection=Collection(name="sales")))
        await client.put(SALES.encode(), "sales.csv", "sales")
        yield client


async def test_a_statement_is_computed_repaired_and_can_be_run_again(model: ModelServer, edge: EdgeClient) -> None:
    writer = Writer()
    writer.queries = ['SELECT "Profit" FROM {view}', RIGHT]
    model.respond(writer)
    done = await edge.answer(LOSS, collections=["sales"])
    assert "Branch 6: -350" in done.answer.text
    assert len(writer.asked) == 2
    assert "Profit" in writer.asked[1]["repair"]["problem"]
    assert "Branch 6" not in json.dumps(writer.asked[0])  # samples, not rows
    (cited,) = done.answer.citations
    assert (cited.basis, cited.locator.sheet.range) == (BASIS_COMPUTED, "C7")
    # "loss" is no word of the table: the answer says so, and confirms nothing that it cannot.
    assert cited.support == VERDICT_NOT_CONFIRMED
    assert "loss" in done.answer.computation.doubts[0]
    assert done.manifest.table_query == done.answer.computation.query
    request = QueryTablesRequest(document_ids=done.answer.computation.document_ids, query=done.manifest.table_query)
    assert list((await edge.stub.QueryTables(request)).result.rows[0]) == ["Branch 6", -350.0]


async def test_what_the_words_say_needs_no_model(model: ModelServer, edge: EdgeClient) -> None:
    writer = Writer()
    model.respond(writer)
    done = await edge.answer("What is the total of Takings 2024?", collections=["sales"])
    assert "2100" in done.answer.text
    assert done.answer.citations[0].support == VERDICT_SUPPORTED
    assert not writer.asked
    assert done.answer.computation.model == ""
    assert "SUM" in done.answer.computation.query


@pytest.mark.parametrize(
    "queries",
    [
        ['SELECT "Branch", "Takings 2024" FROM {view} ORDER BY "Takings 2024" LIMIT 1'],
        ['SELECT "Branch", "Takings 2025" FROM {view} ORDER BY "Takings 2025" DESC LIMIT 1'],
        ["SELECT * FROM read_csv('/etc/passwd')", "DROP TABLE {view}"],
        ["", ""],
    ],
)
async def test_nothing_wrong_is_supported(model: ModelServer, edge: EdgeClient, queries: list[str]) -> None:
    writer = Writer()
    writer.queries = list(queries)
    model.respond(writer)
    done = await edge.answer(LOSS, collections=["sales"])
    computed = [one for one in done.answer.citations if one.basis == BASIS_COMPUTED]
    assert not any(one.support == VERDICT_SUPPORTED for one in computed)
    assert (await edge.stub.ListTables(ListTablesRequest(document_id=done.sources[0].document_id))).total_size == 1
