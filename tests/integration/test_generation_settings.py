"""A model of another package gets the settings that requests and collections give it, made once for each."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from footnote.generation.v1 import generation_service_pb2 as pb
from footnote.generation.v1.generation_service_pb2_grpc import GenerationServiceStub
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_USER, ChatMessage
from footnote.types.v1.collection_pb2 import GenerationSettings
from footnote_generation import app
from footnote_generation.adapters.registrations import models
from footnote_generation.ports import Finished, ModelEvent, ModelProvider, ModelRequest, Words
from footnote_generation.settings import Settings
from footnote_kit.errors import InvalidArgument
from footnote_kit.registration import Kind, Registration, Registry
from footnote_kit.testing import SCOPE, serve_app
from pydantic import BaseModel, ConfigDict

MOST_OPEN = 8


class Efforts(BaseModel):
    """What the model can be set to."""

    model_config = ConfigDict(extra="forbid")
    effort: str = "low"
    tries: int = 1


class Thinker:
    """A model that says how it was set."""

    id, default_model = "thinker", "deep"
    open: int = 0

    def __init__(self, efforts: Efforts) -> None:
        self.efforts = efforts
        Thinker.open += 1

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        yield Words(f"{self.efforts.effort} {self.efforts.tries}")
        yield Finished(model="deep")

    def require(self) -> None:
        return None

    async def health(self) -> Mapping[str, Any]:
        return {"effort": self.efforts.effort}

    async def close(self) -> None:
        Thinker.open -= 1


def with_thinker(settings: Settings) -> Registry[ModelProvider]:
    thinker: Registration[Efforts, Any] = Registration(
        kind=Kind.MODEL, id="thinker", display_name="Thinker", settings=Efforts, default_model="deep", local=True,
        make=lambda wanted: Thinker(wanted.settings), builtin=True,
    )  # fmt: skip
    return Registry(Kind.MODEL, [*models(settings).values(), thinker])


@pytest.fixture
async def stub(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[GenerationServiceStub]:
    """Generation where this model is registered."""
    monkeypatch.setattr(app, "models", with_thinker)
    monkeypatch.setattr(Thinker, "open", 0)
    async with serve_app(app.build) as served:
        yield GenerationServiceStub(served.channel)
    assert Thinker.open == 0


async def said(stub: GenerationServiceStub, **settings: object) -> str:
    wanted = GenerationSettings(provider="thinker")
    wanted.settings.update(settings)
    request = pb.GenerateRequest(scope=SCOPE, question="How?", settings=wanted, without_sources=True)
    request.prompt.messages.append(ChatMessage(role=MESSAGE_ROLE_USER, text="How?"))
    return "".join([event.text_delta async for event in stub.Generate(request)])


async def test_an_answer_is_by_a_model_with_the_settings_asked_for(stub: GenerationServiceStub) -> None:
    assert await said(stub) == "low 1"
    assert await said(stub, effort="high", tries=3) == "high 3"
    assert await said(stub) == "low 1"
    with pytest.raises(InvalidArgument) as caught:
        await said(stub, volume="loud")
    assert caught.value.reason == "PROVIDER_INVALID"


async def test_a_check_is_made_with_the_settings_given(stub: GenerationServiceStub) -> None:
    request = pb.CheckProviderRequest(scope=SCOPE, id="thinker")
    request.settings.update({"effort": "high"})
    health = (await stub.CheckProvider(request)).health
    assert health.healthy
    assert "high" in str(health)


async def test_models_with_settings_are_made_once_and_closed(stub: GenerationServiceStub) -> None:
    for number in range(2 * MOST_OPEN):
        for _ in range(2):
            assert await said(stub, effort=f"e{number}") == f"e{number} 1"
    assert Thinker.open <= MOST_OPEN + 1
