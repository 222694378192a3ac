"""What a message wants, by the phrases of a locale: a total, a comparison, a list, a summary, yes or no, steps.

A phrase is words without accents and in lower case; "^" before it is the beginning of the message, "$" after it the
end, "..." up to eight words between, "*" the beginning or the rest of a word. Where no spaces part words a phrase is
looked for as characters.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache

from footnote_text.lexical import fold, is_unspaced
from footnote_text.locales import Locale

_WORD = re.compile(r"[^\W_]++")
# Vowel signs and the stretching of Arabic, written or left out as one likes.
_OPTIONAL = re.compile("[\u0640\u064b-\u0652\u0670]+")
_GAP = "..."
_UNSPACED_GAP = 16  # characters


class Wish(Enum):
    """What a question wants beyond a passage; the values are the keys of a locale."""

    SUMMARY = "summary"
    STEPS = "steps"
    COMPARISON = "comparison"
    TOTAL = "total"
    LIST = "list"
    YES_NO = "yes_no"


def plain(text: str) -> str:
    """Return the words of a text folded, with one space before and after each."""
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
    """Return for each phrase its longest word, without which it cannot be there, and its pattern."""
    words = [[fold(word) for word in re.split(r"[\s^$.*]+", phrase) if word] for phrase in phrases]
    return tuple((max(own, key=len), re.compile(_pattern(phrase))) for own, phrase in zip(words, phrases, strict=True))


def _match(text: str, phrases: tuple[str, ...]) -> re.Match[str] | None:
    folded = plain(text)
    sought = (one.search(folded) for word, one in _compiled(phrases) if word in folded)
    return next((found for found in sought if found is not None), None)


def has(text: str, phrases: tuple[str, ...]) -> bool:
    """Whether one of the phrases is in a text."""
    return _match(text, phrases) is not None


def wish(text: str, locale: Locale) -> tuple[Wish | None, frozenset[str]]:
    """Return what a question wants beyond a passage, and the folded words that say so; None and none for a fact."""
    for one in Wish:
        if one is Wish.YES_NO and has(text, locale.signals.asking):
            continue
        found = _match(text, getattr(locale.signals, one.value))
        if found is not None:
            return one, frozenset(word for part in found.groups() for word in part.split())
    return None, frozenset()


@cache
def single(phrases: tuple[str, ...]) -> frozenset[str]:
    """Return the folded words among phrases of a locale, those with gaps and of several words left out."""
    words = (phrase.strip("^$ ") for phrase in phrases)
    return frozenset(fold(word) for word in words if _WORD.fullmatch(word))


def is_order(text: str, locale: Locale) -> bool:
    """Whether a sentence tells the machine that reads it what to do."""
    return has(text, locale.signals.orders)
