"""The passage in another language that may answer a question: its sentences, and where they stand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from footnote.types.v1.answer_pb2 import Source
from footnote_text import locators
from footnote_text.lexical import fold

from footnote_generation.extractive.cells import Rows
from footnote_generation.extractive.compose import tidy
from footnote_generation.extractive.missing_names import named_marks
from footnote_generation.extractive.passages import Unit, marks, rows_of, units
from footnote_generation.extractive.question import Question, read
from footnote_generation.extractive.ranking import rank
from footnote_generation.language import text_language

LEAST = 0.35
"""The score from which a passage is near enough, with e5.

Of 100 questions of SQuAD-13 the best hit reaches it for 93 in our French, 84 in our German and 24 in our Chinese
(tests/bench/translated.tsv), and for 8 of 100 of PIAF-fr that nothing there answers. Both chose it, with the documents
of tests/e2e/test_languages.py (0.39 to 0.48 where one answers, to 0.21 where none does); no other set has been run.
"""
_BEGINNING = 4
_WORD = re.compile(r"[a-z]+")
_LONGEST = 420  # characters of what is quoted, as of an answer


@dataclass(frozen=True, slots=True)
class Passage:
    """What is quoted of one source, a sentence each, and its narrowest place."""

    source: Source
    sentences: tuple[str, ...]
    start: int
    end: int

    def place(self, locale: str) -> str:
        """Return file and place in the words of a locale."""
        narrowed = locators.narrow(self.source.locator, self.source.anchors, (self.start, self.end))
        return locators.label(self.source.filename, narrowed, locale)


def find(question_text: str, sources: Sequence[Source]) -> Passage | None:
    """Return the passage of the best source in another language than the question's; None where none is near enough.

    Words tell nothing across languages: that it answers is what the search says of its meaning, by its score. Names
    stay, or begin alike ("London", "Londres"): where both are in Latin letters, one of the question's stands there.
    What has a digit and names a thing, a type or a year stays as well.
    """
    question = read(question_text)
    names, wanted = _names(question), named_marks(question)
    for source in sorted(sources, key=lambda one: -one.score):
        if source.score < LEAST:
            return None
        names_it = wanted <= marks(source.text) and _holds(source.text, names)
        if not names_it or not is_foreign(question, source):
            continue
        if (found := _passage(question, source)) is not None:
            return found
    return None


def _names(question: Question) -> frozenset[str]:
    """Return how the names of a question begin; those in Latin letters, and none in German, where nouns look alike."""
    if question.language == "de":
        return frozenset()
    names = (fold(word.text) for word in (*question.analysed.words, *question.subject) if word.name)
    return frozenset(name[:_BEGINNING] for name in names if name.isascii() and name.isalpha())


def _holds(text: str, names: frozenset[str]) -> bool:
    """Whether a text begins one of its words like one of these; a text in other letters need not."""
    folded = fold(text)
    letters = sum(char.isalpha() for char in folded)
    if not names or 2 * sum(char.isascii() and char.isalpha() for char in folded) < letters:
        return True
    return any(word[:_BEGINNING] in names for word in _WORD.findall(folded))


def of(question_text: str, source: Source, best: Unit | None = None) -> Passage | None:
    """Return the passage of a source that answers, where its language is another than the question's.

    `best` is the sentence to quote with what stands about it; without it the one with the most signs of an answer.
    """
    question = read(question_text)
    return _passage(question, source, best) if is_foreign(question, source) else None


def is_foreign(question: Question, source: Source) -> bool:
    """Whether a source is in another language than the question; rows of cells are in none."""
    rows = sum(row.end - row.start for row in rows_of(source))
    if source.locator.WhichOneof("place") == "sheet" or 2 * rows > len(source.text):
        return False
    return text_language.of_source(source.text, question.language) not in ("", question.language)


def _passage(question: Question, source: Source, best: Unit | None = None) -> Passage | None:
    """Return the best sentence, or the one with the most signs of an answer, and what stands about it."""
    found = units([source], question.language)
    candidates = [unit for unit in found if not unit.is_heading] or found
    if not candidates:
        return None
    if best is None:
        best = next(item.unit for item in rank(question, found, [source.score]) if item.unit in candidates)
    first = last = [unit.place for unit in candidates].index(best.place)
    length = len(best.text)
    while True:
        if last + 1 < len(candidates) and length + len(candidates[last + 1].text) <= _LONGEST:
            last += 1
            length += len(candidates[last].text)
        elif first > 0 and length + len(candidates[first - 1].text) <= _LONGEST:
            first -= 1
            length += len(candidates[first].text)
        else:
            break
    chosen: list[Unit] = candidates[first : last + 1]
    rows = Rows({source.number: source})
    sentences = tuple(tidy(unit, question, rows.of(unit)) for unit in chosen)
    return Passage(source, sentences, chosen[0].start, chosen[-1].end)
