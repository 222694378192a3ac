"""Candidates of one or two channels given one score each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from footnote.types.v1.chunk_pb2 import SearchChannel

from footnote_retrieval.channels.findings import Findings, complete
from footnote_retrieval.model import Candidate, Effective
from footnote_retrieval.ranking import fusion
from footnote_retrieval.ranking.candidates import Ranking


def fuse(candidates: list[Candidate], ranking: Ranking) -> list[Candidate]:
    """Give every candidate its score, and tell each channel's run what weight it had."""
    if ranking.both_ran:
        if not ranking.settings.rrf:
            complete(ranking.plan, ranking.findings)
        _both(candidates, ranking.findings, ranking.settings)
    else:
        _single(candidates)
    for run in ranking.findings.runs:
        run.weight = _mean_weight(candidates, run.channel)
    return candidates


def _both(candidates: Sequence[Candidate], findings: Findings, settings: Effective) -> None:
    """Fuse per embedding model: cosines of different models do not compare."""
    by_model: dict[bytes, list[Candidate]] = {}
    for candidate in candidates:
        by_model.setdefault(candidate.group.embedding_key, []).append(candidate)
    for key, members in by_model.items():
        made = findings.vectors.get(key)  # none where a collection brings its own and the search does not
        recommended = made.dense_weight if made is not None else 0.0
        weight = recommended if settings.dense_weight is None or made is None else settings.dense_weight
        dense = np.array([candidate.dense or 0.0 for candidate in members])
        lexical = np.array([candidate.lexical or 0.0 for candidate in members])
        fused = fusion.weighted(dense, lexical, weight, adapt=settings.dense_weight is None)
        scores, share = fused.scores, fused.dense_weight
        if settings.rrf:
            share = 0.5 if settings.dense_weight is None and made is not None else weight
            scores = fusion.reciprocal_rank([c.dense_rank for c in members], [c.lexical_rank for c in members], share)
        columns = zip(members, scores.tolist(), fused.dense.tolist(), fused.lexical.tolist(), strict=True)
        for candidate, candidate.score, candidate.normal_dense, candidate.normal_lexical in columns:
            candidate.dense_weight = share


def _single(candidates: Sequence[Candidate]) -> None:
    """Score the hits of one channel: cosine as it is, BM25 as a share of the best."""
    best = max((c.lexical for c in candidates if c.lexical is not None), default=0.0)
    for candidate in candidates:
        if candidate.dense is not None:
            candidate.score = candidate.normal_dense = min(1.0, max(0.0, candidate.dense))
            candidate.dense_weight = 1.0
        elif candidate.lexical is not None:
            candidate.score = candidate.normal_lexical = candidate.lexical / best if best > 0 else 0.0


def _mean_weight(candidates: Sequence[Candidate], channel: int) -> float:
    if not candidates:
        return 0.0
    dense = sum(candidate.dense_weight for candidate in candidates) / len(candidates)
    return dense if channel == SearchChannel.SEARCH_CHANNEL_DENSE else 1.0 - dense
