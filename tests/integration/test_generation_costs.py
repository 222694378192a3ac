"""Every RPC of generation that reports usage says what it costs; the RPCs are read from the contract."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from footnote.generation.v1 import generation_service_pb2 as pb
from footnote.generation.v1.generation_service_pb2_grpc import GenerationServiceStub
from footnote.stages.v1.prompt_pb2 import Prompt
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_USER, ChatMessage, Source, Usage
from footnote.types.v1.collection_pb2 import GenerationSettings
from footnote.types.v1.table_pb2 import COLUMN_TYPE_NUMBER, ColumnDescription, TableDescription
from footnote_generation.app import build
from footnote_kit.testing import SCOPE, serve_app
from support.doubles.model_chat import Cut, Finish, ModelServer, Say, serve_model

SETTINGS = GenerationSettings(provider="openai", model="priced")
TABLE = TableDescription(
    filename="stock.csv", view="t_1", rows=60,
    columns=[ColumnDescription(number=1, name="Units", type=COLUMN_TYPE_NUMBER, samples=["12"])],
)  # fmt: skip
HISTORY = [ChatMessage(role=MESSAGE_ROLE_USER, text="How much is the Vela?")]
SOURCES = [Source(number=1, chunk_id="c1", document_id="d1", text="The Vela costs 20 euros.")]
REQUESTS: dict[str, tuple[Any, str]] = {
    "Generate": (
        pb.GenerateRequest(
            scope=SCOPE, question="How much?", sources=SOURCES, settings=SETTINGS,
            prompt=Prompt(messages=[ChatMessage(role=MESSAGE_ROLE_USER, text="How much?")]),
        ),
        "The Vela costs 20 euros [1].",
    ),
    "GenerateTitle": (pb.GenerateTitleRequest(scope=SCOPE, first_message="How much?", settings=SETTINGS), "Prices"),
    "RewriteQuestion": (
        pb.RewriteQuestionRequest(scope=SCOPE, question="And the Otto?", history=HISTORY, settings=SETTINGS),
        "How much is the Otto?",
    ),
    "VerifyStatements": (
        pb.VerifyStatementsRequest(
            scope=SCOPE, sources=SOURCES, settings=SETTINGS,
            statements=[pb.Statement(text="You pay a score of euros for it.", sources=[1])],
        ),
        json.dumps({"verdicts": []}),
    ),
    "WriteTableQuery": (
        pb.WriteTableQueryRequest(scope=SCOPE, question="How many units?", tables=[TABLE], settings=SETTINGS),
        json.dumps({"query": 'SELECT SUM("Units") FROM t_1'}),
    ),
}  # fmt: skip


@pytest.fixture
async def model(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ModelServer]:
    """A scripted chat model on loopback, 2.5 and 10 dollars a million tokens."""
    monkeypatch.setenv("FOOTNOTE_GENERATION_PRICES", '{"priced": [2.5, 10]}')
    monkeypatch.setenv("FOOTNOTE_GENERATION_PROVIDER", "openai")
    monkeypatch.setenv("FOOTNOTE_OPENAI_API_KEY", "sk-test-key-of-no-value")
    async with serve_model() as server:
        monkeypatch.setenv("FOOTNOTE_OPENAI_BASE_URL", server.url)
        yield server


@pytest.fixture
async def stub(model: ModelServer) -> AsyncIterator[GenerationServiceStub]:
    """Generation in front of the model."""
    async with serve_app(build) as served:
        yield GenerationServiceStub(served.channel)


def with_usage() -> set[str]:
    """Return the RPCs whose responses hold usage at any depth."""

    def holds(message: Any, above: tuple[str, ...] = ()) -> bool:
        if message.full_name in above:
            return False
        inner = [field.message_type for field in message.fields if field.message_type is not None]
        return any(one is Usage.DESCRIPTOR or holds(one, (*above, message.full_name)) for one in inner)

    service = pb.DESCRIPTOR.services_by_name["GenerationService"]
    return {method.name for method in service.methods if holds(method.output_type)}


async def reported(stub: GenerationServiceStub, name: str) -> Usage:
    call = getattr(stub, name)(REQUESTS[name][0])
    if name == "Generate":
        return [event async for event in call][-1].completed.answer.usage
    return (await call).usage


def test_the_contract_has_no_other_rpc_with_usage() -> None:
    assert with_usage() == set(REQUESTS)


@pytest.mark.parametrize("name", REQUESTS)
async def test_usage_has_a_cost(model: ModelServer, stub: GenerationServiceStub, name: str) -> None:
    model.script([Say([REQUESTS[name][1]]), Finish(usage=(1000, 100))])
    usage = await reported(stub, name)
    assert (usage.prompt_tokens, usage.completion_tokens) == (1000, 100)
    assert usage.cost_usd == pytest.approx(0.0035)


async def test_a_title_that_breaks_off_costs_what_came_before(model: ModelServer, stub: GenerationServiceStub) -> None:
    model.script([Say(["Prices of "]), Cut()])
    response = await stub.GenerateTitle(REQUESTS["GenerateTitle"][0])
    assert response.title == "How much"
    assert response.usage.completion_tokens
    assert response.usage.cost_usd > 0
