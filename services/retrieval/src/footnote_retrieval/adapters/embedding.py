"""Query vectors from the registered embedding providers."""

from __future__ import annotations

import hashlib
from collections import OrderedDict

from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_providers import registry
from footnote_providers.base import EmbeddingProvider, WeighsQuestions
from footnote_providers.settings import DefaultSettings

from footnote_retrieval.ports import QueryVector

_LOCAL = ("builtin", "onnx")


class ProviderEmbedder:
    """Embeds queries by the settings of their collections, the last few hundred vectors kept.

    Pages of one search, and the memory search beside it, ask for the same vector again.
    """

    def __init__(self, keep: int = 512) -> None:
        self._defaults = DefaultSettings()
        self._providers: dict[bytes, EmbeddingProvider] = {}
        self._kept: OrderedDict[tuple[bytes, bytes], QueryVector] = OrderedDict()
        self._keep = keep

    async def embed_query(self, settings: EmbeddingSettings, text: str) -> QueryVector:
        """Embed one query; raises Unavailable with the provider's words when it fails."""
        chosen = registry.with_defaults(settings, self._defaults)
        model = chosen.SerializeToString(deterministic=True)
        key = (model, hashlib.sha256(text.encode(errors="replace")).digest())
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        provider = self._providers.get(model)
        if provider is None:
            # Off the event loop: it may read a model from disk.
            provider = self._providers[model] = await registry.acreate(chosen, self._defaults)
        vector = await provider.embed_query(text)
        weight = provider.recommended_dense_weight
        if isinstance(provider, WeighsQuestions):
            weight = provider.dense_weight_for(text)
        made = QueryVector(vector, weight)
        self._kept[key] = made
        if len(self._kept) > self._keep:
            self._kept.popitem(last=False)
        return made

    def is_local(self, settings: EmbeddingSettings) -> bool:
        """Tell whether these settings embed on this machine, so that a call costs nobody money."""
        return registry.with_defaults(settings, self._defaults).provider in _LOCAL

    async def dense_weight(self, settings: EmbeddingSettings) -> float:
        """Return the weight that the provider recommends."""
        registration = registry.registrations().get(registry.with_defaults(settings, self._defaults).provider)
        return registration.recommended_dense_weight if registration else 0.0

    async def close(self) -> None:
        """Close the providers."""
        self._providers.clear()
        await registry.close_all()
