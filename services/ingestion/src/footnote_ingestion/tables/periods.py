"""Days, months, quarters and years that words name, by the names of Unicode's CLDR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from babel import Locale, UnknownLocaleError
from babel.units import format_unit
from footnote_text import locales
from footnote_text.lexical import fold
from footnote_text.stopwords import STOP_WORDS

from footnote_ingestion.tables import forms

DAY, MONTH, QUARTER, HALF, YEAR = "day", "month", "quarter", "half", "year"
FIRST_YEAR, LAST_YEAR = 1900, 2100
_QUARTER_SIGNS = ("q", "t")
_SHORTEST_NAME = 3
_ENDINGS = frozenset({"st", "nd", "rd", "th", "er", "e", "º"})
_ORDINAL = "第"
"""Chinese writes the first quarter with and without it."""
_YEAR_SIGNS, _DAY_SIGNS = frozenset("年년"), frozenset("日号일")
_MONTHS = {MONTH: 1, QUARTER: 3, HALF: 6, YEAR: 12}


@dataclass(frozen=True, slots=True)
class Period:
    """A period by the places of its words, from `start` to before `end`; `year` 0 where none is said."""

    start: int
    end: int
    unit: str
    year: int = 0
    number: int = 0
    """Of the month, quarter or half."""
    day: int = 0

    def holds(self, other: Period) -> bool:
        """Return whether another period, years left aside, is this one or a part of it."""
        if self.unit == other.unit:
            return (self.number, self.day) == (other.number, other.day)
        if self.unit == DAY or other.unit in (DAY, YEAR) or _MONTHS[other.unit] > _MONTHS[self.unit]:
            return False
        return self.unit == YEAR or -(-other.number // parts(other.unit, self.unit)) == self.number

    @property
    def order(self) -> tuple[int, int, int]:
        """Its place among periods of the same unit."""
        return self.year, self.number, self.day

    @property
    def first(self) -> date:
        """Its first day; only of a period with a year."""
        return date(self.year, self._last_month - _MONTHS.get(self.unit, 1) + 1, self.day or 1)

    @property
    def after(self) -> date:
        """The day after its last; only of a period with a year."""
        if self.unit == DAY:
            return self.first + timedelta(days=1)
        return date(self.year + self._last_month // 12, self._last_month % 12 + 1, 1)

    @property
    def _last_month(self) -> int:
        return 12 if self.unit == YEAR else self.number * _MONTHS.get(self.unit, 1)

    @property
    def name(self) -> str:
        """Its name in figures: "2024", "2024-03", "2024 Q1", "03-31"."""
        sign = {QUARTER: "Q", HALF: "H"}.get(self.unit)
        if sign:
            return f"{self.year or ''} {sign}{self.number}".strip()
        figures = (f"{self.year:04}" if self.year else "", f"{self.number:02}" if self.number else "")
        return "-".join(filter(None, (*figures, f"{self.day:02}" if self.day else "")))


def load() -> None:
    """Read the names of all locales, 0.14 s of processor time, before the first question needs them."""
    for code in locales.codes():
        _names(code)


MOST_WORDS = 32
"""Words of a column's name that are searched for a period in every locale; a longer one is a sentence."""


@lru_cache(maxsize=64)
def nouns_of(unit: str, language: str) -> frozenset[str]:
    """Return the words for a day, month or year, and for several; none in a language that is not known."""
    if locales.known(language) is None:
        return frozenset()
    said = [forms.tokens(format_unit(count, f"duration-{unit}", locale=language)) for count in (1, 2, 5)]
    return frozenset(one for words in said for one in words if not one.isdecimal() and len(words) == 2)


def parts(unit: str, of: str) -> int:
    """Return how many periods of a unit a longer one has."""
    return _MONTHS.get(of, 1) // _MONTHS.get(unit, 1) or 1


@lru_cache(maxsize=4096)
def of_name(name: str, language: str) -> Period | None:
    """Return the one period that a column's name says, in a language or another one; None for none or several."""
    asked = forms.tokens(name)
    if len(asked) > MOST_WORDS:
        return None
    every = [found for code in dict.fromkeys((language, *locales.codes())) if (found := list(periods(asked, code)))]
    if not every:
        return None
    found = every[0]
    if [one.unit for one in found] == [YEAR]:  # of a half in another language only the year is read
        found = next((one for one in every if one[0].unit == HALF), found)
    if found[0].unit == HALF:  # "H1 (Apr–Sep)" says which months its half has
        found = [one for one in found if one.unit != MONTH]
    joined = of_months(*found) if len(found) == 2 else None
    return joined or (found[0] if len(found) == 1 else None)


def of_months(first: Period, last: Period) -> Period | None:
    """Return the quarter, half or year from one month to another that stands beside it: "January–June 2024"."""
    if (first.unit, last.unit, first.end) != (MONTH, MONTH, last.start) or first.year not in (0, last.year):
        return None
    for unit in (QUARTER, HALF, YEAR):
        size = _MONTHS[unit]
        if last.number - first.number + 1 == size and last.number % size == 0:
            number = 0 if unit == YEAR else last.number // size
            return Period(first.start, last.end, unit, last.year, number)
    return None


def periods(asked: Sequence[str], language: str) -> Iterator[Period]:
    """Yield the periods that words name, in order and each word once."""
    at = 0
    while at < len(asked):
        found = _written(asked, at, language) or _named(asked, at, language) or _year(asked, at)
        if found is None:
            at += 1
            continue
        yield found
        at = found.end


def _written(asked: Sequence[str], at: int, language: str) -> Period | None:
    """Return a day in numbers; not one that may be of two months, as 3/4/2024 in English."""
    whole = asked[at].split(".")
    end = at + 1
    if len(whole) != 3:
        whole, end = list(asked[at : at + 3]), at + 3
    if len(whole) != 3 or not all(one.isdecimal() and one.isascii() for one in whole):
        return None
    if len(whole[0]) == 4:
        year, month, day = map(int, whole)
    elif len(whole[2]) == 4:
        day, month, year = map(int, whole)
        if end - at > 1 and language == "en":
            if max(day, month) <= 12 and day != month:
                return None
            day, month = max(day, month), min(day, month)
    else:
        return None
    if any(len(one) > 2 for one in (whole[1], whole[0] if len(whole[2]) == 4 else whole[2])):
        return None
    return _valid(Period(at, end, DAY, year, month, day))


def _named(asked: Sequence[str], at: int, language: str) -> Period | None:
    """Return a month or quarter by its name, with the day and year beside it."""
    start, day = at, 0
    if (number := _number(asked, at, 31)) and asked[at + 1 : at + 2]:
        after = at + 1 + (asked[at + 1] in _ENDINGS)
        after += after < len(asked) and asked[after] in _small(language)
        if (found := _name(asked, after, language)) and found[0] == MONTH:
            start, day = after, number
    year = 0
    after = start + 1 + (start + 1 < len(asked) and asked[start + 1] in _YEAR_SIGNS)
    if is_year(asked, start) and _name(asked, after, language) is not None:
        year, start = int(asked[start]), after
    if (found := _name(asked, start, language)) is None:
        return None
    unit, number, end = found
    if unit == MONTH and not day and (said := _number(asked, end, 31)):
        after = end + 1 + (end + 1 < len(asked) and asked[end + 1] in _ENDINGS | _DAY_SIGNS)
        if is_year(asked, after) or year:
            day, end = said, after
    if not year:
        after = end + (end < len(asked) and asked[end] in _small(language))
        if is_year(asked, after):
            year, end = int(asked[after]), after + 1
    return _valid(Period(at, end, DAY if day else unit, year, number, day))


def _year(asked: Sequence[str], at: int) -> Period | None:
    if not is_year(asked, at):
        return None
    sign = at + 1 < len(asked) and asked[at + 1] in _YEAR_SIGNS
    return Period(at, at + 1 + sign, YEAR, int(asked[at]))


def _valid(period: Period) -> Period | None:
    if period.day and period.year:
        try:
            _ = period.first
        except ValueError:
            return None
    return period


def is_year(asked: Sequence[str], at: int) -> bool:
    """Return whether a word is a year in four figures."""
    word = asked[at] if at < len(asked) else ""
    return len(word) == 4 and word.isascii() and word.isdecimal() and FIRST_YEAR <= int(word) <= LAST_YEAR


def _number(asked: Sequence[str], at: int, most: int) -> int:
    word = asked[at] if at < len(asked) else ""
    number = int(word) if len(word) <= 2 and word.isascii() and word.isdecimal() else 0
    return number if number <= most else 0


def _name(asked: Sequence[str], at: int, language: str) -> tuple[str, int, int] | None:
    """Return the unit, number and end of the longest name that begins at a place."""
    names = _names(language)
    for size in range(min(_longest(language), len(asked) - at), 0, -1):
        if (found := names.get(tuple(asked[at : at + size]))) is not None:
            return *found, at + size
    if (words := locales.known(language)) is None:
        return None
    for number, phrases in enumerate((words.tables.first_half, words.tables.second_half), 1):
        for phrase in phrases:
            parts_of = forms.units(phrase)
            there = asked[at : at + len(parts_of)]
            if len(there) == len(parts_of) and all(map(_is_word, there, parts_of)):
                return HALF, number, at + len(parts_of)
    if at + 1 < len(asked):
        for number, phrase in enumerate(words.tables.ordinals, 1):
            if forms.same_word(asked[at], fold(phrase), exact=True) and any(
                forms.alike(asked[at + 1], noun) for noun in _nouns(language)
            ):
                return QUARTER, number, at + 2
    return None


def _is_word(word: str, part: str) -> bool:
    return forms.same_word(word, part, exact=True)


@lru_cache(maxsize=64)
def _names(language: str) -> Mapping[tuple[str, ...], tuple[str, int]]:
    """Return what names of a language are called, without those that are common words or numbers."""
    found: dict[tuple[str, ...], tuple[str, int]] = {
        (sign, str(number)): (QUARTER, number) for sign in _QUARTER_SIGNS for number in range(1, 5)
    }
    try:
        known = Locale.parse(language)
    except (UnknownLocaleError, ValueError):
        return found
    words = locales.known(language)
    common = _small(language) | {fold(one) for one in (words.tables.numbers if words else ())}
    for unit, every in ((MONTH, known.months), (QUARTER, known.quarters)):
        for context in ("format", "stand-alone"):
            for width in ("wide", "abbreviated"):
                for number, name in every[context][width].items():
                    key = forms.tokens(name)
                    plain = len(key) == 1 and (key[0] in common or len(key[0]) < _SHORTEST_NAME)
                    if key and not plain:
                        found.setdefault(key, (unit, number))
                        if key[0] == _ORDINAL:
                            found.setdefault(key[1:], (unit, number))
    return found


@lru_cache(maxsize=64)
def _longest(language: str) -> int:
    return max(map(len, _names(language)))


@lru_cache(maxsize=64)
def _nouns(language: str) -> frozenset[str]:
    """Return the words for a quarter."""
    wide = [key for key, (unit, _) in _names(language).items() if unit == QUARTER and len(key) > 1]
    return frozenset(one for key in wide for one in key if len(one) > _SHORTEST_NAME)


@lru_cache(maxsize=64)
def _small(language: str) -> frozenset[str]:
    return frozenset(fold(one) for one in STOP_WORDS.get(language, ()))
