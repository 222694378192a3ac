"""Recognises a message's intent by a locale's phrases: total, comparison, list, summary, yes or no, steps, computing.

Phrases are lower-case words without accents. "^" at the front anchors a phrase to the beginning of the message, "$"
at the end to its end. "..." stands for up to eight words, "*" for the beginning or rest of a word. In scripts without
spaces, phrases match as characters.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache, lru_cache

from footnote_text import locales
from footnote_text.lexical import fold, is_unspaced, terms
from footnote_text.locales import Locale

_WORD = re.compile(r"[^\W_]++")
# Arabic vowel signs and elongation, whose use is optional.
_OPTIONAL = re.compile("[\u0640\u064b-\u0652\u0670]+")
_GAP = "..."
_UNSPACED_GAP = 16  # characters


class Intent(Enum):
    """What a question asks for beyond a passage; the values are the keys of a locale."""

    SUMMARY = "summary"
    STEPS = "steps"
    COMPARISON = "comparison"
    TOTAL = "total"
    LIST = "list"
    YES_NO = "yes_no"


def plain(text: str) -> str:
    """Return the folded words of a text, with one space before and after each."""
    return " " + " ".join(_WORD.findall(fold(_OPTIONAL.sub("", text)))) + " "


def _pattern(phrase: str) -> str:
    begins, ends = phrase.startswith("^"), phrase.endswith("$")
    phrase = phrase.strip("^$ ")
    unspaced = any(is_unspaced(char) for char in phrase)
    gap = rf".{{0,{_UNSPACED_GAP}}}?" if unspaced else r"(?:[^ ]++ ){0,8}?"
    parts = []
    for part in phrase.split(_GAP):
        words = " ".join(_literal(one) for one in part.split())
        parts.append(f"({re.escape(plain(part).strip())})" if unspaced else f"({words} )")
    body = gap.join(parts)
    before = "^ " if begins else "" if unspaced else "(?<= )"
    return before + body + (" ?$" if ends else "")


def _literal(word: str) -> str:
    stem = re.escape(fold(word.strip("*")))
    return ("[^ ]*" if word.startswith("*") else "") + stem + ("[^ ]*" if word.endswith("*") else "")


@cache
def _compiled(phrases: tuple[str, ...]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return for each phrase its longest word, which a match must contain, and its pattern."""
    words = [[fold(word) for word in re.split(r"[\s^$.*]+", phrase) if word] for phrase in phrases]
    return tuple((max(own, key=len), re.compile(_pattern(phrase))) for own, phrase in zip(words, phrases, strict=True))


def _match(text: str, phrases: tuple[str, ...]) -> re.Match[str] | None:
    folded = plain(text)
    sought = (one.search(folded) for word, one in _compiled(phrases) if word in folded)
    return next((found for found in sought if found is not None), None)


def has(text: str, phrases: tuple[str, ...]) -> bool:
    """Return whether a text contains one of the phrases."""
    return _match(text, phrases) is not None


def without(text: str, phrases: tuple[str, ...]) -> str:
    """Return the folded words of a text without the phrases in it, removed in their order; what "..." spans stays."""
    folded = plain(text)
    for word, pattern in _compiled(phrases):
        if word in folded:
            folded = plain(pattern.sub(_spanned, folded))
    return folded


def _spanned(found: re.Match[str]) -> str:
    """Return what a match spans between the parts of its phrase."""
    ends = [found.end(part) for part in range(1, found.re.groups)]
    starts = [found.start(part) for part in range(2, found.re.groups + 1)]
    return " ".join(["", *(found.string[end:start] for end, start in zip(ends, starts, strict=True)), ""])


def wish(text: str, locale: Locale) -> tuple[Intent | None, frozenset[str]]:
    """Return what a question asks for beyond a passage, and the folded words that show it; None and none for a fact."""
    for one in Intent:
        if one is Intent.YES_NO and has(text, locale.signals.asking):
            continue
        found = _match(text, getattr(locale.signals, one.value))
        if found is not None:
            return one, frozenset(word for part in found.groups() for word in part.split())
    return None, frozenset()


def seeks_nothing(text: str) -> bool:
    """Return whether a question names nothing to look for: it has only words that ask, also for contents or a summary.

    Besides these it may have stop words, all of one language.
    """
    return any(not terms(_sought(text, locales.choose(code)), code) for code in locales.codes())


def _sought(text: str, locale: Locale) -> str:
    own = locale.signals
    return without(text, (*own.summary, *own.contents, *own.asking))


@cache
def single(phrases: tuple[str, ...]) -> frozenset[str]:
    """Return the folded single words among a locale's phrases; phrases with gaps or several words are left out."""
    words = (phrase.strip("^$ ") for phrase in phrases)
    return frozenset(fold(word) for word in words if _WORD.fullmatch(word))


def is_one(word: str, phrases: tuple[str, ...]) -> bool:
    """Return whether a word is a phrase of one word: "cuántos" is "cuanto*".

    A phrase that asks at the start alone ("^que") is another word elsewhere, unless it has an accent there ("qué").
    """
    folded = fold(word)
    accented = word.lower() != folded
    return any(
        folded.startswith(phrase[:-1]) if phrase.endswith("*") else folded == phrase
        for phrase in (fold(phrase.strip("^$ ")) for phrase in phrases if accented or not phrase.startswith("^"))
    )


def is_order(text: str, locale: Locale) -> bool:
    """Return whether a sentence gives orders to the machine that reads it."""
    return has(text, locale.signals.orders)


_FORMS = (
    "total", "average", "count", "highest", "lowest", "per", "above", "below", "at_least", "at_most", "comparison",
    "distinct", "share", "higher", "lower",
)  # fmt: skip
_MOST = 5


def table_words(question: str) -> list[str]:
    """Return the first words of a question that ask for a computation, in any locale; most questions have none."""
    folded = fold(question)
    words = dict.fromkeys(_WORD.findall(folded))
    return [phrase for phrase in _phrases() if _has(phrase, folded, words)][:_MOST]


def _has(phrase: str, folded: str, words: dict[str, None]) -> bool:
    if is_unspaced(phrase[0]):
        return phrase in folded
    return all(
        any(word.startswith(part[:-1]) for word in words) if part.endswith("*") else part in words
        for part in phrase.split()
    )


@lru_cache(maxsize=1)
def _phrases() -> tuple[str, ...]:
    tables = [locales.choose(code).tables for code in locales.codes()]
    return tuple(dict.fromkeys(fold(phrase) for one in tables for form in _FORMS for phrase in getattr(one, form)))
