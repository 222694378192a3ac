"""The ranking as one list of named steps, each from candidates to candidates, run in this order.

A step that changes a score, or keeps a candidate for another reason than its score, says so on the candidate by the
kind of adjustment declared here: that is what a search with `explain` returns. A new step is one function and one line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby

from footnote.types.v1.reasons_pb2 import (
    SCORE_ADJUSTMENT_KIND_FILE_NAMED,
    SCORE_ADJUSTMENT_KIND_FILE_SPOKEN_OF,
    SCORE_ADJUSTMENT_KIND_NEAR_DUPLICATE,
    SCORE_ADJUSTMENT_KIND_PROXIMITY,
    SCORE_ADJUSTMENT_KIND_RECENCY,
    ScoreAdjustmentKind,
)
from footnote_kit.timings import Stopwatch

from footnote_retrieval.model import Candidate
from footnote_retrieval.ranking.adjust import apply_proximity, apply_recency, order
from footnote_retrieval.ranking.affinity import apply_affinity
from footnote_retrieval.ranking.candidates import Ranking
from footnote_retrieval.ranking.files import guarantee_files
from footnote_retrieval.ranking.fuse import fuse
from footnote_retrieval.ranking.proximity import TOP
from footnote_retrieval.ranking.repetitions import without_repetitions

_SPARE = 10  # passages read beyond those wanted, since repetitions will be left out
# Looking for a term in a passage, reading a passage's terms and decoding a row take less a character than analysing a
# question does, by about so many times.
_LOOKED, QUICKER = 20_000, 200

Change = Callable[[list[Candidate], Ranking], list[Candidate]]


@dataclass(frozen=True, slots=True)
class Step:
    """A named step: the candidates that it leaves, the timing that it counts in, the kind of change that it notes."""

    name: str
    timed: str
    run: Change
    kind: ScoreAdjustmentKind.ValueType | None = None


def _head(candidates: list[Candidate], ranking: Ranking) -> list[Candidate]:
    """Keep those whose passages are worth reading: the best, some to spare, one of each of several named files."""
    weight = ranking.file_name_weight
    ordered = sorted(
        candidates,
        key=lambda c: -c.score * (1 + weight * ranking.affinity.get(c.hit.document_id, 0.0)),
    )
    size = max(TOP, ranking.wanted + _SPARE)
    head = ordered[:size]
    if len(ranking.named) > 1:
        there = {candidate.hit.document_id for candidate in head}
        for file in ranking.named:
            if not there.intersection(file.document_ids):
                head += [c for c in ordered[size:] if c.hit.document_id in file.document_ids][:1]
    return head


def _proximity(candidates: list[Candidate], ranking: Ranking) -> list[Candidate]:
    """Lift passages in which the query's words stand together, where words count."""
    if ranking.by_words_too:
        order(candidates)
        apply_proximity(candidates, ranking.plan.lexical_query.split())
    return candidates


def _good_enough(candidates: list[Candidate], ranking: Ranking) -> list[Candidate]:
    """Drop what is below the lowest score wanted."""
    return [candidate for candidate in candidates if candidate.score >= ranking.settings.min_score]


def _files_spoken_of(candidates: list[Candidate], ranking: Ranking) -> list[Candidate]:
    """Lean to documents whose file name the question speaks of."""
    apply_affinity(candidates, ranking.affinity, ranking.file_name_weight)
    return candidates


def _recency(candidates: list[Candidate], ranking: Ranking) -> list[Candidate]:
    """Lift the young where that is wanted."""
    settings = ranking.settings
    apply_recency(candidates, settings.recency_weight, settings.half_life, ranking.plan.now)
    return candidates


def _sorted(candidates: list[Candidate], ranking: Ranking) -> list[Candidate]:
    """Best first."""
    order(candidates)
    return candidates


def _without_repetitions(candidates: list[Candidate], ranking: Ranking) -> list[Candidate]:
    """Drop near repetitions of a better one; several named files may have their best chunk far down."""
    keep = len(candidates) if len(ranking.named) > 1 else ranking.wanted
    return without_repetitions(candidates, keep, ranking.near_duplicate)


def _named_files(candidates: list[Candidate], ranking: Ranking) -> list[Candidate]:
    """Give each of several named files a place."""
    return guarantee_files(candidates, ranking.named, ranking.wanted)


def _page(candidates: list[Candidate], ranking: Ranking) -> list[Candidate]:
    """Cut out the page asked for."""
    return candidates[ranking.offset : ranking.wanted]


STEPS: tuple[Step, ...] = (
    Step("fuse", "fuse", fuse),
    Step("head", "fuse", _head),
    Step("proximity", "adjust", _proximity, SCORE_ADJUSTMENT_KIND_PROXIMITY),
    Step("min_score", "adjust", _good_enough),
    Step("files_spoken_of", "adjust", _files_spoken_of, SCORE_ADJUSTMENT_KIND_FILE_SPOKEN_OF),
    Step("recency", "adjust", _recency, SCORE_ADJUSTMENT_KIND_RECENCY),
    Step("sort", "adjust", _sorted),
    Step("repetitions", "select", _without_repetitions, SCORE_ADJUSTMENT_KIND_NEAR_DUPLICATE),
    Step("named_files", "select", _named_files, SCORE_ADJUSTMENT_KIND_FILE_NAMED),
    Step("page", "select", _page),
)


def rank(ranking: Ranking, clock: Stopwatch, steps: Iterable[Step] = STEPS) -> list[Candidate]:
    """Run the steps over what the channels brought and return the page, best first."""
    candidates = list(ranking.findings.candidates.values())
    for timed, together in groupby(steps, key=lambda step: step.timed):
        with clock.step(timed):
            for step in together:
                candidates = step.run(candidates, ranking)
    return candidates


def effort(ranking: Ranking) -> int:
    """Return how much work it is to rank, as characters of a question that would be as much."""
    read = sum(len(candidate.hit.lexical_text) for candidate in ranking.findings.candidates.values())
    sought = ranking.plan.lexical_query.count(" ") + 1
    return read // QUICKER + sought * min(read, TOP * 8000) // _LOOKED
