"""Reads the numbers that a question writes: signs, decimals, thousands, and what stands beside: "3 million", "5 kg"."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from babel import Locale, UnknownLocaleError
from footnote.types.v1.table_pb2 import Measure
from footnote_text.lexical import is_unspaced

from footnote_ingestion.parsers.numbers import CODES, UNITS
from footnote_ingestion.tables.currencies import names_currency, sets_apart_by_space
from footnote_ingestion.tables.forms import places_of_words, tokens
from footnote_ingestion.tables.literals import is_dash

_THOUSANDS = 3
_MARKS = re.compile(r"[.,]")
_BESIDE = 8
"""Characters before and behind a number that are looked at."""
_PLAIN_UNITS = {unicodedata.normalize("NFKC", one) for one in (*UNITS, "%", "‰")}
_UNIT = re.compile("|".join(rf"{re.escape(one)}(?![^\W_])" for one in sorted(_PLAIN_UNITS, key=len, reverse=True)))


@dataclass(frozen=True, slots=True)
class Number:
    """A number, the places of the question's words that write it, and what they say that it counts.

    `power` is that of ten for a word such as "million", None without one; `unit` is as written, "" for none.
    """

    value: float
    places: range
    power: int | None = None
    unit: str = ""
    is_money: bool = False

    def among(self, column: Measure | None) -> float | None:
        """Return the number as a column counts, None where that is unclear, as all but a bare number is without one.

        "5000 euros" may be 5000 or 5 in a column of thousands.
        """
        if column is None:
            return None if self.unit or self.is_money or self.power is not None else self.value
        if self.unit and self.unit != unicodedata.normalize("NFKC", column.unit):
            return None
        if self.power is None:
            return None if self.is_money and column.scale else self.value
        power = int(self.power - column.scale)
        return self.value * float(10**power) if power >= 0 else self.value / float(10**-power)


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
        end = _digits(text, spans, words, place, language)
        sign = _sign(text, spans[place][0], spans[end - 1][1])
        value = number_of("".join(words[place:end]), language)
        if not sign or value is None:
            continue
        power, end = _power(text, spans, words, end, language)
        behind = spans[end - 1][1]
        beside = text[behind : behind + _BESIDE].lstrip()
        is_money = names_currency(words[end], language) if _follows(text, spans, end) else False
        is_money |= unicodedata.category((beside or " ")[0]) == "Sc" or _stands_before(text, spans, place)
        unit = found_unit[0] if (found_unit := _UNIT.match(beside)) and not is_money else ""
        if unit:
            behind = text.index(unit, behind) + len(unit)
            while end < len(spans) and spans[end][0] < behind:
                end += 1
        elif text[behind : behind + 1].isalpha() and not is_money and not is_unspaced(text[behind]):
            continue  # "5k"
        found[place] = Number(sign * value, range(place, end), power, unit, is_money)
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


def _digits(text: str, spans: Sequence[tuple[int, int]], words: Sequence[str], place: int, language: str) -> int:
    """Return the place behind a number of which spaces set thousands apart, where a language writes it so."""
    end = place + 1
    while (
        end < len(words) and len(words[end]) == _THOUSANDS and words[end].isdecimal()
        and words[place].isdecimal() and len(words[place]) <= _THOUSANDS and sets_apart_by_space(language)
        and text[spans[end - 1][1] : spans[end][0]].isspace()
    ):  # fmt: skip
        end += 1
    return end


def _follows(text: str, spans: Sequence[tuple[int, int]], place: int) -> bool:
    """Return whether nothing but space stands between a word and the one before it."""
    return place < len(spans) and not text[spans[place - 1][1] : spans[place][0]].strip()


def _stands_before(text: str, spans: Sequence[tuple[int, int]], place: int) -> bool:
    """Return whether a currency's sign or code stands before a number."""
    start = spans[place][0]
    before = text[max(0, start - _BESIDE) : start].rstrip("-−– ")
    return before != _without_currency(before) or before[-3:] in CODES


def _power(
    text: str, spans: Sequence[tuple[int, int]], words: Sequence[str], end: int, language: str
) -> tuple[int | None, int]:
    """Return the power of ten that words behind a number stand for, None without, and the place behind them."""
    for size in (2, 1):
        named = _powers(language).get(tuple(words[end : end + size]))
        if named is not None and all(_follows(text, spans, at) for at in range(end, end + size)):
            return named, end + size
    return None, end


@lru_cache(maxsize=32)
def _powers(language: str) -> dict[tuple[str, ...], int]:
    """Return the powers of ten by the words that a language has for them, by CLDR; a single letter may be a unit."""
    try:
        formats = Locale.parse(language).compact_decimal_formats
    except (UnknownLocaleError, ValueError):
        return {}
    found: dict[tuple[str, ...], int] = {}
    for by_count in (formats[width] for width in ("long", "short") if width in formats):
        for by_size in by_count.values():
            for size, pattern in by_size.items():
                zeros, *named = tokens(pattern.pattern)
                if zeros.isdecimal() and named and (len(named[0]) > 1 or is_unspaced(named[0])):
                    found[tuple(named)] = len(size) - len(zeros)
    return found


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
