"""Ranks candidates in bands by channel depth, so that pages of one search are consistent.

Later pages need more candidates, and more candidates would change the scores of the first ones. So the channels' first
few dozen are ranked by themselves for every page, then those of twice the depth, and so on. Which of several equal
candidates comes last depends on the number requested, so those belong to the next band.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from footnote_retrieval.model import Candidate
from footnote_retrieval.ranking.candidates import Ranking

_SPARE = 1.25  # some are dropped as repetitions
_EQUAL = 1e-6


def depth(wanted: int, first: int) -> int:
    """Return how many candidates each channel must bring when the first band has `first`."""
    deep = first
    while deep < wanted * _SPARE:
        deep *= 2
    return deep


def lacks_equals(ranking: Ranking) -> bool:
    """Return whether the page may need more equals of a channel's last candidate than the channel brought."""
    left, deep, last = dict(ranking.findings.candidates), ranking.first, ranking.plan.limit
    full = any(last in (one.dense_rank, one.lexical_rank) for one in left.values())
    inside = 0
    while full and left and deep <= last:
        within, left = _divided(left, deep, change=False)
        inside, deep = inside + len(within), deep * 2
    return full and bool(left) and ranking.wanted * _SPARE > inside


def bands(ranking: Ranking) -> Iterator[Ranking]:
    """Yield the rankings of the bands, first to last; a rank beyond its band counts as none. Some may be empty."""
    left = ranking.findings.candidates
    deep, last = ranking.first, ranking.plan.limit
    while left and deep <= last:
        inside, beyond = _divided(left, deep)
        yield _of(ranking, inside, deep)
        left, deep = beyond, deep * 2
    if left:
        yield _of(ranking, left, last)


def _of(ranking: Ranking, candidates: dict[str, Candidate], deep: int) -> Ranking:
    findings = replace(ranking.findings, candidates=candidates)
    named = ranking.named if deep == ranking.first else ()
    return replace(ranking, findings=findings, plan=replace(ranking.plan, limit=deep), named=named)


def _divided(
    candidates: dict[str, Candidate], deep: int, *, change: bool = True
) -> tuple[dict[str, Candidate], dict[str, Candidate]]:
    """Split into the candidates within a channel's first `deep`, and the others.

    With `change`, ranks beyond the limit are removed from the candidates within it.
    """
    last_dense = {id(c.group): c.dense for c in candidates.values() if c.dense_rank == deep}
    last_lexical = {id(c.group): c.lexical for c in candidates.values() if c.lexical_rank == deep}
    inside = {}
    for chunk_id, candidate in candidates.items():
        group, dense_rank, lexical_rank = id(candidate.group), candidate.dense_rank, candidate.lexical_rank
        by_dense = dense_rank and not _beyond(dense_rank, candidate.dense, deep, last_dense.get(group))
        by_words = lexical_rank and not _beyond(lexical_rank, candidate.lexical, deep, last_lexical.get(group))
        if not (by_dense or by_words):
            continue
        inside[chunk_id] = candidate
        if not change:
            continue
        if not by_dense:
            candidate.dense, candidate.dense_rank = None, 0
        if not by_words:
            candidate.lexical, candidate.lexical_rank = None, 0
    return inside, {chunk_id: candidate for chunk_id, candidate in candidates.items() if chunk_id not in inside}


def _beyond(rank: int, score: float | None, deep: int, last: float | None) -> bool:
    return rank > deep or (last is not None and score is not None and abs(score - last) <= _EQUAL)
