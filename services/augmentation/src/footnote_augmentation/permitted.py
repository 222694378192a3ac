"""Whether a reranker may receive question and passages, and which callers may choose which reranker.

The cosine reranker sends them to its embedding provider, which counts as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import ProviderChoice, TextBounds
from footnote.types.v1.collection_pb2 import EmbeddingSettings, RerankSettings
from footnote_kit.settings_words import read
from footnote_providers import registry
from footnote_providers.egress.egress import Egress
from google.protobuf import json_format
from pydantic import BaseModel, ConfigDict, Field

from footnote_augmentation.registry import Rerankers
from footnote_augmentation.settings import Settings


class CosineSettings(BaseModel):
    """The settings that a collection may set."""

    model_config = ConfigDict(extra="forbid")

    provider: str = Field(
        default="", max_length=100, description="The embedding provider; empty means the deployment's default."
    )


def embedding_of(model: str, settings: CosineSettings) -> EmbeddingSettings:
    """Return the embedding provider to use; the model is that provider's."""
    return registry.with_defaults(EmbeddingSettings(provider=settings.provider, model=model))


class Permitted:
    """Applies the operator's policy before a reranker receives texts."""

    def __init__(self, egress: Egress, rerankers: Rerankers, settings: Settings) -> None:
        self._egress = egress
        self._rerankers = rerankers
        self._settings = settings

    def check(
        self, scope: Scope, provider: str, rerank: RerankSettings, bounds: TextBounds, *, chosen: bool = True
    ) -> None:
        """Raise unless `provider` may re-score texts with these bounds and, if `chosen`, this caller may choose it.

        PermissionDenied or FailedPrecondition, PROVIDER_NOT_ALLOWED.
        """
        named: Mapping[str, Any] = json_format.MessageToDict(rerank.settings)
        self._rerankers.require(provider, named)
        use = self._rerankers.use(provider, rerank.model, self._egress)
        if provider == "cosine":
            embedder = registry.use_of(embedding_of(rerank.model, read(CosineSettings, named)), self._egress)
            use = replace(use, local=embedder.local, builtin=embedder.builtin)
            self._egress.check(embedder, scope, bounds)
            if chosen:
                own = registry.meaning(ProviderChoice())
                self._egress.check_choice(embedder, scope, [own], bounds, registry.meaning)
        self._egress.check(use, scope, bounds)
        if chosen:
            own = self._meaning(ProviderChoice(provider=self._settings.reranker))
            self._egress.check_choice(use, scope, [own], bounds, self._meaning)

    def _meaning(self, choice: ProviderChoice) -> tuple[str, str]:
        return choice.provider, self._rerankers.model(choice.provider, choice.model)
