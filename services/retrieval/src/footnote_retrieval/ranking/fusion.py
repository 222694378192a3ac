"""Two channels' scores made into one.

Raw scores are normalised over the union of both channels' candidates; a cosine that the dense channel did not bring is
computed before (floors in its place cost 0.005 to 0.01 nDCG@10 where the embedder does not know the language). The
weight starts from what the embedding provider recommends for the question, leans to the channel whose best candidate
stands out more, and falls where the dense channel's best have little in common with the question's words: that takes
no labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]

RRF_K = 60  # Cormack, Clarke and Büttcher, 2009
_LEAN = 0.3  # how strongly prominence moves the weight: 0 not at all; 0.7 costs Cranfield and SQuAD-13 0.004
_LEAD = 10
_AGREED = 1.0  # mean z-score by BM25 of dense's best; all-MiniLM: 1.3 on English sets, 0.7 on French PIAF
_DOUBT = 0.5  # how strongly lacking agreement lowers the weight; 1 costs SQuAD-13 0.006
_LEAST_AGREEMENT = 0.1
_FEWEST = 12  # candidates from which agreement says anything
_MIN_SPREAD = 0.3  # of cosines: few candidates that are all alike must not look far apart


@dataclass(frozen=True, slots=True)
class Fused:
    """Scores of the candidates, in their order: final and per channel, all 0..1, and the weight that dense had."""

    scores: Scores
    dense: Scores
    lexical: Scores
    dense_weight: float


def normalize_lexical(raw: Scores) -> Scores:
    """Bring BM25 scores to 0..1 as shares of the best; 0 means no common term."""
    best = float(raw.max()) if raw.size else 0.0
    shares: Scores = raw / best if best > 0 else np.zeros_like(raw)
    return shares


def normalize_dense(raw: Scores) -> Scores:
    """Bring cosines to 0..1, the best being 1; differences are not blown up where all cosines are alike."""
    if raw.size == 0:
        return raw
    spread = max(float(raw.max() - raw.min()), _MIN_SPREAD)
    shares: Scores = 1.0 - (raw.max() - raw) / spread
    return shares


def prominence(raw: Scores) -> float:
    """Tell how far the best score stands above the ten after it, in standard deviations of all candidates."""
    if raw.size < 3:
        return 1.0
    ordered = np.sort(raw)[::-1]
    spread = float(ordered.std())
    if spread < 1e-9:
        return 1e-3
    return max(float(ordered[0] - ordered[1 : _LEAD + 1].mean()) / spread, 1e-3)


def agreement(dense: Scores, lexical: Scores) -> float:
    """Tell how good the dense channel's best look to BM25, from 0.1 to 1, both scores in the candidates' order."""
    spread = float(lexical.std())
    if dense.size < _FEWEST or spread < 1e-9:
        return 1.0
    best = np.argsort(-dense, kind="stable")[: min(_LEAD, dense.size // 4)]
    standing = float(lexical[best].mean() - lexical.mean()) / spread
    return min(max(standing / _AGREED, _LEAST_AGREEMENT), 1.0)


def adapted_weight(dense: Scores, lexical: Scores, base: float) -> float:
    """Return the dense weight for this query, starting from `base` and leaning to the channel that is surer.

    Dense gives way where the channels disagree: lexical matches of a question's words are facts, nearness a guess.
    """
    if base <= 0 or base >= 1 or dense.size < 3:
        return min(1.0, max(0.0, base))
    for_dense = base * prominence(dense) ** _LEAN * agreement(dense, lexical) ** _DOUBT
    for_lexical = (1 - base) * prominence(lexical) ** _LEAN
    return float(for_dense / (for_dense + for_lexical))


def weighted(dense: Scores, lexical: Scores, weight: float, *, adapt: bool) -> Fused:
    """Fuse raw scores by weighted sum; `adapt` lets the weight lean, as long as nobody fixed it."""
    chosen = adapted_weight(dense, lexical, weight) if adapt else weight
    normal_dense, normal_lexical = normalize_dense(dense), normalize_lexical(lexical)
    return Fused(chosen * normal_dense + (1 - chosen) * normal_lexical, normal_dense, normal_lexical, chosen)


def reciprocal_rank(dense_ranks: Sequence[int], lexical_ranks: Sequence[int], weight: float) -> Scores:
    """Fuse ranks (from 1; 0 for a channel that did not find the candidate), scaled so that first in both gives 1."""
    dense = np.array([1 / (RRF_K + rank) if rank else 0.0 for rank in dense_ranks])
    lexical = np.array([1 / (RRF_K + rank) if rank else 0.0 for rank in lexical_ranks])
    return (weight * dense + (1 - weight) * lexical) * (RRF_K + 1)
