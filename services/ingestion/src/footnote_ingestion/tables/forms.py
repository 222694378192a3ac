"""Matches a question to a form over tables; a question with an unexplained word matches none.

A word is explained if it is one of the locale's words for forms, is part of a column's headers, of a value in a column,
or of the name of the table or its file, is a number, or adds nothing to the meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from footnote_text.lexical import fold, is_unspaced
from footnote_text.locales import TableWords
from footnote_text.stopwords import STOP_WORDS

from footnote_ingestion.tables import literals

TOTAL, AVERAGE, COUNT, HIGHEST, LOWEST, ROWS = "total", "average", "count", "highest", "lowest", "rows"
DIFFERENCE = "difference"
"""Of one number of a row and another: of another column, or of another row in the same column."""
SEVERAL = "several"
"""Every word is known, but several columns may be meant."""
_FORMS = (AVERAGE, COUNT, TOTAL, HIGHEST, LOWEST, "above", "below", "per")
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
BRACKETS = re.compile(r"[(（\[][^)）\]]{0,60}[)）\]]")
_SHORTEST, _MOST_ENDING = 3, 3


@lru_cache(maxsize=65_536)
def tokens(text: str) -> tuple[str, ...]:
    """Return the folded words and numbers of a text; of scripts without spaces each character."""
    found: list[str] = []
    for one in _TOKEN.findall(fold(text)):
        found += one if is_unspaced(one[0]) else [one]
    return tuple(found)


def alike(left: str, right: str) -> bool:
    """Return whether two words differ by a short ending at most."""
    short, long = sorted((left, right), key=len)
    if left == right:
        return True
    if len(short) < _SHORTEST or is_unspaced(short[0]) or short[0].isdecimal():
        return False
    common = next((place for place, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    return common >= max(_SHORTEST, len(short) - 1) and len(long) - common <= _MOST_ENDING


@dataclass(frozen=True, slots=True)
class Filter:
    """What a row must have: a text in a column (`op` "="), or a number above or below (">", "<") one."""

    column: int
    op: str
    value: str | float


@dataclass(frozen=True, slots=True)
class Subject:
    """A table as questions see it: words about it, headers by column, which hold numbers, texts by column of text.

    `naming` is the column that names its rows, 0 for none.
    """

    filename: str
    about: str
    headers: Mapping[int, str]
    numeric: frozenset[int]
    values: Mapping[int, Sequence[str]]
    naming: int
    rows: int = 0


@dataclass(slots=True)
class Form:
    """What is to be computed: `measure` and `key` are columns (0 for none); `known` words of it are the table's.

    Of groups, HIGHEST and LOWEST give those with the greatest or least total, or number of rows without a measure. A
    DIFFERENCE is of `measure` and `other`, or of the rows that have each of the `sides`.
    """

    kind: str
    measure: int = 0
    key: int = 0
    grouped: bool = False
    most: int = 1
    filters: list[Filter] = field(default_factory=list)
    known: int = 0
    other: int = 0
    sides: tuple[Filter, ...] = ()


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
    return frozenset(next(units(phrase)) for form in _FORMS for phrase in getattr(words, form))


def read(question: str, subject: Subject, words: TableWords, language: str) -> Form | None:
    """Return the form that a question has over a table, None where it has none or a word of it is not known."""
    return _Reading(question, subject, words, language).form()


class _Reading:
    def __init__(self, question: str, subject: Subject, words: TableWords, language: str) -> None:
        self._asked, self._subject, self._words, self._language = tokens(question), subject, words, language
        self._text = question
        self._taken: dict[int, str] = {}

    def form(self) -> Form | None:
        self._file()
        said = self._forms()
        filters = self._values()
        if filters is None:
            return Form(SEVERAL)
        by_header = self._headers()
        limits = self._limits(said)
        most = self._most(said)
        about = [
            place
            for place in self._free()
            if any(alike(self._asked[place], one) for one in tokens(self._subject.about))
        ]
        self._take(about, "about")
        if not self._rest_says_nothing():
            return None
        measure = self._measure(by_header)
        key = self._key(by_header, said)
        if key is None:
            return None
        known = sum(kind in ("header", "value", "about") for kind in self._taken.values())
        if measure is None:
            return Form(SEVERAL, known=known)
        form = Form(ROWS, measure, key, most=most, known=known)
        form.filters = [*filters, *(Filter(measure, op, value) for op, value in limits)]
        named = measure in by_header
        if limits and not measure:
            return None
        if "per" in said:
            form.grouped, form.kind = True, next((one for one in (AVERAGE, COUNT, TOTAL) if one in said), TOTAL)
            if form.kind == COUNT:
                form.measure = 0
        elif AVERAGE in said:
            form.kind = AVERAGE
        elif HIGHEST in said or LOWEST in said:
            form.kind = HIGHEST if HIGHEST in said else LOWEST
        elif COUNT in said and not (named and not limits):
            form.kind, form.measure = COUNT, measure if limits else 0
        elif TOTAL in said or COUNT in said:
            form.kind = TOTAL
        elif not limits:
            return None
        return form if form.measure or form.kind == COUNT else None

    def _file(self) -> None:
        """Take the name of the table's file, which is no header even where it has the same words."""
        for start, end in self._places(tokens(self._subject.filename), exact=True):
            self._take(range(start, end), "file")

    def _forms(self) -> dict[str, int]:
        """Return the forms whose words stand in the question, by the place after them; longest words first."""
        found: dict[str, int] = {}
        phrases = [(phrase, form) for form in _FORMS for phrase in getattr(self._words, form)]
        for phrase, form in sorted(phrases, key=lambda one: -len(one[0])):
            for start, end in self._places(list(units(phrase)), exact=True):
                self._take(range(start, end), "form")
                found.setdefault(form, end)
        return found

    def _values(self) -> list[Filter] | None:
        """Return which texts of columns the question names, the longest first; None where several columns may be meant.

        Of several columns that have a text, the one that the question names is meant: "to Madrid" is not "from Madrid".
        """
        found: list[Filter] = []
        there = set(self._asked)
        every: dict[tuple[str, ...], dict[int, list[str]]] = {}
        for column, values in self._subject.values.items():
            for value in values:
                every.setdefault(tokens(value), {}).setdefault(column, []).append(value)
        for parts in sorted(every, key=len, reverse=True):
            if (
                not parts
                or not there.issuperset(parts)
                or (len(parts) == 1 and (len(parts[0]) < 2 or parts[0].isdecimal()))
            ):
                continue
            for start, end in self._places(parts, exact=True):
                named = every[parts]
                if len(named) > 1:
                    named = {column: texts for column, texts in named.items() if self._names(column)}
                if len(named) != 1:
                    return None
                ((column, values),) = named.items()
                if (one := literals.meant(values, self._text)) is None:
                    return None
                self._take(range(start, end), "value")
                found.append(Filter(column, "=", one))
        return found

    def _names(self, column: int) -> bool:
        """Return whether the question has a word of a column's headers."""
        header = tokens(BRACKETS.sub(" ", self._subject.headers[column]))
        return any(alike(word, part) for word in self._asked for part in header)

    def _headers(self) -> dict[int, set[int]]:
        """Return which words of the question, by their places, each column's headers hold."""
        hits: dict[int, set[int]] = {}
        for column, header in self._subject.headers.items():
            for unit in runs(BRACKETS.sub(" ", header)):
                for start, end in self._places(unit, exact=False):
                    hits.setdefault(column, set()).update(range(start, end))
        for places in hits.values():
            self._take(places, "header")
        return hits

    def _limits(self, said: Mapping[str, int]) -> list[tuple[str, float]]:
        found = []
        for form, op in (("above", ">"), ("below", "<")):
            place = said.get(form)
            if place is not None and place < len(self._asked) and self._asked[place][0].isdecimal():
                found.append((op, number_of(self._asked[place])))
                self._taken[place] = "number"
        return found

    def _most(self, said: Mapping[str, int]) -> int:
        if HIGHEST in said or LOWEST in said:
            for place in self._free():
                word = self._asked[place]
                number = int(word) if word.isdecimal() and len(word) < 3 else place_of(word, self._words.numbers)
                if number > 1:
                    self._taken[place] = "number"
                    return number
        return 1

    def _measure(self, by_header: Mapping[int, set[int]]) -> int | None:
        """Return the column of numbers that is asked about, 0 for none; None where several may be."""
        numeric = {
            column: sum(2 if self._asked[place] in tokens(self._subject.headers[column]) else 1 for place in places)
            for column, places in by_header.items()
            if column in self._subject.numeric
        }
        if not numeric:
            if any(self._may_be_numbers(column) for column in by_header):
                return None  # it is asked about, and not the only column of numbers
            return next(iter(self._subject.numeric)) if len(self._subject.numeric) == 1 else 0
        best = max(numeric.values())
        first = [column for column, hits in numeric.items() if hits == best]
        # A column that holds no numbers we know, and is named by the same words, may as well be meant.
        if any(by_header[first[0]] <= places for column, places in by_header.items() if column != first[0]):
            return None
        return first[0] if len(first) == 1 else None

    def _may_be_numbers(self, column: int) -> bool:
        """Return whether a column of texts looks like one of numbers, as "62,994" does, which may be 63 or 62994."""
        texts = self._subject.values.get(column, ())
        return 2 * sum(map(_like_a_number, texts)) > len(texts)

    def _key(self, by_header: Mapping[int, set[int]], said: Mapping[str, int]) -> int | None:
        texts = [column for column in by_header if column in self._subject.values]
        if "per" in said:
            after = {column: [place for place in by_header[column] if place >= said["per"]] for column in texts}
            nearest = min((place for places in after.values() for place in places), default=-1)
            near = [column for column in texts if nearest in after[column]]
            return near[0] if len(near) == 1 else None
        return texts[0] if len(texts) == 1 else self._subject.naming

    def _rest_says_nothing(self) -> bool:
        stop = {fold(word) for word in STOP_WORDS.get(self._language, ())}
        for phrase in self._words.said:
            for start, end in self._places(list(units(phrase)), exact=True):
                self._take(range(start, end), "said")
        return all(self._asked[place] in stop for place in self._free())

    def _free(self) -> list[int]:
        return [place for place in range(len(self._asked)) if place not in self._taken]

    def _take(self, places: Iterable[int], kind: str) -> None:
        for place in places:
            self._taken.setdefault(place, kind)

    def _places(self, parts: Sequence[str], *, exact: bool) -> Iterator[tuple[int, int]]:
        """Yield where words occur consecutively among those not taken yet."""
        for start in range(len(self._asked) - len(parts) + 1):
            there = range(start, start + len(parts))
            if any(place in self._taken and self._taken[place] != "header" for place in there):
                continue
            if all(same_word(self._asked[place], part, exact) for place, part in zip(there, parts, strict=True)):
                yield start, start + len(parts)


def _like_a_number(text: str) -> bool:
    """Return whether a text begins with a figure, but for signs, and has no Latin letter."""
    first = next((char for char in text if char.isalnum()), "")
    return first.isdigit() and not any(char.isascii() and char.isalpha() for char in text)


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


def units(phrase: str) -> Iterator[str]:
    """Return the words of a phrase; characters of scripts without spaces apart."""
    for part in fold(phrase).split():
        yield from part if is_unspaced(part[0]) else [part]


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


def number_of(text: str) -> float:
    """Return the number that a word writes, with a comma or a point."""
    whole, _, part = text.replace(",", ".").rpartition(".")
    if whole and len(part) == 3:
        return float(whole.replace(".", "") + part)
    return float(f"{whole.replace('.', '')}.{part}" if whole else part)


def place_of(word: str, numbers: Sequence[str]) -> int:
    """Return the number that a word is, of those that a locale lists from two; 0 for none."""
    return next((place for place, one in enumerate(numbers, 2) if fold(one) == word), 0)
