"""Query vectors from the registered embedding providers."""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import suppress

import numpy as np
from cachetools import LRUCache
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import ProviderChoice, TextBounds
from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_kit import names
from footnote_kit.errors import FootnoteError, Unavailable
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import span
from footnote_providers import registry
from footnote_providers.base import Cosines
from footnote_providers.egress.egress import Egress, Use
from footnote_providers.registry import choose
from footnote_providers.settings import DefaultSettings

from footnote_retrieval.ports import NO_BOUNDS, QueryVector

_log = get_logger("footnote.retrieval.embedding")
_MOST_VECTORS = 512


class ProviderEmbedder:
    """Embeds queries by the settings of their collections, and caches the last few hundred vectors.

    Pages of one search, and the memory search beside it, need the same vector again.
    """

    def __init__(self, egress: Egress | None = None) -> None:
        self._egress = egress or Egress.load()
        self._defaults = DefaultSettings()
        self._cache: LRUCache[tuple[bytes, bytes], QueryVector] = LRUCache(_MOST_VECTORS)
        self._loading: set[asyncio.Task[None]] = set()

    async def embed_query(self, settings: EmbeddingSettings, text: str) -> QueryVector:
        """Embed one query; raises Unavailable with the provider's message when it fails."""
        chosen = registry.with_defaults(settings, self._defaults)
        model = chosen.SerializeToString(deterministic=True)
        key = (model, hashlib.sha256(text.encode(errors="replace")).digest())
        if (known := self._cache.get(key)) is not None:
            _log.info("query_vector_reused", of="an earlier question", provider=chosen.provider)
            return known
        try:
            made = self._cache[key] = await self._embed(chosen, text)
        except FootnoteError:
            raise
        except Exception as error:  # a provider may be of another package, so that what else it does is Unavailable too
            raise Unavailable(f"It ended with {type(error).__name__}", reason="PROVIDER_FAILED") from error
        return made

    async def _embed(self, chosen: EmbeddingSettings, text: str) -> QueryVector:
        async with registry.lease(chosen, self._defaults) as provider:
            attributes = {
                names.GEN_AI_OPERATION: "embeddings",
                names.GEN_AI_PROVIDER: chosen.provider,
                names.GEN_AI_REQUEST_MODEL: chosen.model,
            }
            with span(f"embeddings {chosen.model}", attributes):
                vector = np.asarray(await provider.embed_query(text), dtype=np.float32)
            # WeighsQuestions, KnowsItsCosines and HoldsItsWeight: `isinstance` of a protocol takes ten times as long.
            weigh = getattr(provider, "dense_weight_for", None)
            weight: float = provider.recommended_dense_weight if weigh is None else weigh(text)
            length = chosen.dimensions or provider.dimensions or vector.size
            if vector.shape != (length,) or not np.isfinite(vector).all() or not np.isfinite(weight):
                raise Unavailable("Its vector cannot be used", reason="PROVIDER_FAILED")
            cosines: Cosines | None = getattr(provider, "cosines", None)
            return QueryVector(vector, weight, cosines, bool(getattr(provider, "holds_weight", False)))

    async def warm(self, text: str) -> None:
        """Load the local embedders of new collections and of questions outside collections.

        Slow loading, of a model for example, continues in the background after this call.
        """
        unsaid = EmbeddingSettings()
        for provider in {registry.with_defaults(unsaid, self._defaults).provider, choose(self._defaults).provider}:
            settings = EmbeddingSettings(provider=provider) if provider != self._defaults.provider else unsaid
            registration = registry.registrations().get(provider)
            if registration is None or not self.is_local(settings):
                continue
            loading = asyncio.create_task(self._load(settings, text), name=f"warm-{provider}")
            if registration.slow:
                self._loading.add(loading)
            else:
                await loading

    async def _load(self, settings: EmbeddingSettings, text: str) -> None:
        with suppress(FootnoteError):  # a caller gets the error with its request
            await self.embed_query(settings, text)

    def check(
        self, scope: Scope, settings: EmbeddingSettings, searched: TextBounds, query: TextBounds = NO_BOUNDS
    ) -> None:
        """Raise unless these settings may embed a query (PROVIDER_NOT_ALLOWED).

        `searched` are the bounds of the searched collections, `query` those of what the query repeats. A remote
        provider must be allowed by both.
        """
        use = self._use(settings)
        self._egress.check(use, scope, searched)
        self._egress.check(use, scope, query)
        if query.collections and not use.local:
            own = registry.meaning(ProviderChoice())
            self._egress.check_choice(use, scope, [own], query, registry.meaning)

    def is_local(self, settings: EmbeddingSettings) -> bool:
        """Return whether these settings embed on this machine, so that a call sends no text elsewhere."""
        return self._use(settings).local

    def _use(self, settings: EmbeddingSettings) -> Use:
        return registry.use_of(registry.with_defaults(settings, self._defaults), self._egress)

    async def dense_weight(self, settings: EmbeddingSettings) -> float:
        """Return the fusion weight that the provider recommends."""
        registration = registry.registrations().get(registry.with_defaults(settings, self._defaults).provider)
        return registration.recommended_dense_weight if registration else 0.0

    async def close(self) -> None:
        """Close the providers."""
        for loading in self._loading:
            loading.cancel()
        await asyncio.gather(*self._loading, return_exceptions=True)
        self._cache.clear()
        await registry.close_all()
