"""Ranks candidates in bands by channel depth, so that pages of one search are consistent.

Later pages need more candidates, and more candidates would change the scores of the first ones. So the channels' first
few dozen are ranked by themselves for every page, then those of twice the depth, and so on. Which of several equal
candidates comes last depends on the number requested, so those belong to the next band.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from footnote_retrieval.model import Candidate
from footnote_retrieval.query.files import NamedFile
from footnote_retrieval.ranking.ranking import Ranking

_SPARE = 1.25  # some are dropped as repetitions
_EQUAL = 1e-6
MOST = 16_384
"""Maximum candidates requested from a channel; the engine returns no more at once."""

Lasts = dict[tuple[int, bool, int], float | None]
"""Scores of the last candidate of a band by group, whether the channel is dense, and the band's depth."""


def depth(wanted: int, first: int) -> int:
    """Return how many candidates each channel must bring when the first band has `first`."""
    deep = first
    while deep < wanted * _SPARE:
        deep *= 2
    return deep


def may_lack_equals(ranking: Ranking) -> bool:
    """Return whether a channel brought as many candidates as it was asked for, so that equals of the last may lack."""
    last = ranking.plan.limit
    full = any(last in (one.dense_rank, one.lexical_rank) for one in ranking.findings.candidates.values())
    return full and last < MOST


def bands(ranking: Ranking) -> Iterator[Ranking]:
    """Yield the rankings of the bands, first to last; a rank beyond its band counts as none. Some may be empty.

    Equals of a channel's last candidate are the last band, unless some of them may lack: which ones came varies.
    """
    rest, lasts = not may_lack_equals(ranking), _lasts(ranking)
    left = ranking.findings.candidates
    deep, last = ranking.first, ranking.plan.limit
    while left and deep <= last:
        inside, beyond = _divided(left, deep, lasts)
        if deep == ranking.first:
            for one in _best_of_missing_files(inside, beyond, ranking.named):
                inside[one] = beyond.pop(one)
        yield _of(ranking, inside, deep)
        left, deep = beyond, deep * 2
    if left and rest:
        yield _of(ranking, left, last)


def _of(ranking: Ranking, candidates: dict[str, Candidate], deep: int) -> Ranking:
    findings = replace(ranking.findings, candidates=candidates)
    named = ranking.named if deep == ranking.first else ()
    return replace(ranking, findings=findings, plan=replace(ranking.plan, limit=deep), named=named)


def _divided(
    candidates: dict[str, Candidate], deep: int, lasts: Lasts
) -> tuple[dict[str, Candidate], dict[str, Candidate]]:
    """Split into the candidates within a channel's first `deep`, and the others.

    Ranks beyond the limit are removed from the candidates within it.
    """
    inside = {}
    for chunk_id, candidate in candidates.items():
        group, dense_rank, lexical_rank = id(candidate.group), candidate.dense_rank, candidate.lexical_rank
        by_dense = dense_rank and not _beyond(dense_rank, candidate.dense, deep, lasts.get((group, True, deep)))
        by_words = lexical_rank and not _beyond(lexical_rank, candidate.lexical, deep, lasts.get((group, False, deep)))
        if not (by_dense or by_words):
            continue
        inside[chunk_id] = candidate
        if not by_dense:
            candidate.dense, candidate.dense_rank = None, 0
        if not by_words:
            candidate.lexical, candidate.lexical_rank = None, 0
    return inside, {chunk_id: candidate for chunk_id, candidate in candidates.items() if chunk_id not in inside}


def _best_of_missing_files(
    inside: Mapping[str, Candidate], beyond: Mapping[str, Candidate], named: Sequence[NamedFile]
) -> list[str]:
    """Return the ids of the best candidates of those of several named files that have none inside.

    The first page has a place for each file, and the first band is all that it is chosen from. Chunks of a long sheet
    are so alike that those of another file may fill the band.
    """
    if len(named) < 2:
        return []
    found: list[str] = []
    there = {candidate.hit.document_id for candidate in inside.values()}
    for file in named:
        if there.isdisjoint(file.document_ids):
            own = [
                (_best_rank(one), chunk_id)
                for chunk_id, one in beyond.items()
                if one.hit.document_id in file.document_ids
            ]
            found += [chunk_id for _, chunk_id in sorted(own)[:1]]
    return found


def _best_rank(candidate: Candidate) -> int:
    return min(filter(None, (candidate.dense_rank, candidate.lexical_rank)), default=MOST)


def _lasts(ranking: Ranking) -> Lasts:
    """Return the scores at the bands' ends, before the ranks of their candidates are removed."""
    ends = set()
    deep = ranking.first
    while deep <= ranking.plan.limit:
        ends.add(deep)
        deep *= 2
    found: Lasts = {}
    for one in ranking.findings.candidates.values():
        if one.dense_rank in ends:
            found[id(one.group), True, one.dense_rank] = one.dense
        if one.lexical_rank in ends:
            found[id(one.group), False, one.lexical_rank] = one.lexical
    return found


def _beyond(rank: int, score: float | None, deep: int, last: float | None) -> bool:
    return rank > deep or (last is not None and score is not None and abs(score - last) <= _EQUAL)
