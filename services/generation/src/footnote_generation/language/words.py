"""A text as words with their stems, names, quantities and clauses, ready to be compared."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from footnote_text.lexical import fold, is_unspaced, terms

from footnote_generation.language.lexicon import NEGATIONS, irregular
from footnote_generation.language.quantities import Quantity, find

_TOKEN = re.compile(r"[^\W_]+(?:[-'’.&/](?=[^\W_])[^\W_]+)*")
_CLAUSE = re.compile(
    r"[;:()\n|]|[.!?。！？](?=\s|$)|,(?!\d)|\b(?:but|while|whereas|although|though|however|unless|mais|tandis que"
    r"|alors que|bien que|cependant|toutefois|sauf)\b",
    re.IGNORECASE,
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\n•\-–—\"“«(\[|]\s{0,2})\Z")
_NEGATION = re.compile(r"n['’]t\b", re.IGNORECASE)
# "not only", "no more than", "pas seulement" and the like deny nothing.
_NO_NEGATION = re.compile(
    r"\b(?:not only|no (?:more|less|fewer|later|earlier|longer) than|not (?:more|less|fewer|later) than"
    r"|whether or not|no\.|pas (?:seulement|moins|plus)|pas plus (?:de|tard)|non seulement|ni plus ni moins"
    r"|without (?:doubt|exception)|sans (?:doute|exception))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text; `stems` is empty for a function word, `name` says that it is capitalised inside a sentence."""

    start: int
    end: int
    text: str
    stems: tuple[str, ...]
    name: bool
    negation: bool
    clause: int
    in_quantity: bool


@dataclass(frozen=True, slots=True)
class Analysed:
    """A text and what was found in it."""

    text: str
    words: tuple[Word, ...]
    stems: frozenset[str]
    quantities: tuple[Quantity, ...]

    @property
    def content(self) -> list[Word]:
        """The words that carry meaning and are no part of a quantity."""
        return [word for word in self.words if word.stems and not word.in_quantity]


@lru_cache(maxsize=50_000)
def _token(token: str, language: str) -> tuple[str, bool, tuple[str, ...], tuple[str, ...]]:
    """Return a token folded, whether it denies, its stems as a name, and its stems as an ordinary word."""
    plain = fold(token)
    named = tuple(terms(token, language))
    common = (tuple(terms(irregular().get(plain, token), language)) or (plain,)) if named else ()
    return plain, plain in NEGATIONS or bool(_NEGATION.search(token)), named, common


@lru_cache(maxsize=4096)
def analyse(text: str, language: str) -> Analysed:
    """Take a text apart. `language` is the stemmer's; it should be the same for texts to be compared."""
    quantities = find(text)
    clause_marks = [match.start() for match in _CLAUSE.finditer(text)]
    harmless = [match.span() for match in _NO_NEGATION.finditer(text)]
    words: list[Word] = []
    clause = quantity = excepted = 0
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        token = match.group()
        while clause < len(clause_marks) and clause_marks[clause] <= start:
            clause += 1
        _, denies, named, common = _token(token, language)
        while excepted < len(harmless) and harmless[excepted][1] <= start:
            excepted += 1
        denies = denies and not (excepted < len(harmless) and harmless[excepted][0] <= start)
        capital = token[0].isupper()
        if capital and (start == 0 or _SENTENCE_START.search(text[max(0, start - 3) : start])):
            capital = any(char.isupper() for char in token[1:])
        while quantity < len(quantities) and quantities[quantity].end <= start:
            quantity += 1
        counted = quantity < len(quantities) and quantities[quantity].start <= start
        if len(token) > 2 and is_unspaced(token[0]):
            # No spaces between words: every pair of characters stands for one.
            words.extend(
                Word(
                    start + i,
                    start + i + 2,
                    token[i : i + 2],
                    (fold(token[i : i + 2]),),
                    False,
                    denies,
                    clause,
                    counted,
                )
                for i in range(len(token) - 1)
            )
            continue
        stems = named if capital else common
        words.append(Word(start, end, token, stems, capital and bool(stems), denies, clause, counted))
    return Analysed(text, tuple(words), frozenset(stem for word in words for stem in word.stems), quantities)
