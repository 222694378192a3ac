"""The model providers and verifiers of a deployment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from footnote.types.v1.provider_pb2 import Provider
from footnote_kit.registration import Kind, NoSettings, Registration, Registry, Wanted
from footnote_providers import registry as embedders
from footnote_providers.base import EmbeddingProvider
from footnote_providers.egress import policy
from footnote_providers.egress.egress import Egress, Use
from footnote_providers.egress.uses import use
from footnote_providers.endpoints import SERVICES, endpoint
from footnote_providers.own_vectors import PROVIDER as OWN_VECTORS
from pydantic import BaseModel

from footnote_generation.adapters.embedding_opinion import EmbeddingOpinion
from footnote_generation.adapters.extractive.provider import Extractive
from footnote_generation.adapters.nli_opinion import NliOpinion
from footnote_generation.adapters.openai_compatible import PRESETS, OpenAICompatible, Preset
from footnote_generation.ports import ModelProvider, OpinionSettings, SecondOpinion
from footnote_generation.settings import Settings

MODEL_READER = "model"
"""The verifier that is a language model: the answering one, or with `:<provider>:<model>` a named one."""
_SECONDS = 10.0  # per call of a verifier shared by all answers


def models(settings: Settings) -> Registry[ModelProvider]:
    """Return the available model providers; other packages add theirs in the group `footnote.models`."""

    def built_in(wanted: Wanted[NoSettings]) -> ModelProvider:
        return Extractive(settings.not_found_threshold)

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


def verifiers() -> Registry[SecondOpinion]:
    """Return the available verifiers: an NLI model, every embedding provider, and those of the group.

    Other packages add theirs in the group `footnote.verifiers`.
    """

    def inference(wanted: Wanted[OpinionSettings]) -> SecondOpinion:
        return NliOpinion(Path(wanted.model).expanduser(), wanted.settings.threshold, wanted.settings.timeout)

    nli = Registration(
        kind=Kind.VERIFIER,
        id="nli",
        display_name="Natural language inference on this machine",
        settings=OpinionSettings,
        make=inference,
        local=True,
    )
    return Registry(Kind.VERIFIER, [nli, *_by_embeddings()], taken=[OWN_VECTORS, MODEL_READER])


def _by_embeddings() -> Iterator[Registration[BaseModel, SecondOpinion]]:
    for embedder in embedders.registrations().values():
        if embedder.id != OWN_VECTORS:
            yield _by_embedding(embedder)


def _by_embedding(embedder: Registration[BaseModel, EmbeddingProvider]) -> Registration[BaseModel, SecondOpinion]:
    def make(wanted: Wanted[OpinionSettings]) -> SecondOpinion:
        return EmbeddingOpinion(embedder.id, wanted.model, wanted.settings.threshold, wanted.settings.timeout)

    made = Registration(
        kind=Kind.VERIFIER,
        id=embedder.id,
        display_name=embedder.display_name,
        settings=OpinionSettings,
        make=make,
        default_model=embedder.default_model,
        local=embedder.local,
        address=embedder.address,
        builtin=embedder.builtin,
    )
    return made


def second_opinion(settings: Settings) -> SecondOpinion | None:
    """Return the verifier shared by all answers, None for none or a language model; reads a model from disk.

    Raises InvalidArgument(PROVIDER_INVALID) for an unknown one.
    """
    id, _, model = settings.verifier.partition(":")
    if id in ("", MODEL_READER):
        return None
    values = {"threshold": settings.verifier_threshold, "timeout": settings.verifier_timeout or _SECONDS}
    return verifiers().require(id, values).build(model, values)


class Providers:
    """The model providers of a deployment, each created once; requests never set addresses and keys."""

    def __init__(self, settings: Settings, egress: Egress | None = None) -> None:
        self._settings = settings
        self.egress = egress or Egress()
        self._registry = models(settings)
        self._verifiers = verifiers()
        self._providers = {id: registration.build() for id, registration in self._registry.items()}

    @property
    def default(self) -> str:
        """The provider used when a request names none."""
        return self._settings.provider or "builtin"

    def descriptions(self) -> Sequence[Provider]:
        """Return the public descriptions of the registered providers."""
        return self._registry.descriptions()

    def use(self, provider: ModelProvider, model: str) -> Use:
        """Return what the policy needs of a provider and model; "" is the provider's own model."""
        model = model or provider.default_model
        return use(policy.Kind.MODEL, provider.id, model, self._registry.get(provider.id), self.egress)

    def use_of_verifier(self, id: str, model: str) -> Use:
        """Return what the policy needs of a verifier and model; "" is its own model."""
        registration = self._verifiers.get(id)
        model = model or (registration.default_model if registration else "")
        return use(policy.Kind.VERIFIER, id, model, registration, self.egress)

    @property
    def own(self) -> tuple[str, str]:
        """Provider and model used without a choice."""
        provider = self.get("")
        return provider.id, self.model("", provider) or provider.default_model

    def model(self, asked: str, provider: ModelProvider) -> str:
        """Return the model's name, "" for the provider's own."""
        return asked or (self._settings.model if provider.id == self.default else "")

    def window(self, provider: ModelProvider, model: str) -> tuple[int, int]:
        """Return a model's window in tokens, 0 if unknown, and its room for reasoning."""
        told = getattr(provider, "window", None)
        window, room = told(model) if told is not None else (0, 0)
        return int(window), int(room)

    def problems(self, id: str, settings: Mapping[str, object]) -> list[str]:
        """Return the problems of an id or its settings."""
        return self._registry.problems(id, settings)

    def find(self, id: str) -> ModelProvider | None:
        """Return a provider; "" is the default, None for an unknown one."""
        return self._providers.get(id or self.default)

    def get(self, id: str) -> ModelProvider:
        """Return a provider; "" is the default. Raises InvalidArgument(PROVIDER_INVALID) for an unknown one."""
        return self._providers[self._registry.require(id or self.default).id]

    async def close(self) -> None:
        """Close all of them."""
        for provider in self._providers.values():
            await provider.close()
