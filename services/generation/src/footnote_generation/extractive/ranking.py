"""Which sentences of the sources answer a question, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from footnote_text.intents import Intent
from footnote_text.lexical import fold, word_set
from footnote_text.sentences import QUESTION_MARKS, begins_anaphorically

from footnote_generation.extractive.passages import Unit
from footnote_generation.extractive.question import Kind, Question
from footnote_generation.language import lexicon
from footnote_generation.language.words import Word


@dataclass(frozen=True, slots=True)
class Ranked:
    """A sentence with its score and what the score is made of.

    `covered` is the share of the question in it and its surroundings, `source_covered` that in its whole source,
    `together` the share of the question's neighbouring words that it keeps together.
    """

    unit: Unit
    score: float
    covered: float
    together: float
    source_covered: float


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each sign counts.

    Found on half of the labelled questions by a search that is not kept here. What they are worth on the other half
    and on CMRC 2018, which did not choose them: tests/integration/test_generation_extractive.py.
    """

    coverage: float = 1.0
    neighbour: float = 0.2
    heading: float = 0.3
    answer: float = 0.25
    prior: float = 1.2
    nearness: float = 0.4
    source: float = 0.3
    subject: float = 0.5
    """What a word of the subject is worth beside one of the question: chosen, not measured."""
    antecedent: float = 0.7
    """How much of that where only the sentence before a pronoun has it."""
    before: float = 0.2
    """What it is worth that a sentence is of what was spoken of before: it decides between equals."""


def weigh(words: Sequence[Word], units: Sequence[Unit]) -> dict[str, float]:
    """Return the stems of a question's words with weights: rare among the sources' sentences and names weigh more."""
    total = len(units)
    weights: dict[str, float] = {}
    spoken = [unit.analysed.stems for unit in units]
    for word in words:
        for stem in word.stems:
            frequency = sum([stem in stems for stems in spoken])
            rarity = (
                math.log(1 + (total - frequency + 0.5) / (frequency + 0.5))
                if frequency
                else math.log(1 + 2 * total + 1)
            )
            value = max(0.3, rarity) * (1.3 if word.name else 1.0)
            if stem in lexicon.light_stems():
                value *= 0.4
            weights[stem] = max(weights.get(stem, 0.0), value)
    return weights


def answers_kind(question: Question, unit: Unit) -> float:
    """How far a sentence holds the sort of thing asked for that the question itself does not name, 0 to 1."""
    asked = question.analysed
    kind = question.kind
    fresh = [q for q in unit.analysed.quantities if not any(q.values & other.values for other in asked.quantities)]
    if kind is Kind.TIME:
        return 1.0 if any(q.dimension in {"date", "year", "clock", "time", "months"} for q in fresh) else 0.0
    if kind in {Kind.COUNT, Kind.AMOUNT}:
        plain = [q for q in fresh if q.dimension not in {"date", "clock", "ordinal"}]
        return 1.0 if any(q.dimension != "year" for q in plain) else 0.3 if plain else 0.0
    if kind in {Kind.PERSON, Kind.PLACE}:
        names = [w for w in unit.analysed.words if w.name and not set(w.stems) & asked.stems]
        return min(1.0, 0.5 + 0.25 * len(names)) if names else 0.0
    if kind is Kind.REASON:
        return 1.0 if _mentions(unit, _BECAUSE) else 0.0
    if kind is Kind.DEFINITION:
        return 1.0 if _mentions(unit, _IS) and unit.place <= 2 else 0.3
    return 0.5


_BECAUSE = word_set(
    "because due since reason cause caused therefore thus order car parce raison cause afin grâce puisque"
)
_IS = word_set("is are was were means refers est sont était désigne signifie")


def _mentions(unit: Unit, words: frozenset[str]) -> bool:
    return any(word.text.lower() in words for word in unit.analysed.words)


def _nearness(question: Question, unit: Unit) -> float:
    """Return the share of neighbouring words of the question that are neighbours in the sentence too."""
    stems = [word.stems[0] for word in question.about]
    pairs = list(pairwise(stems))
    if not pairs:
        return 0.0
    places = unit.order
    close = sum(
        1
        for left, right in pairs
        if left in places and right in places and any(0 < abs(a - b) <= 3 for a in places[left] for b in places[right])
    )
    return close / len(pairs)


def rank(
    question: Question,
    units: Sequence[Unit],
    scores: Sequence[float],
    weights: Weights | None = None,
) -> list[Ranked]:
    """Order sentences best first; `scores` are the sources' own, by rank."""
    weights = weights or Weights()
    wanted = weigh(question.about, units)
    subject = weigh(question.subject, units)
    # What is asked counts for at least as much as what it is asked of.
    share = min(weights.subject, sum(wanted.values()) / (sum(subject.values()) or 1.0))
    subject = {stem: share * value for stem, value in subject.items()}
    total = sum(wanted.values()) + sum(subject.values()) or 1.0
    spoken_of = frozenset(stem for word in question.before for stem in word.stems)
    groups = {stem: lexicon.groups(stem) for stem in wanted}
    covered_by_source: dict[int, float] = {}
    for source, around in {unit.source: unit.around for unit in units}.items():
        covered_by_source[source] = sum(v for stem, v in (wanted | subject).items() if stem in around) / total
    top = max(scores, default=0.0) or 1.0
    ranked: list[Ranked] = []
    for unit in units:
        own = nearby = 0.0
        for stem, value in wanted.items():
            if stem in unit.analysed.stems:
                own += value
            elif groups[stem] & unit.groups:
                own += 0.7 * value
            elif stem in unit.context:
                nearby += weights.heading * value
            elif stem in unit.before or stem in unit.after:
                nearby += weights.neighbour * value
        own += sum(value for stem, value in subject.items() if stem in unit.analysed.stems or stem in unit.context)
        if subject and begins_anaphorically(unit.text, unit.language):
            # The sentence before says what "it" is.
            said = unit.before - unit.analysed.stems - unit.context
            own += weights.antecedent * sum(value for stem, value in subject.items() if stem in said)
        own /= total
        nearby /= total
        together = _nearness(question, unit)
        prior = scores[unit.rank] / top if unit.rank < len(scores) else 0.0
        score = (
            weights.coverage * (own + nearby)
            + weights.answer * answers_kind(question, unit) * (0.3 + own)
            + weights.nearness * together
            + weights.prior * prior
            + weights.source * covered_by_source[unit.source]
            + weights.before * len(spoken_of & (unit.analysed.stems | unit.context)) / max(1, len(spoken_of))
            - _penalty(question, unit)
        )
        ranked.append(Ranked(unit, score, min(1.0, own + nearby), together, covered_by_source[unit.source]))
    return sorted(ranked, key=lambda item: (-item.score, item.unit.rank, item.unit.place))


def adds_to(question: Question, unit: Unit) -> bool:
    """Return whether a sentence says a word or an amount that the question does not; a yes or no may need no other.

    A word of grammar may be the answer: "No pets are allowed."
    """
    if question.wish is Intent.YES_NO or question.kind is Kind.YES_NO or unit.analysed.quantities:
        return True
    asked = {fold(word.text) for word in question.analysed.words}
    fresh = (word for word in unit.analysed.words if fold(word.text) not in asked)
    return any(not word.stems or question.analysed.stems.isdisjoint(word.stems) for word in fresh)


def _penalty(question: Question, unit: Unit) -> float:
    """Return what counts against a sentence: being a question, a heading, or but the question's words."""
    text = unit.text.rstrip()
    penalty = 0.0
    if text.endswith(QUESTION_MARKS):
        penalty += 0.4
    asked = question.analysed.stems
    fresh = any(word.stems and asked.isdisjoint(word.stems) for word in unit.analysed.words)
    if not fresh and not unit.analysed.quantities:
        penalty += 0.6
    if len(unit.analysed.words) < 4 and not unit.is_row:
        penalty += 0.15
    return penalty
