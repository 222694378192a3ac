"""A second opinion by embeddings: the similarity in meaning of a statement and a passage. It sees no contradiction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_kit.errors import InvalidArgument
from footnote_providers import registry

from footnote_generation.ports import Asked, Opinion

# Similarity says little about truth, so it changes no verdict, only the score of unconfirmed statements.
ENOUGH = 0.9


class EmbeddingOpinion:
    """Cosine of embeddings, with any registered embedding provider."""

    most_passages = 24
    sees_contradictions = False

    def __init__(self, provider: str, model: str, enough: float, timeout: float) -> None:
        problems = registry.validate(provider, {})
        if problems:
            raise InvalidArgument(" ".join(problems), reason="PROVIDER_INVALID")
        self._settings = EmbeddingSettings(provider=provider, model=model)
        self.enough = enough or ENOUGH
        self.timeout = timeout

    async def ask(self, asked: Sequence[Asked]) -> list[list[Opinion]]:
        """Return the cosines; raises Unavailable(PROVIDER_FAILED) when the provider does not answer."""
        if not asked:
            return []
        texts = list(dict.fromkeys(text for statement, passages in asked for text in (statement, *passages)))
        async with registry.lease(self._settings) as provider:
            size = provider.max_batch
            rows = [await provider.embed_documents(texts[start : start + size]) for start in range(0, len(texts), size)]
        vectors = dict(zip(texts, np.concatenate(rows), strict=True))
        return [
            [Opinion(float(np.clip(vectors[passage] @ vectors[statement], 0.0, 1.0))) for passage in passages]
            for statement, passages in asked
        ]

    async def close(self) -> None:
        """Leave the provider open: the registry of providers shares it."""
