"""Chooses an answer's verifier: none, the deployment's own, or a language model if the policy allows it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.collection_pb2 import GenerationSettings

from footnote_generation.answering.model_verifier import Budget, ModelVerifier
from footnote_generation.answering.permitted import Permitted
from footnote_generation.ports import ModelProvider, Verifier
from footnote_generation.registry import MODEL_VERIFIER, Providers
from footnote_generation.settings import Settings


@dataclass(frozen=True, slots=True)
class ChosenVerifier:
    """The verifier of one answer, or None; `why_not` says why a wanted one is not permitted.

    `name` is its model, for people: footnotes that it confirms say it.
    """

    verifier: Verifier | None = None
    why_not: str = ""
    name: str = ""


NO_VERIFIER = ChosenVerifier()


class Verifiers:
    """Chooses by the settings of the deployment and of the question."""

    def __init__(self, settings: Settings, providers: Providers, permitted: Permitted, shared: Verifier | None) -> None:
        self._settings = settings
        self._providers = providers
        self._permitted = permitted
        self._shared = shared
        self._budget = Budget(
            settings.verifier_calls, settings.verifier_tokens, settings.verifier_timeout or Budget().seconds
        )
        self._named = self._by_name(settings.verifier)

    def _by_name(self, verifier: str) -> tuple[ModelProvider, str] | None:
        """Return provider and model of `model:<provider>:<model>`; InvalidArgument for an unknown provider."""
        kind, _, named = verifier.partition(":")
        if kind != MODEL_VERIFIER or not named:
            return None
        id, _, model = named.partition(":")
        provider = self._providers.get(id)
        return provider, model or self._providers.model("", provider)

    def choose(
        self, settings: GenerationSettings, provider: ModelProvider, model: str, scope: Scope, bounds: TextBounds
    ) -> ChosenVerifier:
        """Return the verifier of an answer by this provider and model."""
        if not settings.second_opinion:
            return NO_VERIFIER
        if self._shared is not None:
            why_not = self._permitted.why_no_verifier(scope, bounds)
            if why_not:
                return ChosenVerifier(None, why_not)
            return ChosenVerifier(self._shared, name=_name(self._settings.verifier))
        if self._named is not None:
            provider, model = self._named
        if provider.id == "builtin":
            return NO_VERIFIER
        chosen = self._named is None
        why_not = self._permitted.why_no_model(scope, provider, model, bounds, chosen=chosen)
        if why_not:
            return ChosenVerifier(None, why_not)
        verifier = ModelVerifier(provider, model, self._budget, self._settings.prices)
        return ChosenVerifier(verifier, name=model or provider.default_model)


def _name(verifier: str) -> str:
    """Return the model of `<provider>:<model>`, of a folder its last part, without a model the provider."""
    id, _, model = verifier.partition(":")
    return PurePath(model).name or id
