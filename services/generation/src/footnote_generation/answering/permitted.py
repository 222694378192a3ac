"""Whether a model or a verifier may receive texts, and which callers may choose which model."""

from __future__ import annotations

from dataclasses import replace

from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import ProviderChoice, TextBounds
from footnote.types.v1.collection_pb2 import GenerationSettings
from footnote_kit.errors import FootnoteError
from footnote_providers.egress.policy import Kind

from footnote_generation.ports import ModelProvider
from footnote_generation.registry import MODEL_VERIFIER, Providers
from footnote_generation.settings import Settings


class Permitted:
    """Applies the operator's policy before a model receives texts."""

    def __init__(self, providers: Providers, settings: Settings) -> None:
        self._providers = providers
        self._egress = providers.egress
        self._verifier = settings.verifier

    def check(self, scope: Scope, provider: ModelProvider, model: str, bounds: TextBounds) -> None:
        """Raise unless texts with these bounds may go to a model that this caller may choose.

        PermissionDenied or FailedPrecondition, PROVIDER_NOT_ALLOWED. No other model is ever substituted.
        """
        use = self._providers.use(provider, model)
        self._egress.check(use, scope, bounds)
        self._egress.check_choice(use, scope, [self._providers.own], bounds, self._meaning)

    def _meaning(self, choice: ProviderChoice) -> tuple[str, str] | None:
        provider = self._providers.find(choice.provider)
        if provider is None:
            return None
        return provider.id, self._providers.model(choice.model, provider) or provider.default_model

    def longest_answer(self, scope: Scope, settings: GenerationSettings, bounds: TextBounds) -> int:
        """Return an answer's maximum tokens: the setting, within the operator's limits for this caller."""
        return min(settings.max_tokens, self._egress.limits(scope, bounds.collections).max_tokens)

    def why_no_verifier(self, scope: Scope, bounds: TextBounds) -> str:
        """Return why the shared verifier may not receive these texts, "" if it may or there is none."""
        id, _, model = self._verifier.partition(":")
        if id in ("", MODEL_VERIFIER):
            return ""
        use = self._providers.use_of_verifier(id, model)
        try:
            self._egress.check(use, scope, bounds)
        except FootnoteError as refusal:
            return refusal.message
        return ""

    def why_no_model(
        self, scope: Scope, provider: ModelProvider, model: str, bounds: TextBounds, *, chosen: bool
    ) -> str:
        """Return why a model, perhaps `chosen` by the caller, may not read these texts to verify; "" if it may."""
        try:
            if chosen:
                self.check(scope, provider, model, bounds)
            self._egress.check(replace(self._providers.use(provider, model), kind=Kind.VERIFIER), scope, bounds)
        except FootnoteError as refusal:
            return refusal.message
        return ""
