"""py3langid's identifier, which walks its automaton for all bytes of a text at once; the same scores, bit by bit.

The library looks up one byte after another in Python, which takes most of the time of parsing a text file. The state
after a byte depends only on the last few bytes, because the automaton finds short byte sequences. So all states are
computed together: first as if the text began at each byte, then again from the states found, until no state changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from py3langid.langid import LanguageIdentifier

Table: TypeAlias = NDArray[Any]


class Identifier(LanguageIdentifier):  # type: ignore[misc]  # it ships no types
    """The library's identifier over tables that are arrays, with probabilities as scores."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        """`tables` are those of `language_model`; they are read where they are, and no item becomes an object."""
        super().__init__(
            tables["likelihoods"],
            tables["priors"],
            tables["labels"].tolist(),
            tables["moves"],
            tables["features"],
            norm_probs=True,
            tk_row=(),
        )
        self._rows = tables["rows"].astype(np.int32) << 8

    def probabilities(self, text: str) -> dict[str, float]:
        """Return what `rank` does, in the order of the labels instead of the probabilities, which takes a sort."""
        scores: list[float] = self._decide(text).tolist()
        found: dict[str, float] = dict(zip(self.nb_classes, scores, strict=True))
        found.update((self.nb_classes[first], scores[first]) for first, _ in self._alias_pairs)
        return found

    def _raw_score(self, text: bytes) -> Table:
        """Return the scores of encoded text by language."""
        found = self.tk_output[self._states(text)]
        found = found[found >= 0]
        if not len(found):
            return np.zeros(len(self.nb_classes), dtype=np.float32)
        # In the order of the text, as the library adds them: floating-point sums depend on it.
        places = np.arange(len(found))
        firsts: Table = np.empty(len(self.nb_ptc), dtype=np.intp)
        firsts[found[::-1]] = places[::-1]  # of repeated indices, the last assignment stays
        features = found[firsts[found] == places]
        counts = np.bincount(found)[features].astype(np.float32)
        scores: Table = np.log1p(counts) @ self.nb_ptc.take(features, axis=0) + self.nb_pc
        return scores

    def _states(self, text: bytes) -> Table:
        """Return the automaton's state after each byte."""
        letters = np.frombuffer(text, dtype=np.uint8)
        states: Table = np.zeros(len(letters) + 1, dtype=np.intp)
        while True:
            following: Table = self.tk_nextmove[self._rows[states[:-1]] + letters]
            # Where each state follows from the one before, beginning with the first, all are those of a walk.
            if np.array_equal(following, states[1:]):
                return following
            states[1:] = following
