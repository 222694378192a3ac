"""Which columns and rows of a table the periods of a question mean: "in May", "from 2022 to 2024", "after 30 June"."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import pairwise

from footnote_text.lexical import fold, is_unspaced
from footnote_text.locales import TableWords
from footnote_text.stopwords import STOP_WORDS

from footnote_ingestion.tables import periods
from footnote_ingestion.tables.forms import (
    LIMITS,
    Filter,
    Side,
    Subject,
    alike,
    places_of_words,
    same_word,
    tokens,
    units,
)
from footnote_ingestion.tables.periods import DAY, YEAR, Period

_SIDES = ("after", "before", "since", "until")
_DASHES = frozenset("-–—~～至")
_MOST_BETWEEN = 4
"""The most words between the two ends of a range."""


@dataclass(slots=True)
class Placed:
    """Columns of numbers in the order of the question, and what rows must have; else what is unknown or ambiguous."""

    columns: tuple[int, ...] = ()
    filters: list[Filter] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    several: list[str] = field(default_factory=list)


class AskedPeriods:
    """The periods of a question, with the words that order them in time, at `places`."""

    def __init__(
        self, asked: Sequence[str], subject: Subject, words: TableWords, language: str, taken: Collection[int],
        text: str = "",
    ) -> None:  # fmt: skip
        self._asked, self._subject, self._words, self._language = asked, subject, words, language
        self._small = {fold(one) for one in STOP_WORDS.get(language, ())}
        self._about = tokens(subject.about)
        self._text = text
        found = [self._with_parts(one) for one in periods.periods(asked, language)]
        self._periods = [
            one for one in found if not set(taken) & set(range(one.start, one.end)) and not self._is_limit(one)
        ]
        own = periods.of_name(subject.about.removeprefix(subject.filename), language)
        is_part = own is not None and own.unit != YEAR  # a sheet for a month is not that of the year
        named = [one for one in self._periods if one.unit == YEAR and str(one.year) in self._about and not is_part]
        if len(named) < len(self._periods) or not (self._dated() or subject.dates or subject.years):
            # "In March 2025" and a file of 2025; of a year alone it is the name, where the table has no others.
            kept = [one for one in self._periods if one not in named or self._has_year(one)]
            self._periods = kept
        self._side = ""
        self._is_range = False
        self.places: set[int] = {at for one in self._periods for at in range(one.start, one.end)}
        self._read_sides()

    def _with_parts(self, period: Period) -> Period:
        """Return a year with the words before it for all its parts: "the four quarters of 2009", "12 Monate 2009"."""
        noun = period.start - 1
        while noun > 0 and self._asked[noun] in self._small:
            noun -= 1
        for unit in (periods.QUARTER, periods.MONTH) if period.unit == YEAR and noun > 0 else ():
            count = periods.parts(unit, YEAR)
            said = (str(count), *(fold(one) for one in self._words.numbers[count - 2 : count - 1]))
            if self._asked[noun] in periods.nouns_of(unit, self._language) and self._asked[noun - 1] in said:
                return replace(period, start=noun - 1)
        return period

    def _is_limit(self, period: Period) -> bool:
        """Return whether a number of four figures is a limit, "more than 2000", and no year of columns or rows."""
        is_alone = period.unit == YEAR and period.end - period.start == 1
        if not is_alone or not any(self._before(side, period) for side in LIMITS):
            return False
        column = self._texts()
        of_rows = (periods.of_name(one, self._language) for one in self._subject.values.get(column or 0, ()))
        named = (*self._dated().values(), *(one for one in of_rows if one is not None))
        return period.year not in {one.year for one in named}

    def _has_year(self, period: Period) -> bool:
        return bool(self._subject.dates or self._subject.years) or any(
            one.year == period.year for one in self._dated().values()
        )

    def _read_sides(self) -> None:
        """Find the words before a single period, or between two, that say which side of it counts."""
        # "Over 2022, 2023 and 2024"; of one year of rows it may be a limit, and stays unexplained.
        is_year = [(one.unit, one.end - one.start) for one in self._periods] == [(YEAR, 1)]
        for side in ("above", "below") if self._periods and (self._dated() or not is_year) else ():
            self.places |= self._before(side, self._periods[0])
        if len(self._periods) == 2:
            first, second = self._periods
            between = range(first.end, second.start)
            closes = len(between) <= _MOST_BETWEEN and any(self._found("to", at, set(between)) for at in between)
            opens = self._before("between", first)
            if closes or opens or self._is_dashed(first, second):
                self._is_range = True
                self.places |= set(between) | opens
        elif len(self._periods) == 1:
            (only,) = self._periods
            for side in _SIDES:
                found = self._before(side, only) or (
                    is_unspaced(self._asked[only.end - 1][0]) and self._after(side, only)
                )
                if found:
                    self._side = side
                    self.places |= found
                    return

    def _is_dashed(self, first: Period, second: Period) -> bool:
        """Return whether only a dash stands between two periods: "January–June 2024"."""
        spans = list(places_of_words(self._text))
        if first.end != second.start or len(spans) != len(self._asked):
            return False
        return self._text[spans[first.end - 1][1] : spans[second.start][0]].strip() in _DASHES

    def _before(self, side: str, period: Period) -> set[int]:
        """Return the places of a phrase that stands before a period, at most one small word between."""
        for phrase in getattr(self._words, side):
            size = len(units(phrase))
            for gap in (0, 1):
                start = period.start - gap - size
                if start < 0 or (gap and self._asked[period.start - 1] not in self._small):
                    continue
                if self._is(phrase, start):
                    return set(range(start, period.start))
        return set()

    def _after(self, side: str, period: Period) -> set[int]:
        for phrase in getattr(self._words, side):
            if self._is(phrase, period.end):
                return set(range(period.end, period.end + len(units(phrase))))
        return set()

    def _found(self, side: str, at: int, within: Collection[int]) -> bool:
        return any(
            self._is(phrase, at) and at + len(units(phrase)) - 1 in within for phrase in getattr(self._words, side)
        )

    def _is(self, phrase: str, start: int) -> bool:
        there = units(phrase)
        words = self._asked[start : start + len(there)]
        return len(words) == len(there) and all(
            same_word(word, part, exact=True) for word, part in zip(words, there, strict=True)
        )

    def _dated(self) -> dict[int, Period]:
        """Return the periods that columns of numbers are named by."""
        found = {one: periods.of_name(self._subject.headers[one], self._language) for one in self._subject.numeric}
        return {column: period for column, period in sorted(found.items()) if period is not None}

    def placed(self, by_header: Mapping[int, set[int]], *, compares: bool) -> Placed:
        """Return what the periods mean; `by_header` are the places of the question's words that columns' names have.

        Where it `compares`, a range means its two ends.
        """
        made = Placed()
        if compares and len(self._periods) == 2:
            self._is_range = False
        if not self._periods:
            return made
        said = [" ".join(self._asked[one.start : one.end]) for one in self._periods]
        if dated := self._dated():
            self._columns(made, dated, by_header)
        elif self._subject.dates:
            self._rows(made, by_header)
        elif self._side or self._is_range:
            self._run_of_years(made)
            self._run_of_rows(made)
        elif self._subject.years or self._texts() is not None:
            self._named_rows(made, compares=compares)
        if not made.columns and not made.filters and not made.several:
            made.unknown += said
        return made

    def sides(self, by_header: Mapping[int, set[int]], measure: int) -> list[tuple[int, Side]]:
        """Return what each period of a question is as a side that is compared, with its place; none where one is not.

        A year that only one of them has is that of all.
        """
        every, years = self._periods, {one.year for one in self._periods if one.year}
        named = {one.number for one in every if one.number}
        found: list[tuple[int, Side]] = []
        for one in every:
            self._periods = [replace(one, year=min(years)) if len(years) == 1 and one.number in named else one]
            placed = self.placed(by_header, compares=True)
            if placed.unknown or placed.several or len(placed.columns) > 1:
                found = []
                break
            column = placed.columns[0] if placed.columns else measure
            name = self._subject.headers[column] if placed.columns else self._periods[0].name
            found.append((one.start, Side(name, column, tuple(placed.filters))))
        self._periods = every
        return found

    def _columns(self, made: Placed, dated: Mapping[int, Period], by_header: Mapping[int, set[int]]) -> None:
        if self._side:
            return
        names = {column: self._rest(column, dated[column]) for column in dated}
        words = {at for one in self._periods for at in range(one.start, one.end)}
        scores = {
            name: sum(any(alike(word, part) for part in name) for at, word in enumerate(self._asked) if at not in words)
            for name in set(names.values())
        }
        best = [name for name, score in scores.items() if score == max(scores.values())]
        rivals = [
            one for one in self._subject.numeric
            if one in by_header and one not in dated and by_header[one] - words and max(scores.values()) == 0
        ]  # fmt: skip
        if len(best) > 1 and not rivals and (columns := self._named_with(dated)):
            made.columns = columns
            return
        if len(best) > 1 or rivals:
            made.several += [
                self._subject.headers[one] for one in (*rivals, *dated) if one in rivals or names[one] in best
            ]
            return
        own = {column: period for column, period in dated.items() if names[column] == best[0]}
        if self._is_range and (joined := self._joined()) is not None and joined.unit in {p.unit for p in own.values()}:
            self._periods, self._is_range = [joined], False
        found: list[int] = []
        for one in self._periods:
            chosen = self._of_period(one, own)
            if chosen is None:
                return
            if not chosen:
                fitting = [column for column, period in own.items() if one.holds(period)]
                made.several += [self._subject.headers[column] for column in fitting]
                return
            found += chosen
        if self._is_range and len(found) == 2:
            first, last = (own[column] for column in found)
            if first.unit != last.unit or first.order > last.order:
                return
            inside = [c for c, p in own.items() if p.unit == first.unit and first.order < p.order < last.order]
            found = [found[0], *sorted(inside, key=lambda one: own[one].order), found[1]]
        made.columns = tuple(dict.fromkeys(found))

    def _named_with(self, dated: Collection[int]) -> tuple[int, ...]:
        """Return for each period the one column whose whole name the question has there, "Plan 2015"; else nothing."""
        found: list[int] = []
        for one in self._periods:
            names = ((column, tokens(self._subject.headers[column])) for column in dated)
            there = [
                column for column, name in names
                if any(
                    tuple(self._asked[start : start + len(name)]) == name and one.end <= start + len(name)
                    for start in range(max(0, one.end - len(name)), one.start + 1)
                )
            ]  # fmt: skip
            if len(there) != 1 or self._is_range:
                return ()
            found += there
        return tuple(dict.fromkeys(found))

    def _joined(self) -> Period | None:
        """Return the quarter, half or year that a range of months is."""
        first, last = self._periods
        return periods.of_months(replace(first, end=last.start), last)

    def _rest(self, column: int, period: Period) -> tuple[str, ...]:
        name = tokens(self._subject.headers[column])
        return (*name[: period.start], *name[period.end :])

    def _of_period(self, asked: Period, own: Mapping[int, Period]) -> list[int] | None:
        """Return the columns that are a period or its parts; none where they are of several years, None for no such."""
        fitting = {
            column: period for column, period in own.items()
            if (asked.holds(period) or (asked.unit == YEAR == period.unit)) and self._same_year(asked, period)
        }  # fmt: skip
        same = [column for column, period in fitting.items() if period.unit == asked.unit]
        if same:
            return same if len(same) == 1 else []
        for unit in (periods.HALF, periods.QUARTER, periods.MONTH):
            inside = sorted((p.order, column) for column, p in fitting.items() if p.unit == unit)
            if inside and len({order[0] for order, _ in inside}) > 1:
                return []
            columns = [column for _, column in inside]
            if len(inside) == periods.parts(unit, asked.unit) > 1:
                return columns if columns == sorted(columns) else []  # else a year that begins in another month
        return None

    def _same_year(self, asked: Period, period: Period) -> bool:
        if not asked.year or asked.year == period.year:
            return True
        return not period.year and str(asked.year) in self._about

    def _rows(self, made: Placed, by_header: Mapping[int, set[int]]) -> None:
        """Find the days of rows that count, in the one column of days or the one that is named."""
        column = next(iter(self._subject.dates))
        if len(self._subject.dates) > 1:
            hits = {one: len(by_header.get(one, ())) for one in self._subject.dates}
            first = [one for one, count in hits.items() if count == max(hits.values())]
            if len(first) > 1:
                made.several += [self._subject.headers[one] for one in sorted(first)]
                return
            column = first[0]
        year = self._subject.only_year.get(column, 0)
        years = {one.year for one in self._periods if one.year}
        if self._is_range and not year and len(years) == 1:  # "between April and June 2014"
            year = years.pop()
        dated = [one if one.year else replace(one, year=year) for one in self._periods]
        if self._is_range and dated[0].order > dated[-1].order:
            return
        if not all(one.year and (one.unit != DAY or one.day) for one in dated):
            return
        first_day, last_day = self._days(dated)
        if first_day is None and last_day is None:
            return
        if first_day is not None:
            made.filters.append(Filter(column, "from", first_day.isoformat()))
        if last_day is not None:
            made.filters.append(Filter(column, "until", last_day.isoformat()))

    def _days(self, dated: Sequence[Period]) -> tuple[date | None, date | None]:
        """Return the first day that counts and the day after the last."""
        ordered = sorted(dated, key=lambda one: one.first)
        touching = all(one.after == two.first for one, two in pairwise(ordered))
        if len(ordered) > 1 and not touching and not self._is_range:
            return None, None
        first, after = ordered[0].first, ordered[-1].after
        return {
            "after": (after, None), "since": (first, None), "before": (None, first), "until": (None, after),
        }.get(self._side, (first, after))  # fmt: skip

    def _texts(self) -> int | None:
        """Return the one column whose texts are all names of periods."""
        found = [
            column for column, values in self._subject.values.items()
            if values and all(periods.of_name(value, self._language) for value in values)
        ]  # fmt: skip
        return found[0] if len(found) == 1 else None

    def _run_of_years(self, made: Placed) -> None:
        """Find the rows of a range by the one column of years."""
        if len(self._subject.years) != 1 or any(one.unit != YEAR for one in self._periods):
            return
        (column,) = self._subject.years
        first, last = (float(one.year) for one in (self._periods[0], self._periods[-1]))
        one_end = {"after": (">", first), "since": (">=", first), "before": ("<", first), "until": ("<=", first)}
        ends = [one_end[self._side]] if self._side else [(">=", first), ("<=", last)]
        made.filters += [Filter(column, op, year) for op, year in ends]

    def _run_of_rows(self, made: Placed) -> None:
        """Find the rows of a range by the column of names of periods: both ends must be there, in periods of a kind."""
        column = self._texts()
        if column is None or self._subject.years or not self._is_range:
            return
        values = self._subject.values[column]
        own = {one: period for one in values if (period := periods.of_name(one, self._language)) is not None}
        ends = [self._of_period(one, dict(enumerate(own.values()))) for one in self._periods]
        if any(end is None or len(end) != 1 for end in ends) or len({one.unit for one in own.values()}) > 1:
            return
        first, last = (list(own.values())[end[0]].order for end in ends if end)
        made.filters += [Filter(column, "=", one) for one, period in own.items() if first <= period.order <= last]

    def _named_rows(self, made: Placed, *, compares: bool) -> None:
        """Find rows by a column of years, a column of names of periods, or both; two years only to compare them."""
        column, years = self._texts(), sorted(self._subject.years)
        if len(years) > 1:
            made.several += [self._subject.headers[one] for one in years]
            return
        wanted = self._periods
        if years and compares and len({one.year for one in wanted}) == 2 and {one.unit for one in wanted} == {YEAR}:
            made.filters += [Filter(years[0], "==", float(one.year)) for one in wanted]
            return
        if years and len({one.year for one in wanted}) == 1 and wanted[0].year:
            made.filters.append(Filter(years[0], "==", float(wanted[0].year)))
            wanted = [replace(one, year=0) for one in wanted if one.unit != YEAR]
        values = [
            (value, periods.of_name(value, self._language)) for value in self._subject.values.get(column or 0, ())
        ]
        own = {at: period for at, (_, period) in enumerate(values) if period is not None}
        for one in wanted:
            chosen = self._of_period(one, own)
            if not chosen:
                made.filters = []
                return
            made.filters += [Filter(column or 0, "=", values[at][0]) for at in chosen]
