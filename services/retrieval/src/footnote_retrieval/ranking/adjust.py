"""Score adjustments after fusion: word proximity, recency, and a place for each of several named files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from operator import attrgetter

from footnote.types.v1.reasons_pb2 import (
    SCORE_ADJUSTMENT_KIND_FILE_NAMED,
    SCORE_ADJUSTMENT_KIND_PROXIMITY,
    SCORE_ADJUSTMENT_KIND_RECENCY,
)

from footnote_retrieval.model import Candidate
from footnote_retrieval.query.files import NamedFile
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


def guarantee_files(ranked: list[Candidate], files: Sequence[NamedFile], wanted: int) -> list[Candidate]:
    """Put the best chunk of each named file among the first `wanted`, best first otherwise."""
    if len(files) < 2 or wanted < 2:
        return ranked
    owner = {document_id: index for index, file in enumerate(files) for document_id in file.document_ids}
    best: dict[int, Candidate] = {}
    for candidate in ranked:
        index = owner.get(candidate.hit.document_id)
        if index is not None:
            best.setdefault(index, candidate)
    guaranteed = list(best.values())[:wanted]
    head = ranked[:wanted]
    missing = [candidate for candidate in guaranteed if not any(candidate is c for c in head)]
    for candidate in missing:
        # The weakest chunk that is not some file's only one makes room.
        for index in range(len(head) - 1, -1, -1):
            if not any(head[index] is g for g in guaranteed):
                del head[index]
                break
        candidate.adjust(SCORE_ADJUSTMENT_KIND_FILE_NAMED, 0.0)
        head.append(candidate)
    order(head)
    chosen = {id(candidate) for candidate in head}
    return head + [candidate for candidate in ranked if id(candidate) not in chosen]
