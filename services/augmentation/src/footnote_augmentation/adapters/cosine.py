"""A reranker by cosine similarity of embeddings, with any registered embedding provider."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import numpy as np
from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_providers import registry
from footnote_providers.base import EmbeddingProvider


class CosineReranker:
    """Embeds question and passages and scores by their cosine; negative similarity counts as none."""

    def __init__(self, provider: Callable[[], EmbeddingProvider | Awaitable[EmbeddingProvider]]) -> None:
        self._make = provider
        self._provider: EmbeddingProvider | None = None

    async def rerank(self, question: str, passages: Sequence[str], scores: Sequence[float]) -> list[float]:
        """Return cosines, 0 to 1. Raises Unavailable(PROVIDER_FAILED) when the provider does not answer."""
        if self._provider is None:
            made = self._make()
            self._provider = await made if isinstance(made, Awaitable) else made
        provider = self._provider
        query = await provider.embed_query(question)
        rows = [
            await provider.embed_documents(passages[start : start + provider.max_batch])
            for start in range(0, len(passages), provider.max_batch)
        ]
        similarity = np.concatenate(rows) @ query
        return [float(value) for value in np.clip(similarity, 0.0, 1.0)]

    async def close(self) -> None:
        """Leave the provider open: the registry of providers shares it."""


def create(model: str, settings: Mapping[str, Any]) -> CosineReranker:
    """Make one; `provider` names the embedding provider, the model is that provider's."""
    wanted = EmbeddingSettings(provider=str(settings.get("provider", "")), model=model)
    return CosineReranker(lambda: registry.create(wanted))
