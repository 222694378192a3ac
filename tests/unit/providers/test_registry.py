"""The registry: what there is, what is wrong with settings, and how a third party joins."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint

import pytest
from footnote.types.v1 import collection_pb2
from footnote_kit import plugins
from footnote_kit.errors import FailedPrecondition, InvalidArgument
from footnote_kit.registration import Kind, Registration
from footnote_providers import registry
from footnote_providers.base import EmbeddingProvider
from footnote_providers.builtin import BuiltinEmbeddings, Settings
from footnote_providers.settings import DefaultSettings

GROUP = "footnote.embedding_providers"
THIRD = Registration(
    kind=Kind.EMBEDDING, id="third", display_name="Third party", settings=Settings, default_model="third-1",
    make=lambda wanted: BuiltinEmbeddings(wanted.model, 8),
)  # fmt: skip
IMPOSTOR = replace(THIRD, id="builtin", display_name="Impostor")


def settings(**values: object) -> collection_pb2.EmbeddingSettings:
    return collection_pb2.EmbeddingSettings(**values)


async def test_the_same_settings_give_the_same_provider() -> None:
    async with (
        registry.lease(settings()) as first,
        registry.lease(settings(provider="builtin", model="hashing-v1")) as same,
        registry.lease(settings(dimensions=64)) as other,
    ):
        assert first is same
        assert first is not other
        assert isinstance(first, EmbeddingProvider)
        assert (first.id, first.dimensions) == ("builtin", 384)
        assert 0 <= first.recommended_dense_weight <= 0.3
    await registry.close_all()


async def test_a_model_of_one_length_is_made_once_whether_or_not_its_length_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A warm-up names no length, a collection does: loaded twice, the first question waited and memory doubled."""
    found = [EntryPoint("THIRD", f"{__name__}:THIRD", GROUP)]
    monkeypatch.setattr(EntryPoint, "load", lambda self: replace(THIRD, one_length=True))
    monkeypatch.setattr(plugins, "entry_points", lambda group: found if group == GROUP else [])
    registry.registrations.cache_clear()
    try:
        async with (
            registry.lease(settings(provider="third")) as warmed,
            registry.lease(settings(provider="third", model="third-1", dimensions=8)) as asked,
        ):
            assert warmed is asked
        with pytest.raises(InvalidArgument, match="makes vectors of 8 dimensions, not 9"):
            async with registry.lease(settings(provider="third", dimensions=9)):
                pass
    finally:
        registry.registrations.cache_clear()
        await registry.close_all()


def test_local_models_say_that_they_make_one_length() -> None:
    one_length = {id for id, registration in registry.registrations().items() if registration.one_length}
    assert {"e5", "onnx"} <= one_length
    assert not one_length & {"builtin", "openai", "none"}


async def test_a_third_party_joins_by_entry_point_and_replaces_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [EntryPoint(name, f"{__name__}:{name}", GROUP) for name in ("THIRD", "IMPOSTOR")]
    monkeypatch.setattr(EntryPoint, "load", lambda self: {"THIRD": THIRD, "IMPOSTOR": IMPOSTOR}[self.name])
    monkeypatch.setattr(plugins, "entry_points", lambda group: found if group == GROUP else [])
    registry.registrations.cache_clear()
    try:
        by_id = {provider.id: provider for provider in registry.descriptors()}
        assert by_id["third"].display_name == "Third party"
        assert by_id["builtin"].display_name != "Impostor"
        async with registry.lease(settings(provider="third")) as provider:
            assert (provider.model, provider.dimensions) == ("third-1", 8)
    finally:
        registry.registrations.cache_clear()
        await registry.close_all()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"provider": "nope"}, "No embedding provider 'nope' is registered; there are builtin"),
        ({"provider": "builtin", "model": "gpt"}, "builtin has one model"),
        ({"provider": "builtin", "dimensions": -3}, "dimensions must be between"),
        ({"provider": "builtin", "settings": {"x": 1}}, "x is not a setting of this provider; it has none"),
        (
            {"provider": "onnx", "model": "m", "settings": {"pooling": "max"}},
            "pooling must be one of mean, cls",
        ),
        ({"provider": "vllm"}, "vllm needs the name of a model"),
    ],
)
def test_what_is_wrong_is_said(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidArgument, match=words) as caught:
        registry.make(registry.check(settings(**wrong)))
    assert caught.value.reason == "PROVIDER_INVALID"


@pytest.mark.parametrize(
    ("wanting", "words", "needs"),
    [
        ({"provider": "onnx"}, "needs a model: put a folder", "FOOTNOTE_ONNX_MODEL"),
        (
            {"provider": "onnx", "model": "/no/such/folder"},
            "is outside the folder of models",
            "FOOTNOTE_ONNX_MODELS_DIR",
        ),
    ],
)
def test_what_the_deployment_must_give_is_said(wanting: dict[str, object], words: str, needs: str) -> None:
    with pytest.raises(FailedPrecondition, match=words) as caught:
        registry.make(registry.check(settings(**wanting)))
    assert caught.value.reason == "PROVIDER_UNCONFIGURED"
    assert caught.value.metadata == {"kind": "embedding", "provider": "onnx", "needs": needs}


def test_the_deployment_s_default_fills_in_what_a_collection_leaves_open() -> None:
    defaults = DefaultSettings(provider="ollama", dimensions=512)
    chosen = registry.with_defaults(settings(), defaults)
    assert (chosen.provider, chosen.model, chosen.dimensions) == ("ollama", "nomic-embed-text", 512)
    assert registry.with_defaults(settings(provider="builtin"), defaults).dimensions == 0
