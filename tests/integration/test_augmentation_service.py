"""The augmentation service over gRPC."""

from collections.abc import AsyncIterator

import pytest
from footnote.augmentation.v1 import augmentation_service_pb2 as pb
from footnote.augmentation.v1.augmentation_service_pb2_grpc import AugmentationServiceStub
from footnote.stages.v1.passage_pb2 import Chunk, ScoredChunk
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_SYSTEM, MESSAGE_ROLE_USER
from footnote.types.v1.collection_pb2 import PromptSettings, RerankSettings
from footnote.types.v1.locator_pb2 import Locator, PageLocator, SheetLocator
from footnote.types.v1.reasons_pb2 import (
    QUERY_STRATEGY_FIRST_MESSAGE,
    QUERY_STRATEGY_FOLLOW_UP,
    TOKEN_REASON_BELOW_RERANK_TOP,
)
from footnote_augmentation.app import build
from footnote_kit.errors import InvalidArgument
from footnote_kit.testing import SCOPE, serve_app

CELL = ScoredChunk(
    chunk=Chunk(
        id="d1:000001:0000000",
        document_id="d1",
        filename="production.xlsx",
        text="Quantité en stock: 150 unités",
        locator=Locator(sheet=SheetLocator(sheet="Stocks", range="C12")),
    ),
    score=0.9,
)
PAGE = ScoredChunk(
    chunk=Chunk(
        id="d2:000001:0000004",
        document_id="d2",
        filename="rapport.pdf",
        text="Le stock de sécurité recommandé est de 200 unités pour ce produit.",
        locator=Locator(page=PageLocator(page=3)),
    ),
    score=0.8,
)


@pytest.fixture
async def stub() -> AsyncIterator[AugmentationServiceStub]:
    """A stub of the augmentation service over loopback."""
    async with serve_app(build) as served:
        yield AugmentationServiceStub(served.channel)


async def test_builds_a_french_prompt_with_the_numbered_sources(stub: AugmentationServiceStub) -> None:
    response = await stub.BuildPrompt(
        pb.BuildPromptRequest(scope=SCOPE, question="Quel est le stock de sécurité ?", chunks=[CELL, PAGE])
    )
    assert [source.number for source in response.sources] == [1, 2]
    assert response.sources[0].label == "production.xlsx, feuille 'Stocks', cellule C12"
    assert [message.role for message in response.prompt.messages] == [MESSAGE_ROLE_SYSTEM, MESSAGE_ROLE_USER]
    assert response.prompt.messages[-1].text == "Quel est le stock de sécurité ?"
    assert response.prompt.template_version == "grounded/fr/3"
    assert response.token_plan.used <= response.token_plan.budget == 3000


async def test_same_request_gives_same_plan_and_hash_but_another_delimiter(stub: AugmentationServiceStub) -> None:
    request = pb.BuildPromptRequest(scope=SCOPE, question="What is the safety stock?", chunks=[CELL, PAGE])
    first, second = await stub.BuildPrompt(request), await stub.BuildPrompt(request)
    assert first.prompt.hash == second.prompt.hash
    assert first.sources == second.sources
    assert first.token_plan == second.token_plan
    assert first.prompt.messages[0].text != second.prompt.messages[0].text


async def test_reranks_when_asked_and_says_so_in_the_timings(stub: AugmentationServiceStub) -> None:
    response = await stub.BuildPrompt(
        pb.BuildPromptRequest(
            scope=SCOPE,
            question="Quel est le stock de sécurité recommandé ?",
            chunks=[CELL, PAGE],
            rerank=RerankSettings(provider="lexical", top=1),
        )
    )
    assert [source.filename for source in response.sources] == ["rapport.pdf"]
    assert {timing.step for timing in response.timings} == {"", "rerank", "assemble"}
    last = response.token_plan.entries[-1]
    assert (last.reason, last.rerank_top) == (TOKEN_REASON_BELOW_RERANK_TOP, 1)


@pytest.mark.parametrize(
    "request_",
    [
        pb.BuildPromptRequest(scope=SCOPE, question="  "),
        pb.BuildPromptRequest(scope=SCOPE, question="q", prompt=PromptSettings(token_budget=5)),
        pb.BuildPromptRequest(scope=SCOPE, question="q", prompt=PromptSettings(locale="xx")),
        pb.BuildPromptRequest(scope=SCOPE, question="q", chunks=[CELL], rerank=RerankSettings(provider="nobody")),
    ],
)
async def test_refuses_what_it_cannot_use(stub: AugmentationServiceStub, request_: pb.BuildPromptRequest) -> None:
    with pytest.raises(InvalidArgument):
        await stub.BuildPrompt(request_)


async def test_plans_first_messages_follow_ups_and_small_talk(stub: AugmentationServiceStub) -> None:
    first = await stub.PlanQuery(pb.PlanQueryRequest(scope=SCOPE, message="What is InstructLab?"))
    assert (first.query, first.strategy) == ("What is InstructLab?", QUERY_STRATEGY_FIRST_MESSAGE)
    follow_up = await stub.PlanQuery(
        pb.PlanQueryRequest(scope=SCOPE, message="Does it integrate with OpenShift AI?", topic=first.topic)
    )
    assert follow_up.strategy == QUERY_STRATEGY_FOLLOW_UP
    assert "InstructLab" in follow_up.query
    assert "OpenShift AI" in follow_up.query
    greeting = await stub.PlanQuery(pb.PlanQueryRequest(scope=SCOPE, message="Bonjour !", topic=follow_up.topic))
    assert not greeting.should_retrieve
    assert greeting.topic == follow_up.topic


async def test_lists_validates_and_checks_rerankers(stub: AugmentationServiceStub) -> None:
    listed = await stub.ListProviders(pb.ListProvidersRequest(scope=SCOPE))
    assert {provider.id for provider in listed.providers} == {"lexical", "mmr", "cosine", "onnx", "http"}
    bad = pb.ValidateProviderRequest(scope=SCOPE, id="lexical")
    bad.settings.update({"weight": 3})
    answer = await stub.ValidateProvider(bad)
    assert not answer.valid
    assert answer.problems == ["weight must be from 0 to 1."]
    for name in ("lexical", "mmr", "cosine"):
        health = (await stub.CheckProvider(pb.CheckProviderRequest(scope=SCOPE, id=name))).health
        assert health.healthy, health.error
    assert not (await stub.CheckProvider(pb.CheckProviderRequest(scope=SCOPE, id="http"))).health.healthy
