"""What augmentation needs from others: something that scores passages for a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Reranker(Protocol):
    """Scores passages for a question."""

    async def rerank(self, question: str, passages: Sequence[str], scores: Sequence[float]) -> list[float]:
        """Return a score from 0 to 1 per passage, in their order; `scores` are retrieval's. Raises FootnoteError."""
        ...

    async def close(self) -> None:
        """Give back what it holds: connections, a model in memory."""
        ...


class CreateReranker(Protocol):
    """Makes a reranker from a model's name and checked settings."""

    def __call__(self, model: str, settings: Mapping[str, Any]) -> Reranker:
        """Return a reranker; raises InvalidArgument when model or settings do not fit."""
        ...


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A registered kind of reranker: how it is shown, what its settings are and how one is made."""

    id: str
    display_name: str
    create: CreateReranker
    schema: Mapping[str, Any]
    default_model: str = ""
    max_batch: int = 0
    # What it needs before it can be used, for people; empty when it always can.
    needs: str = ""
