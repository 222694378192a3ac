"""Augmentation's outside dependencies: a reranker that scores passages for a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Scores passages for a question."""

    async def rerank(self, question: str, passages: Sequence[str], scores: Sequence[float]) -> list[float]:
        """Return a score from 0 to 1 per passage, in their order; `scores` are retrieval's. Raises FootnoteError."""
        ...

    async def close(self) -> None:
        """Release its resources: connections, a model in memory."""
        ...
