"""Documents whose file name the question speaks of: "Boeing's tax rate in FY2022" leans to BOEING_2022_10K.pdf.

Weaker than naming a file (`files.py`), which limits the search: here a document's passages only gain score, by how many
of the question's words tell its name apart from the names of the other files.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from footnote_text.lexical import fold
from footnote_text.stopwords import STOP_WORDS

from footnote_retrieval.model import Candidate

_PIECE = re.compile(r"[^\W\d_]+|\d+")
_FEWEST_LETTERS = 3
_EXTENSION = re.compile(r"\.\w{1,5}$")


@lru_cache(maxsize=8192)
def _name_pieces(filename: str) -> frozenset[str]:
    """Return the words and numbers of a file name: "AMCOR_2023Q4.pdf" gives amcor, 2023, q, 4."""
    return frozenset(_PIECE.findall(fold(_EXTENSION.sub("", filename))))


def _question_pieces(query: str, language: str) -> frozenset[str]:
    """Return the question's telling words and numbers; neighbouring words also joined ("Ulta Beauty", ultabeauty)."""
    stop = STOP_WORDS.get(language, frozenset()) | STOP_WORDS.get("en", frozenset())
    pieces = _PIECE.findall(fold(query))
    words = {piece for piece in pieces if piece not in stop and (piece.isdigit() or len(piece) >= _FEWEST_LETTERS)}
    joined = {first + second for first, second in pairwise(pieces) if not first.isdigit()}
    return frozenset(words | joined)


def affinities(query: str, language: str, filenames: Mapping[str, str]) -> dict[str, float]:
    """Return by document id, 0..1, how far the question speaks of its file name; documents at 0 are left out.

    Each shared word counts by its rarity among the names; 1 means as good as a word that only one file has. With a
    single name there is nothing to tell apart, and a word that most names share tells nothing.
    """
    names = set(filenames.values())
    if len(names) < 2:
        return {}
    seen = Counter(piece for name in names for piece in _name_pieces(name))
    asked = _question_pieces(query, language) & seen.keys()
    if not asked:
        return {}
    rarest = math.log(len(names))
    weight = {piece: math.log(len(names) / seen[piece]) / rarest for piece in asked}
    by_name = {name: min(1.0, sum(weight[piece] for piece in _name_pieces(name) & asked)) for name in names}
    return {document: by_name[name] for document, name in filenames.items() if by_name[name] > 0}


def apply_affinity(candidates: Sequence[Candidate], affinity: Mapping[str, float], weight: float) -> None:
    """Add to each score its document's share; scores stay within 0..1: (score + weight · affinity) / (1 + weight)."""
    if weight <= 0 or not affinity:
        return
    for candidate in candidates:
        share = affinity.get(candidate.hit.chunk.document_id, 0.0)
        boosted = (candidate.score + weight * share) / (1 + weight)
        candidate.adjust("file_spoken_of", boosted - candidate.score, f"{share:.2f} of its name is in the question")
