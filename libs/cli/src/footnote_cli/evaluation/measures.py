"""Measures of ranked lists, and a significance test for two runs."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MEASURES = ("ndcg@10", "recall@10", "recall@100", "mrr@10")
_ROUNDS = 5000


def score_query(ranked: Sequence[str], relevant: Mapping[str, float]) -> dict[str, float]:
    """Score one ranked list of distinct documents, best first, against the gains of the relevant ones."""
    gains = [relevant.get(document, 0.0) for document in ranked[:10]]
    ideal = sorted(relevant.values(), reverse=True)[:10]
    first = next((position for position, gain in enumerate(gains, 1) if gain > 0), 0)
    return {
        "ndcg@10": _dcg(gains) / _dcg(ideal) if ideal else 0.0,
        "recall@10": sum(gain > 0 for gain in gains) / len(relevant) if relevant else 0.0,
        "recall@100": sum(document in relevant for document in ranked[:100]) / len(relevant) if relevant else 0.0,
        "mrr@10": 1.0 / first if first else 0.0,
    }


def _dcg(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(position + 1) for position, gain in enumerate(gains, 1))


def mean(scores: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Average the measures over all queries."""
    count = len(scores) or 1
    return {measure: sum(score[measure] for score in scores.values()) / count for measure in MEASURES}


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two runs over the queries that both answered."""

    measure: str
    before: float
    after: float
    better: int
    worse: int
    equal: int
    p_value: float

    @property
    def delta(self) -> float:
        """The gain of the second run."""
        return self.after - self.before


def compare(
    before: Mapping[str, Mapping[str, float]], after: Mapping[str, Mapping[str, float]], measure: str = "ndcg@10"
) -> Difference:
    """Compare two runs by the paired randomisation test (two-sided), which assumes no distribution of scores."""
    shared = sorted(before.keys() & after.keys())
    differences = [after[query][measure] - before[query][measure] for query in shared]
    moved = [difference for difference in differences if difference]
    observed = abs(sum(moved))
    rng = random.Random(0)
    as_large = 0
    for _ in range(_ROUNDS if moved else 0):
        bits = rng.getrandbits(len(moved))
        total = 0.0
        for difference in moved:
            total += difference if bits & 1 else -difference
            bits >>= 1
        as_large += abs(total) >= observed - 1e-12
    count = len(shared) or 1
    return Difference(
        measure=measure,
        before=sum(before[query][measure] for query in shared) / count,
        after=sum(after[query][measure] for query in shared) / count,
        better=sum(difference > 0 for difference in differences),
        worse=sum(difference < 0 for difference in differences),
        equal=sum(difference == 0 for difference in differences),
        p_value=(as_large + 1) / (_ROUNDS + 1) if moved else 1.0,
    )
