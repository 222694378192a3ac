"""Calibrates a verdict's score: the likelihood that a statement with it is true."""

from __future__ import annotations

from itertools import pairwise

from footnote.types.v1.answer_pb2 import VERDICT_NOT_CONFIRMED, VERDICT_SUPPORTED, Verdict

# Shares of true statements among unconfirmed ones, by the share of their words in the source's most similar part.
# tests/bench/test_bench_likeness.py fits and prints them.
_STEPS = ((0.0, 0.1), (0.5, 0.3), (1.0, 0.5))


def likelihood(support: Verdict.ValueType, score: float) -> float:
    """Return a verdict's score from 0 to 1: for NOT_CONFIRMED it depends on similarity alone. Never raises."""
    if support == VERDICT_SUPPORTED:
        return score
    if support != VERDICT_NOT_CONFIRMED:
        return min(score, 0.05)
    for (low, at_low), (high, at_high) in pairwise(_STEPS):
        if score <= high:
            return at_low + (at_high - at_low) * max(0.0, score - low) / (high - low)
    return _STEPS[-1][1]
