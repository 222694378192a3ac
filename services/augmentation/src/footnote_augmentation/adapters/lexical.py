"""A reranker on words alone: the share of the question that a passage's best window covers, weighted by rarity."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Mapping, Sequence

from footnote_kit.registration import Wanted
from footnote_text.language import detect
from footnote_text.lexical import terms
from pydantic import BaseModel, ConfigDict, Field

from footnote_augmentation.ports import Reranker

_WINDOW = 40


class Settings(BaseModel):
    """The settings that a collection may set."""

    model_config = ConfigDict(extra="forbid")

    weight: float = Field(default=0.5, ge=0, le=1, description="Share of coverage in the score.")


class LexicalReranker:
    """Blends retrieval's score with coverage of the question's terms inside a window of a few sentences."""

    def __init__(self, weight: float = 0.5) -> None:
        self._weight = weight

    async def rerank(self, question: str, passages: Sequence[str], scores: Sequence[float]) -> list[float]:
        """Return blended scores, 0 to 1."""
        return await asyncio.to_thread(self._scores, question, passages, scores)

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _scores(self, question: str, passages: Sequence[str], scores: Sequence[float]) -> list[float]:
        language = detect(question)
        wanted = list(dict.fromkeys(terms(question, language)))
        if not wanted:
            return list(scores)
        texts = [terms(passage, language) for passage in passages]
        frequency = Counter(term for text in texts for term in set(text) & set(wanted))
        weights = {term: math.log(1 + (len(texts) + 0.5) / (frequency[term] + 0.5)) for term in wanted}
        total = sum(weights.values())
        covered = [coverage(text, weights) / total for text in texts]
        return [self._weight * part + (1 - self._weight) * score for part, score in zip(covered, scores, strict=True)]


def coverage(text: Sequence[str], weights: Mapping[str, float]) -> float:
    """Return the greatest weight of distinct wanted terms inside any window of the text."""
    hits = [(index, term) for index, term in enumerate(text) if term in weights]
    best = current = 0.0
    inside: Counter[str] = Counter()
    first = 0
    for index, term in hits:
        if inside[term] == 0:
            current += weights[term]
        inside[term] += 1
        while index - hits[first][0] >= _WINDOW:
            gone = hits[first][1]
            inside[gone] -= 1
            if inside[gone] == 0:
                current -= weights[gone]
            first += 1
        best = max(best, current)
    return best


def create(wanted: Wanted[Settings]) -> Reranker:
    """Create one; there is no model to choose."""
    return LexicalReranker(wanted.settings.weight)
