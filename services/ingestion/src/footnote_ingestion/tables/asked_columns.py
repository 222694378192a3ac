"""Finds which columns of a table a question asks about: of numbers that are measured, of texts that rows go by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from footnote_ingestion.tables.asked_words import AskedWords
from footnote_ingestion.tables.forms import DISTINCT, HIGHEST, LOWEST, TOTAL, Filter, tokens, units


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
        numeric = {
            column: sum(2 if self._asked[place] in tokens(self._subject.headers[column]) else 1 for place in places)
            for column, places in by_header.items()
            if column in self._subject.numeric
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
