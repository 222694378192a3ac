"""The model providers and verifiers that come with Footnote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from footnote_kit.registration import Kind, NoSettings, Registration, Registry, Wanted
from footnote_providers import registry as embedders
from footnote_providers.base import EmbeddingProvider
from footnote_providers.endpoints import SERVICES, endpoint
from footnote_providers.own_vectors import PROVIDER as OWN_VECTORS
from pydantic import BaseModel

from footnote_generation.adapters.embedding_likeness import EmbeddingLikeness
from footnote_generation.adapters.openai_compatible import PRESETS, OpenAICompatible, Preset
from footnote_generation.adapters.verifiers import EmbeddingVerifier, NliVerifier
from footnote_generation.extractive.provider import Extractive
from footnote_generation.ports import ModelProvider, Verifier, VerifierSettings
from footnote_generation.registry import MODEL_VERIFIER
from footnote_generation.settings import Settings


def models(settings: Settings) -> Registry[ModelProvider]:
    """Return the available model providers; other packages add theirs in the group `footnote.models`."""

    def built_in(wanted: Wanted[NoSettings]) -> ModelProvider:
        return Extractive(settings.not_found_threshold, EmbeddingLikeness())

    builtin = Registration(
        kind=Kind.MODEL,
        id=Extractive.id,
        display_name="Built-in, extractive",
        settings=NoSettings,
        make=built_in,
        default_model=Extractive.default_model,
        capabilities=("streaming", "citations", "offline"),
        local=True,
        builtin=True,
    )
    return Registry(Kind.MODEL, [builtin, *(_chat(preset, settings) for preset in PRESETS)])


def _chat(preset: Preset, settings: Settings) -> Registration[BaseModel, ModelProvider]:
    here = endpoint(preset.id)

    def make(wanted: Wanted[NoSettings]) -> ModelProvider:
        return OpenAICompatible(preset, here, settings.connect_timeout)

    made = Registration(
        kind=Kind.MODEL,
        id=preset.id,
        display_name=SERVICES[preset.id].display_name,
        settings=NoSettings,
        make=make,
        default_model=here.settings.model or preset.default_model,
        capabilities=("streaming", "chat"),
        address=lambda: here.base_url,
    )
    return made


def verifiers() -> Registry[Verifier]:
    """Return the available verifiers: an NLI model, every embedding provider, and those of the group.

    Other packages add theirs in the group `footnote.verifiers`.
    """

    def inference(wanted: Wanted[VerifierSettings]) -> Verifier:
        return NliVerifier(Path(wanted.model).expanduser(), wanted.settings.threshold, wanted.settings.timeout)

    nli = Registration(
        kind=Kind.VERIFIER,
        id="nli",
        display_name="Natural language inference on this machine",
        settings=VerifierSettings,
        make=inference,
        local=True,
    )
    return Registry(Kind.VERIFIER, [nli, *_by_embeddings()], taken=[OWN_VECTORS, MODEL_VERIFIER])


def _by_embeddings() -> Iterator[Registration[BaseModel, Verifier]]:
    for embedder in embedders.registrations().values():
        if embedder.id != OWN_VECTORS:
            yield _by_embedding(embedder)


def _by_embedding(embedder: Registration[BaseModel, EmbeddingProvider]) -> Registration[BaseModel, Verifier]:
    def make(wanted: Wanted[VerifierSettings]) -> Verifier:
        return EmbeddingVerifier(embedder.id, wanted.model, wanted.settings.threshold, wanted.settings.timeout)

    made = Registration(
        kind=Kind.VERIFIER,
        id=embedder.id,
        display_name=embedder.display_name,
        settings=VerifierSettings,
        make=make,
        default_model=embedder.default_model,
        local=embedder.local,
        address=embedder.address,
        builtin=embedder.builtin,
    )
    return made
