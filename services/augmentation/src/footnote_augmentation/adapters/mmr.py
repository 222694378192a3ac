"""Maximal marginal relevance (Carbonell and Goldstein, 1998): relevant passages that do not repeat one another."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Mapping, Sequence

from footnote_kit.registration import Wanted
from footnote_text.lexical import terms
from pydantic import BaseModel, ConfigDict, Field

from footnote_augmentation.ports import Reranker


class Settings(BaseModel):
    """The settings that a collection may set."""

    model_config = ConfigDict(extra="forbid")

    balance: float = Field(default=0.7, ge=0, le=1, description="1 is relevance alone, 0 diversity alone.")


class MmrReranker:
    """Orders by `balance` x relevance - (1 - balance) x greatest similarity to a passage already taken."""

    def __init__(self, balance: float = 0.7) -> None:
        self._balance = balance

    async def rerank(self, question: str, passages: Sequence[str], scores: Sequence[float]) -> list[float]:
        """Return scores that fall in the order in which passages are taken; each is at most retrieval's own."""
        return await asyncio.to_thread(self._scores, passages, scores)

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _scores(self, passages: Sequence[str], scores: Sequence[float]) -> list[float]:
        vectors = [_vector(passage) for passage in passages]
        rest = list(range(len(passages)))
        closest = [0.0] * len(passages)
        result = [0.0] * len(passages)
        ceiling = 1.0
        while rest:
            best = max(rest, key=lambda i: self._balance * scores[i] - (1 - self._balance) * closest[i])
            value = max(0.0, self._balance * scores[best] + (1 - self._balance) * scores[best] * (1 - closest[best]))
            # Scores must fall in the order taken, or sorting by them would undo it.
            ceiling = result[best] = min(ceiling, value)
            rest.remove(best)
            for i in rest:
                closest[i] = max(closest[i], _cosine(vectors[best], vectors[i]))
        return result


def _vector(text: str) -> dict[str, float]:
    weights = {term: 1 + math.log(count) for term, count in Counter(terms(text)).items()}
    norm = math.sqrt(sum(value * value for value in weights.values())) or 1.0
    return {term: value / norm for term, value in weights.items()}


def _cosine(left: Mapping[str, float], right: Mapping[str, float]) -> float:
    if len(left) > len(right):
        left, right = right, left
    return sum(value * right[term] for term, value in left.items() if term in right)


def create(wanted: Wanted[Settings]) -> Reranker:
    """Create one; there is no model to choose."""
    return MmrReranker(wanted.settings.balance)
