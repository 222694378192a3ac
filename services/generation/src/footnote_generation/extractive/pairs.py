"""Two things that a question compares, where each has a row of its own in one table: both rows are the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from footnote.types.v1.answer_pb2 import Source
from footnote_text.lexical import word_set

from footnote_generation.extractive import cells
from footnote_generation.extractive.passages import Above, Unit
from footnote_generation.extractive.question import Question
from footnote_generation.extractive.ranking import Ranked
from footnote_generation.language import lexicon
from footnote_generation.language.words import Word, analyse

_JOINING = {
    "en": word_set("and or versus vs"),
    "de": word_set("und oder sowie"),
    "fr": word_set("et ou"),
    "es": word_set("y e o u"),
    "it": word_set("e ed o od oppure"),
    "pt": word_set("e ou"),
    "nl": word_set("en of"),
    "pl": word_set("i oraz lub czy"),
    "ru": word_set("и или"),
}
"""The conjunctions that join two things of one sort, as grammars list them."""
_WORD = re.compile(r"[^\W\d_]+")
_PUNCTUATION = re.compile(r"[^\w\s'’]")


def find(
    question: Question,
    ranked: Sequence[Ranked],
    found: Sequence[Unit],
    sources: Mapping[int, Source],
    rows: cells.Rows,
) -> tuple[Unit, Unit] | None:
    """Return the likeliest rows of one table that are of either thing, in the question's order; None where none are.

    Each says its own thing and not the other, and one word of what else is asked stands in them or above.
    """
    things = joined(question)
    if things is None:
        return None
    left, right = (frozenset(stem for word in thing for stem in word.stems) for thing in things)
    left, right = left - right, right - left
    if not left or not right:
        return None
    rest = [word for word in question.about if not (left | right).intersection(word.stems)]
    above = Above(found, sources).text
    of_left, of_right = [], []
    for unit in (item.unit for item in ranked if item.unit.is_row):
        said = unit.analysed.stems
        if left <= said and right.isdisjoint(said):
            of_left.append(unit)
        elif right <= said and left.isdisjoint(said):
            of_right.append(unit)
    for first in of_left:
        stems = first.analysed.stems | analyse(above(first), first.language).stems
        if not any(_says(stems, word) for word in rest):
            continue
        for second in of_right:
            if _table(rows, first) == _table(rows, second) is not None:
                return first, second
    return None


def joined(question: Question) -> tuple[Sequence[Word], Sequence[Word]] | None:
    """Return the words of two things that one word joins, as many of each: "maternity leave or paternity leave"."""
    text = question.text
    for join in _WORD.finditer(text):
        if join[0].lower() not in _JOINING.get(question.language, ()):
            continue
        left = _run([word for word in question.about if word.end <= join.start()][::-1], text)[::-1]
        right = _run([word for word in question.about if word.start >= join.end()], text)
        count = min(len(left), len(right))
        if not count or text[left[-1].end : join.start()].strip():
            continue
        if _PUNCTUATION.search(text[join.end() : right[0].start]):
            continue
        return left[-count:], right[:count]
    return None


def _run(words: Sequence[Word], text: str) -> list[Word]:
    """Return the first of words that stand side by side, in either direction."""
    found = list(words[:1])
    for word in words[1:]:
        between = text[min(word.end, found[-1].end) : max(word.start, found[-1].start)]
        if between.strip(" -"):
            break
        found.append(word)
    return found


def _table(rows: cells.Rows, unit: Unit) -> tuple[int, int] | None:
    row = rows.of(unit)
    return None if row is None else (unit.source, row.table.number)


def _says(stems: frozenset[str], word: Word) -> bool:
    groups = frozenset(group for stem in stems for group in lexicon.groups(stem))
    return bool(stems.intersection(word.stems)) or any(lexicon.groups(stem) & groups for stem in word.stems)
