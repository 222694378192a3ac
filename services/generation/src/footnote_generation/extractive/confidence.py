"""How sure it is that the sources answer a question at all: signs of it, weighed by a logistic function."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from footnote_text.lexical import is_unspaced

from footnote_generation.extractive.passages import Unit
from footnote_generation.extractive.question import Question
from footnote_generation.extractive.ranking import Ranked, answers_kind
from footnote_generation.language import lexicon
from footnote_generation.language.quantities import Quantity, same_value


@dataclass(frozen=True, slots=True)
class Signs:
    """What speaks for or against an answer being there; each from 0 to 1.

    Of the question: the weight covered by the best sentence and its surroundings, by the best source, the plain share
    of words in both, neighbouring words kept together, names and numbers found in the source, and the sort of thing
    asked for being in the sentence. `short` is 1 for a question of one word of meaning, less for longer ones.
    """

    sentence: float
    source: float
    words: float
    source_words: float
    together: float
    names: float
    numbers: float
    kind: float
    short: float
    unspaced: float


# The first is the constant. Fitted on half of the questions of three public sets; that fit is not kept here.
# tests/integration/test_generation_extractive.py measures them on halves that did not choose them and on CMRC 2018, of
# which no question did.
_WEIGHTS = (-3.37, 0.36, 0.57, 1.03, 1.2, 0.51, 1.91, 0.08, 0.34, -0.06, -0.5)


def signs(question: Question, best: Ranked, units: Sequence[Unit], source_weight: float) -> Signs:
    """Return the signs for the best sentence of ranked ones."""
    unit = best.unit
    own = [other for other in units if other.source == unit.source]
    source_stems = unit.around
    groups = frozenset(group for stem in unit.context for group in lexicon.groups(stem)).union(
        *(other.groups for other in own)
    )
    about = list({word.stems: word for word in question.about}.values())
    in_sentence = sum(1 for word in about if set(word.stems) & unit.analysed.stems)
    in_source = sum(1 for w in about if set(w.stems) & source_stems or any(lexicon.groups(s) & groups for s in w.stems))
    names = [word for word in (*about, *question.subject) if word.name]
    named = sum(1 for word in names if set(word.stems) & source_stems)
    asked = question.analysed.quantities
    given: list[Quantity] = [item for other in own for item in other.analysed.quantities]
    numbers = sum(1 for item in asked if any(same_value(item, other) for other in given))
    return Signs(
        sentence=best.covered,
        source=source_weight,
        words=in_sentence / len(about) if about else 0.0,
        source_words=in_source / len(about) if about else 0.0,
        together=best.together,
        names=named / len(names) if names else 1.0,
        numbers=numbers / len(asked) if asked else 1.0,
        kind=answers_kind(question, unit),
        short=1 / max(1, len(about)),
        unspaced=1.0 if any(is_unspaced(char) for char in question.text[:20]) else 0.0,
    )


def confidence(found: Signs) -> float:
    """Return the probability that the sources answer the question, 0 to 1."""
    total = _WEIGHTS[0] + sum(weight * value for weight, value in zip(_WEIGHTS[1:], astuple(found), strict=True))
    return 1 / (1 + math.exp(-total))
