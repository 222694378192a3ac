"""What questions ask of a table: forms, tables as questions see them, and how their words compare."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from footnote.types.v1.table_pb2 import Measure
from footnote_text.lexical import fold, is_unspaced
from footnote_text.locales import TableWords

TOTAL, AVERAGE, COUNT, HIGHEST, LOWEST, ROWS = "total", "average", "count", "highest", "lowest", "rows"
DIFFERENCE = "difference"
"""Of the numbers of two sides."""
DISTINCT, SHARE = "distinct", "share"
"""How many different texts a column has; what some rows are of all, in percent."""
SEVERAL = "several"
"""Every word is known, but several columns may be meant."""
LIMITS = {"above": ">", "below": "<", "at_least": ">=", "at_most": "<="}
"""How a number is compared with one that the words of a form stand before."""
HIGHER, LOWER = "higher", "lower"
"""Words that put the two sides that a question names in order."""
RANKS = {HIGHEST: HIGHEST, HIGHER: HIGHEST, "above": HIGHEST, LOWEST: LOWEST, LOWER: LOWEST, "below": LOWEST}
FORMS = (AVERAGE, COUNT, TOTAL, HIGHEST, LOWEST, DISTINCT, SHARE, *LIMITS, "per", "comparison", HIGHER, LOWER)
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
BRACKETS = re.compile(r"[(（\[][^)）\]]{0,60}[)）\]]")
_SHORTEST, _MOST_ENDING = 3, 3
_VOWELS = frozenset("aeiou")
_FEW = 2  # yes and no
HUMP = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
"""Where a new word begins in "unitPrice"."""
BROKEN = re.compile(r"(?<=[^\W\d_])-\s(?=[^\W\d_])")
"""Where a word was broken between two lines of a cell: "Rechts- mittel"."""


@lru_cache(maxsize=65_536)
def tokens(text: str) -> tuple[str, ...]:
    """Return the folded words and numbers of a text; of scripts without spaces each character."""
    folded = fold(text)
    return tuple(folded[start:end] for start, end in places_of_words(folded))


def places_of_words(text: str) -> Iterator[tuple[int, int]]:
    """Yield where words and numbers start and end; each character of scripts without spaces, also beside others."""
    for one in _TOKEN.finditer(text):
        start, end = one.span()
        if one[0].isascii():
            yield start, end
            continue
        for at in range(start, end):
            if is_unspaced(text[at]):
                if start < at:
                    yield start, at
                yield at, at + 1
                start = at + 1
        if start < end:
            yield start, end


@lru_cache(maxsize=65_536)
def alike(left: str, right: str) -> bool:
    """Return whether two words differ by a short ending at most."""
    short, long = sorted((left, right), key=len)
    if left == right:
        return True
    if len(short) < _SHORTEST or is_unspaced(short[0]) or short[0].isdecimal():
        return False
    common = next((place for place, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    return common >= max(_SHORTEST, len(short) - 1) and len(long) - common <= _MOST_ENDING


def parts_of(header: str) -> tuple[str, ...]:
    """Return the words of a column's name without what stands in brackets; "unitPrice" has two."""
    return tokens(HUMP.sub(" ", BRACKETS.sub(" ", header)))


def abbreviates(part: str, word: str, header: str) -> bool:
    """Return whether a part of a column's name is short for a word: "qty", "temp_c", "Puiss.".

    A beginning alone is a word of its own in many languages, so that a sign must say that it is short.
    """
    if not (_SHORTEST <= len(part) < len(word) - 1 and part[0] == word[0] and part.isalpha()):
        return False
    if word.startswith(part):
        return "_" in header or f"{part}." in fold(header)
    letters = iter(word)
    return _VOWELS.isdisjoint(part[1:]) and all(one in letters for one in part)


def capitals(question: str) -> frozenset[int]:
    """Return the places of a question's words, as `tokens` has them, that are written with a capital."""
    written = [question[start:end] for start, end in places_of_words(question)]
    if len(written) != len(tokens(question)):
        return frozenset()
    return frozenset(at for at, one in enumerate(written) if one[0].isupper())


@dataclass(frozen=True, slots=True)
class Filter:
    """What a row must have in a column.

    By `op`, "=": a text; one of `LIMITS`, "==": a number so compared with one, or that number; "from", "until": a day
    as 2025-01-31 or a later one, an earlier one; "is": a truth value. With `other`, the number is that of this column
    in the same row.
    """

    column: int
    op: str
    value: str | float
    other: int = 0


@dataclass(frozen=True, slots=True)
class Side:
    """One of the numbers that a form compares: of the column `measure` (0: of rows), in rows that fit `filters`."""

    name: str
    measure: int
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """A table as questions see it: words about it, headers by column, which hold numbers, texts by column of text.

    `naming` is the column that names its rows, 0 for none; `dates` hold days, `years` numbers that are years.
    `only_year` is that of all days of a column, `daily` are the columns that have another day in each row.
    `currencies` are the codes of those that columns are counted in; `common` are words of most texts of a column,
    `measures` what all numbers of a column are counted in, None where the table makes exceptions. `truths` are the
    columns that say true or false of each row.
    """

    filename: str
    about: str
    headers: Mapping[int, str]
    numeric: frozenset[int]
    values: Mapping[int, Sequence[str]]
    naming: int
    rows: int = 0
    dates: frozenset[int] = frozenset()
    years: frozenset[int] = frozenset()
    currencies: Mapping[int, str] = field(default_factory=dict)
    only_year: Mapping[int, int] = field(default_factory=dict)
    daily: frozenset[int] = frozenset()
    common: Mapping[int, frozenset[str]] = field(default_factory=dict)
    measures: Mapping[int, Measure | None] = field(default_factory=dict)
    truths: frozenset[int] = frozenset()

    def tells_apart(self, column: int) -> bool:
        """Return whether a column has truth values, or at most two texts for more rows."""
        few = column not in self.values or len(self.values[column]) <= _FEW
        return few and column not in self.dates and len(self.values.get(column, ())) < max(self.rows, 1)


@dataclass(frozen=True, slots=True)
class Totals:
    """The rows of totals of a table: by the texts of the column `naming` that names rows, and by their numbers.

    `naming` is 0 where no column names rows.
    """

    naming: int
    texts: Sequence[str] = ()
    rows: Sequence[int] = ()


@dataclass(slots=True)
class Form:
    """What is to be computed: `measure` and `key` are columns (0 for none); `known` words of it are the table's.

    Of groups, HIGHEST and LOWEST give those with the greatest or least total (AVERAGE, if that is `inner`), or number
    of rows without a measure. With `sides` they give all of these in their order, and a DIFFERENCE is the first
    without the second; `inner` is then ROWS where each must be of a single row.
    A SHARE is what the rows that have `part` are of all rows, by the measure or, without one, by their number.
    The `added` columns are added to the measure, row by row.
    `key` is a column of days where it is `by_day`, and of texts else.
    In `needed` columns, of texts or days, every row that counts must have something: else there is no such form.
    """

    kind: str
    measure: int = 0
    key: int = 0
    grouped: bool = False
    most: int = 1
    filters: list[Filter] = field(default_factory=list)
    known: int = 0
    sides: tuple[Side, ...] = ()
    part: Filter | None = None
    inner: str = TOTAL
    added: tuple[int, ...] = ()
    needed: tuple[int, ...] = ()
    by_day: bool = False

    @property
    def measures(self) -> tuple[int, ...]:
        """The columns of numbers that are added."""
        return (self.measure, *self.added) if self.measure else ()

    @property
    def beside(self) -> tuple[int, ...]:
        """The columns of numbers besides the measure that are compared with it or added to it."""
        compared = (one.measure for one in self.sides if one.measure != self.measure)
        return tuple(dict.fromkeys((*self.added, *compared)))

    @property
    def adds_up(self) -> bool:
        """Whether several rows are put together, in all or in groups."""
        return self.grouped or self.kind in (TOTAL, AVERAGE, COUNT, SHARE)

    @property
    def is_ranking(self) -> bool:
        """Whether the sides are put in order."""
        return bool(self.sides) and self.kind in (HIGHEST, LOWEST)


def has_form(asked: Sequence[str], words: TableWords) -> bool:
    """Return whether a question has words of a form in a locale: without any, `read` finds none."""
    there = set(asked)
    return any(
        any(word.startswith(part[:-1]) for word in there) if part.endswith("*") else part in there
        for part in _first_words(words)
    )


@lru_cache(maxsize=32)
def _first_words(words: TableWords) -> frozenset[str]:
    """Return the first word of each phrase of a form: a question without them has no form."""
    return frozenset(units(phrase)[0] for form in FORMS for phrase in getattr(words, form))


def place_in(asked: Sequence[str], parts: Sequence[str]) -> int:
    """Return where words occur consecutively, -1 if they do not."""
    size = len(parts)
    return next(
        (at for at in range(len(asked) - size + 1) if size and tuple(asked[at : at + size]) == tuple(parts)), -1
    )


def same_word(word: str, part: str, exact: bool) -> bool:
    """Return whether a word is that of a phrase: `part` may end in "*", and may differ by its ending unless `exact`."""
    if part.endswith("*"):
        return word.startswith(part[:-1])
    return word == part if exact else alike(word, part)


@lru_cache(maxsize=65_536)
def units(phrase: str) -> tuple[str, ...]:
    """Return the words of a phrase; characters of scripts without spaces apart."""
    return tuple(one for part in fold(phrase).split() for one in (part if is_unspaced(part[0]) else [part]))


def runs(header: str) -> Iterator[Sequence[str]]:
    """Yield the words of a header; characters of scripts without spaces together, as they must stand together."""
    run: list[str] = []
    for one in tokens(header):
        if is_unspaced(one[0]):
            run.append(one)
            continue
        yield [one]
    if run:
        yield run


def place_of(word: str, numbers: Sequence[str]) -> int:
    """Return the number that a word is, of those that a locale lists from two; 0 for none."""
    return next((place for place, one in enumerate(numbers, 2) if fold(one) == word), 0)


def says(asked: Sequence[str], phrases: Sequence[str]) -> bool:
    """Return whether a question has one of several phrases."""
    return any(
        any(word.startswith(tokens(phrase)[0]) for word in asked)
        if phrase.endswith("*")
        else place_in(asked, tokens(phrase)) >= 0
        for phrase in phrases
    )
