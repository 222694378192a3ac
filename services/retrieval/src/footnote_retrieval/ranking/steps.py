"""The ranking as one list of named steps, each from candidates to candidates, run in this order.

A step that changes a score, or keeps a candidate regardless of its score, records an adjustment of its declared kind. A
search with `explain` returns these. A new step is one function and one line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from footnote.types.v1.reasons_pb2 import (
    SCORE_ADJUSTMENT_KIND_FILE_NAMED,
    SCORE_ADJUSTMENT_KIND_FILE_SPOKEN_OF,
    SCORE_ADJUSTMENT_KIND_LEVEL,
    SCORE_ADJUSTMENT_KIND_NEAR_DUPLICATE,
    SCORE_ADJUSTMENT_KIND_PROXIMITY,
    SCORE_ADJUSTMENT_KIND_RECENCY,
    ScoreAdjustmentKind,
)
from footnote_kit.timings import Stopwatch

from footnote_retrieval.model import Candidate
from footnote_retrieval.ranking.absolute_score import level
from footnote_retrieval.ranking.adjust import apply_proximity, apply_recency, guarantee_files, order
from footnote_retrieval.ranking.affinity import apply_affinity
from footnote_retrieval.ranking.bands import bands, may_lack_equals
from footnote_retrieval.ranking.fuse import fuse
from footnote_retrieval.ranking.proximity import TOP
from footnote_retrieval.ranking.ranking import Ranking
from footnote_retrieval.ranking.repetitions import without_repetitions

# How many times cheaper per character than analysing a question: finding a term in a passage; reading its terms or
# decoding a row.
_LOOKED, QUICKER = 20_000, 200

Change = Callable[[list[Candidate], Ranking], list[Candidate]]


@dataclass(frozen=True, slots=True)
class Step:
    """A named step: its function, the timing it counts in, and the kind of change that it records."""

    name: str
    timed: str
    run: Change
    kind: ScoreAdjustmentKind.ValueType | None = None
    by_score: bool = False
    """Whether it drops candidates for their scores."""


def _proximity(candidates: list[Candidate], ranking: Ranking) -> list[Candidate]:
    """Raise passages in which the query's words stand together, if words count."""
    if ranking.by_words_too:
        order(candidates)
        apply_proximity(candidates, ranking.plan.lexical_query.split(), ranking.sought)
    return candidates


def _levelled(candidates: list[Candidate], ranking: Ranking) -> list[Candidate]:
    """Scale the scores of each model's candidates so that the best shows its absolute level; ranks have none."""
    if ranking.settings.rrf and ranking.both_ran:
        return candidates
    of_model: dict[bytes, list[Candidate]] = {}
    for candidate in candidates:
        of_model.setdefault(candidate.group.embedding_key, []).append(candidate)
    for key, members in of_model.items():
        best = max(members, key=lambda candidate: candidate.score)
        if best.score <= 0:
            continue
        everyone = [one for one in ranking.findings.candidates.values() if one.group.embedding_key == key]
        made = ranking.findings.vectors.get(key)
        share = level(
            best,
            everyone,
            ranking.plan.lexical_query.split(),
            0.0 if best.by_words_only else ranking.weight_of(key),
            made.cosines if made else None,
            ranking.sought,
        )
        scale = share / best.score
        for candidate in members:
            candidate.level = share
            candidate.adjust(SCORE_ADJUSTMENT_KIND_LEVEL, candidate.score * (scale - 1), share)
    return candidates


def _good_enough(candidates: list[Candidate], ranking: Ranking) -> list[Candidate]:
    """Drop candidates below the minimum score; without one, all of a model whose best is below its floor."""
    if ranking.named:
        return candidates
    if (least := ranking.settings.min_score) is not None:
        return [candidate for candidate in candidates if candidate.score >= least]
    best: dict[bytes, float] = {}
    for candidate in candidates:
        key = candidate.group.embedding_key
        score = 1.0 if candidate.by_words_only else candidate.score
        best[key] = max(best.get(key, 0.0), score)
    kept = {key for key, score in best.items() if score >= ranking.floor_of(key)}
    return [candidate for candidate in candidates if candidate.group.embedding_key in kept]


def _files_spoken_of(candidates: list[Candidate], ranking: Ranking) -> list[Candidate]:
    """Raise documents whose file name the question mentions."""
    apply_affinity(candidates, ranking.affinity, ranking.file_name_weight)
    return candidates


def _recency(candidates: list[Candidate], ranking: Ranking) -> list[Candidate]:
    """Raise recent documents if wanted."""
    settings = ranking.settings
    apply_recency(candidates, settings.recency_weight, settings.half_life, ranking.plan.now)
    return candidates


def _sorted(candidates: list[Candidate], ranking: Ranking) -> list[Candidate]:
    """Sort best first."""
    order(candidates)
    return candidates


def _without_repetitions(candidates: list[Candidate], ranking: Ranking) -> list[Candidate]:
    """Drop near repetitions of a better one; the best chunk of a named file may be far down."""
    keep = len(candidates) if len(ranking.named) > 1 else ranking.wanted
    return without_repetitions(candidates, keep, ranking.near_duplicate, ranking.named)


def _named_files(candidates: list[Candidate], ranking: Ranking) -> list[Candidate]:
    """Give each of several named files a place on the first page, whatever page is requested."""
    return guarantee_files(candidates, ranking.named, ranking.settings.limit)


STEPS: tuple[Step, ...] = (
    Step("fuse", "fuse", fuse),
    Step("proximity", "adjust", _proximity, SCORE_ADJUSTMENT_KIND_PROXIMITY),
    Step("level", "adjust", _levelled, SCORE_ADJUSTMENT_KIND_LEVEL),
    Step("min_score", "adjust", _good_enough, by_score=True),
    Step("files_spoken_of", "adjust", _files_spoken_of, SCORE_ADJUSTMENT_KIND_FILE_SPOKEN_OF),
    Step("recency", "adjust", _recency, SCORE_ADJUSTMENT_KIND_RECENCY),
    Step("sort", "adjust", _sorted),
    Step("repetitions", "select", _without_repetitions, SCORE_ADJUSTMENT_KIND_NEAR_DUPLICATE),
    Step("named_files", "select", _named_files, SCORE_ADJUSTMENT_KIND_FILE_NAMED),
)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A page, best first."""

    page: list[Candidate]
    lacks: bool
    """Whether the page is short although the channels may have more that scores high enough."""


def rank(ranking: Ranking, clock: Stopwatch, steps: Sequence[Step] = STEPS) -> Ranked:
    """Run the steps over each band of the channels' hits, and return the page."""
    ranked: list[Candidate] = []
    may_lack, too_low = may_lack_equals(ranking), False
    for band in bands(ranking):
        candidates = list(band.findings.candidates.values())
        for timed, together in groupby(steps, key=lambda step: step.timed):
            with clock.step(timed):
                for step in together:
                    before = len(candidates)
                    candidates = step.run(candidates, band)
                    too_low |= step.by_score and len(candidates) < before
        if ranked and candidates:
            _below(candidates, ranked[-1].score)
        ranked += candidates
        if len(ranked) >= ranking.wanted:
            break
    lacks = may_lack and not too_low and len(ranked) < ranking.wanted
    return Ranked(ranked[ranking.offset : ranking.wanted], lacks)


def _below(candidates: Sequence[Candidate], most: float) -> None:
    """Scale the scores of a deeper band so that none exceeds the lowest score before it."""
    best = candidates[0].score
    if best > most:
        for candidate in candidates:
            candidate.adjust(SCORE_ADJUSTMENT_KIND_LEVEL, candidate.score * (most / best - 1), most)


def effort(ranking: Ranking) -> int:
    """Return the cost of ranking, as a number of characters of a question."""
    read = sum(len(candidate.hit.lexical_text) for candidate in ranking.findings.candidates.values())
    sought = ranking.plan.lexical_query.count(" ") + 1
    return 2 * read // QUICKER + sought * min(read, TOP * 8000) // _LOOKED
