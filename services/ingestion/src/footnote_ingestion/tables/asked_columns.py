"""Finds which columns a question asks about, of numbers that are measured or limited, of texts that rows go by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from footnote_ingestion.tables.asked_numbers import Number, numbers_of
from footnote_ingestion.tables.asked_words import AskedWords
from footnote_ingestion.tables.forms import (
    BRACKETS,
    DISTINCT,
    HIGHEST,
    LIMITS,
    LOWEST,
    TOTAL,
    Filter,
    alike,
    tokens,
    units,
)


class AskedColumns(AskedWords):
    """The columns that the words of one question mean; `several` are those of which either may be meant."""

    def _names_single_rows(self, column: int) -> bool:
        return len(self._subject.values.get(column, ())) >= self._subject.rows > 0

    def _is_named_total(self, column: int) -> bool:
        """Return whether a column's whole name is a word for totals."""
        return column > 0 and tokens(self._subject.headers[column]) in {
            tuple(units(phrase)) for phrase in self._words.total
        }

    def _measure(
        self, by_header: Mapping[int, set[int]], said: Mapping[str, int], filters: Sequence[Filter]
    ) -> int | None:
        """Return the column of numbers that is asked about, 0 for none; None where several may be."""
        # Words that name the column of a text that rows must have name no other: "global vulnerability is high".
        narrowed = [by_header[one.column] for one in filters if one.op == "=" and one.column in by_header]
        numeric = {
            column: sum(2 if self._asked[place] in tokens(self._subject.headers[column]) else 1 for place in places)
            for column, places in by_header.items()
            if column in self._subject.numeric
            and (self._is_whole(column) or not any(places <= one for one in narrowed))
        }
        if not numeric:
            if any(self._may_be_numbers(column) for column in by_header):
                return None  # it is asked about, and not the only column of numbers
            totals = [one for one in self._subject.numeric if TOTAL in said and self._is_named_total(one)]
            if len(totals) == 1:
                return totals[0]
            return next(iter(self._subject.numeric)) if len(self._subject.numeric) == 1 else 0
        best = max(numeric.values())
        first = [column for column, hits in numeric.items() if hits == best]
        # A column that holds no numbers we know, and is named by the same words, may as well be meant.
        texts = {one.column for one in filters}
        if any(
            by_header[first[0]] <= places for column, places in by_header.items()
            if column != first[0] and not (column in texts and by_header[first[0]] < places)
        ):  # fmt: skip
            return None
        if len(first) == 2 and "comparison" in said:
            return min(first, key=lambda column: min(by_header[column]))  # what is compared
        if len(first) > 1:
            self.several += [self._subject.headers[column] for column in sorted(first)]
        return first[0] if len(first) == 1 else None

    def _compared_columns(self, said: Mapping[str, int], by_header: Mapping[int, set[int]]) -> Filter | None:
        """Return that one column's number is above or below another's, whose names stand before and after the word."""
        for form, op in LIMITS.items():
            if (place := said.get(form)) is None:
                continue
            named = {column: by_header[column] for column in by_header if column in self._subject.numeric}
            before = [column for column, places in named.items() if max(places) < place]
            after = [column for column, places in named.items() if min(places) >= place]
            if len(before) == len(after) == 1:
                return Filter(before[0], op, 0.0, after[0])
        return None

    def _is_by_one(self, place: int) -> bool:
        """Return whether "by" stands before the one text of cells, with its column or without: "by sensor H2"."""
        while place < len(self._asked) and (
            self._taken.get(place) == "header" or (place not in self._taken and self._asked[place] in self._stop)
        ):
            place += 1
        after = {one.column for one, at in self._starts.items() if at >= place}
        return self._taken.get(place) == "value" and len(after) == sum(at >= place for at in self._starts.values())

    def _is_whole(self, column: int) -> bool:
        """Return whether the question says all words of a column's name that mean something."""
        header = tokens(BRACKETS.sub(" ", self._subject.headers[column]))
        return all(one in self._stop or any(alike(word, one) for word in self._asked) for one in header)

    def _limits(self, said: Mapping[str, int]) -> list[tuple[str, Number]]:
        found, numbers = [], numbers_of(self._text, self._language)
        for form, op in LIMITS.items():
            place = said.get(form)
            if place is not None and self._asked[place : place + 1] and self._asked[place] in self._stop:
                place += 1  # "more than the 200"
            if place in self._free() and place is not None and (number := numbers.get(place)) is not None:
                found.append((op, number))
                self._take(number.places, "number")
        return found

    def _may_be_numbers(self, column: int) -> bool:
        """Return whether a column of texts looks like one of numbers, as "62,994" does, which may be 63 or 62994."""
        texts = self._subject.values.get(column, ())
        return 2 * sum(map(_like_a_number, texts)) > len(texts)

    def _key(self, by_header: Mapping[int, set[int]], said: Mapping[str, int], filters: Sequence[Filter]) -> int | None:
        texts = [column for column in by_header if column in self._subject.values]
        if "per" in said:
            after = {column: [place for place in by_header[column] if place >= said["per"]] for column in texts}
            nearest = min((place for places in after.values() for place in places), default=-1)
            near = [column for column in texts if nearest in after[column]]
            if not near and (HIGHEST in said or LOWEST in said):
                # The first so many "by" a number, of rows or of what the question names.
                return (texts or [self._subject.naming])[0] if len(texts) < 2 else None
            return near[0] if len(near) == 1 else None
        if DISTINCT in said and texts:  # "how many different towns have we sold to": the nearest
            return min(texts, key=lambda column: min(abs(place - said[DISTINCT]) for place in by_header[column]))
        # "In the town Lyon" names no groups: all rows are of one.
        named = [one.column for one in filters if one.op == "="]
        groups = [one for one in texts if named.count(one) != 1]
        return groups[0] if len(groups) == 1 else self._subject.naming


def _like_a_number(text: str) -> bool:
    """Return whether a text begins with a figure, but for signs, and has no Latin letter."""
    first = next((char for char in text if char.isalnum()), "")
    return first.isdigit() and not any(char.isascii() and char.isalpha() for char in text)
