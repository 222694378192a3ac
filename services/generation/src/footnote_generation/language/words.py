"""A text as words with their stems, names, quantities and clauses, ready for comparison."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from footnote_kit.memoise import memoised
from footnote_text.lexical import fold, is_unspaced, terms

from footnote_generation.language.lexicon import irregular
from footnote_generation.language.quantities import QUANTITY_BYTES, Quantity, find

_TOKEN = re.compile(r"[^\W_]+(?:[-'’.&/](?=[^\W_])[^\W_]+)*")
_WORD_BYTES = 300
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\n•\-–—\"“«(\[|]\s{0,2})\Z")


class Word(NamedTuple):
    """A word of a text; `stems` is empty for a function word, `name` means that it is capitalised inside a sentence."""

    start: int
    end: int
    text: str
    stems: tuple[str, ...]
    name: bool
    in_quantity: bool


@dataclass(frozen=True, slots=True)
class Analysed:
    """A text with its analysis."""

    text: str
    words: tuple[Word, ...]
    stems: frozenset[str]
    quantities: tuple[Quantity, ...]

    @property
    def content(self) -> list[Word]:
        """The content words outside of quantities."""
        return [word for word in self.words if word.stems and not word.in_quantity]


@lru_cache(maxsize=10_000)
def _token(token: str, language: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the stems of a token as a name, and as an ordinary word."""
    plain = fold(token)
    named = tuple(terms(token, language))
    common = (tuple(terms(irregular().get(plain, token), language)) or (plain,)) if named else ()
    return named, common


def bytes_of(found: Analysed) -> int:
    """Return the approximate memory of an analysed text."""
    return _WORD_BYTES * len(found.words) + QUANTITY_BYTES * len(found.quantities)


@memoised(2 * 2**20, bytes_of)
def analyse(text: str, language: str) -> Analysed:
    """Analyse a text. `language` is the stemmer's; texts to be compared should have the same."""
    quantities = find(text, language)
    words: list[Word] = []
    quantity = 0
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        token = match.group()
        while quantity < len(quantities) and quantities[quantity].end <= start:
            quantity += 1
        counted = quantity < len(quantities) and quantities[quantity].start <= start
        if len(token) > 2 and not token[0].isascii() and is_unspaced(token[0]):
            # No spaces between words: every pair of characters is taken as one.
            words.extend(
                Word(
                    start + i,
                    start + i + 2,
                    token[i : i + 2],
                    (fold(token[i : i + 2]),),
                    False,
                    counted,
                )
                for i in range(len(token) - 1)
            )
            continue
        named, common = _token(token, language)
        capital = token[0].isupper()
        if capital and (start == 0 or _SENTENCE_START.search(text[max(0, start - 3) : start])):
            capital = any(char.isupper() for char in token[1:])
        stems = named if capital else common
        words.append(Word(start, end, token, stems, capital and bool(stems), counted))
    return Analysed(text, tuple(words), frozenset(stem for word in words for stem in word.stems), quantities)
