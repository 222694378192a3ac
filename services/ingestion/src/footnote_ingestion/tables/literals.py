"""Decides which texts of cells a question writes, by their signs and capitals and not by their words alone."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import pairwise

from footnote_text.lexical import fold

from footnote_ingestion.tables.forms import places_of_words, tokens

_SIGNS = frozenset("#&")
_CODE = 3
"""The most letters of a word in which capitals tell one code from another: "mW" is not "MW"."""

_FEWEST = 3
_LONGEST = 64
"""The most words of a text that a question is searched for; texts of cells that are named have a few."""


def meant(texts: Sequence[str], question: str) -> str | None:
    """Return which of several texts with the same words a question writes; None where it writes none or two.

    "AA-" is neither "AA" nor "AA+", even where the table has no "AA-". Of "Lyon" and "LYON" either may be meant, or
    both.
    """
    there = [text for text in texts if any(is_written(one, question) for one in ways(text))]
    return there[0] if len(there) == 1 else None


def ways(text: str) -> tuple[str, ...]:
    """Return how a text may be written: a name with its last part first also as it is spoken."""
    last, comma, first = text.partition(", ")
    return (text, f"{first} {last}") if comma and last.isalpha() and first.isalpha() else (text,)


def common_words(texts: Sequence[str]) -> frozenset[str]:
    """Return the words of at least half of a column's texts, of three or more: they distinguish none."""
    counted = Counter(word for text in texts for word in set(tokens(text)))
    return frozenset(word for word, times in counted.items() if 2 * times >= len(texts) >= _FEWEST)


def distinguishing(text: str, common: Collection[str]) -> tuple[str, ...]:
    """Return the words that distinguish a text from others: without common ones, and without a number before the first.

    Nothing where all words do, or the rest is not a word.
    """
    words = tokens(text)
    first = next((at for at, word in enumerate(words) if not word.isdecimal()), 0)
    kept = tuple(word for word in words[first:] if word not in common)
    long = any(len(word) >= _FEWEST and not word[0].isdecimal() for word in kept)
    return kept if long and kept != words else ()


def is_written(text: str, question: str) -> bool:
    """Return whether a question has a text's words with its signs, and with its capitals where the words are short."""
    text, question = (unicodedata.normalize("NFKC", one) for one in (text, question))
    wanted, asked = list(places_of_words(text)), list(places_of_words(question))
    size = len(wanted)
    if not 0 < size <= _LONGEST:
        return False
    said = [fold(text[start:end]) for start, end in wanted]
    for first in range(len(asked) - size + 1):
        places = asked[first : first + size]
        words = [question[start:end] for start, end in places]
        if [fold(one) for one in words] != said or _gaps(text, wanted) != _gaps(question, places):
            continue
        if all(_same_capitals(word, text[start:end]) for word, (start, end) in zip(words, wanted, strict=True)):
            return True
    return False


def _gaps(text: str, places: Sequence[tuple[int, int]]) -> list[str]:
    """Return the signs that touch words before the first, between them and after the last; a hyphen joins words."""
    before, after = text[: places[0][0]], text[places[-1][1] :]
    first, last = _touching(before[::-1])[::-1], _touching(after)
    inner = [
        "".join(char for char in text[one[1] : two[0]] if _is_sign(char) and not is_dash(char))
        for one, two in pairwise(places)
    ]
    return [_plain(first), *map(_plain, inner), _plain(last)]


def _touching(text: str) -> str:
    """Return the signs that a text begins with; none where a word follows them, as in "AA-rated"."""
    end = next((at for at, char in enumerate(text) if not _is_sign(char)), len(text))
    return "" if text[end : end + 1].isalnum() else text[:end]


def _is_sign(char: str) -> bool:
    return char in _SIGNS or is_dash(char) or unicodedata.category(char) == "Sm"


def is_dash(char: str) -> bool:
    """Return whether a character is a hyphen, a dash or a minus sign."""
    return char == "−" or unicodedata.category(char) == "Pd"


def _plain(signs: str) -> str:
    return "".join("-" if is_dash(one) else one for one in signs)


def _same_capitals(word: str, text: str) -> bool:
    """Return whether a question's word may be a short word of a text; one in small letters may be any."""
    if word == text or len(text) > _CODE or word.islower():
        return True
    return text.islower() and word == text.capitalize()
