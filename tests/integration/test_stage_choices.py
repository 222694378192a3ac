"""Stages by themselves: a provider that a caller names gets nothing of a collection that does not allow it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from footnote.augmentation.v1 import augmentation_service_pb2 as aug
from footnote.augmentation.v1.augmentation_service_pb2_grpc import AugmentationServiceStub
from footnote.generation.v1 import generation_service_pb2 as gen
from footnote.generation.v1.generation_service_pb2_grpc import GenerationServiceStub
from footnote.stages.v1.passage_pb2 import Chunk, ScoredChunk
from footnote.stages.v1.prompt_pb2 import Prompt
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_USER, ChatMessage, Source
from footnote.types.v1.collection_pb2 import Collection, CollectionSettings, GenerationSettings, RerankSettings
from footnote.types.v1.role_pb2 import ROLE_READER
from footnote.types.v1.table_pb2 import ColumnDescription, TableDescription
from footnote_augmentation.app import build as build_augmentation
from footnote_generation.app import build as build_generation
from footnote_kit.errors import PermissionDenied
from footnote_kit.testing import serve_app
from footnote_providers.egress.egress import of_collection, together
from google.protobuf.json_format import ParseDict
from support.doubles.remote_provider import RemoteProvider, remote_provider

READER = Scope(tenant_id="t", user_id="u", roles=[ROLE_READER])
AWAY = GenerationSettings(provider="openai", model="away-1")
HTTP: dict[str, Any] = {"provider": "http"}
COSINE: dict[str, Any] = {"provider": "cosine", "model": "away-embed", "settings": {"provider": "openai"}}
SECRET = "The zebrafinch project pays a bonus."


def bounds(*, allowing: str, **settings: Any) -> TextBounds:
    """Return what binds texts of staff and public, of which `allowing` have these settings."""
    made = []
    for name in ("staff", "public"):
        theirs = ParseDict(settings if name in allowing else {}, CollectionSettings())
        made.append(Collection(name=name, id=f"id-{name}", settings=theirs))
    return together(map(of_collection, made))


@pytest.fixture
async def outside(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RemoteProvider]:
    """A provider elsewhere that notes what it receives."""
    async with remote_provider() as provider:
        monkeypatch.setenv("FOOTNOTE_OPENAI_BASE_URL", provider.base_url)
        monkeypatch.setenv("FOOTNOTE_OPENAI_API_KEY", "sk-elsewhere-0123456789")
        monkeypatch.setenv("FOOTNOTE_OPENAI_EMBEDDING_MODEL", "away-embed")
        monkeypatch.setenv("FOOTNOTE_AUGMENTATION_RERANK_URL", f"{provider.base_url}/rerank")
        yield provider


async def generate(stub: GenerationServiceStub, bound: TextBounds) -> None:
    prompt = Prompt(messages=[ChatMessage(role=MESSAGE_ROLE_USER, text=SECRET)])
    sources = [Source(number=1, chunk_id="c", document_id="d", text=SECRET)]
    request = gen.GenerateRequest(
        scope=READER, question="What?", prompt=prompt, sources=sources, settings=AWAY, bounds=bound
    )
    _ = [event async for event in stub.Generate(request)]


async def rewrite(stub: GenerationServiceStub, bound: TextBounds) -> None:
    history = [ChatMessage(role=MESSAGE_ROLE_USER, text=SECRET)]
    await stub.RewriteQuestion(
        gen.RewriteQuestionRequest(scope=READER, question="And?", history=history, settings=AWAY, bounds=bound)
    )


async def write(stub: GenerationServiceStub, bound: TextBounds) -> None:
    column = ColumnDescription(number=1, name="Pay", samples=[SECRET])
    await stub.WriteTableQuery(
        gen.WriteTableQueryRequest(
            scope=READER, question="How much?", tables=[TableDescription(view="t_1", columns=[column])],
            settings=AWAY, bounds=bound,
        )
    )  # fmt: skip


async def entitle(stub: GenerationServiceStub, bound: TextBounds) -> None:
    await stub.GenerateTitle(gen.GenerateTitleRequest(scope=READER, first_message=SECRET, settings=AWAY, bounds=bound))


async def verify(stub: GenerationServiceStub, bound: TextBounds) -> None:
    found = await stub.VerifyStatements(
        gen.VerifyStatementsRequest(
            scope=READER,
            sources=[Source(number=1, chunk_id="c", document_id="d", text=SECRET)],
            statements=[gen.Statement(text="The finch works pay extra.", sources=[1])],
            settings=AWAY,
            bounds=bound,
        )
    )
    if "administrator" in str(found.degradations):  # the rules judge alone, which is no failure
        raise PermissionDenied(found.degradations[0].detail, reason="PROVIDER_NOT_ALLOWED")


async def resolve(stub: GenerationServiceStub, bound: TextBounds) -> None:
    await stub.ResolveSettings(gen.ResolveSettingsRequest(scope=READER, generation=AWAY, bounds=bound))


@pytest.mark.parametrize("call", [generate, rewrite, write, entitle, verify, resolve])
@pytest.mark.parametrize("allowing", ["staff public", "staff", "public", ""])
async def test_a_model_that_a_caller_names(outside: RemoteProvider, call: Any, allowing: str) -> None:
    bound = bounds(allowing=allowing, generation={"provider": "openai", "model": "away-1"})
    async with serve_app(build_generation) as served:
        stub = GenerationServiceStub(served.channel)
        if allowing == "staff public":
            await call(stub, bound)
            assert bool(outside.received("zebrafinch")) == (call is not resolve)
            return
        with pytest.raises(PermissionDenied) as caught:
            await call(stub, bound)
        assert caught.value.reason == "PROVIDER_NOT_ALLOWED"
    assert not outside.bodies


@pytest.mark.parametrize("rerank", [HTTP, COSINE])
@pytest.mark.parametrize("allowing", ["staff public", "staff", "public", ""])
async def test_a_reranker_and_an_embedder_that_a_caller_names(
    outside: RemoteProvider, rerank: dict[str, Any], allowing: str
) -> None:
    chunks = [ScoredChunk(chunk=Chunk(id=one, document_id="d", text=f"{SECRET} {one}"), score=0.5) for one in "ab"]
    request = aug.BuildPromptRequest(
        scope=READER,
        question="Which bonus?",
        chunks=chunks,
        rerank=ParseDict(rerank, RerankSettings()),
        bounds=bounds(allowing=allowing, rerank=rerank),
    )
    async with serve_app(build_augmentation) as served:
        stub = AugmentationServiceStub(served.channel)
        if allowing == "staff public":
            await stub.BuildPrompt(request)
            assert outside.received("zebrafinch")
            return
        with pytest.raises(PermissionDenied) as caught:
            await stub.BuildPrompt(request)
        assert caught.value.reason == "PROVIDER_NOT_ALLOWED"
    assert not outside.bodies
