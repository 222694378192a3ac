"""The model providers of a deployment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from footnote_kit import plugins, provider_calls
from footnote_kit.errors import InvalidArgument
from footnote_providers import registry as embedders
from footnote_providers.egress.egress import Egress, Use
from footnote_providers.egress.policy import Kind

from footnote_generation.adapters.embedding_opinion import EmbeddingOpinion
from footnote_generation.adapters.extractive.provider import Extractive
from footnote_generation.adapters.nli_opinion import NliOpinion
from footnote_generation.adapters.openai_compatible import PRESETS, OpenAICompatible
from footnote_generation.ports import (
    Descriptor,
    ModelProvider,
    ModelRegistration,
    SecondOpinion,
    VerifierRegistration,
)
from footnote_generation.settings import Settings

MODELS = "footnote.models"
"""Entry points where other packages register a `ModelRegistration`."""
VERIFIERS = "footnote.verifiers"
"""Entry points where other packages register a `VerifierRegistration`."""


def second_opinion(settings: Settings) -> SecondOpinion | None:
    """Return the verifier that the deployment wants, None for none; reads a model from disk.

    Raises InvalidArgument(PROVIDER_INVALID) when there is no such one.
    """
    kind, _, model = settings.verifier.partition(":")
    if not kind:
        return None
    if kind == "nli":
        return NliOpinion(Path(model).expanduser(), settings.verifier_threshold, settings.verifier_timeout)
    taken = ("nli", *embedders.registrations())
    added = plugins.installed(VERIFIERS, VerifierRegistration, lambda verifier: verifier.id, taken)
    if kind in added:
        return added[kind].make(model, settings.verifier_threshold, settings.verifier_timeout)
    return EmbeddingOpinion(kind, model, settings.verifier_threshold, settings.verifier_timeout)


class Providers:
    """Providers by id; addresses and keys come from the deployment, never from a request."""

    def __init__(self, settings: Settings, egress: Egress | None = None) -> None:
        self._settings = settings
        self.egress = egress or Egress()
        builtin = Extractive(settings.not_found_threshold)
        self._providers: dict[str, ModelProvider] = {builtin.id: builtin}
        self._descriptors = [
            Descriptor(builtin.id, "Built-in, extractive", ("streaming", "citations", "offline"), builtin.default_model)
        ]
        for preset in PRESETS:
            url = str(getattr(settings, f"{preset.id}_base_url"))
            key = str(getattr(settings, f"{preset.id}_api_key", ""))
            model = str(getattr(settings, f"{preset.id}_model", ""))
            self._providers[preset.id] = OpenAICompatible(preset, url, key, model, settings.connect_timeout)
            self._descriptors.append(
                Descriptor(preset.id, preset.display_name, ("streaming", "chat"), model or preset.default_model)
            )
        for id, added in plugins.installed(
            MODELS, ModelRegistration, lambda model: model.descriptor.id, self._providers
        ).items():
            self._providers[id] = added.make()
            self._descriptors.append(added.descriptor)

    @property
    def default(self) -> str:
        """The provider used when a request names none."""
        return self._settings.provider or "builtin"

    def all(self) -> Sequence[Descriptor]:
        """Return the registered providers."""
        return list(self._descriptors)

    def use(self, provider: ModelProvider, model: str) -> Use:
        """Return what the policy must know of a provider and model; "" is the provider's own model."""
        url = getattr(provider, "base_url", "")
        local = provider.id == "builtin" or self.egress.stays_here(url)
        builtin = provider.id == "builtin"
        return Use(Kind.MODEL, provider.id, model or provider.default_model, local, builtin)

    @property
    def own(self) -> tuple[str, str]:
        """Provider and model that answer where nobody chose."""
        provider = self.get("")
        return provider.id, self.model("", provider) or provider.default_model

    def model(self, asked: str, provider: ModelProvider) -> str:
        """Return the model's name, "" for the provider's own."""
        return asked or (self._settings.model if provider.id == self.default else "")

    def problems(self, id: str, settings: Mapping[str, Any]) -> list[str]:
        """Return what is wrong with an id or its settings."""
        descriptor = next((item for item in self._descriptors if item.id == id), None)
        if descriptor is None:
            return [f"There is no model provider {id!r}; there are {', '.join(self._providers)}."]
        return provider_calls.problems(descriptor.schema, settings)

    def find(self, id: str) -> ModelProvider | None:
        """Return a provider; "" is the default, None for an unknown one."""
        return self._providers.get(id or self.default)

    def get(self, id: str) -> ModelProvider:
        """Return a provider; "" is the default. Raises InvalidArgument(PROVIDER_INVALID) for an unknown one."""
        found = self.find(id)
        if found is None:
            raise InvalidArgument(self.problems(id or self.default, {})[0], reason="PROVIDER_INVALID")
        return found

    async def close(self) -> None:
        """Close all of them."""
        for provider in self._providers.values():
            await provider.close()
