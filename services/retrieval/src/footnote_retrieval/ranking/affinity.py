"""Boosts documents whose file name the question mentions: "Boeing's tax rate in FY2022" raises BOEING_2022_10K.pdf.

This is weaker than naming a file (`query/files.py`), which limits the search. A document's passages only gain a share
of their own score, by how many of the question's words distinguish its name from other files' names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from footnote.types.v1.reasons_pb2 import SCORE_ADJUSTMENT_KIND_FILE_SPOKEN_OF
from footnote_text.stopwords import STOP_WORDS

from footnote_retrieval.model import Candidate
from footnote_retrieval.query.files import FileNames, pieces

_FEWEST_LETTERS = 3
_YEAR = 4


def _question_pieces(query: str, language: str) -> frozenset[str]:
    """Return the question's significant words and numbers; neighbours also joined ("Ulta Beauty", ultabeauty)."""
    stop = STOP_WORDS.get(language, frozenset()) | STOP_WORDS.get("en", frozenset())
    asked = pieces(query)
    words = {piece for piece in asked if piece not in stop and (piece.isdigit() or len(piece) >= _FEWEST_LETTERS)}
    joined = {first + second for first, second in pairwise(asked) if not first.isdigit()}
    return frozenset(words | joined)


def affinities(query: str, language: str, names: FileNames) -> dict[str, float]:
    """Return by document id how strongly the question mentions its file name; documents at 0 are left out.

    The words of a name add up, each by its rarity among the names: 1 is as good as a word that only one file has. So
    a company with its year outweighs the same company in another year. A short number counts only beside a shared
    word or year: "2" alone does not mention "2.pdf". A single name gives no evidence.
    """
    if len(names) < 2:
        return {}
    rarest = math.log(len(names))
    scores: dict[str, float] = {}
    short: dict[str, float] = {}
    for piece in _question_pieces(query, language) & names.by_piece.keys():
        having = names.by_piece[piece]
        if len(having) == len(names):
            continue
        into = short if piece.isdigit() and len(piece) < _YEAR else scores
        for name in having:
            into[name] = into.get(name, 0.0) + math.log(len(names) / len(having)) / rarest
    return {
        document: score + short.get(name, 0.0) for name, score in scores.items() for document in names.documents[name]
    }


def apply_affinity(candidates: Sequence[Candidate], affinity: Mapping[str, float], weight: float) -> None:
    """Raise each score by its document's share of itself against the others; scores stay within 0..1.

    raised = score · (1 + weight · affinity), and score' = raised / (1 + weight) up to raised = 1. Above, score' grows
    ever more slowly towards 1. So scores' order is that of `raised`, other documents fall by the factor 1 + weight
    however many words a name shares, and an irrelevant passage gains nothing. No score depends on another candidate:
    those of separate lists compare.
    """
    if weight <= 0 or not affinity:
        return
    for candidate in candidates:
        share = affinity.get(candidate.hit.document_id, 0.0)
        score = _bounded(candidate.score * (1 + weight * share), weight)
        candidate.adjust(SCORE_ADJUSTMENT_KIND_FILE_SPOKEN_OF, score - candidate.score, min(1.0, share))


def _bounded(raised: float, weight: float) -> float:
    """Map a raised score, 0 or more, into 0..1: rising everywhere, and smooth where the two parts meet."""
    if raised <= 1:
        return raised / (1 + weight)
    return 1 - weight**2 / ((1 + weight) * (weight + raised - 1))
