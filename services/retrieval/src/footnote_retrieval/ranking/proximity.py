"""How closely the query's words stand together in a passage: what BM25, a bag of words, does not see.

After the sequential dependence model (Metzler and Croft, 2005), with shares in place of its language model: of the
query's words that follow each other, how many do so in the passage too; how near its other words stand; how many are
there at all. It is lexical evidence, so it counts by the weight of the lexical channel: where meaning finds the
passages, full proximity costs Cranfield 0.008 nDCG@10 with all-MiniLM. Else +0.002 to +0.01 on every set.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

Found: TypeAlias = tuple[tuple[int, ...], ...]
"""For each term, in order, its start positions in a passage, in characters."""
_NOWHERE: tuple[int, ...] = ()


class Occurrences:
    """Finds the terms of one query in passages, each distinct term once, and caches the positions.

    Searching for a handful of terms is quicker than splitting a passage into some hundred.
    """

    def __init__(self, query: Sequence[str]) -> None:
        self.terms = tuple(dict.fromkeys(query))
        self._needles = tuple(f" {term} " for term in self.terms)
        self._found: dict[str, Found] = {}

    def of(self, passage: str) -> Found:
        """Return the positions of the terms in a passage's search terms, joined by spaces."""
        found = self._found.get(passage)
        if found is None:
            found = self._found[passage] = self._look(f" {passage} ")
        return found

    def _look(self, padded: str) -> Found:
        """Search a passage that has an extra space at both ends."""
        found = []
        for needle in self._needles:
            at = padded.find(needle)
            if at < 0:
                found.append(_NOWHERE)
                continue
            places = []
            while at >= 0:
                places.append(at)
                at = padded.find(needle, at + 1)
            found.append(tuple(places))
        return tuple(found)


# Varied by tests/bench/test_bench_ranking.py, built-in embedder, 120 questions a set: SQuAD-13 chooses (a difference of
# 0.016 is noise), PIAF and Cranfield have no say. nDCG@10 by value on SQuAD-13; PIAF; Cranfield, where the values as
# they stand have 0.8676; 0.8450; 0.3748.
_WINDOW = 8  # 4: 0.8676; 0.8450; 0.3748, 16: 0.8675; 0.8450; 0.3741
_FAR = 1_000_000  # more than any distance
_AHEAD = 5  # 3: 0.8675; 0.8450; 0.3748, 10: 0.8676; 0.8450; 0.3748
_ORDERED = 0.4  # 0.2: 0.8649; 0.8439; 0.3737, 0.8: 0.8686; 0.8413; 0.3782
_NEAR = 0.1  # 0: 0.8652; 0.8428; 0.3742, 0.2: 0.8676; 0.8435; 0.3757
_COVERED = 0.05  # 0: 0.8678; 0.8439; 0.3769, 0.1: 0.8676; 0.8450; 0.3769
STRENGTH = 1.2  # 0: 0.8559; 0.8393; 0.3658, 0.6: 0.8618; 0.8434; 0.3721, 2.4: 0.8721; 0.8413; 0.3761
"""What full proximity adds to the score, as a multiple, where the lexical channel has all the weight."""
MOST = _ORDERED + _NEAR + _COVERED
TOP = 30  # 10: 0.8655; 0.8450; 0.3682, 60: 0.8675; 0.8450; 0.3748
"""Candidates worth looking at: the best by fused score."""


class Proximity:
    """Measures passages against the search terms of one query."""

    def __init__(self, query: Sequence[str], sought: Occurrences | None = None) -> None:
        """Take the query's terms, and their known positions in passages if there are any."""
        self._sought = sought if sought is not None else Occurrences(query)
        number = {term: at for at, term in enumerate(self._sought.terms)}
        self._following = {(number[one], number[next_]) for one, next_ in pairwise(query) if one != next_}

    def __call__(self, passage: str) -> float:
        """Return 0 to MOST for a passage's search terms, joined by spaces."""
        found = self._sought.of(passage)
        count, there = len(found), len(found) - found.count(())
        covered = _COVERED * there / count if count else 0.0
        if there < 2:
            return covered
        following = self._following
        ordered: set[tuple[int, int]] = set()
        nearest: dict[tuple[int, int], int] = {}
        places = _places(passage, found)
        for number, (index, term) in enumerate(places, 1):
            for other_index, other in places[number : number + _AHEAD]:
                distance = other_index - index
                if distance > _WINDOW:
                    break
                if other == term:
                    continue
                pair = (term, other)
                if distance == 1 and pair in following:
                    ordered.add(pair)
                if term > other:
                    pair = (other, term)
                if distance < nearest.get(pair, _FAR):
                    nearest[pair] = distance
        near = sum(1.0 / distance for distance in nearest.values())
        return _ORDERED * min(1.0, len(ordered) / count) + _NEAR * min(1.0, near / count) + covered


def _places(passage: str, found: Found) -> list[tuple[int, int]]:
    """Return the positions of the query's terms, counted in terms, and which term each is."""
    places: list[tuple[int, int]] = []
    index = last = 0
    for at, term in sorted([(at, term) for term, ats in enumerate(found) for at in ats]):
        index += passage.count(" ", last, at)
        last = at
        places.append((index, term))
    return places
