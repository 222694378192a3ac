"""What a question names that a row or a passage, with what stands above it, does not say: then it is no answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from footnote.types.v1.answer_pb2 import Source
from footnote_text.intents import Intent
from footnote_text.sentences import begins_anaphorically

from footnote_generation.extractive import cells
from footnote_generation.extractive.passages import Above, Unit, marks
from footnote_generation.extractive.question import Question
from footnote_generation.extractive.ranking import Ranked, weigh
from footnote_generation.language import lexicon
from footnote_generation.language.words import analyse

_DAYS = frozenset({"year", "date"})
_LONGEST_NAME = 40  # characters
_AFTER_A_NAME = re.compile(r"[A-ZÀ-ÞΑ-ΩА-Я][^\W_]{0,39}[\s-]$")
_OF_SEVERAL = frozenset({Intent.TOTAL, Intent.LIST, Intent.SUMMARY, Intent.COMPARISON})
_LOOKED = 24
"""How many of the best sentences are looked at."""


class Lacking:
    """Tells for one question which of its parts a sentence lacks."""

    def __init__(
        self, question: Question, found: Sequence[Unit], sources: Mapping[int, Source], rows: cells.Rows | None = None
    ) -> None:
        self._question = question
        self._sources = sources
        self._above = Above(found, sources).text
        self._rows = rows or cells.Rows(sources)
        words = (*question.about, *question.subject)
        self._marks = named_marks(question)
        years = (amount.text for amount in question.analysed.quantities if amount.dimension in _DAYS)
        self._types = self._marks - marks(" . ".join(years))
        weighed = [word for word in words if not word.in_quantity or marks(word.text) <= self._marks]
        self._weights = weigh(weighed, found)
        self._total = sum(self._weights.values()) or 1.0
        self._groups = {stem: lexicon.groups(stem) for stem in self._weights}
        self._named = frozenset(stem for word in words if word.name for stem in word.stems)
        # German writes every noun with a capital: there a capital names nothing.
        self._names = [] if question.language == "de" else [word.stems for word in words if word.name]

    def is_another(self, unit: Unit) -> bool:
        """Whether a row is of another thing, type or year than the question names, or lacks the asked cell.

        A name and what has a digit ("3S", "2024") must stand in the row, its headers or what it stands under; of a
        sentence, types in its passage. A year need not: 1 % of SQuAD-13's answers stand in a passage without it.
        """
        source, above = self._sources[unit.source], self._above(unit)
        if not unit.is_row:
            return bool(self._types) and not self._types <= marks(f"{source.text} . {above}")
        # Totals, lists, summaries and comparisons are of several rows, and name none.
        if self._question.wish in _OF_SEVERAL:
            return False
        if self._marks and not self._marks <= marks(f"{unit.text} . {above}"):
            return True
        under = unit.context | analyse(above, unit.language).stems
        if any((unit.analysed.stems | under).isdisjoint(name) for name in self._names):
            return True
        return cells.is_another(self._question, self._rows.of(unit), under)

    def share(self, unit: Unit) -> float:
        """Return the weight of the question's words that neither the sentence nor what stands above it says, 0 to 1."""
        before = unit.before if begins_anaphorically(unit.text, unit.language) else frozenset[str]()
        stems = unit.analysed.stems | unit.context | before | analyse(self._above(unit), unit.language).stems
        groups = frozenset(group for stem in stems for group in lexicon.groups(stem))
        missing = 0.0
        for stem, value in self._weights.items():
            if stem in stems or self._groups[stem] & groups:
                continue
            # A sentence may leave its subject to its passage.
            if stem not in unit.around or stem not in self._named:
                missing += value
        return missing / self._total


def fitting(
    question: Question,
    ranked: Sequence[Ranked],
    found: Sequence[Unit],
    sources: Mapping[int, Source],
    rows: cells.Rows | None = None,
) -> list[Ranked]:
    """Return the best of ranked sentences and rows without rows that are of another thing than asked.

    Where such a row says more of the question than another sentence, that one is not of what is asked either.
    """
    lacking = Lacking(question, found, sources, rows)
    looked = [(item, lacking.share(item.unit), lacking.is_another(item.unit)) for item in ranked[:_LOOKED]]
    least = min((share for item, share, another in looked if another and item.unit.is_row), default=1.0)
    return [item for item, share, another in looked if not another and share <= least]


def named_marks(question: Question) -> frozenset[str]:
    """Return what has a digit in a question and names a thing, a type or a year.

    "3S", 2024 and the number of "Linde 3" do; "75 kg" and "2,500 packs" are amounts, which may lie in a range.
    """
    text = question.text
    for amount in reversed(question.analysed.quantities):
        names = amount.dimension == "" and _AFTER_A_NAME.search(
            text[max(0, amount.start - _LONGEST_NAME) : amount.start]
        )
        if amount.dimension not in _DAYS and not names:
            text = f"{text[: amount.start]} {text[amount.end :]}"
    return marks(" ".join([text, *(word.text for word in question.subject)]))
