"""Chooses the computation that a question asks for among those that tables allow, by fitted weights of signs.

`weights.json` names the public sets that it was fitted on, by tests/bench/tables_reading/fit.py, which prints what the
weights are worth on tables that they were not fitted on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from footnote_text.locales import Locale

from footnote_ingestion.tables import evidence
from footnote_ingestion.tables.candidates import Reading, candidates
from footnote_ingestion.tables.forms import Form, Subject
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


def weigh(question: str, subjects: Sequence[Subject], reading: Reading, words: Locale) -> list[Weighed]:
    """Return the likeliest computations over tables, the best first; what is missing to 1 is the chance of none."""
    asked = Asked.of(question, words.tables, words.code)
    every = [(at, Mentions.of(asked, subject)) for at, subject in enumerate(subjects)]
    if any(mentions.file for _, mentions in every):
        every = [one for one in every if one[1].file]
    every.sort(key=lambda one: -_nearness(one[1], reading))
    signs, none = _weights()
    scored: list[tuple[int, Form, float]] = []
    for at, mentions in every[:_MOST_TABLES]:
        for one in candidates(asked, mentions, reading):
            found = evidence.signs(one, asked, mentions, reading)
            scored.append((at, one.form, math.fsum(map(float.__mul__, found, signs))))
    if not scored:
        return []
    against = math.fsum(map(float.__mul__, evidence.none_signs(asked, reading), none))
    top = max(against, max(score for _, _, score in scored))
    total = math.fsum(math.exp(score - top) for _, _, score in scored) + math.exp(against - top)
    scored.sort(key=lambda one: -one[2])
    return [Weighed(at, form, math.exp(score - top) / total) for at, form, score in scored[:_MOST_ALIKE]]


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
