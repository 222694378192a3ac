"""Reads which two sides a question compares, or takes from one another: rows, columns or periods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from footnote_ingestion.tables import periods
from footnote_ingestion.tables.asked_columns import AskedColumns
from footnote_ingestion.tables.asked_periods import AskedPeriods
from footnote_ingestion.tables.forms import (
    AVERAGE,
    DIFFERENCE,
    HIGHEST,
    LOWEST,
    RANKS,
    ROWS,
    TOTAL,
    Filter,
    Form,
    Side,
    places_of_words,
)

_APART = frozenset(",:;?，：；？、—–")


class AskedSides(AskedColumns):
    """The sides of a comparison or difference; `known` counts the words of a question that are the table's."""

    known = 0
    _named_by_default = False

    def _passes_over(self, form: Form, by_header: Mapping[int, set[int]]) -> bool:
        """Return whether the question names a column of numbers that a form does not use: "what part of A is B"."""
        filters = form.filters if form.part is None else [*form.filters, form.part]
        used = {*form.measures, *form.beside, *(at for one in filters for at in (one.column, one.other))}
        words = self._of_name().union(*(by_header.get(column, ()) for column in used))
        return any(by_header[one] - words for one in by_header if one in self._subject.numeric and one not in used)

    def _difference(self, form: Form, asked: set[str], by_header: Mapping[int, set[int]]) -> Form | None:
        """Return the difference of two rows in a column, or of two columns in a row."""
        form.kind, form.inner = DIFFERENCE, TOTAL if TOTAL in asked else ROWS
        if asked & {AVERAGE, HIGHEST, LOWEST, "per"}:
            return None
        by_column: dict[int, list[Filter]] = {}
        for one in form.filters:
            if one.op in ("=", "==") and one not in by_column.setdefault(one.column, []):
                by_column[one.column].append(one)
        pairs = [sides for sides in by_column.values() if len(sides) == 2]
        if len(pairs) == 1 and not form.added:
            # Of years the later without the earlier; of others, and with "than", the one that is named first.
            is_later_first = not self._names_in_order()
            first, second = sorted(
                pairs[0], key=lambda one: -one.value if is_later_first and isinstance(one.value, float) else 0
            )
            form.sides = self._rows_of(first, form.measure), self._rows_of(second, form.measure)
            form.filters = [one for one in form.filters if one not in pairs[0]]
            return form if form.measure else None
        columns = form.measures
        if not form.added:
            columns = tuple(sorted(
                (one for one in by_header if one in self._subject.numeric), key=lambda one: min(by_header[one])
            ))  # fmt: skip
        if pairs or len(columns) != 2 or not form.filters:
            return None
        # Of periods the later without the earlier; of others, and with "than", the one that is named first.
        if form.added and not self._names_in_order():
            every = ((one, periods.of_name(self._subject.headers[one], self._language)) for one in columns)
            order = {one: () if period is None else period.order for one, period in every}
            columns = tuple(sorted(columns, key=lambda one: order[one], reverse=True))
        form.measure, form.added = columns[0], ()
        form.sides = tuple(Side(self._subject.headers[one], one) for one in columns)
        return form

    def _names_in_order(self) -> bool:
        """Return whether "than" stands between what the question names: "how many more in 2019 than in 2020"."""
        named = [at for at, kind in self._taken.items() if kind in ("value", "header", "period")]
        return any(
            self._between.get(self._asked[at]) == "than" and min(named, default=at) < at < max(named, default=at)
            for at, kind in self._taken.items() if kind == "form"
        )  # fmt: skip

    def _rows_of(self, one: Filter, measure: int) -> Side:
        return Side(one.value if isinstance(one.value, str) else f"{one.value:.15g}", measure, (one,))

    def _choice(
        self, said: Mapping[str, int], when: AskedPeriods, by_header: Mapping[int, set[int]],
        filters: Sequence[Filter], choices: Sequence[int],
    ) -> Form | None:  # fmt: skip
        """Return the form that puts in order what the question names on both sides of "or": texts, periods, columns."""
        kinds = {RANKS[one] for one in said if one in RANKS}
        if len(kinds) != 1 or not said.keys() <= {*RANKS, TOTAL, AVERAGE}:
            return None  # "how many has A fewer than B" asks for a difference
        by_column: dict[int, list[Filter]] = {}
        for one in filters:
            by_column.setdefault(one.column, []).append(one)
        rows = [column for column, found in by_column.items() if self._are_apart(map(self._starts.get, found), choices)]
        named = {one: at for one, at in by_header.items() if one in self._subject.numeric}
        starts = {column: min(places) for column, places in named.items()}
        is_of_columns = not rows and len(named) > 1 and self._are_apart(starts.values(), choices)
        measure = 0 if is_of_columns else self._measure(by_header, said, filters)
        if measure is None or len(rows) > 1:
            return None
        named_by_default = measure not in by_header and not self._is_named_total(measure)
        naming = self._subject.naming
        if measure and named_by_default and naming in by_header and naming not in rows:
            measure = 0  # "who has more orders, Lyon or Nice": rows are counted
        if not measure and not is_of_columns and naming not in by_header:
            return None
        inner = next((one for one in (AVERAGE, TOTAL) if one in said), ROWS if measure or is_of_columns else TOTAL)
        form = Form(kinds.pop(), measure, naming, known=self.known, inner=inner)
        periods = when.sides(by_header, measure)
        if rows:
            form.sides = tuple(self._rows_of(one, measure) for one in by_column[rows[0]])
        elif is_of_columns:
            columns = sorted(starts, key=lambda one: starts[one])
            form.sides = tuple(Side(self._subject.headers[one], one) for one in columns)
        elif self._are_apart((at for at, _ in periods), choices):
            form.sides = tuple(side for _, side in periods)
        if len({one.name.casefold() for one in form.sides}) < max(2, len(form.sides)):
            return None
        if not self._is_choice(form, rows, by_header, said, choices):
            return None
        form.measure = form.sides[0].measure
        form.filters = [one for one in filters if one.column not in rows]
        if not form.sides[0].filters or rows:  # periods beside it narrow the rows
            placed = when.placed(by_header, compares=False)
            if placed.unknown or placed.several or placed.columns:
                return None
            form.filters += placed.filters
        self._named_by_default = named_by_default and bool(measure)
        if self.left_out and (self._named_by_default or self._passes_over(form, by_header)):
            return None
        return form

    def _is_choice(
        self, form: Form, rows: Sequence[int], by_header: Mapping[int, set[int]], said: Mapping[str, int],
        choices: Sequence[int],
    ) -> bool:  # fmt: skip
        """Return whether the sides are what is asked for, and not where something else is looked for.

        "Which orders in Lyon or Nice are the largest" asks for orders, "the highest price in Lyon or Nice" for a price.
        """
        kinds = {self._between.get(self._asked[place], "than") for place in choices}
        if len(kinds) > 1 or (kinds != {"either"} and len(form.sides) > 2):
            return False
        texts = sorted((min(by_header[one]), one) for one in by_header if one in self._subject.values)
        if form.sides[0].measure and texts and texts[0][1] not in rows:
            return False  # "in which month was A more than B" asks for months
        starts = [self._starts[one] for side in form.sides for one in side.filters if one in self._starts]
        compares = any(one in said for one in RANKS if one not in (HIGHEST, LOWEST))
        return compares or (bool(starts) and (bool(texts) or self._is_set_apart(min(starts))))

    def _is_set_apart(self, place: int) -> bool:
        """Return whether a comma or colon stands before a word, but for empty words between."""
        spans = list(places_of_words(self._text))
        if len(spans) != len(self._asked):
            return False
        while place > 0 and not (gap := self._text[spans[place - 1][1] : spans[place][0]].strip(" '’")):
            if self._asked[place - 1] not in self._stop:
                return False
            place -= 1
        return place > 0 and gap[0] in _APART

    def _are_apart(self, starts: Iterable[int | None], choices: Sequence[int]) -> bool:
        """Return whether of what the question names at `starts` some stands before and some after "or"."""
        there = [one for one in starts if one is not None]
        return any(min(there, default=place) < place < max(there, default=place) for place in choices)
