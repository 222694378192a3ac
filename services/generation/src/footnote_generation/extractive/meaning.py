"""The chance that each of the likeliest sentences answers.

A logistic model weighs the signs of a sentence's words (`signs`) and, where an embedding model compares them, its
likeness to the question; another one weighs words alone. `weights.json` names the public sets that they were fitted on,
by tests/bench/finder/fit.py, which prints what they are worth on each set that chose nothing.
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
from footnote_generation.extractive.signs import NAMES, Table, of_likeness, signs

COMPARED = 10
"""How many sentences are compared, each about 10 ms of processor time."""
SHARE = 0.4
"""The share of the best chance from which another sentence is shown beside it, as in the fit."""
SURE = 0.5
"""The chance from which a sentence is shown alone, unless another has it too."""
LEAST = 0.4
"""The chance from which a sentence is an answer, where the threshold of support is 0.5; below, it is only offered.

Of 104 questions as users ask them, over 55 documents, by half of two sets, graded by what the answer must hold, these
numbers were right, were wrong, and were rightly refused of 27 without an answer. By words alone: from 0.3 26, 11, 20;
0.4 24, 7, 23; 0.46 22, 5, 24. With e5, waiting for all vectors: from 0.3 31, 15, 20; 0.4 30, 11, 23; 0.46 25, 9, 24.
Of SQuAD-13 and PIAF, which chose nothing, 0.4 answers .85 and .48 of the questions by words alone, .72 and .39 of all
right, and refuses .97 and .97 where the article is left out; with e5 .78 and .53, .70 and .38, 1.00 and .97. What
separates them least is a passage on the subject without the attribute: .72 and .77 of those are refused, with e5 .82
and .74. The setting FOOTNOTE_GENERATION_NOT_FOUND_THRESHOLD at 0.4 answers from 0.3, at 0.6 from 0.51.
"""
LEAST_BY_WORDS = 0.3
"""The same by words alone. From 0.4 the guide's own questions over its sample handbook were only offered their answers.
Of the same 104 questions, asked of what is kept of their searches: from 0.3 28, 12, 20; from 0.4 26, 7, 23.
"""


LEAST_SHOWN = 0.2
"""The same where a line before the sentences says that they are passages and no answer to what was asked: all are in
another language than the question's, or a comparison, a list, a total, steps or a summary was asked for.

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
        """Return the signs NAMES and LIKENESS of the compared sentences, in the order of `texts`; without it, NAMES."""
        places = self._chosen[: len(likeness)] if likeness else self._chosen
        table = signs(self.question, self._found, self._sources, self._rows, places)
        return np.concatenate([table, of_likeness(table, np.array(likeness))], 1) if likeness else table

    def ranked(self, likeness: Sequence[float]) -> list[Ranked]:
        """Return all, the likeliest first, with the chance as score; what was not compared comes last, with 0."""
        compared = self.trusted(likeness)
        spoken = frozenset(stem for word in self.question.before for stem in word.stems)
        compared.sort(key=lambda item: (-_preferred(item, spoken), item.unit.rank, item.unit.place))
        return [*compared, *(replace(item, score=0.0) for item in self._ranked[len(likeness) :])]

    def complete(self) -> list[Unit]:
        """Return the compared ones that lack no word of the question, with what they stand under."""
        missing = self.table(())[:, NAMES.index("missing")]
        return [item.unit for item, one in zip(self._ranked, missing, strict=False) if not one]

    def trusted(self, likeness: Sequence[float] = ()) -> list[Ranked]:
        """Return the likeliest in their order, with the chance as score: by likeness and words, or by words alone."""
        weights, constant = _weights("likeness" if likeness else "words")
        chances = 1 / (1 + np.exp(-np.clip(self.table(likeness) @ weights + constant, -30, 30)))
        return [replace(item, score=float(chance)) for item, chance in zip(self._ranked, chances, strict=False)]


def share(best: float) -> float:
    """Return the share of the best chance from which another sentence is shown beside it."""
    return max(SHARE, SURE / best) if best >= SURE else SHARE


def support(question: Question, shown: Sequence[Ranked], *, by_words: bool, led_in: bool = False) -> float:
    """Return how sure it is that one of the sentences shown answers: 0.5 at the least chance of an answer."""
    abroad = not by_words and all(item.unit.language != question.language for item in shown)
    least = LEAST_SHOWN if abroad or led_in else LEAST_BY_WORDS if by_words else LEAST
    return math.pow(min(1.0, sum(item.score for item in shown)), math.log(0.5) / math.log(least))


def _preferred(item: Ranked, spoken: frozenset[str]) -> float:
    """Return the chance, up to twice it if a sentence is of what was spoken of before: it decides between near ones."""
    if not spoken:
        return item.score
    return item.score * (1 + len(spoken & (item.unit.analysed.stems | item.unit.context)) / len(spoken))


@cache
def _weights(way: str) -> tuple[NDArray[np.float64], float]:
    """Return a weight for each sign, and the constant, with "likeness" or by "words" alone."""
    fitted = json.loads((resources.files(__package__) / "weights.json").read_text(encoding="utf-8"))[way]
    return np.array(list(fitted["weights"].values())), float(fitted["constant"])
