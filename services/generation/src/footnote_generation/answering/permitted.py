"""Whether a prompt may be given to a model, its statements to a second opinion, and who may choose which model."""

from __future__ import annotations

from footnote.types.v1.collection_pb2 import EmbeddingSettings, GenerationSettings
from footnote.types.v1.provider_pb2 import PROVIDER_KIND_MODEL, TextBounds
from footnote.types.v1.scope_pb2 import Scope
from footnote_kit.errors import FootnoteError
from footnote_providers import registry
from footnote_providers.egress.egress import Use
from footnote_providers.egress.policy import Kind

from footnote_generation.ports import ModelProvider
from footnote_generation.registry import Providers
from footnote_generation.settings import Settings


class Permitted:
    """Asks the operator's policy before a model is given texts."""

    def __init__(self, providers: Providers, settings: Settings) -> None:
        self._providers = providers
        self._egress = providers.egress
        self._verifier = settings.verifier

    def check(self, scope: Scope, provider: ModelProvider, model: str, bounds: TextBounds) -> None:
        """Raise unless texts so bound may be given to a model that this caller may choose.

        PermissionDenied or FailedPrecondition, PROVIDER_NOT_ALLOWED. Never is another model taken in its place.
        """
        use = self._providers.use(provider, model)
        self._egress.check(use, scope, bounds)
        known = [self._providers.own]
        for one in bounds.configured:
            if one.kind == PROVIDER_KIND_MODEL:
                theirs = self._providers.find(one.provider)
                if theirs is not None:
                    known.append((theirs.id, self._providers.model(one.model, theirs) or theirs.default_model))
        self._egress.check_choice(use, scope, known, bounds)

    def longest_answer(self, scope: Scope, settings: GenerationSettings, bounds: TextBounds) -> int:
        """Return the tokens that an answer may take: what is set, within the operator's limits for this caller."""
        return min(settings.max_tokens, self._egress.limits(scope, bounds.collections).max_tokens)

    def why_no_opinion(self, scope: Scope, bounds: TextBounds) -> str:
        """Return why the second opinion may not be given these texts, "" when it may or there is none."""
        kind, _, model = self._verifier.partition(":")
        if not kind:
            return ""
        use = Use(Kind.VERIFIER, kind, model, local=True)
        if kind != "nli":
            chosen = registry.with_defaults(EmbeddingSettings(provider=kind, model=model))
            use = registry.use_of(chosen, self._egress, Kind.VERIFIER)
        try:
            self._egress.check(use, scope, bounds)
        except FootnoteError as refusal:
            return refusal.message
        return ""
