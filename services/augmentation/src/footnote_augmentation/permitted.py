"""Whether question and passages may be given to a reranker, and who may choose which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from footnote.types.v1.collection_pb2 import EmbeddingSettings, RerankSettings
from footnote.types.v1.provider_pb2 import PROVIDER_KIND_EMBEDDING, PROVIDER_KIND_RERANKER, TextBounds
from footnote.types.v1.scope_pb2 import Scope
from footnote_kit.settings_words import read
from footnote_providers import registry
from footnote_providers.egress.egress import Egress, Use
from google.protobuf import json_format

from footnote_augmentation.adapters.cosine import Settings as Cosine
from footnote_augmentation.adapters.cosine import embedding_of
from footnote_augmentation.registry import Rerankers
from footnote_augmentation.settings import Settings


class Permitted:
    """Asks the operator's policy before a reranker is given texts."""

    def __init__(self, egress: Egress, rerankers: Rerankers, settings: Settings) -> None:
        self._egress = egress
        self._rerankers = rerankers
        self._settings = settings

    def check(
        self, scope: Scope, provider: str, rerank: RerankSettings, bounds: TextBounds, *, chosen: bool = True
    ) -> None:
        """Raise unless texts so bound may be re-scored by `provider`, and, if it was `chosen`, by this caller's choice.

        PermissionDenied or FailedPrecondition, PROVIDER_NOT_ALLOWED.
        """
        named: Mapping[str, Any] = json_format.MessageToDict(rerank.settings)
        self._rerankers.require(provider, named)
        use = self._rerankers.use(provider, rerank.model, self._egress)
        if provider == "cosine":
            embedder = registry.use_of(embedding_of(rerank.model, read(Cosine, named)), self._egress)
            use = replace(use, local=embedder.local, builtin=embedder.builtin)
            self._check(scope, embedder, bounds, self._embedders(bounds) if chosen else None)
        self._check(scope, use, bounds, self._own(bounds) if chosen else None)

    def _check(self, scope: Scope, use: Use, bounds: TextBounds, known: Iterable[tuple[str, str]] | None) -> None:
        self._egress.check(use, scope, bounds)
        if known is not None:
            self._egress.check_choice(use, scope, known, bounds)

    def _own(self, bounds: TextBounds) -> list[tuple[str, str]]:
        """Return the rerankers that the deployment and the collections use, models filled in."""
        used = [(self._settings.reranker, "")]
        used += [(one.provider, one.model) for one in bounds.configured if one.kind == PROVIDER_KIND_RERANKER]
        return [(provider, self._rerankers.model(provider, model)) for provider, model in used]

    def _embedders(self, bounds: TextBounds) -> list[tuple[str, str]]:
        """Return the embedding providers that the deployment and the collections use, models filled in."""
        used = [("", "")]
        used += [(one.provider, one.model) for one in bounds.configured if one.kind == PROVIDER_KIND_EMBEDDING]
        filled = (registry.with_defaults(EmbeddingSettings(provider=name, model=model)) for name, model in used)
        return [(one.provider, one.model) for one in filled]
