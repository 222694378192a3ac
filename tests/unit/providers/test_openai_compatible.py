"""The OpenAI-compatible provider against a faithful server that fails in every way it can."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import pytest
from footnote.types.v1 import collection_pb2
from footnote_kit import telemetry, transient_errors
from footnote_kit.errors import FailedPrecondition, Unavailable
from footnote_providers import registry
from footnote_providers.base import EmbeddingProvider, HoldsItsWeight
from support.doubles import model_server as ms

_made: list[EmbeddingProvider] = []


def made(**settings: object) -> EmbeddingProvider:
    _made.append(registry.make(registry.check(collection_pb2.EmbeddingSettings(**settings))))
    return _made[-1]


@pytest.fixture
async def server() -> AsyncIterator[ms.ModelServer]:
    """An OpenAI-compatible server on loopback that fails on demand."""
    async with ms.model_server() as running:
        yield running
        while _made:
            await _made.pop().close()


@pytest.fixture
async def provider(server: ms.ModelServer, monkeypatch: pytest.MonkeyPatch) -> EmbeddingProvider:
    """The provider before that server."""
    for name, value in {
        "BASE_URL": server.base_url, "API_KEY": "sk-very-secret", "FIRST_BACKOFF": "0.02", "TIMEOUT": "30",
    }.items():  # fmt: skip
        monkeypatch.setenv(f"FOOTNOTE_OPENAI_{name}", value)
    return made(provider="openai", model="test-model")


TEXTS = [f"text number {n}" for n in range(7)]


def expected(texts: list[str], dimensions: int = 64) -> np.ndarray:
    return np.array([ms.vector_of(text, dimensions) for text in texts], dtype=np.float32)


async def test_order_is_that_of_the_texts_though_results_come_reversed(
    provider: EmbeddingProvider, server: ms.ModelServer
) -> None:
    np.testing.assert_allclose(await provider.embed_documents(TEXTS), expected(TEXTS), atol=1e-6)
    assert provider.dimensions == 64
    assert server.headers[0]["authorization"] == "Bearer sk-very-secret"


@pytest.mark.parametrize(
    "fault",
    [ms.throttled(), ms.broken(500), ms.broken(503), ms.cut(), ms.stalled(), ms.missing(), ms.not_json()],
    ids=lambda fault: f"{fault.kind}{fault.status or ''}",
)
@pytest.mark.slow
async def test_two_failures_are_survived_and_three_are_not(
    provider: EmbeddingProvider, server: ms.ModelServer, fault: ms.Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault.kind == "stall":
        monkeypatch.setenv("FOOTNOTE_OPENAI_TIMEOUT", "1")
        provider = made(provider="openai", model="test-model")
    server.fail_with(fault, times=2)
    np.testing.assert_allclose(await provider.embed_documents(TEXTS), expected(TEXTS), atol=1e-6)
    assert len(server.batches) == 3
    server.fail_with(fault, times=3)
    with pytest.raises(Unavailable, match="failed after 3 attempts") as caught:
        await provider.embed_documents(TEXTS)
    assert caught.value.reason == "PROVIDER_FAILED"
    assert "sk-very-secret" not in caught.value.message
    assert len(server.batches) == 6


async def test_each_attempt_is_a_span(provider: EmbeddingProvider, server: ms.ModelServer) -> None:
    server.fail_with(ms.broken(503), times=1)
    with telemetry.span("test"):
        trace_id = int(telemetry.current_trace_id(), 16)
        await provider.embed_documents(TEXTS)
    spans = [one for one in telemetry.ring.spans(trace_id, "") if one.name.startswith("attempt ")]
    assert [(one.name, one.status.is_ok) for one in spans] == [("attempt 1", False), ("attempt 2", True)]


async def test_the_provider_s_own_words_are_kept(provider: EmbeddingProvider, server: ms.ModelServer) -> None:
    server.fail_with(ms.broken(500, "The model is overloaded with cats"), times=3)
    with pytest.raises(Unavailable, match="overloaded with cats"):
        await provider.embed_documents(TEXTS)


async def test_retry_after_is_waited_out_by_every_worker(provider: EmbeddingProvider, server: ms.ModelServer) -> None:
    await provider.embed_documents(["warm up"])
    server.fail_with(ms.throttled(retry_after="0.4"))
    server.arrived.clear()
    first = asyncio.create_task(provider.embed_documents(["one"]))
    await server.arrived.wait()
    while not provider._gate._not_before:  # type: ignore[attr-defined]  # noqa: ASYNC110 - no event tells of the refusal
        await asyncio.sleep(0.005)
    await provider.embed_documents(["two"])
    await first
    refused, *later = server.times[1:]
    assert len(later) == 2
    assert min(later) - refused >= 0.4


async def test_a_refusal_is_not_repeated(provider: EmbeddingProvider, server: ms.ModelServer) -> None:
    server.fail_with(ms.broken(401, "Incorrect API key provided"))
    with pytest.raises(Unavailable, match="refused: HTTP 401: Incorrect API key"):
        await provider.embed_documents(TEXTS)
    assert len(server.batches) == 1


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422])
async def test_who_is_not_let_in_waits_and_what_is_wrong_with_a_text_does_not(
    provider: EmbeddingProvider, server: ms.ModelServer, status: int
) -> None:
    server.fail_with(ms.broken(status, "Sorry"))
    with pytest.raises(Unavailable, match=f"refused: HTTP {status}") as caught:
        await provider.embed_documents(TEXTS)
    waits = transient_errors.PROVIDER_REFUSED if status in (401, 402, 403) else ""
    assert transient_errors.waits_for(caught.value) == waits


async def test_vectors_of_another_length_are_refused_with_both_numbers(
    provider: EmbeddingProvider, server: ms.ModelServer
) -> None:
    await provider.embed_documents(["learn the length"])
    server.fail_with(ms.wrong_dimensions())
    with pytest.raises(Unavailable, match="63 dimensions, expected 64"):
        await provider.embed_documents(TEXTS)


async def test_an_endpoint_that_is_down_is_left_alone_and_asked_again_later(
    server: ms.ModelServer, provider: EmbeddingProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = provider._gate  # type: ignore[attr-defined]
    now = [100.0]
    monkeypatch.setattr(gate, "_clock", lambda: now[0])
    server.fail_with(ms.broken(500), times=3 * 5)
    for _ in range(5):
        with pytest.raises(Unavailable):
            await provider.embed_documents(TEXTS)
    asked = len(server.batches)
    with pytest.raises(Unavailable, match="left alone") as caught:
        await provider.embed_documents(TEXTS)
    assert len(server.batches) == asked
    assert caught.value.retry_after == pytest.approx(15)
    now[0] += 16
    np.testing.assert_allclose(await provider.embed_documents(TEXTS), expected(TEXTS), atol=1e-6)


async def test_the_rate_limit_spaces_requests_of_all_workers(
    server: ms.ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_VLLM_BASE_URL", server.base_url)
    monkeypatch.setenv("FOOTNOTE_VLLM_REQUESTS_PER_MINUTE", "1200")
    provider = made(provider="vllm", model="test-model")
    started = asyncio.get_running_loop().time()
    await asyncio.gather(*(provider.embed_documents([f"{n}"]) for n in range(6)))
    assert server.times[-1] - started >= 0.25


async def test_dimensions_are_asked_for_where_the_model_can_shorten(
    server: ms.ModelServer, provider: EmbeddingProvider
) -> None:
    short = made(provider="openai", model="text-embedding-3-small", dimensions=256)
    assert (await short.embed_query("question")).shape == (256,)
    assert server.requests[-1]["dimensions"] == 256
    await provider.embed_query("question")
    assert "dimensions" not in server.requests[-1]


async def test_health_says_what_is_wrong(provider: EmbeddingProvider, server: ms.ModelServer) -> None:
    assert (await provider.health()).healthy
    server.fail_with(ms.broken(403, "Project is archived"))
    health = await provider.health()
    assert not health.healthy
    assert "archived" in health.error


@pytest.mark.parametrize(
    ("model", "weight", "holds"),
    [("text-embedding-3-small", 0.7, True), ("text-embedding-ada-002", 0.7, True), ("test-model", 0.5, False)],
)
async def test_openais_models_hold_a_weight_of_seven_tenths(
    provider: EmbeddingProvider, model: str, weight: float, holds: bool
) -> None:
    chosen = made(provider="openai", model=model)
    assert isinstance(chosen, HoldsItsWeight)
    assert (chosen.recommended_dense_weight, chosen.holds_weight) == (weight, holds)


def test_openai_without_a_key_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "FOOTNOTE_OPENAI_API_KEY", "FOOTNOTE_OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(FailedPrecondition, match="FOOTNOTE_OPENAI_API_KEY"):
        made(provider="openai")
