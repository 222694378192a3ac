"""Weighs a verifier's opinion: it counts only with quotes from the sources, and numbers and names can veto it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from footnote_generation.language import text_language
from footnote_generation.language.quantities import find
from footnote_generation.ports import Opinion, Verifier
from footnote_generation.verification import values
from footnote_generation.verification.evidence import Evidence, roots

CONTRADICTED_AT = 0.8
"""A verifier's contradiction counts from here on; models that only measure similarity never reach it."""
PARTLY_AT = 0.5
_NAME = re.compile(r"(?<=[^\W\d_.!?:;\n\"“„«(] )[^\W\d_][^\W\d_]{2,}")
_ALL_NOUNS = frozenset({"de"})
"""Languages that capitalise every noun: a capital does not show a name there."""


class Stance(Enum):
    """What a verifier says of a statement."""

    SUPPORTS = 1
    PARTLY = 2
    CONTRADICTS = 3
    UNSURE = 4
    ALIKE = 5


@dataclass(frozen=True, slots=True)
class Weighed:
    """A verifier's opinion on a statement: its certainty, quotes by source number, and the word that vetoes it."""

    stance: Stance
    score: float
    quotes: Mapping[int, tuple[tuple[int, int], ...]]
    veto: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """The verifier's input: a text, and the source and start of each stretch of it."""

    text: str
    pieces: tuple[tuple[int, int, int, int], ...]
    """Source number, start in the source, begin and end in the text."""

    @classmethod
    def of(cls, pieces: Sequence[tuple[int, int, str]]) -> Passage:
        """Join texts, each with its source and its start there."""
        joined, at, found = [], 0, []
        for number, start, text in pieces:
            found.append((number, start, at, at + len(text)))
            joined.append(text)
            at += len(text) + 2
        return cls("\n\n".join(joined), tuple(found))

    def quoted(self, spans: Sequence[tuple[int, int]]) -> dict[int, list[tuple[int, int]]]:
        """Return by source where stretches of the text are; the whole text if there are none."""
        found: dict[int, list[tuple[int, int]]] = {}
        for number, origin, begin, end in self.pieces:
            for first, last in spans or [(0, len(self.text))]:
                if first < end and begin < last:
                    start = origin + max(first, begin) - begin
                    found.setdefault(number, []).append((start, origin + min(last, end) - begin))
        return found


def weigh(
    statement: str,
    passages: Sequence[Passage],
    opinions: Sequence[Opinion],
    evidence: Mapping[int, Evidence],
    verifier: Verifier,
) -> Weighed:
    """Combine opinions on passages, best passage first; quotes are widened to whole parts."""
    enough = verifier.enough
    ranked = sorted(zip(passages, opinions, strict=True), key=lambda item: -item[1].supports)
    passage, best = ranked[0]
    if not verifier.sees_contradictions:
        return Weighed(Stance.ALIKE, best.supports, {})  # similarity says nothing about truth
    if best.supports >= PARTLY_AT and best.contradicts < CONTRADICTED_AT:
        whole = {number: tuple(evidence[number].around(spans)) for number, spans in passage.quoted(best.spans).items()}
        if not _on_subject(statement, whole, evidence):
            return Weighed(Stance.UNSURE, 0.0, {})
        if best.supports < enough:
            return Weighed(Stance.PARTLY, best.supports, whole)
        return Weighed(Stance.SUPPORTS, best.supports, whole, _veto(statement, whole, evidence))
    passage, worst = max(ranked, key=lambda item: item[1].contradicts)
    if worst.contradicts >= CONTRADICTED_AT:
        spans = {number: tuple(found) for number, found in passage.quoted(worst.spans).items()}
        return Weighed(Stance.CONTRADICTS, 1 - worst.contradicts, spans)
    return Weighed(Stance.UNSURE, max(best.supports, 0.0), {})


def _on_subject(
    statement: str, quotes: Mapping[int, Sequence[tuple[int, int]]], evidence: Mapping[int, Evidence]
) -> bool:
    """Return whether quotes share a word with a statement in their language; others give no evidence for it."""
    wanted = roots(statement)
    if any(text_language.of(statement, one.language) != one.language for one in evidence.values()):
        return True
    return any(
        not wanted.isdisjoint(roots(evidence[number].text[start:end]))
        for number in quotes
        for start, end in quotes[number]
    )


def _veto(statement: str, quotes: Mapping[int, Sequence[tuple[int, int]]], evidence: Mapping[int, Evidence]) -> str:
    """Return a number, date or name of a statement that is missing where the verifier sees it, "" if all are there."""
    language = text_language.of(statement, evidence[next(iter(quotes))].language)
    given = [one for number in quotes for one in evidence[number].above]
    for number, spans in quotes.items():
        given += find(" \n".join(evidence[number].text[start:end] for start, end in spans), evidence[number].language)
        given += [one for one in evidence[number].scaled if any(s <= one.start < e for s, e in spans)]
    # Words for small numbers occur in names and ages, and for less exact meanings: "the two", "a ten-year-old".
    if lacking := values.missing([one for one in find(statement, language) if not one.spelled], given):
        return lacking[0].text
    if any(one.language != language for one in evidence.values()):
        return ""
    return unknown_name(statement, language, frozenset().union(*(one.words for one in evidence.values())))


def unknown_name(text: str, language: str, known: frozenset[str]) -> str:
    """Return the first name in a text whose roots are not known, "" if none; capitals show none in German."""
    named = (word for word in _NAME.findall(text) if word[0].isupper() and language not in _ALL_NOUNS)
    return next((name for name in named if not roots(name) <= known), "")
