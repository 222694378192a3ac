"""Chooses the computation that a question asks for among those that tables allow, by fitted weights of signs.

`weights.json` names the public sets that it was fitted on, by tests/bench/tables_reading/fit.py, which prints what the
weights are worth on tables that they were not fitted on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from footnote_text.locales import Locale

from footnote_ingestion.tables import evidence
from footnote_ingestion.tables.candidates import Candidate, Reading, candidates
from footnote_ingestion.tables.forms import HIGHEST, LOWEST, Form, Subject
from footnote_ingestion.tables.mentions import Asked, Mentions

FLOOR = 0.7
"""The least chance of a computation that is answered.

Of public questions that the fit left out, these shares were answered wrongly, of all that were asked: from 0.6
WikiTableQuestions .034, WikiSQL .010; from 0.7 .014, .007; from 0.8 .011, .002; and rightly, of those that some
computation answers: .186, .434; .143, .380; .106, .253.
"""
_MOST_TABLES, _MOST_ALIKE = 6, 8

Given = Callable[[int, Form], object]
"""Returns what a form over the table at a place gives; None for nothing."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A form over the table at a place, with the chance that the question asks for it."""

    table: int
    form: Form
    chance: float
    passes_over: bool = False
    """Whether the question names a column that the form does not use, by which it may mean other rows or names."""


def weigh(question: str, subjects: Sequence[Subject], reading: Reading, words: Locale) -> list[Weighed]:
    """Return the likeliest computations over tables, the best first; what is missing to 1 is the chance of none."""
    asked = Asked.of(question, words.tables, words.code)
    every = [(at, Mentions.of(asked, subject)) for at, subject in enumerate(subjects)]
    if any(mentions.file for _, mentions in every):
        every = [one for one in every if one[1].file]
    every.sort(key=lambda one: -_nearness(one[1], reading))
    signs, none = _weights()
    scored: list[tuple[int, Mentions, Candidate, float]] = []
    for at, mentions in every[:_MOST_TABLES]:
        for one in candidates(asked, mentions, reading):
            found = evidence.signs(one, asked, mentions, reading)
            scored.append((at, mentions, one, math.fsum(map(float.__mul__, found, signs))))
    if not scored:
        return []
    against = math.fsum(map(float.__mul__, evidence.none_signs(asked, reading), none))
    top = max(against, max(score for *_, score in scored))
    total = math.fsum(math.exp(score - top) for *_, score in scored) + math.exp(against - top)
    scored.sort(key=lambda one: -one[-1])
    return [
        _beside(Weighed(at, one.form, math.exp(score - top) / total), one, asked, mentions)
        for at, mentions, one, score in scored[:_MOST_ALIKE]
    ]


def _beside(weighed: Weighed, candidate: Candidate, asked: Asked, mentions: Mentions) -> Weighed:
    """Return a computation with the columns that the question names beside it as `needed`, or as passed over."""
    form, subject = weighed.form, mentions.subject
    filters = [*form.filters, *(one for side in form.sides for one in side.filters)]
    used = {*form.measures, *form.beside, *(one.column for one in filters)}
    if form.grouped or form.kind in (HIGHEST, LOWEST):
        used.add(form.key)
    used |= set() if subject.tells_apart(subject.naming) else {subject.naming}
    explained = candidate.explained.union(
        mentions.file, mentions.about, asked.empty, *(mentions.headers.get(one, ()) for one in used)
    )
    others = [one for one, at in mentions.headers.items() if one not in used | subject.numeric and at - explained]
    names_other = form.kind in (HIGHEST, LOWEST) and form.key not in mentions.headers
    passed = any(subject.tells_apart(one) or (names_other and one in subject.values) for one in others)
    return replace(weighed, form=replace(form, needed=tuple(others)), passes_over=passed)


def chosen(weighed: Sequence[Weighed], given: Given) -> Weighed | None:
    """Return the best computation if its chance, with those of others that give the same, is at least FLOOR."""
    if not weighed or (said := given(weighed[0].table, weighed[0].form)) is None:
        return None
    alike = [
        one.chance for one in weighed[1:]
        if one.table == weighed[0].table and given(one.table, one.form) == said
    ]  # fmt: skip
    return weighed[0] if weighed[0].chance + math.fsum(alike) >= FLOOR else None


def _nearness(mentions: Mentions, reading: Reading) -> float:
    alike = max((reading.columns.get(one, 0.0) for one in mentions.subject.headers.values()), default=0.0)
    named = max(mentions.shares.values(), default=0.0) + 0.5 * len(mentions.headers)
    return len(mentions.spans) + named + min(2, len(mentions.about)) + alike


@cache
def _weights() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return a weight for each sign of SIGNS and of NONE."""
    fitted = json.loads((resources.files(__package__) / "weights.json").read_text(encoding="utf-8"))
    return (
        tuple(float(fitted["signs"][name]) for name in evidence.SIGNS),
        tuple(float(fitted["none"][name]) for name in evidence.NONE),
    )
