"""Statements over tables that a model writes, behind the real client: what it is given, and what is taken from it."""

import json
from collections.abc import AsyncIterator

import pytest
from footnote.generation.v1 import generation_service_pb2 as pb
from footnote.generation.v1.generation_service_pb2_grpc import GenerationServiceStub
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.collection_pb2 import GenerationSettings
from footnote.types.v1.table_pb2 import COLUMN_TYPE_NUMBER, ColumnDescription, TableDescription
from footnote_generation.app import build
from footnote_kit.errors import InvalidArgument
from footnote_kit.testing import SCOPE, serve_app
from support.doubles.model_chat import Finish, ModelServer, Say, serve_model

TABLE = TableDescription(
    filename="stock.csv", view="t_1", rows=60,
    columns=[ColumnDescription(number=1, name="Units", type=COLUMN_TYPE_NUMBER, samples=["12", "7"])],
)  # fmt: skip
QUERY = 'SELECT SUM("Units") FROM t_1'


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    """A scripted chat model on loopback."""
    async with serve_model() as server:
        yield server


@pytest.fixture
async def stub(model: ModelServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[GenerationServiceStub]:
    """A stub of generation that asks the model."""
    monkeypatch.setenv("FOOTNOTE_GENERATION_PROVIDER", "openai")
    monkeypatch.setenv("FOOTNOTE_OPENAI_BASE_URL", model.url)
    monkeypatch.setenv("FOOTNOTE_OPENAI_API_KEY", "sk-test-key-of-no-value")
    async with serve_app(build) as served:
        yield GenerationServiceStub(served.channel)


def asked(**more: object) -> pb.WriteTableQueryRequest:
    settings = GenerationSettings(provider="openai", model="gpt-4o")
    more.setdefault("bounds", TextBounds())
    return pb.WriteTableQueryRequest(
        scope=SCOPE, question="How many units?", **{"tables": [TABLE], "settings": settings, **more}
    )  # type: ignore[arg-type]


async def test_the_model_is_given_schemas_and_answers_as_structured_output(
    model: ModelServer, stub: GenerationServiceStub
) -> None:
    model.script([Say([json.dumps({"query": QUERY})]), Finish()])
    written = await stub.WriteTableQuery(asked(query="SELECT 1", problem="The statement reads no table."))
    assert (written.query, written.model, written.usage.prompt_tokens) == (QUERY, "gpt-4o", 100)
    body = model.seen[-1].body
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["query"]
    sent = json.loads(body["messages"][-1]["content"])
    assert sent["tables"][0]["columns"] == [{"name": "Units", "type": "number", "samples": ["12", "7"]}]
    assert sent["repair"] == {"query": "SELECT 1", "problem": "The statement reads no table."}


@pytest.mark.parametrize("said", ["", "SELECT 1", "{}", '{"query": 5}', '{"query": ""}', '["SELECT 1"]', "{" * 5000])
async def test_what_is_no_statement_is_not_taken_for_one(
    model: ModelServer, stub: GenerationServiceStub, said: str
) -> None:
    model.script([Say([said]), Finish()])
    assert not (await stub.WriteTableQuery(asked())).query


async def test_the_built_in_model_writes_none(model: ModelServer, stub: GenerationServiceStub) -> None:
    assert not (await stub.WriteTableQuery(asked(settings=GenerationSettings(provider="builtin")))).query
    assert not model.seen
    with pytest.raises(InvalidArgument):
        await stub.WriteTableQuery(asked(tables=[]))


@pytest.mark.parametrize("provider", ["builtin", "openai"])
async def test_settings_say_whether_a_model_answers(stub: GenerationServiceStub, provider: str) -> None:
    settings = GenerationSettings(provider=provider)
    request = pb.ResolveSettingsRequest(scope=SCOPE, generation=settings, bounds=TextBounds())
    assert (await stub.ResolveSettings(request)).without_model == (provider == "builtin")
