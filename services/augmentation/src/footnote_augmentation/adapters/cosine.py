"""A reranker by cosine similarity of embeddings, with any registered embedding provider."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_kit.registration import Wanted
from footnote_providers import registry
from footnote_providers.base import embed_waited_for

from footnote_augmentation.permitted import CosineSettings, embedding_of
from footnote_augmentation.ports import Reranker


class CosineReranker:
    """Embeds question and passages and scores by their cosine; negative similarity counts as zero."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._settings = settings

    async def rerank(self, question: str, passages: Sequence[str], scores: Sequence[float]) -> list[float]:
        """Return cosines, 0 to 1. Raises Unavailable(PROVIDER_FAILED) when the provider does not answer."""
        if not passages:
            return []
        async with registry.lease(self._settings) as provider:
            query = await provider.embed_query(question)
            rows = [
                await embed_waited_for(provider, passages[start : start + provider.max_batch])
                for start in range(0, len(passages), provider.max_batch)
            ]
        similarity = np.concatenate(rows) @ query
        return [float(value) for value in np.clip(similarity, 0.0, 1.0)]

    async def close(self) -> None:
        """Leave the provider open: the registry of providers shares it."""


def create(wanted: Wanted[CosineSettings]) -> Reranker:
    """Create one; raises InvalidArgument for a provider that does not exist."""
    return CosineReranker(registry.check(embedding_of(wanted.model, wanted.settings)))
