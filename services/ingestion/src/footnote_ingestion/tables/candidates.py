"""Enumerates the computations over a table that a question may ask for, from what it mentions of the table."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from footnote.stages.v1.table_reading_pb2 import TableReading
from footnote.types.v1.table_pb2 import Measure
from footnote_text.lexical import fold

from footnote_ingestion.tables import forms
from footnote_ingestion.tables.forms import Filter, Form, Side
from footnote_ingestion.tables.mentions import Asked, Mentions
from footnote_ingestion.tables.periods import is_year

_MOST_MEASURES, _MOST_CHOICES, _MOST_NUMBERS = 6, 8, 3
_MOST_KEYS = 3
LEVEL, LEAD = 1.2, 0.2
"""The least likeness of a word and a column's name, and by how much it exceeds that of the next one.

Of 566 words of another language than 5 to 10 fields of a model of Tryton, these give the right field for .382, another
one for .007, and one for .058 where the right one is left out (tests/bench/tables_reading/likened.py). None was fitted
to words of the same language.
"""


@dataclass(frozen=True, slots=True)
class Reading:
    """What an embedding model says of a question.

    `operations` are chances; `columns` is how much more a column's name is like the question than names are in the
    mean, and `words` so for each of its words: what all texts of a language have in common says nothing.
    """

    operations: Mapping[str, float]
    columns: Mapping[str, float] = field(default_factory=dict)
    words: Mapping[tuple[str, str], float] = field(default_factory=dict)
    levels: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """How alike each word, folded, is to each column's name; as `words`, but not less the mean."""

    @staticmethod
    def of(made: TableReading) -> Reading:
        """Return a reading as another service said it; ValueError for numbers that are not finite, or no chances."""
        chances = [one.chance for one in made.operations]
        likeness = [number for one in made.columns for number in (one.question, *one.words)]
        if not all(map(math.isfinite, likeness)) or not all(0 <= one <= 1 for one in chances):
            raise ValueError("has chances beyond 0 to 1, or numbers that are not finite")
        mean = math.fsum(one.question for one in made.columns) / max(1, len(made.columns))
        words: dict[tuple[str, str], float] = {}
        levels: dict[str, Mapping[str, float]] = {}
        for at, word in enumerate(made.words):
            levels[fold(word)] = alike = {one.name: one.words[at] for one in made.columns if at < len(one.words)}
            middle = math.fsum(alike.values()) / max(1, len(alike))
            words.update({(fold(word), name): value - middle for name, value in alike.items()})
        operations = {one.operation: one.chance for one in made.operations}
        return Reading(operations, {one.name: one.question - mean for one in made.columns}, words, levels)

    def word(self, token: str, header: str) -> float:
        """Return how alike a word and a column's name are, 0 where it is not known."""
        return self.words.get((token, header), 0.0)

    def likened(self, unknown: Collection[str], headers: Mapping[int, str]) -> dict[tuple[str, ...], int]:
        """Return the column that each word is most alike, by the words' tokens, all of which are `unknown`.

        Nothing for a word that two columns are about as alike, or none is much alike.
        """
        found: dict[tuple[str, ...], int] = {}
        for word, alike in self.levels.items():
            parts = forms.tokens(word)
            known = sorted(((alike[name], column) for column, name in headers.items() if name in alike), reverse=True)
            if not known or not set(parts) <= set(unknown):
                continue
            second = known[1][0] if len(known) > 1 else known[0][0] - LEAD
            if known[0][0] >= LEVEL and known[0][0] - second >= LEAD:
                found[parts] = known[0][1]
        return found


@dataclass(frozen=True, slots=True)
class Candidate:
    """A computation, and the places of the question's words that it explains."""

    form: Form
    explained: frozenset[int]
    numbers: frozenset[int]
    """The places of numbers that it uses as limits or as how many rows."""
    spans: int
    """How many texts of cells are its filters."""


def candidates(asked: Asked, mentions: Mentions, reading: Reading) -> Iterator[Candidate]:
    """Yield the computations over a table; words that none of its parts explains are left over."""
    subject = mentions.subject
    # A name that is only a number, as "2025", does not say what its numbers are.
    worded = [one for one in subject.numeric if _has_word(subject.headers[one])]
    measures = sorted(worded, key=lambda one: -_measure_rank(one, mentions, reading))[:_MOST_MEASURES]
    for filters, taken in _filters(mentions):
        free = [
            at for at, one in enumerate(asked.tokens)
            if one[0].isdecimal() and at not in taken and at not in mentions.file
        ][:_MOST_NUMBERS]  # fmt: skip
        yield from _counts(asked, mentions, filters, taken, free)
        for measure in measures:
            named = mentions.headers.get(measure, frozenset())
            numbers = [at for at in free if at not in named]
            yield from _of_measure(asked, mentions, measure, filters, taken | named, numbers, reading)


def _measure_rank(column: int, mentions: Mentions, reading: Reading) -> float:
    header = mentions.subject.headers[column]
    return mentions.shares.get(column, 0.0) + len(mentions.headers.get(column, ())) + reading.columns.get(header, 0.0)


def _filters(mentions: Mentions) -> Iterator[tuple[list[Filter], frozenset[int]]]:
    """Yield which texts of cells rows must have; a text may be in several columns, or only name one."""
    named = frozenset(at for places in mentions.headers.values() for at in places)
    choices: list[list[tuple[Filter | None, tuple[int, int]]]] = []
    for span in mentions.spans:
        places = (span.start, span.end)
        options: list[tuple[Filter | None, tuple[int, int]]] = [
            (Filter(column, "=", value), places) for column, value in span.values.items()
        ]
        if named.issuperset(range(*places)) or mentions.about.issuperset(range(*places)):
            options.append((None, places))
        choices.append(options)
    for at, chosen in enumerate(product(*choices)):
        if at >= _MOST_CHOICES:
            return
        filters = list(dict.fromkeys(one for one, _ in chosen if one is not None))
        yield filters, frozenset(place for one, (start, end) in chosen if one for place in range(start, end))


def _counts(
    asked: Asked, mentions: Mentions, filters: list[Filter], taken: frozenset[int], free: Sequence[int]
) -> Iterator[Candidate]:
    explained = taken | _columns_of(mentions, filters)
    naming = mentions.subject.naming
    of_rows = explained | mentions.headers.get(naming, frozenset()) | mentions.about | asked.empty | {-1}
    yield from _bests(asked, mentions, 0, filters, explained | mentions.headers.get(naming, frozenset()), free)
    rows = mentions.headers.get(naming, frozenset())
    values = mentions.subject.values
    # A noun that the table does not know is no row, and a text that names a single row is not counted.
    if asked.counted in of_rows and all(len(values[one.column]) < mentions.subject.rows for one in filters):
        count = Form(forms.COUNT, 0, naming, filters=filters)
        yield Candidate(count, explained | rows, frozenset(), len(filters))
    for key in _keys(mentions, filters) if "per" in asked.said else ():
        places = mentions.headers.get(key, frozenset())
        form = Form(forms.COUNT, 0, key, grouped=True, filters=filters)
        yield Candidate(form, explained | places | rows, frozenset(), len(filters))


def _of_measure(
    asked: Asked, mentions: Mentions, measure: int, filters: list[Filter], taken: frozenset[int],
    numbers: Sequence[int], reading: Reading,
) -> Iterator[Candidate]:  # fmt: skip
    subject = mentions.subject
    explained = taken | _columns_of(mentions, filters)
    for kind in (forms.TOTAL, forms.AVERAGE):
        yield Candidate(Form(kind, measure, subject.naming, filters=filters), explained, frozenset(), len(filters))
        for key in _keys(mentions, filters) if "per" in asked.said else ():
            places = mentions.headers.get(key, frozenset())
            form = Form(kind, measure, key, grouped=True, filters=filters)
            yield Candidate(form, explained | places, frozenset(), len(filters))
    yield from _bests(asked, mentions, measure, filters, explained, numbers)
    yield from _differences(mentions, measure, filters, explained)
    key = subject.naming
    shown = explained | mentions.headers.get(key, frozenset())
    for kind in (forms.HIGHEST, forms.LOWEST):
        yield Candidate(Form(kind, measure, key, filters=filters), shown, frozenset(), len(filters))
        for at, most in _mosts(asked, numbers):
            form = Form(kind, measure, key, most=most, filters=filters)
            yield Candidate(form, shown | {at}, frozenset({at}), len(filters))
    for number in (asked.written[at] for at in numbers if at in asked.written):
        at = number.places[0]
        if (value := number.among(subject.measures.get(measure, Measure()))) is None:
            continue
        for op, said in ((">", "above"), ("<", "below")):
            if is_year(asked.tokens, at) and asked.said.get(said, (0, -1))[1] not in (at, at - 1):
                continue  # a year is a limit only where words before it say so
            limit = Filter(measure, op, value)
            for kind in (forms.ROWS, forms.COUNT):
                form = Form(kind, measure, key, filters=[*filters, limit])
                yield Candidate(form, shown.union(number.places), frozenset({at}), len(filters))


def _bests(
    asked: Asked, mentions: Mentions, measure: int, filters: list[Filter], explained: frozenset[int],
    numbers: Sequence[int],
) -> Iterator[Candidate]:  # fmt: skip
    """Yield the groups with the greatest or least total, or number of rows for no measure."""
    for key in _keys(mentions, filters):
        if len(mentions.subject.values[key]) >= mentions.subject.rows:
            continue  # each group is one row
        places = explained | mentions.headers.get(key, frozenset())
        for kind in (forms.HIGHEST, forms.LOWEST):
            form = Form(kind, measure, key, grouped=True, filters=filters)
            yield Candidate(form, places, frozenset(), len(filters))
            for at, most in _mosts(asked, numbers):
                form = Form(kind, measure, key, grouped=True, most=most, filters=filters)
                yield Candidate(form, places | {at}, frozenset({at}), len(filters))


def _differences(
    mentions: Mentions, measure: int, filters: list[Filter], explained: frozenset[int]
) -> Iterator[Candidate]:
    """Yield what a number of a row is more than that of another row, or of another column that the question names."""
    subject = mentions.subject
    if filters:
        for other in subject.numeric:
            if other != measure and other in mentions.headers and measure in mentions.headers:
                form = _difference(measure, filters, *(Side(subject.headers[one], one) for one in (measure, other)))
                yield Candidate(form, explained | mentions.headers[other], frozenset(), len(filters))
    by_column: dict[int, list[Filter]] = {}
    for one in filters:
        by_column.setdefault(one.column, []).append(one)
    for sides in by_column.values():
        if len(sides) == 2 and sides[0] != sides[1]:
            rest = [one for one in filters if one not in sides]
            form = _difference(measure, rest, *(Side(str(one.value), measure, (one,)) for one in sides))
            yield Candidate(form, explained, frozenset(), len(filters))


def _difference(measure: int, filters: list[Filter], *sides: Side) -> Form:
    return Form(forms.DIFFERENCE, measure, filters=filters, sides=sides, inner=forms.ROWS)


def _mosts(asked: Asked, numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return places and values of the first numbers that may be how many rows are asked for."""
    found = []
    for at, token in enumerate(asked.tokens):
        if at in numbers and token.isdecimal() and len(token) < 3 and int(token) > 1:
            found.append((at, int(token)))
        elif not token[0].isdecimal() and (number := forms.place_of(token, asked.numbers)) > 1:
            found.append((at, number))
    return found[:_MOST_NUMBERS]


def _keys(mentions: Mentions, filters: Sequence[Filter]) -> list[int]:
    """Return the columns of texts, named in the question, that groups may have."""
    used = {one.column for one in filters}
    named = [column for column in mentions.subject.values if column in mentions.headers and column not in used]
    return sorted(named, key=lambda one: -mentions.shares[one])[:_MOST_KEYS]


def _columns_of(mentions: Mentions, filters: Sequence[Filter]) -> frozenset[int]:
    return frozenset(at for one in filters for at in mentions.headers.get(one.column, ()))


def _has_word(header: str) -> bool:
    return any(not part[0].isdecimal() for part in forms.tokens(header))
