"""Rankings drawn by seed, over all strategies and settings, and what comes out of them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_RETRIEVAL
from footnote.types.v1.chunk_pb2 import SearchChannel
from footnote.types.v1.collection_pb2 import EmbeddingSettings, FusionMethod, RetrievalSettings, SearchStrategy
from footnote_kit.timings import Stopwatch
from footnote_providers.base import Cosines
from footnote_retrieval.channels.findings import Findings
from footnote_retrieval.channels.plan import Plan
from footnote_retrieval.model import Candidate, ChannelRun, Effective, Group
from footnote_retrieval.ports import QueryVector
from footnote_retrieval.query.files import NamedFile
from footnote_retrieval.ranking.ranking import Ranking
from footnote_retrieval.ranking.steps import rank

from support.chunks import make_chunk, make_hit

NOW = 1_800_000_000.0
SEEDS = range(40)
_DIMENSIONS = 16
_WORDS = "budget meeting north south plan winter summer report train hotel travel cost office rate room".split()  # noqa: SIM905


def drawn(seed: int) -> Ranking:
    """Return the ranking of a seed: up to 90 hits in each channel, of one or two models."""
    rng = random.Random(seed)
    hybrid = SearchStrategy.SEARCH_STRATEGY_HYBRID
    strategy = rng.choice(
        [hybrid, hybrid, hybrid, SearchStrategy.SEARCH_STRATEGY_VECTOR, SearchStrategy.SEARCH_STRATEGY_FULLTEXT]
    )
    dense = strategy != SearchStrategy.SEARCH_STRATEGY_FULLTEXT
    lexical = strategy != SearchStrategy.SEARCH_STRATEGY_VECTOR
    groups = [
        Group(f"chunks_{_DIMENSIONS}", EmbeddingSettings(model=name), (), "t")
        for name in ("one", "two")[: rng.choice([1, 1, 2])]
    ]
    plan = Plan(
        "", " ".join(rng.choices(_WORDS, k=rng.randint(0, 7))), groups, "", rng.choice([60, 60, 90]), dense, lexical,
        NOW, Scope(),
    )  # fmt: skip
    files = [NamedFile(f"{number}.md", (f"d{number}",)) for number in range(rng.choice([0, 0, 1, 3]))]
    return Ranking(
        plan, _findings(rng, plan), strategy, Effective.of(_settings(rng)),
        {f"d{number}": rng.random() for number in range(rng.choice([0, 3]))}, files, rng.choice([0, 0, 5]), 0.3, 0.9,
    )  # fmt: skip


def _settings(rng: random.Random) -> RetrievalSettings:
    settings = RetrievalSettings(limit=rng.choice([1, 5, 20]), recency_weight=rng.choice([0.0, 0.1, 0.5]))
    settings.recency_half_life.FromSeconds(rng.choice([86_400, 8_640_000]))
    if rng.random() < 0.3:
        settings.dense_weight = rng.random()
    if rng.random() < 0.2:
        settings.fusion = FusionMethod.FUSION_METHOD_RRF
    if rng.random() < 0.3:
        settings.min_score = rng.random() * 0.4
    return settings


def _findings(rng: random.Random, plan: Plan) -> Findings:
    found = Findings()
    for group in plan.groups:
        cosines = rng.choice([None, Cosines(0.1, 0.6, 0.05), Cosines(0.3, 0.8, 0.2)])
        made = QueryVector(_vector(rng), rng.choice([0.2, 0.7]), cosines, rng.random() < 0.2)
        if plan.dense:
            found.vectors[group.embedding_key] = made
        _hits(rng, plan, group, found)
    for channel, ran in (
        (SearchChannel.SEARCH_CHANNEL_DENSE, plan.dense), (SearchChannel.SEARCH_CHANNEL_LEXICAL, plan.lexical)
    ):  # fmt: skip
        if ran:
            found.runs.append(ChannelRun(channel))
    if plan.dense and plan.lexical and rng.random() < 0.1:
        found.failed.add(SearchChannel.SEARCH_CHANNEL_LEXICAL)
    return found


def _hits(rng: random.Random, plan: Plan, group: Group, found: Findings) -> None:
    model, coarse = group.embedding.model, rng.random() < 0.4  # coarse scores are often equal
    owes = plan.dense and plan.lexical and rng.random() < 0.2
    most = rng.choice([3, 20, 60, plan.limit])
    by_dense = sorted((_score(rng, coarse, 1.0) for _ in range(most if plan.dense else 0)), reverse=True)
    by_words = sorted((_score(rng, coarse, 12.0) for _ in range(most if plan.lexical else 0)), reverse=True)
    numbers = list(range(2 * most))
    for which, scores in (("dense", by_dense), ("lexical", by_words)):
        for rank_, (number, score) in enumerate(zip(rng.sample(numbers, len(scores)), scores, strict=True), 1):
            key = f"{model}-{number}"
            candidate = found.candidates.get(key)
            if candidate is None:
                candidate = found.candidates[key] = Candidate(_hit(rng, model, number), group)
            if which == "dense":
                candidate.dense, candidate.dense_rank = score, rank_
            else:
                candidate.lexical, candidate.lexical_rank = score, rank_
                if plan.dense and rng.random() < 0.95:
                    candidate.hit.vector = _vector(rng)
                if owes and not candidate.dense_rank and rng.random() < 0.5:
                    candidate.hit.vector, candidate.by_words_only = np.zeros(_DIMENSIONS, np.float32), True


def _hit(rng: random.Random, model: str, number: int) -> Any:
    text = " ".join(rng.choices(_WORDS, k=rng.choice([1, 6, 40])))
    if rng.random() < 0.2:
        text = " ".join(_WORDS * 2)  # a near repetition of others like it
    made = make_chunk(
        text, document_id=f"d{number % 9}", ordinal=number, collection_id=model,
        created=int(NOW) - rng.choice([0, 1, 30, 400]) * 86_400,
    )  # fmt: skip
    return make_hit(made)


def _score(rng: random.Random, coarse: bool, most: float) -> float:
    return round(rng.random() * 8) / 8 * most if coarse else rng.random() * most


def _vector(rng: random.Random) -> Any:
    vector = np.array([rng.gauss(0, 1) for _ in range(_DIMENSIONS)], np.float32)
    return vector / np.linalg.norm(vector)


def outcome(ranking: Ranking) -> dict[str, Any]:
    """Rank, and return results with every number that a search shows of them, in order."""
    ranked = rank(ranking, Stopwatch(PIPELINE_STAGE_RETRIEVAL)).page
    return {
        "weights": [run.weight for run in ranking.findings.runs],
        "results": [
            [
                one.hit.collection_key, one.hit.id,
                [
                    one.score, one.dense, one.normal_dense, one.lexical, one.normal_lexical, one.dense_weight,
                    one.dense_rank, one.lexical_rank,
                ],
                [[int(change.kind), change.delta, change.basis] for change in one.adjustments],
            ]
            for one in ranked
        ],
    }  # fmt: skip


if __name__ == "__main__":
    import json

    lines = (json.dumps(outcome(drawn(seed))) for seed in SEEDS)
    print("[\n" + ",\n".join(lines) + "\n]")
