"""How good the best hit is in absolute terms: fusion only compares it to the other candidates.

BM25 counts as a share of the score of a passage that has every word of the question once. The engine's scores show what
each word is worth; a word that no candidate has is worth as much as the most valuable one. A cosine counts by its
position between those of unrelated texts and of answers, as the model's maker gives them (`Cosines`). If higher, the
candidates' own cosines set the lower end: a collection of one subject is near to every question about it.

Chosen on SQuAD-13 and PIAF-fr; Cranfield had no say.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from footnote_providers.base import Cosines

from footnote_retrieval.model import Candidate
from footnote_retrieval.ranking.fusion import Scores
from footnote_retrieval.ranking.proximity import Occurrences

_K1, _B = 1.2, 0.75  # the engine's BM25 parameters
_LOOKED_AT = 60  # the best by BM25
_ANSWER = 0.8  # the average score of an answer's cosine
_NOTHING = 0.02  # the score of an unrelated text's cosine
_HIGHEST = 0.75  # share of the range between the two that a floor may rise by, and that is left above it
_FEWEST = 12  # fewest candidates whose lowest cosine shows what is near to everything


def closeness(cosine: float, cosines: Cosines | None, floor: float = -1.0) -> float:
    """Return 0 to 1, rising with the cosine everywhere; the cosine itself for a model without known cosines."""
    if cosines is None:
        return min(1.0, max(0.0, cosine))
    span = cosines.related - cosines.unrelated
    unrelated = min(max(cosines.unrelated, floor), cosines.unrelated + _HIGHEST * span)
    related = min(max(cosines.related, unrelated + _HIGHEST * span), (1 + unrelated) / 2)
    return float(np.interp(cosine, [-1.0, unrelated, related, 1.0], [0.0, _NOTHING, _ANSWER, 1.0]))


def nearest_to_everything(candidates: Sequence[Candidate]) -> float:
    """Return the lowest cosine of enough candidates: that of an unrelated passage in this collection."""
    known = [candidate.dense for candidate in candidates if candidate.dense is not None]
    return min(known) if len(known) >= _FEWEST else -1.0


def lexical_full(query: Sequence[str], candidates: Sequence[Candidate], sought: Occurrences | None = None) -> float:
    """Return the BM25 score of a mean-length passage with each of the question's terms once; 0 without hits.

    `sought` are the query's terms, with their known positions in passages.
    """
    sought = sought if sought is not None else Occurrences(query)
    found = sorted((c for c in candidates if c.lexical_rank and c.lexical), key=lambda c: c.lexical_rank)[:_LOOKED_AT]
    if not sought.terms or not found:
        return 0.0
    lengths, times = _counted([candidate.hit.lexical_text for candidate in found], sought)
    there = times.any(axis=0)
    if not there.any():
        return 0.0
    scores = np.array([candidate.lexical for candidate in found], dtype=float)
    worth = _worth(times[:, there], lengths / lengths.mean(), scores)
    return float(worth.sum() + (~there).sum() * worth.max())


def _counted(passages: Sequence[str], sought: Occurrences) -> tuple[Scores, Scores]:
    """Return how many terms each passage has, and the frequency of each query term in it."""
    times = [list(map(len, sought.of(passage))) for passage in passages]
    lengths = [passage.strip().count(" ") + 1 if passage else 0 for passage in passages]
    return np.array(lengths, dtype=float), np.array(times, dtype=float)


def _worth(times: Scores, lengths: Scores, scores: Scores) -> Scores:
    """Return what one occurrence of each term adds to BM25: the formula solved by least squares."""
    saturated = times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * lengths)[:, None])
    worth: Scores = np.maximum(np.linalg.lstsq(saturated, scores, rcond=1e-6)[0], 0.0)
    return worth


def level(
    best: Candidate, candidates: Sequence[Candidate], query: Sequence[str], weight: float, cosines: Cosines | None,
    sought: Occurrences | None = None,
) -> float:  # fmt: skip
    """Return how good the best candidate is, 0 to 1; `weight` is that of its cosine."""
    close = share = 0.0
    if weight > 0 and best.dense is not None:
        close = closeness(best.dense, cosines, nearest_to_everything(candidates))
    if weight < 1 and best.lexical:
        full = lexical_full(query, candidates, sought)
        share = min(1.0, best.lexical / full) if full > 0 else 0.0
    return weight * close + (1 - weight) * share
