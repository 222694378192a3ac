"""Score boosts after fusion that do not depend on the file: word proximity and recency."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from operator import attrgetter

from footnote.types.v1.reasons_pb2 import SCORE_ADJUSTMENT_KIND_PROXIMITY, SCORE_ADJUSTMENT_KIND_RECENCY

from footnote_retrieval.model import Candidate
from footnote_retrieval.ranking.proximity import MOST, STRENGTH, TOP, Occurrences, Proximity

_EQUAL_DIGITS = 9  # scores that agree so far count as equal
_FURTHER_APART = 2 * 10**-_EQUAL_DIGITS
"""Scores further apart than this cannot round to the same number."""
_SCORE = attrgetter("score")


def order(candidates: list[Candidate]) -> None:
    """Sort best first; equal scores by newer document, then by reading order."""
    candidates.sort(key=_SCORE, reverse=True)
    scores = [candidate.score for candidate in candidates]
    if all(better - next_ > _FURTHER_APART for better, next_ in pairwise(scores)):
        return  # the usual case; rounding every score takes four times as long as sorting
    candidates.sort(
        key=lambda c: (-round(c.score, _EQUAL_DIGITS), -c.hit.created_at, c.hit.id),
    )


def apply_proximity(candidates: Sequence[Candidate], query: Sequence[str], sought: Occurrences | None = None) -> None:
    """Raise passages in which the query's words stand together; scores stay in 0..1. Candidates come best first.

    score' = (score + strength · lexical weight · proximity) / (1 + strength · the most that proximity can be)

    `sought` are the query's terms, with their known positions in passages.
    """
    if len(set(query)) < 2:
        return  # a single word has no proximity
    proximity, whole = Proximity(query, sought), 1 + STRENGTH * MOST
    for candidate in candidates[:TOP]:
        close = proximity(candidate.hit.lexical_text)
        lifted = (candidate.score + STRENGTH * (1 - candidate.dense_weight) * close) / whole
        candidate.adjust(SCORE_ADJUSTMENT_KIND_PROXIMITY, lifted - candidate.score, close / MOST)
    for candidate in candidates[TOP:]:
        candidate.adjust(SCORE_ADJUSTMENT_KIND_PROXIMITY, candidate.score / whole - candidate.score, 0.0)


def apply_recency(candidates: Sequence[Candidate], weight: float, half_life: float, now: float) -> None:
    """Add to each score a share that halves with every `half_life` seconds of age; scores stay within 0..1.

    score' = (score + weight · level · 2^(−age / half_life)) / (1 + weight)
    """
    if weight <= 0:
        return
    for candidate in candidates:
        age = max(0.0, now - candidate.hit.created_at / 1000)
        boosted = (candidate.score + weight * candidate.level * math.pow(2.0, -age / half_life)) / (1 + weight)
        candidate.adjust(SCORE_ADJUSTMENT_KIND_RECENCY, boosted - candidate.score, age)
