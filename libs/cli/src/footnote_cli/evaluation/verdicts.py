"""The value of verdicts: SUPPORTED's precision and recall, and whether the order of verdicts is informative."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from footnote_cli.evaluation.statements import NOT, PARTLY, SUPPORTED, Statement

_RANKS = {"SUPPORTED": 2, "NOT_CONFIRMED": 1}
_BINS = 10


@dataclass(frozen=True, slots=True)
class Verdict:
    """A statement's verdict: its name without prefix, its score from 0 to 1, the reason's name."""

    verdict: str
    score: float
    reason: str = ""

    @property
    def supported(self) -> bool:
        """Whether it is SUPPORTED."""
        return self.verdict == "SUPPORTED"

    @property
    def rank(self) -> int:
        """SUPPORTED over NOT_CONFIRMED over everything else."""
        return _RANKS.get(self.verdict, 0)


def figures(statements: Sequence[Statement], verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
    """Return counts and rates; a rate over nothing is None. Partly supported statements count as unsupported.

    `auc` is for the three-way order SUPPORTED > NOT_CONFIRMED > the rest (0.5 is chance); `auc_scores` also orders by
    score within each.
    """
    of = {label: [verdicts[one.id] for one in statements if one.label == label] for label in (SUPPORTED, PARTLY, NOT)}
    raised = {label: sum(one.supported for one in found) for label, found in of.items()}
    good, bad = of[SUPPORTED], [*of[PARTLY], *of[NOT]]
    recall = _rate(raised[SUPPORTED], len(good))
    kept_out = _rate(len(bad) - raised[PARTLY] - raised[NOT], len(bad))
    return {
        "statements": len(statements),
        "true": len(good),
        "partly": len(of[PARTLY]),
        "false": len(of[NOT]),
        "precision": _rate(raised[SUPPORTED], sum(raised.values())),
        "recall": recall,
        "balanced_accuracy": None if recall is None or kept_out is None else (recall + kept_out) / 2,
        "true_supported": recall,
        "partly_supported": _rate(raised[PARTLY], len(of[PARTLY])),
        "false_supported": _rate(raised[NOT], len(of[NOT])),
        "auc": _auc([float(one.rank) for one in good], [float(one.rank) for one in bad]),
        "auc_scores": _auc([one.rank + one.score / 2 for one in good], [one.rank + one.score / 2 for one in bad]),
    }


def grouped(statements: Sequence[Statement], verdicts: Mapping[str, Verdict], by: str) -> dict[str, dict[str, Any]]:
    """Return the same for each `kind` or each `language`, in the order of their names."""
    groups: dict[str, list[Statement]] = defaultdict(list)
    for one in statements:
        groups[one.kind if by == "kind" else one.language].append(one)
    return {name: figures(groups[name], verdicts) for name in sorted(groups)}


def reliability(statements: Sequence[Statement], verdicts: Mapping[str, Verdict]) -> list[dict[str, Any]]:
    """Return for each non-empty tenth of the scores: its size, mean score, and share of true statements.

    For a score that is usable as confidence, the shares rise from row to row. Partly supported statements are not true.
    """
    bins: dict[int, list[Statement]] = defaultdict(list)
    for one in statements:
        bins[min(_BINS - 1, int(verdicts[one.id].score * _BINS))].append(one)
    return [
        {
            "from": number / _BINS,
            "to": (number + 1) / _BINS,
            "statements": len(bins[number]),
            "score": sum(verdicts[one.id].score for one in bins[number]) / len(bins[number]),
            "true": sum(one.label == SUPPORTED for one in bins[number]) / len(bins[number]),
        }
        for number in sorted(bins)
    ]


def changes(
    labels: Mapping[str, str], before: Mapping[str, str], after: Mapping[str, str]
) -> tuple[int, list[str], list[str]]:
    """Return how many statements two runs share, and the ids where SUPPORTED became right or stopped being right."""
    shared = [one for one in labels if one in before and one in after]
    better, worse = [], []
    for one in shared:
        true = labels[one] == SUPPORTED
        was, now = (before[one] == "SUPPORTED") == true, (after[one] == "SUPPORTED") == true
        if now and not was:
            better.append(one)
        elif was and not now:
            worse.append(one)
    return len(shared), better, worse


def _rate(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _auc(good: Iterable[float], bad: Iterable[float]) -> float | None:
    """Return how often a good one precedes a bad one, half for a tie; in n log n by ranks."""
    marked = sorted([(value, True) for value in good] + [(value, False) for value in bad])
    positives = sum(mark for _, mark in marked)
    negatives = len(marked) - positives
    if not positives or not negatives:
        return None
    total, at = 0.0, 0
    while at < len(marked):
        end = at
        while end < len(marked) and marked[end][0] == marked[at][0]:
            end += 1
        rank = (at + 1 + end) / 2
        total += rank * sum(mark for _, mark in marked[at:end])
        at = end
    return (total - positives * (positives + 1) / 2) / (positives * negatives)
