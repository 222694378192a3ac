"""What a reader's word counts for: only with quotes that stand in the sources, vetoed by numbers and names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from footnote_generation.language import tongues
from footnote_generation.language.quantities import find
from footnote_generation.ports import Opinion, SecondOpinion
from footnote_generation.verification import values
from footnote_generation.verification.evidence import Evidence, roots

CONTRADICTED_AT = 0.8
"""From here on a reader's contradiction counts; models that only know likeness never reach it."""
PARTLY_AT = 0.5
_NAME = re.compile(r"(?<=[^\W\d_.!?:;\n\"“„«(] )[^\W\d_][^\W\d_]{2,}")
_ALL_NOUNS = frozenset({"de"})
"""Languages that write every noun with a capital: it does not tell a name there."""


class Word(Enum):
    """What a reader says."""

    SUPPORTS = 1
    PARTLY = 2
    CONTRADICTS = 3
    UNSURE = 4
    ALIKE = 5


@dataclass(frozen=True, slots=True)
class Read:
    """What a reader said of a statement: how sure, the quotes by the source's number, a word that a veto is about."""

    word: Word
    score: float
    quotes: Mapping[int, tuple[tuple[int, int], ...]]
    veto: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """What a reader is given: a text, and for each stretch of it the source and where it begins there."""

    text: str
    pieces: tuple[tuple[int, int, int, int], ...]
    """Number of the source, where the piece begins in the source, begin and end in the text."""

    @classmethod
    def of(cls, pieces: Sequence[tuple[int, int, str]]) -> Passage:
        """Join texts, each with its source and where it begins there."""
        joined, at, found = [], 0, []
        for number, start, text in pieces:
            found.append((number, start, at, at + len(text)))
            joined.append(text)
            at += len(text) + 2
        return cls("\n\n".join(joined), tuple(found))

    def quoted(self, spans: Sequence[tuple[int, int]]) -> dict[int, list[tuple[int, int]]]:
        """Return by source where stretches of the text stand there; all of it where there are none."""
        found: dict[int, list[tuple[int, int]]] = {}
        for number, origin, begin, end in self.pieces:
            for first, last in spans or [(0, len(self.text))]:
                if first < end and begin < last:
                    start = origin + max(first, begin) - begin
                    found.setdefault(number, []).append((start, origin + min(last, end) - begin))
        return found


def read(
    statement: str,
    passages: Sequence[Passage],
    opinions: Sequence[Opinion],
    evidence: Mapping[int, Evidence],
    reader: SecondOpinion,
) -> Read:
    """Return what opinions on passages come to, the best passage's first; quotes are widened to whole parts."""
    enough = reader.enough
    ranked = sorted(zip(passages, opinions, strict=True), key=lambda item: -item[1].supports)
    passage, best = ranked[0]
    if not reader.sees_contradictions:
        return Read(Word.ALIKE, best.supports, {})  # likeness tells no truth from a falsehood
    if best.supports >= PARTLY_AT and best.contradicts < CONTRADICTED_AT:
        whole = {number: tuple(evidence[number].around(spans)) for number, spans in passage.quoted(best.spans).items()}
        if not _on_subject(statement, whole, evidence):
            return Read(Word.UNSURE, 0.0, {})
        if best.supports < enough:
            return Read(Word.PARTLY, best.supports, whole)
        return Read(Word.SUPPORTS, best.supports, whole, _veto(statement, whole, evidence))
    passage, worst = max(ranked, key=lambda item: item[1].contradicts)
    if worst.contradicts >= CONTRADICTED_AT:
        spans = {number: tuple(found) for number, found in passage.quoted(worst.spans).items()}
        return Read(Word.CONTRADICTS, 1 - worst.contradicts, spans)
    return Read(Word.UNSURE, max(best.supports, 0.0), {})


def _on_subject(
    statement: str, quotes: Mapping[int, Sequence[tuple[int, int]]], evidence: Mapping[int, Evidence]
) -> bool:
    """Whether quotes share a word with a statement of their language; one from anywhere says nothing of it."""
    wanted = roots(statement)
    if any(tongues.of(statement, one.language) != one.language for one in evidence.values()):
        return True
    return any(
        not wanted.isdisjoint(roots(evidence[number].text[start:end]))
        for number in quotes
        for start, end in quotes[number]
    )


def _veto(statement: str, quotes: Mapping[int, Sequence[tuple[int, int]]], evidence: Mapping[int, Evidence]) -> str:
    """Return a number, date or name of a statement that is not where a reader says it stands, "" where all are."""
    language = tongues.of(statement, evidence[next(iter(quotes))].language)
    given = [one for number in quotes for one in evidence[number].above]
    for number, spans in quotes.items():
        given += find(" \n".join(evidence[number].text[start:end] for start, end in spans), evidence[number].language)
        given += [one for one in evidence[number].scaled if any(s <= one.start < e for s, e in spans)]
    # Words for small numbers stand in names and ages, and for more than they say: "the two", "a ten-year-old".
    if lacking := values.missing([one for one in find(statement, language) if not one.spelled], given):
        return lacking[0].text
    if language in _ALL_NOUNS or any(one.language != language for one in evidence.values()):
        return ""
    known = frozenset().union(*(one.words for one in evidence.values()))
    named = (word for word in _NAME.findall(statement) if word[0].isupper())
    return next((name for name in named if not roots(name) <= known), "")
