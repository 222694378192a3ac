"""Drops passages that say nearly the same as a better one."""

from __future__ import annotations

from collections.abc import Sequence

from footnote.types.v1.reasons_pb2 import SCORE_ADJUSTMENT_KIND_NEAR_DUPLICATE
from footnote_text.near_duplicates import Originals, alike

from footnote_retrieval.model import Candidate

_SHORT = 8  # terms; shorter passages count as repetitions only if equal


def without_repetitions(candidates: Sequence[Candidate], wanted: int, threshold: float) -> list[Candidate]:
    """Return the first `wanted` candidates without near repetitions of earlier ones."""
    originals: Originals[Candidate] = Originals(alike(threshold), whole_below=_SHORT)
    for candidate in candidates:
        if len(originals) >= wanted:
            break
        original = originals.of(candidate, candidate.hit.lexical_text.split())
        if original is not None:
            original.adjust(SCORE_ADJUSTMENT_KIND_NEAR_DUPLICATE, 0.0, candidate.hit.id)
    return originals.kept
