"""Classifies the words of a message: names, times, other content words, and the function words between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from footnote_text import intents, locales
from footnote_text.lexical import fold, terms
from footnote_text.sentences import ANAPHORIC

from footnote_augmentation import closed_words as closed

_WORD = re.compile(r"[^\W_]+(?:[-.][^\W_]+)*")
_BEGINS = frozenset(".!?¿¡:;")
_BRACKETS = frozenset("([")  # carried-over words are in brackets: a capital there is a name's
_QUOTES = ' \n\t"“”„«»'
_CLAUSE = re.compile(r"[,;:.!?–—]")
_YEAR = re.compile(r"(?:19|20)\d\d")
NOUNS_IN_CAPITALS = frozenset({"de"})


class Sort(Enum):
    """The function of a word in its sentence, as far as it can be seen."""

    SMALL = "small"
    TIME = "time"
    NAME = "name"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a message, with its place and stems.

    `close` means that only a space separates it from the word before; `clause` counts the commas and stops before it.
    """

    text: str
    folded: str
    start: int
    end: int
    sort: Sort
    stems: frozenset[str]
    close: bool
    capital: bool
    clause: int


def tokens(message: str, language: str) -> list[Token]:
    """Return the words of a message.

    A name is capitalised inside a sentence, or a number directly after a content word ("room 12", not "2 guests").
    """
    found: list[Token] = []
    clause = 0
    small = _small(language)
    times = closed.CALENDAR.get(language, frozenset())
    for match in _WORD.finditer(message):
        text, folded = match.group(), fold(match.group())
        stems = frozenset(terms(text, language))
        between = message[found[-1].end : match.start()] if found else ""
        close = between != "" and not between.strip(_QUOTES)
        capital = text[0].isupper() and bool(found) and (not _BEGINS & set(between) or bool(_BRACKETS & set(between)))
        behind = close and found[-1].sort in {Sort.PLAIN, Sort.NAME}
        if folded in times or (_YEAR.fullmatch(text) and not behind):
            sort = Sort.TIME
        elif not stems or (folded in small and not capital):
            sort = Sort.SMALL
        elif (text.isdigit() and behind) or (capital and not text.isdigit()) or _mixed(text):
            sort = Sort.NAME
        else:
            sort = Sort.PLAIN
        if _CLAUSE.search(between):
            clause += 1
        found.append(Token(text, folded, *match.span(), sort, stems, close, text[0].isupper(), clause))
    return found


def _mixed(text: str) -> bool:
    return any(char.isdigit() for char in text) and any(char.isalpha() for char in text)


def _small(language: str) -> frozenset[str]:
    return (
        frozenset(closed.PREPOSITIONS.get(language, ()))
        | ANAPHORIC.get(language, frozenset())
        | closed.PARTICLES.get(language, frozenset())
        | asking(language)
    )


def asking(language: str) -> frozenset[str]:
    """Return the folded question words of a language with a locale."""
    locale = locales.known(language)
    words = frozenset[str]() if locale is None else intents.single(locale.signals.asking)
    return words | closed.ASKING.get(language, frozenset())


def beginning(language: str) -> frozenset[str]:
    """Return the folded verbs that can begin a yes-or-no question."""
    locale = locales.known(language)
    return frozenset() if locale is None else intents.single(locale.signals.yes_no)


def content(words: Sequence[Token]) -> list[Token]:
    """Return the content words."""
    return [word for word in words if word.sort is not Sort.SMALL]
