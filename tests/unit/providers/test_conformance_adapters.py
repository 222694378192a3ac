"""Our providers that need a model or an endpoint, through the suites: tiny ONNX models, strict servers on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from footnote.types.v1 import collection_pb2
from footnote_augmentation.adapters.registrations import registrations
from footnote_augmentation.registry import Rerankers
from footnote_augmentation.settings import Settings as Reranking
from footnote_generation.adapters.registrations import models, verifiers
from footnote_generation.registry import Providers
from footnote_generation.settings import Settings as Generating
from footnote_providers import registry, testing
from footnote_providers.base import EmbeddingProvider
from footnote_providers.testing.asking import TEXTS
from support.doubles import model_chat as chat
from support.doubles.text_server import MOST, TextServer, text_server
from support.matrices import crossed, sampled
from support.tiny_embedder import DIMENSIONS, write_embedder
from support.tiny_nli import write_model

QUESTION = "How many days of paid leave do employees receive?"
WORDS = ("Every", "employee", "has", "27", "days", "of", "paid", "leave", "a", "year", "[1]")
REMOTE = ("openai", "ollama", "gemini", "vllm", "tei")


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TextServer]:
    """A strict embedding server on loopback that all remote providers are configured for."""
    async with text_server() as running:
        for name in REMOTE:
            monkeypatch.setenv(f"FOOTNOTE_{name.upper()}_BASE_URL", running.base_url)
            if name != "tei":  # whose own default must do
                monkeypatch.setenv(f"FOOTNOTE_{name.upper()}_MAX_BATCH", str(MOST))
        yield running


@pytest.fixture
async def onnx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EmbeddingProvider]:
    """A provider over a tiny ONNX model."""
    monkeypatch.setenv("FOOTNOTE_ONNX_MODELS_DIR", str(tmp_path))
    write_embedder(tmp_path / "tiny", [*TEXTS, QUESTION, "Number 0 1 2 3 4 5 6 7 8 9"])
    chosen = collection_pb2.EmbeddingSettings(provider="onnx", model="tiny")
    provider = registry.make(registry.check(chosen))
    assert provider.dimensions == DIMENSIONS
    yield provider
    await provider.close()


@pytest.mark.parametrize("check", testing.EMBEDDER)
@pytest.mark.slow
async def test_an_onnx_embedder_conforms(onnx: EmbeddingProvider, check: Any) -> None:
    await check(onnx)


@pytest.mark.parametrize(("check", "provider"), crossed(testing.EMBEDDER, REMOTE, every=3))
async def test_an_embedder_behind_http_conforms(server: TextServer, provider: str, check: Any) -> None:
    made = registry.make(registry.check(collection_pb2.EmbeddingSettings(provider=provider, model="m")))
    try:
        await check(made)
    finally:
        await made.close()


@pytest.mark.parametrize("check", testing.RERANKER)
@pytest.mark.parametrize("form", ["cohere", "tei"])
async def test_a_reranker_behind_http_conforms(server: TextServer, form: str, check: Any) -> None:
    rerankers = Rerankers(registrations(Reranking(rerank_url=f"{server.base_url}/rerank", rerank_timeout=30)))
    async with rerankers.lease("http", "m", {"form": form}) as reranker:
        await check(reranker)
    await rerankers.close()


@pytest.mark.parametrize("check", testing.RERANKER)
@pytest.mark.slow
async def test_an_onnx_reranker_conforms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check: Any) -> None:
    monkeypatch.setenv("FOOTNOTE_ONNX_MODELS_DIR", str(tmp_path))
    write_model(tmp_path / "tiny", {"year": "NEUTRAL"})  # the second of its classes, which is relevance
    rerankers = Rerankers(registrations(Reranking()))
    async with rerankers.lease("onnx", "tiny", {}) as reranker:
        await check(reranker)
    await rerankers.close()


@pytest.mark.parametrize("check", testing.RERANKER)
async def test_the_cosine_reranker_conforms(check: Any) -> None:
    rerankers = Rerankers(registrations(Reranking()))
    async with rerankers.lease("cosine", "", {"provider": "builtin"}) as reranker:
        await check(reranker)
    await rerankers.close()


@pytest.mark.parametrize(
    ("check", "provider"), crossed(testing.MODEL, ["openai", "ollama", "gemini", "vllm", "anthropic"], every=5)
)
async def test_a_model_behind_http_conforms(monkeypatch: pytest.MonkeyPatch, provider: str, check: Any) -> None:
    def script(body: dict[str, Any]) -> list[chat.Step]:
        words = WORDS[: body["max_tokens"]]
        return [chat.Say([f"{word} " for word in words]), chat.Finish()]

    async with chat.serve_model() as model:
        model.respond(script)
        monkeypatch.setenv(f"FOOTNOTE_{provider.upper()}_BASE_URL", model.url)
        providers = Providers(Generating(), models(Generating()), verifiers())
        await check(providers.get(provider))
        await providers.close()


@pytest.mark.parametrize("check", sampled(testing.VERIFIER, every=3))
async def test_verifiers_from_the_registry_conform(
    server: TextServer, onnx: EmbeddingProvider, tmp_path: Path, check: Any
) -> None:
    nli = str(write_model(tmp_path / "nli", {"leave": "ENTAILMENT"}))
    for id, model in (("nli", nli), ("builtin", ""), ("onnx", "tiny"), ("tei", "m")):
        verifier = verifiers().require(id).build(model, {"timeout": 30})
        await check(verifier)
        await verifier.close()
    await registry.close_all()
