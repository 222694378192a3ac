"""What happens to the fused list before it is cut: recency, repetitions, files that must be there."""

from __future__ import annotations

import math
from collections.abc import Sequence

from footnote.types.v1.reasons_pb2 import (
    SCORE_ADJUSTMENT_KIND_FILE_NAMED,
    SCORE_ADJUSTMENT_KIND_NEAR_DUPLICATE,
    SCORE_ADJUSTMENT_KIND_PROXIMITY,
    SCORE_ADJUSTMENT_KIND_RECENCY,
)
from footnote_text.near_duplicates import Originals, alike

from footnote_retrieval.files import NamedFile
from footnote_retrieval.model import Candidate
from footnote_retrieval.proximity import MOST, STRENGTH, TOP, Proximity

_SHORT = 8  # terms; shorter passages count as repetitions only when they are equal


def order(candidates: list[Candidate]) -> None:
    """Sort best first; equal scores by newer document, then by reading order."""
    candidates.sort(
        key=lambda c: (-round(c.score, 9), -c.hit.created_at, c.hit.id),
    )


def apply_proximity(candidates: Sequence[Candidate], query: Sequence[str]) -> None:
    """Lift passages in which the query's words stand together; scores stay within 0..1. Candidates come best first.

    score' = (score + strength · lexical weight · proximity) / (1 + strength · the most that proximity can be)
    """
    if len(set(query)) < 2:
        return  # one word stands with nothing
    proximity = Proximity(query)
    for position, candidate in enumerate(candidates):
        close = proximity(candidate.hit.lexical_text) if position < TOP else 0.0
        lifted = (candidate.score + STRENGTH * (1 - candidate.dense_weight) * close) / (1 + STRENGTH * MOST)
        candidate.adjust(SCORE_ADJUSTMENT_KIND_PROXIMITY, lifted - candidate.score, close / MOST)


def apply_recency(candidates: Sequence[Candidate], weight: float, half_life: float, now: float) -> None:
    """Add to each score a share that halves with every `half_life` seconds of age; scores stay within 0..1.

    score' = (score + weight · 2^(−age / half_life)) / (1 + weight)
    """
    if weight <= 0:
        return
    for candidate in candidates:
        age = max(0.0, now - candidate.hit.created_at / 1000)
        boosted = (candidate.score + weight * math.pow(2.0, -age / half_life)) / (1 + weight)
        candidate.adjust(SCORE_ADJUSTMENT_KIND_RECENCY, boosted - candidate.score, age)


def without_repetitions(candidates: Sequence[Candidate], wanted: int, threshold: float) -> list[Candidate]:
    """Return the first `wanted` candidates, leaving out near repetitions of one before."""
    originals: Originals[Candidate] = Originals(alike(threshold), whole_below=_SHORT)
    for candidate in candidates:
        if len(originals) >= wanted:
            break
        original = originals.of(candidate, candidate.hit.lexical_text.split())
        if original is not None:
            original.adjust(SCORE_ADJUSTMENT_KIND_NEAR_DUPLICATE, 0.0, candidate.hit.id)
    return originals.kept


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
        # The weakest that is nobody's only chunk makes room.
        for index in range(len(head) - 1, -1, -1):
            if not any(head[index] is g for g in guaranteed):
                del head[index]
                break
        candidate.adjust(SCORE_ADJUSTMENT_KIND_FILE_NAMED, 0.0)
        head.append(candidate)
    order(head)
    chosen = {id(candidate) for candidate in head}
    return head + [candidate for candidate in ranked if id(candidate) not in chosen]
