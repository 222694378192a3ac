"""Gives the candidates of one or two channels one score each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from footnote.types.v1.chunk_pb2 import SEARCH_CHANNEL_DENSE

from footnote_retrieval.channels.findings import Findings, complete
from footnote_retrieval.model import Candidate
from footnote_retrieval.ranking import feedback, fusion
from footnote_retrieval.ranking.absolute_score import closeness
from footnote_retrieval.ranking.ranking import Ranking


def fuse(candidates: list[Candidate], ranking: Ranking) -> list[Candidate]:
    """Give every candidate its score, and record the weight of each channel's run."""
    if ranking.both_ran:
        if not ranking.settings.rrf:
            complete(ranking.plan, ranking.findings)
        _both(candidates, ranking)
    else:
        _single(candidates, ranking.findings)
    for run in ranking.findings.runs:
        run.weight = _mean_weight(candidates, run.channel)
    return candidates


def _both(candidates: Sequence[Candidate], ranking: Ranking) -> None:
    """Fuse per embedding model: cosines of different models do not compare."""
    findings, settings = ranking.findings, ranking.settings
    by_model: dict[bytes, list[Candidate]] = {}
    for candidate in candidates:
        by_model.setdefault(candidate.group.embedding_key, []).append(candidate)
    for key, members in by_model.items():
        made = findings.vectors.get(key)  # none for a collection with own vectors when the search has no vector
        weight = ranking.weight_of(key)
        # A candidate without a vector yet is neither near nor far. It counts as the lowest of the others in
        # comparisons, and is scored by its words alone.
        known = [candidate.dense for candidate in members if candidate.dense is not None]
        nothing = 0.0 if len(known) == len(members) or made is None else min(known, default=0.0)
        dense = np.array([nothing if candidate.dense is None else candidate.dense for candidate in members])
        lexical = np.array([candidate.lexical or 0.0 for candidate in members])
        unrelated = made.cosines.unrelated if made is not None and made.cosines is not None else 0.0
        adapt = settings.dense_weight is None and not (made is not None and made.holds_weight)
        fused = fusion.weighted(dense, lexical, weight, adapt=adapt, unrelated=unrelated)
        if made is not None and made.cosines is not None and made.knows_meaning and not settings.rrf:
            vectors = [None if candidate.by_words_only else candidate.hit.vector for candidate in members]
            dense = feedback.fed_back(dense, fused.scores, vectors, made.vector, made.cosines)
            fused = fusion.weighted(dense, lexical, weight, adapt=adapt, unrelated=unrelated)
        scores, share = fused.scores, fused.dense_weight
        if settings.rrf:
            share = 0.5 if settings.dense_weight is None and made is not None else weight
            scores = fusion.reciprocal_rank([c.dense_rank for c in members], [c.lexical_rank for c in members], share)
        columns = zip(members, scores.tolist(), fused.dense.tolist(), fused.lexical.tolist(), strict=True)
        for candidate, candidate.score, candidate.normal_dense, candidate.normal_lexical in columns:
            candidate.dense_weight = share
            if candidate.by_words_only and not settings.rrf:
                candidate.score, candidate.normal_dense, candidate.dense_weight = candidate.normal_lexical, 0.0, 0.0


def _single(candidates: Sequence[Candidate], findings: Findings) -> None:
    """Score the hits of one channel: cosines by their meaning, BM25 as a share of the best."""
    best = max((c.lexical for c in candidates if c.lexical is not None), default=0.0)
    for candidate in candidates:
        if candidate.dense is not None:
            made = findings.vectors.get(candidate.group.embedding_key)
            candidate.score = candidate.normal_dense = closeness(candidate.dense, made.cosines if made else None)
            candidate.dense_weight = 1.0
        elif candidate.lexical is not None:
            candidate.score = candidate.normal_lexical = candidate.lexical / best if best > 0 else 0.0


def _mean_weight(candidates: Sequence[Candidate], channel: int) -> float:
    if not candidates:
        return 0.0
    dense = sum(candidate.dense_weight for candidate in candidates) / len(candidates)
    return dense if channel == SEARCH_CHANNEL_DENSE else 1.0 - dense
