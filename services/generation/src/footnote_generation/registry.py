"""The model providers and verifiers of a deployment, and the window sizes that models report."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager

from cachetools import LRUCache
from footnote.types.v1.provider_pb2 import Provider
from footnote_kit.epochs import Epoch
from footnote_kit.registration import Registry
from footnote_providers.egress import policy
from footnote_providers.egress.egress import Egress, Use, use
from footnote_providers.pool import Pool
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct

from footnote_generation.ports import ModelProvider, Verifier
from footnote_generation.settings import Settings

MODEL_VERIFIER = "model"
"""The verifier that is a language model: the answering one, or with `:<provider>:<model>` a named one."""
_SECONDS = 10.0  # per call of a verifier shared by all answers
_MOST_WITH_SETTINGS = 8


def shared_verifier(settings: Settings, verifiers: Registry[Verifier]) -> Verifier | None:
    """Return the verifier shared by all answers, None for none or a language model; reads a model from disk.

    Raises InvalidArgument(PROVIDER_INVALID) for an unknown one.
    """
    id, _, model = settings.verifier.partition(":")
    if id in ("", MODEL_VERIFIER):
        return None
    values = {"threshold": settings.verifier_threshold, "timeout": settings.verifier_timeout or _SECONDS}
    return verifiers.require(id, values).build(model, values)


class Providers:
    """The model providers of a deployment, each created once; requests never set addresses and keys."""

    def __init__(
        self,
        settings: Settings,
        models: Registry[ModelProvider],
        verifiers: Registry[Verifier],
        egress: Egress | None = None,
    ) -> None:
        self._settings = settings
        self.egress = egress or Egress()
        self._registry = models
        self._verifiers = verifiers
        self._providers = {id: registration.build() for id, registration in self._registry.items()}
        self._with_settings: Pool[ModelProvider] = Pool(_MOST_WITH_SETTINGS)

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
        window_of = getattr(provider, "window", None)
        window, room = window_of(model) if window_of is not None else (0, 0)
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

    @asynccontextmanager
    async def with_settings(self, provider: ModelProvider, settings: Struct) -> AsyncIterator[ModelProvider]:
        """Yield a provider made with validated settings of its own; without any, the deployment's own one."""
        if not settings.fields:
            yield provider
            return
        values = json_format.MessageToDict(settings)
        key = (provider.id, json.dumps(values, sort_keys=True))
        async with self._with_settings.lease(key, lambda: self._registry[provider.id].build("", values)) as made:
            yield made

    async def close(self) -> None:
        """Close all of them."""
        await self._with_settings.close()
        for provider in self._providers.values():
            await provider.close()


_MOST_REPORTED = 1024


class ContextWindows:
    """Reports window sizes, and starts a new epoch when one differs from the reported size."""

    def __init__(self, providers: Providers, epoch: Epoch) -> None:
        self._providers = providers
        self._epoch = epoch
        self._reported: LRUCache[tuple[str, str], tuple[int, int]] = LRUCache(_MOST_REPORTED)

    def of(self, provider: ModelProvider, model: str) -> tuple[int, int, str]:
        """Return a model's window in tokens, 0 if unknown, its room for reasoning, and the epoch's name."""
        window = self._providers.window(provider, model)
        if (provider.id, model) not in self._reported and len(self._reported) == _MOST_REPORTED:
            self._epoch.advance()  # the oldest size is evicted, and later changes of it would go unnoticed
        self._reported[provider.id, model] = window
        return *window, self._epoch.name

    @contextmanager
    def asking(self, provider: ModelProvider, model: str) -> Iterator[None]:
        """After a call to a model, check whether its window size has changed."""
        try:
            yield
        finally:
            reported = self._reported.get((provider.id, model))
            if reported is not None and reported != self._providers.window(provider, model):
                del self._reported[provider.id, model]
                self._epoch.advance()
