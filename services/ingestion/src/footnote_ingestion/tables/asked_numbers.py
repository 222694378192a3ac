"""Reads the numbers that a question writes: their signs, their decimals, and what sets thousands apart."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from babel import Locale, UnknownLocaleError
from footnote_text.lexical import is_unspaced

from footnote_ingestion.tables.currencies import sets_apart_by_space
from footnote_ingestion.tables.forms import places_of_words, tokens
from footnote_ingestion.tables.literals import is_dash

_THOUSANDS = 3
_MARKS = re.compile(r"[.,]")
_BESIDE = 8
"""Characters before and behind a number that are looked at."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number, and the places of the question's words that write it."""

    value: float
    places: range


def numbers_of(question: str, language: str) -> dict[int, Number]:
    """Return the numbers of a question by the place of their first word, without those that may mean several."""
    text, words = unicodedata.normalize("NFKC", question), tokens(question)
    spans = list(places_of_words(text))
    if len(spans) != len(words):
        return {}
    found: dict[int, Number] = {}
    for place, word in enumerate(words):
        if not word[0].isdecimal():
            continue
        places = _digits(text, spans, words, place, language)
        sign = _sign(text, spans[place][0], spans[places[-1]][1])
        value = number_of("".join(words[at] for at in places), language)
        if sign and value is not None:
            found[place] = Number(sign * value, places)
    return found


def number_of(word: str, language: str) -> float | None:
    """Return the number that digits, points and commas write, None for other things such as versions.

    A single mark before three digits is the language's decimal mark or sets thousands apart, of which 0 has none.
    """
    marks = _MARKS.findall(word)
    decimal = ""
    if len(set(marks)) > 1:
        decimal = marks[-1]
    elif len(marks) == 1:
        whole, part = _MARKS.split(word)
        is_group = len(part) == _THOUSANDS >= len(whole) and whole[0] != "0"
        decimal = marks[0] if not is_group or marks[0] == _decimal_mark(language) else ""
    whole, part = word.rsplit(decimal, 1) if decimal else (word, "")
    first, *groups = _MARKS.split(whole)
    is_one_mark = len({*_MARKS.findall(whole), decimal} - {""}) == 1 + bool(decimal)
    if groups and not (is_one_mark and first[0] != "0" and len(first) <= _THOUSANDS and _are_groups(groups)):
        return None
    return float("".join((first, *groups)) + (f".{part}" if part else ""))


def _are_groups(groups: Sequence[str]) -> bool:
    """Return whether digits are those of thousands, or of lakhs and crores, which have two."""
    return len(groups[-1]) == _THOUSANDS and all(len(one) in (2, _THOUSANDS) for one in groups[:-1])


def _digits(text: str, spans: Sequence[tuple[int, int]], words: Sequence[str], place: int, language: str) -> range:
    """Return the places of a number of which spaces set thousands apart, where a language writes it so."""
    end = place + 1
    while (
        end < len(words) and len(words[end]) == _THOUSANDS and words[end].isdecimal()
        and words[place].isdecimal() and len(words[place]) <= _THOUSANDS and sets_apart_by_space(language)
        and text[spans[end - 1][1] : spans[end][0]].isspace()
    ):  # fmt: skip
        end += 1
    return range(place, end)


def _sign(text: str, start: int, end: int) -> int:
    """Return 1 or -1 for the number between two places, 0 where a sign beside it may be a range, a name or a fraction.

    A sign of a currency may stand between: "-€5", "€-5".
    """
    after = text[end : end + _BESIDE].lstrip()
    if after and is_dash(after[0]) and after[1:].lstrip()[:1].isdecimal():
        return 0  # "5-10"
    before = _without_currency(text[max(0, start - _BESIDE) : start])
    if before.endswith((".", ",")):
        return 0  # ".5"
    lead = before.rstrip()
    if not lead or not is_dash(lead[-1]):
        return 1
    prior = _without_currency(lead[:-1])
    is_apart = not prior or prior[-1].isspace() or prior[-1] in "(:" or is_unspaced(prior[-1])
    return -1 if before == lead and is_apart else 0


def _without_currency(text: str) -> str:
    """Return a text without the sign of a currency at its end."""
    return text[:-1] if text and unicodedata.category(text[-1]) == "Sc" else text


@lru_cache(maxsize=256)
def _decimal_mark(language: str) -> str:
    try:
        return str(Locale.parse(language).number_symbols["latn"]["decimal"])
    except (UnknownLocaleError, ValueError):
        return "."
