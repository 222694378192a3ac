"""The chance that each of the likeliest sentences answers, where an embedding model compares them with the question.

A logistic model weighs the signs of a sentence's words (`signs`) and its likeness to the question. `weights.json` names
the public sets that it was fitted on, by tests/bench/finder/fit.py, which prints what it is worth on each set that
chose nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources

import numpy as np
from footnote.types.v1.answer_pb2 import Source
from numpy.typing import NDArray

from footnote_generation.extractive.cells import Rows
from footnote_generation.extractive.passages import Above, Unit
from footnote_generation.extractive.question import Question
from footnote_generation.extractive.ranking import Ranked
from footnote_generation.extractive.signs import LIKENESS, NAMES, Table, of_likeness, signs

COMPARED = 10
"""How many sentences are compared, each about 10 ms of processor time."""
SHARE = 0.4
"""The share of the best chance from which another sentence is shown beside it, as in the fit."""
SURE = 0.5
"""The chance from which a sentence is shown alone, unless another has it too."""
LEAST = 0.3
"""The chance from which a sentence is an answer, where the threshold of support is 0.5.

Of 50 questions as users ask them, over 16 documents in five languages, waiting for all vectors, these shares were
answered wrongly, and were right or rightly refused, judged by hand: from 0.2 .14 and .62; 0.25 .10 and .58; 0.3 .08 and
.56; 0.4 .04 and .56. Of SQuAD-13 and PIAF, which chose nothing: where its paragraph was found, 0.2 answers .94 and .77
of the questions, 0.3 .88 and .65, 0.4 .78 and .53; where that article was left out, 0.2 refuses .96 and .95, 0.3 .99
and .97, 0.4 1.00 and .98. No chance serves all: what separates them is a passage on the subject without the attribute,
which these signs hardly distinguish from an answer. The setting FOOTNOTE_GENERATION_NOT_FOUND_THRESHOLD at 0.6 refuses
below the chance 0.41.
"""


LEAST_ABROAD = 0.2
"""The same where all sentences are in another language than the question's; they are shown as what may answer it.

Of XQuAD's questions in other languages than their passages, which the fit knew, it answers .55 to .84 where the
passage was found, and refuses .96 to .99 where its article was left out; 0.3 answers .39 to .75 and refuses .99 to 1.
"""


class Comparison:
    """The likeliest sentences and rows of a question by their words, made ready for a comparison in meaning."""

    def __init__(
        self, question: Question, ranked: Sequence[Ranked], found: Sequence[Unit], sources: Mapping[int, Source],
        rows: Rows | None = None,
    ) -> None:  # fmt: skip
        self.question = question
        self._ranked = ranked
        self._found = found
        self._sources = sources
        self._rows = rows
        behind = Above(found, sources).behind
        places = {(unit.source, unit.place): at for at, unit in enumerate(found)}
        self._chosen = [places[item.unit.source, item.unit.place] for item in ranked[:COMPARED]]
        self.texts = [behind(found[at]) for at in self._chosen]
        """What is compared with the question: the likeliest sentences, each behind what it stands under."""

    def table(self, likeness: Sequence[float]) -> Table:
        """Return the signs NAMES and LIKENESS of the compared sentences, in the order of `texts`."""
        table = signs(self.question, self._found, self._sources, self._rows)[self._chosen[: len(likeness)]]
        return np.concatenate([table, of_likeness(table, np.array(likeness))], 1)

    def ranked(self, likeness: Sequence[float]) -> list[Ranked]:
        """Return all, the likeliest first, with the chance as score; what was not compared comes last, with 0."""
        weights, constant = _weights()
        chances = 1 / (1 + np.exp(-np.clip(self.table(likeness) @ weights + constant, -30, 30)))
        compared = [replace(item, score=float(chance)) for item, chance in zip(self._ranked, chances, strict=False)]
        spoken = frozenset(stem for word in self.question.before for stem in word.stems)
        compared.sort(key=lambda item: (-_preferred(item, spoken), item.unit.rank, item.unit.place))
        return [*compared, *(replace(item, score=0.0) for item in self._ranked[len(likeness) :])]


def share(best: float) -> float:
    """Return the share of the best chance from which another sentence is shown beside it."""
    return max(SHARE, SURE / best) if best >= SURE else SHARE


def support(question: Question, shown: Sequence[Ranked]) -> float:
    """Return how sure it is that one of the sentences shown answers, on the scale of words: 0.5 at the least chance."""
    least = LEAST_ABROAD if all(item.unit.language != question.language for item in shown) else LEAST
    return math.pow(min(1.0, sum(item.score for item in shown)), math.log(0.5) / math.log(least))


def _preferred(item: Ranked, spoken: frozenset[str]) -> float:
    """Return the chance, up to twice it if a sentence is of what was spoken of before: it decides between near ones."""
    if not spoken:
        return item.score
    return item.score * (1 + len(spoken & (item.unit.analysed.stems | item.unit.context)) / len(spoken))


@cache
def _weights() -> tuple[NDArray[np.float64], float]:
    """Return a weight for each sign, and the constant."""
    fitted = json.loads((resources.files(__package__) / "weights.json").read_text(encoding="utf-8"))
    return np.array([fitted["weights"][name] for name in (*NAMES, *LIKENESS)]), float(fitted["constant"])
