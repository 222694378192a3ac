"""Fuses the scores of two channels into one.

Raw scores are normalised over the union of both channels' candidates. Missing cosines are computed before: floors in
their place cost 0.005 to 0.01 nDCG@10 where the embedder does not know the language. The weight starts from the
embedding provider's recommendation and leans to the channel whose best candidate stands out more. It falls where the
dense channel's best share little with the question's words. None of this needs labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]

# Varied by tests/bench/test_bench_ranking.py, built-in embedder, 120 questions a set: SQuAD-13 chooses (a difference of
# 0.016 is noise), PIAF and Cranfield have no say. nDCG@10 by value on SQuAD-13; PIAF; Cranfield, where the values as
# they stand have 0.8676; 0.8450; 0.3748. The built-in's vectors have so little weight that no value differs measurably
# from its neighbours. RRF_K and _FEWEST were not varied.
RRF_K = 60  # Cormack, Clarke and Büttcher, 2009
# How strongly prominence changes the weight.
_LEAN = 0.3  # 0: 0.8676; 0.8439; 0.3750, 0.7: 0.8675; 0.8450; 0.3750
_LEAD = 10  # 5: 0.8678; 0.8428; 0.3767, 20: 0.8676; 0.8428; 0.3762
# Mean BM25 z-score of dense's best candidates; all-MiniLM: 1.3 on English sets, 0.7 on French PIAF.
_AGREED = 1.0  # 0.5: 0.8676; 0.8439; 0.3763, 2: 0.8680; 0.8439; 0.3758
# How strongly lacking agreement lowers the weight, times what the words weigh: a model worth much finds what shares no
# word with the question. 0.5 and 1 for it, with e5 on SQuAD-13 0.9169 and 0.9162 (0.9167), PIAF-fr 0.8735 and 0.8699
# (0.8726); built in less than 0.001 either way. Chosen on these two; Cranfield (0.4245, 0.4243; 0.4247) had no say.
_DOUBT = 0.8  # built in, 0: 0.8676; 0.8489; 0.3754, 0.4: 0.8676; 0.8470; 0.3769, 1.6: 0.8675; 0.8439; 0.3757
_LEAST_AGREEMENT = 0.1  # 0.03: 0.8676; 0.8450; 0.3749, 0.3: 0.8675; 0.8470; 0.3749
_FEWEST = 12  # fewest candidates for which agreement is meaningful
# Of cosines, as a share of what lies between unrelated texts and equal ones: few candidates that are all alike must
# not look far apart. Of all cosines alike, as it was, it cost e5, whose lie above 0.7, 0.02 on PIAF-fr.
_MIN_SPREAD = 0.3  # 0.1: 0.8676; 0.8439; 0.3748, 0.6: 0.8680; 0.8439; 0.3760


@dataclass(frozen=True, slots=True)
class Fused:
    """Scores of the candidates, in their order: final and per channel, all 0..1, and dense's weight."""

    scores: Scores
    dense: Scores
    lexical: Scores
    dense_weight: float


def normalize_lexical(raw: Scores) -> Scores:
    """Scale BM25 scores to 0..1 as shares of the best; 0 means no common term."""
    best = float(raw.max()) if raw.size else 0.0
    shares: Scores = raw / best if best > 0 else np.zeros_like(raw)
    return shares


def normalize_dense(raw: Scores, unrelated: float = 0.0) -> Scores:
    """Scale cosines to 0..1, the best being 1; differences are not amplified where all cosines are alike.

    `unrelated` is the model's cosine of unrelated texts.
    """
    if raw.size == 0:
        return raw
    spread = max(float(raw.max() - raw.min()), _MIN_SPREAD * (1 - unrelated))
    shares: Scores = 1.0 - (raw.max() - raw) / spread
    return shares


def _mean(values: Scores) -> float:
    """Return what `mean` does, bit by bit; of few values, it takes ten times as long."""
    return float(np.add.reduce(values)) / values.size


def _deviation(values: Scores) -> float:
    """Return what `std` does, bit by bit."""
    apart = values - _mean(values)
    return math.sqrt(_mean(apart * apart))


def prominence(raw: Scores) -> float:
    """Return how far the best score exceeds the ten after it, in standard deviations of all candidates."""
    if raw.size < 3:
        return 1.0
    ordered = np.sort(raw)[::-1]
    spread = _deviation(ordered)
    if spread < 1e-9:
        return 1e-3
    return max((float(ordered[0]) - _mean(ordered[1 : _LEAD + 1])) / spread, 1e-3)


def agreement(dense: Scores, lexical: Scores) -> float:
    """Return how good the dense channel's best look to BM25, 0.1 to 1; both scores in the candidates' order."""
    if dense.size < _FEWEST or (spread := _deviation(lexical)) < 1e-9:
        return 1.0
    best = np.argsort(-dense, kind="stable")[: min(_LEAD, dense.size // 4)]
    standing = (_mean(lexical[best]) - _mean(lexical)) / spread
    return min(max(standing / _AGREED, _LEAST_AGREEMENT), 1.0)


def adapted_weight(dense: Scores, lexical: Scores, base: float) -> float:
    """Return the dense weight for this query: `base`, shifted towards the more certain channel.

    Dense yields where the channels disagree: a lexical match is a fact, nearness a guess.
    """
    if base <= 0 or base >= 1 or dense.size < 3:
        return min(1.0, max(0.0, base))
    for_dense = base * prominence(dense) ** _LEAN * agreement(dense, lexical) ** (_DOUBT * (1 - base))
    for_lexical = (1 - base) * prominence(lexical) ** _LEAN
    return float(for_dense / (for_dense + for_lexical))


def weighted(dense: Scores, lexical: Scores, weight: float, *, adapt: bool, unrelated: float = 0.0) -> Fused:
    """Fuse raw scores by weighted sum; `adapt` lets the weight shift, unless it is fixed."""
    chosen = adapted_weight(dense, lexical, weight) if adapt else weight
    normal_dense, normal_lexical = normalize_dense(dense, unrelated), normalize_lexical(lexical)
    return Fused(chosen * normal_dense + (1 - chosen) * normal_lexical, normal_dense, normal_lexical, chosen)


def reciprocal_rank(dense_ranks: Sequence[int], lexical_ranks: Sequence[int], weight: float) -> Scores:
    """Fuse ranks (from 1; 0 for a channel that missed the candidate), scaled so that first in both gives 1."""
    dense = np.array([1 / (RRF_K + rank) if rank else 0.0 for rank in dense_ranks])
    lexical = np.array([1 / (RRF_K + rank) if rank else 0.0 for rank in lexical_ranks])
    return (weight * dense + (1 - weight) * lexical) * (RRF_K + 1)
