"""The question moved towards its best passages: what that computes, what it leaves alone, and where it is not done."""

from __future__ import annotations

import numpy as np
import pytest
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.chunk_pb2 import SearchChannel
from footnote.types.v1.collection_pb2 import EmbeddingSettings, FusionMethod, RetrievalSettings, SearchStrategy
from footnote_providers.base import Cosines
from footnote_retrieval.channels.findings import Findings
from footnote_retrieval.channels.plan import Plan
from footnote_retrieval.model import Candidate, ChannelRun, Effective, Group
from footnote_retrieval.ports import QueryVector
from footnote_retrieval.ranking.feedback import _MOVED, _SURE, fed_back
from footnote_retrieval.ranking.fuse import fuse
from footnote_retrieval.ranking.ranking import Ranking
from numpy.typing import NDArray
from support.chunks import make_chunk, make_hit

CHANNELS = (SearchChannel.SEARCH_CHANNEL_DENSE, SearchChannel.SEARCH_CHANNEL_LEXICAL)
SIZE = 16
COUNT = 40


def unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return (rows / lengths).astype(np.float32)


def case(seed: int, count: int = COUNT) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float64]]:
    """Vectors of passages and of a question, and scores."""
    pick = np.random.default_rng(seed)
    return unit(pick.normal(size=(count, SIZE))), unit(pick.normal(size=SIZE)), pick.random(count)


def meaning(dense: NDArray[np.float64], sure: float = 1.0) -> Cosines:
    """What cosines mean where the highest of these says so surely that there is an answer."""
    span = sure * _SURE
    return Cosines(unrelated=-1.0, related=float((dense.max() - span) / (1 - span)))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("length", [1.0, 3.0])
@pytest.mark.parametrize("sure", [1.0, 0.1])
def test_with_every_vector_known_these_are_cosines_to_the_moved_question(seed: int, length: float, sure: float) -> None:
    stored, question, scores = case(seed)
    best = np.argsort(-scores)[:5]
    moved = question + _MOVED * sure * (scores[best] @ stored[best]) / scores[best].sum()
    dense = (stored @ question).astype(float)
    found = fed_back(dense, scores, list(stored), question * length, meaning(dense, sure))
    assert found == pytest.approx(stored @ (moved / np.linalg.norm(moved)), abs=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_those_without_a_vector_keep_their_order_and_stay_among_the_others(seed: int) -> None:
    stored, question, scores = case(seed)
    dense = (stored @ question).astype(float)
    vectors = [None if number % 3 else vector for number, vector in enumerate(stored)]
    found = fed_back(dense, scores, vectors, question, meaning(dense))
    without = [number for number, vector in enumerate(vectors) if vector is None]
    assert sorted(without, key=lambda k: found[k]) == sorted(without, key=lambda k: dense[k])
    assert np.isfinite(found).all()
    assert np.abs(found).max() < 3


@pytest.mark.parametrize(
    "vectors",
    [
        pytest.param([None] * COUNT, id="none known"),
        pytest.param([*case(1)[0][:11], *[None] * (COUNT - 11)], id="too few known"),
    ],
)
def test_where_too_little_is_known_nothing_changes(vectors: list[NDArray[np.float32] | None]) -> None:
    stored, question, scores = case(1)
    dense = (stored @ question).astype(float)
    assert fed_back(dense, scores, vectors, question, meaning(dense)) is dense
    assert fed_back(dense, np.zeros(COUNT), list(stored), question, meaning(dense)) is dense
    assert fed_back(dense, scores, list(stored), question, Cosines(0.0, dense.max())) is dense


def test_cosines_that_are_all_alike_give_no_line() -> None:
    stored, question, scores = case(2)
    vectors = [*stored[:20], *[None] * 20]
    alike = np.full(COUNT, 0.5)
    found = fed_back(alike, scores, vectors, question, meaning(alike))
    assert np.isfinite(found).all()
    assert np.ptp(found[20:]) == pytest.approx(0)


KNOWS, TELLS_NOTHING, FAR = Cosines(unrelated=0.0, related=0.8), None, Cosines(unrelated=0.0, related=0.95)


def fused(dense_weight: float, cosines: Cosines | None, *, rrf: bool = False) -> dict[str, float]:
    """Scores of passages, one of which is far from the question and near to the five best."""
    question = np.zeros(SIZE, np.float32)
    question[0] = 1
    group = Group("chunks_16", EmbeddingSettings(), (), "t")
    found = Findings(runs=[ChannelRun(channel) for channel in CHANNELS])
    found.vectors[group.embedding_key] = QueryVector(question, dense_weight, cosines)
    for number in range(30):
        side = 1 if number < 5 or number == 29 else 2 + number % 9
        near = 0.9 if number < 5 else 0.5
        vector = np.zeros(SIZE, np.float32)
        vector[0], vector[side] = near, (1 - near**2) ** 0.5
        chunk = make_chunk(f"passage {number}", document_id=f"d{number:02d}")
        candidate = Candidate(make_hit(chunk), group, near, 10.0 - number / 10, number + 1, number + 1)
        candidate.hit.vector = vector
        found.candidates[chunk.id] = candidate
    settings = RetrievalSettings(limit=5)
    if rrf:
        settings.fusion = FusionMethod.FUSION_METHOD_RRF
    plan = Plan("", "passage", [group], "", 60, True, True, 0.0, Scope())
    ranking = Ranking(plan, found, SearchStrategy.SEARCH_STRATEGY_HYBRID, Effective.of(settings), {}, (), 0, 0.0, 0.9)
    candidates = fuse(list(found.candidates.values()), ranking)
    assert all(one.dense in (0.9, 0.5) for one in candidates)  # what the channel said is told as it was
    return {one.hit.document_id: one.score for one in candidates}


def test_a_passage_near_to_the_best_passes_those_as_near_to_the_question() -> None:
    moved, plain = fused(0.7, KNOWS), fused(0.7, TELLS_NOTHING)
    assert plain["d29"] == min(plain.values())
    others = [f"d{number:02d}" for number in range(6, 29)]
    assert moved["d29"] > max(moved[other] for other in others)
    assert max(moved, key=moved.__getitem__) == "d00"


@pytest.mark.parametrize(
    ("weight", "cosines", "rrf"),
    [
        pytest.param(0.1, KNOWS, False, id="a model that knows words only"),
        pytest.param(0.7, TELLS_NOTHING, False, id="vectors of which nobody says what they mean"),
        pytest.param(0.7, FAR, False, id="a question that nothing is near to"),
        pytest.param(0.7, KNOWS, True, id="ranks"),
    ],
)
def test_it_is_not_done_for(weight: float, cosines: Cosines | None, rrf: bool) -> None:
    scores = fused(weight, cosines, rrf=rrf)
    assert scores["d29"] == min(scores.values())
