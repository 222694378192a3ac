"""The ranking is a list of named steps, and each says on the candidate what it did to it."""

from dataclasses import replace

import numpy as np
import pytest
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_RETRIEVAL
from footnote.types.v1.chunk_pb2 import SearchChannel
from footnote.types.v1.collection_pb2 import EmbeddingSettings, RetrievalSettings, SearchStrategy
from footnote_kit.timings import Stopwatch
from footnote_providers.base import Cosines
from footnote_retrieval.channels.findings import Findings
from footnote_retrieval.channels.plan import Plan
from footnote_retrieval.model import Candidate, ChannelRun, Effective, Group
from footnote_retrieval.ports import QueryVector
from footnote_retrieval.query.files import NamedFile
from footnote_retrieval.ranking.bands import bands
from footnote_retrieval.ranking.ranking import Ranking
from footnote_retrieval.ranking.steps import STEPS, rank
from support.chunks import make_chunk, make_hit

GROUP = Group("chunks_8", EmbeddingSettings(), (), "t")
NOW = 1_800_000_000.0
WORDS = "budget meeting north south plan winter summer report train hotel".split()  # noqa: SIM905


def findings(count: int) -> Findings:
    found = Findings(runs=[ChannelRun(SearchChannel.SEARCH_CHANNEL_LEXICAL)])
    for number in range(count):
        words = " ".join(WORDS[(number * 3 + step * (1 + number % 4)) % len(WORDS)] for step in range(12))
        chunk = make_chunk(words, document_id=f"d{number % 7}", ordinal=number, created=int(NOW) - number * 86_400)
        found.candidates[chunk.id] = Candidate(
            make_hit(chunk), GROUP, lexical=10.0 - number / 5, lexical_rank=number + 1
        )
    return found


def ranking(*, offset: int = 0, named: int = 2, min_score: float = 0.0) -> Ranking:
    settings = RetrievalSettings(limit=5, min_score=min_score, recency_weight=0.1)
    settings.recency_half_life.FromSeconds(864_000)
    plan = Plan("", "budget meeting train", [GROUP], "", 60, False, True, NOW, Scope())
    files = [NamedFile(f"{number}.md", (f"d{number}",)) for number in range(named)]
    return Ranking(
        plan, findings(50), SearchStrategy.SEARCH_STRATEGY_FULLTEXT, Effective.of(settings), {"d3": 1.0}, files,
        offset, 0.3, 0.9,
    )  # fmt: skip


def test_steps_are_named_once_and_those_timed_together_stand_together() -> None:
    assert len({step.name for step in STEPS}) == len(STEPS)
    timed = [step.timed for step in STEPS]
    assert timed == sorted(timed, key=["fuse", "adjust", "select"].index)
    assert all((step.run.__doc__ or "").strip() for step in STEPS)


@pytest.mark.parametrize("named", [0, 1, 2, 4])
@pytest.mark.parametrize("offset", [0, 5])
@pytest.mark.parametrize("min_score", [0.0, 0.5])
def test_a_step_brings_no_candidate_and_notes_only_what_it_declares(offset: int, named: int, min_score: float) -> None:
    given = ranking(offset=offset, named=named, min_score=min_score)
    candidates = list(given.findings.candidates.values())
    noted = set()
    for step in STEPS:
        before = {id(one): (one.score, len(one.adjustments)) for one in candidates}
        after = step.run(candidates, given)
        assert {id(one) for one in after} <= before.keys(), step.name
        for one in after:
            score, count = before[id(one)]
            kinds = {adjustment.kind for adjustment in one.adjustments[count:]}
            assert kinds <= {step.kind}, step.name
            if step.name != "fuse":
                assert kinds or one.score == score, f"{step.name} moved a score and does not say so"
            noted |= kinds
        candidates = after
    candidates = candidates[offset : offset + 5]
    assert len(noted) >= 3
    assert [one.hit.id for one in candidates] == [
        one.hit.id
        for one in rank(
            ranking(offset=offset, named=named, min_score=min_score), Stopwatch(PIPELINE_STAGE_RETRIEVAL)
        ).page
    ]


def test_the_times_of_the_steps_are_told_by_their_three_parts() -> None:
    clock = Stopwatch(PIPELINE_STAGE_RETRIEVAL)
    rank(ranking(), clock)
    assert [timing.step for timing in clock.timings] == ["fuse", "adjust", "select"]


@pytest.mark.parametrize(
    ("min_score", "strategy", "named", "left"),
    [
        (None, "HYBRID", 0, 0),
        (None, "HYBRID", 1, 50),
        (None, "FULLTEXT", 0, 50),
        (0.0, "HYBRID", 0, 50),
    ],
)
def test_what_scores_below_the_floor_of_its_model_answers_nothing(
    min_score: float | None, strategy: str, named: int, left: int
) -> None:
    given = ranking(named=named)
    vector = QueryVector(np.ones(8, np.float32), 0.7, Cosines(0.7, 0.9, floor=0.4))
    given = replace(
        given,
        strategy=SearchStrategy.Value(f"SEARCH_STRATEGY_{strategy}"),
        settings=replace(given.settings, min_score=min_score),
        findings=replace(given.findings, vectors={GROUP.embedding_key: vector}),
    )
    (step,) = [step for step in STEPS if step.name == "min_score"]
    candidates = list(given.findings.candidates.values())
    for candidate in candidates:
        candidate.score = 0.39
    assert len(step.run(candidates, given)) == left
    candidates[0].score = 0.41
    assert len(step.run(candidates, given)) == 50


@pytest.mark.parametrize(("holds", "given", "weight"), [(True, None, 0.7), (True, 0.4, 0.4), (False, None, None)])
def test_a_model_that_holds_its_weight_keeps_it_where_channels_disagree(
    holds: bool, given: float | None, weight: float | None
) -> None:
    lexical = ranking(named=0)
    vector = QueryVector(np.ones(8, np.float32), 0.7, holds_weight=holds)
    found = replace(lexical.findings, vectors={GROUP.embedding_key: vector})
    for number, candidate in enumerate(found.candidates.values()):
        candidate.dense, candidate.dense_rank = number / 100, 50 - number  # the reverse of the lexical order
    settings = replace(lexical.settings, dense_weight=given)
    hybrid = SearchStrategy.SEARCH_STRATEGY_HYBRID
    page = rank(
        replace(lexical, strategy=hybrid, settings=settings, findings=found), Stopwatch(PIPELINE_STAGE_RETRIEVAL)
    ).page
    weights = {round(candidate.dense_weight, 6) for candidate in page}
    assert weights == {weight} if weight is not None else 0.7 not in weights


def test_equals_of_a_band_end_are_known_after_its_candidate_went_into_an_earlier_band() -> None:
    found = Findings({})
    for number, (dense, dense_rank) in enumerate([(0.9, 1), (0.8, 2), (None, 0), (None, 0)]):
        hit = make_hit(make_chunk(f"n{number}", ordinal=number))
        rank_by_words = 4 if number == 0 else number
        found.candidates[hit.id] = Candidate(hit, GROUP, dense, 1.0, dense_rank, rank_by_words)
    given = replace(ranking(), findings=found, first=2, plan=replace(ranking().plan, limit=4))
    assert [[one.hit.text for one in band.findings.candidates.values()] for band in bands(given)] == [["n0"], ["n1"]]


def test_of_two_named_files_one_that_fills_the_first_band_leaves_the_other_its_place() -> None:
    given = ranking()
    found = Findings(runs=given.findings.runs)
    for number, one in enumerate(given.findings.candidates.values()):
        chunk = make_chunk(one.hit.text, document_id=f"d{int(number > 40)}", ordinal=number)
        found.candidates[chunk.id] = replace(one, hit=make_hit(chunk))
    given = replace(given, findings=found, near_duplicate=1.0, first=15)
    page = rank(given, Stopwatch(PIPELINE_STAGE_RETRIEVAL)).page
    assert {one.hit.document_id for one in page} == {"d0", "d1"}
    second = rank(replace(given, offset=5), Stopwatch(PIPELINE_STAGE_RETRIEVAL)).page
    assert not {one.hit.id for one in page} & {one.hit.id for one in second}
