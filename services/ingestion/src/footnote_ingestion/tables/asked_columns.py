"""Finds which columns a question asks about, of numbers that are measured or limited, of texts that rows go by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from footnote_text.lexical import fold, is_unspaced
from footnote_text.turning import DENYING

from footnote_ingestion.tables.asked_numbers import Number, numbers_of
from footnote_ingestion.tables.asked_rest import AskedRest
from footnote_ingestion.tables.asked_words import written
from footnote_ingestion.tables.forms import (
    BRACKETS,
    BROKEN,
    DISTINCT,
    HIGHEST,
    LIMITS,
    LOWEST,
    TOTAL,
    Filter,
    Form,
    alike,
    place_of,
    same_word,
    tokens,
    units,
)
from footnote_ingestion.tables.periods import of_name


class AskedColumns(AskedRest):
    """The columns that the words of one question mean; `several` are those of which either may be meant."""

    def _names_single_rows(self, column: int) -> bool:
        return len(self._subject.values.get(column, ())) >= self._subject.rows > 0

    def _may_count_rows(self, form: Form, by_header: Mapping[int, set[int]]) -> bool:
        """Return whether an unknown noun may be that of rows: of some, by a column that the question names.

        "How many employees live in Lyon" asks for none of the orders of Lyon.
        """
        subject = self._subject
        names = subject.values.get(subject.naming, ())
        narrows = any(
            one.column in by_header and not self._names_single_rows(one.column) and one.column not in subject.daily
            for one in form.filters
        )
        return narrows and not all(of_name(name, self._language) for name in names)

    def _is_of_noun(self, form: Form, by_header: Mapping[int, set[int]]) -> bool:
        """Return whether what is measured only says of which kind the rows are: "how many ammonia plants"."""
        own, after = by_header.get(form.measure, set()), self._counted + 1
        while after in own:
            after += 1
        filtered = {one.column for one in form.filters}
        named = any(
            after in places for one, places in by_header.items()
            if one in self._subject.values and one not in filtered
        )  # fmt: skip
        return self._counted in own and (named or self._taken.get(after) == "about")

    def _of_name(self) -> set[int]:
        """Return the places of words that the table's name or its file's has, also where columns have them."""
        name = tokens(self._subject.about)
        return {
            at for at, word in enumerate(self._asked)
            if word not in self._stop and any(alike(word, one) for one in name)
        }  # fmt: skip

    def _name(self, column: int) -> tuple[str, ...]:
        return tokens(BROKEN.sub("", BRACKETS.sub(" ", self._subject.headers[column])))

    def names_whole(self, form: Form) -> bool:
        """Return whether the question says the whole name of what a form measures."""
        return form.measure > 0 and self._is_whole(form.measure)

    def _is_named_total(self, column: int) -> bool:
        """Return whether a column's whole name is a word for totals."""
        return column > 0 and tokens(self._subject.headers[column]) in {units(phrase) for phrase in self._words.total}

    def _measure(
        self, by_header: Mapping[int, set[int]], said: Mapping[str, int], filters: Sequence[Filter]
    ) -> int | None:
        """Return the column of numbers that is asked about, 0 for none; None where several may be."""
        # Words that name the column of a text that rows must have name no other: "global vulnerability is high".
        narrowed = [by_header[one.column] for one in filters if one.op == "=" and one.column in by_header]
        numeric = {
            column: sum(2 if self._asked[place] in self._name(column) else 1 for place in places)
            for column, places in by_header.items()
            if column in self._subject.numeric - self._times
            and (self._is_whole(column) or not any(places <= one for one in narrowed))
        }
        if not numeric:
            rest = self._subject.numeric - self._times
            if any(self._may_be_numbers(column) for column in by_header):
                return None  # it is asked about, and not the only column of numbers
            totals = [one for one in self._subject.numeric if TOTAL in said and self._is_named_total(one)]
            if len(totals) == 1:
                return totals[0]
            return next(iter(rest)) if len(rest) == 1 else 0
        best = max(numeric.values())
        first = [column for column, hits in numeric.items() if hits == best]
        # "Orders in total" are of "Orders - Total", and not of "Orders - Paid".
        whole = [column for column in first if self._is_whole(column)]
        if is_whole := len(whole) == 1:
            first = whole
        # A column that holds no numbers we know, and is named by the same words, may as well be meant.
        texts = {one.column for one in filters}
        if any(
            by_header[first[0]] <= places for column, places in by_header.items()
            if column != first[0] and numeric.get(column, best) == best and column not in self._times
            and not (column in texts and by_header[first[0]] < places)
            and not (is_whole and column in numeric and not self._is_whole(column))
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

    def _is_time(self, place: int, by_header: Mapping[int, set[int]]) -> bool:
        return any(place in by_header[one] for one in self._times)

    def _is_by_one(self, place: int, by_header: Mapping[int, set[int]]) -> bool:
        """Return whether "by" stands before the one text of cells, with its column or without: "by sensor H2"."""
        while place < len(self._asked) and (
            (self._taken.get(place) == "header" and not self._is_time(place, by_header))
            or (place not in self._taken and self._asked[place] in self._stop)
        ):
            place += 1
        after = {one.column for one, at in self._starts.items() if at >= place}
        return self._taken.get(place) == "value" and len(after) == sum(at >= place for at in self._starts.values())

    def _is_whole(self, column: int) -> bool:
        """Return whether the question says all words of a column's name that mean something, or others for a form."""
        header = self._name(column)
        small = self._stop | self._words_of_forms
        return all(one in small or any(alike(word, one) for word in self._asked) for one in header)

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

    def _most(self, said: Mapping[str, int]) -> int:
        if HIGHEST in said or LOWEST in said:
            for place in self._free():
                word = self._asked[place]
                number = int(word) if word.isdecimal() and len(word) < 3 else place_of(word, self._words.numbers)
                if number > 1:
                    self._taken[place] = "number"
                    return number
        return 1

    def _numbered(self, by_header: dict[int, set[int]]) -> list[Filter]:
        """Return which numbers rows must have in columns whose names stand beside them: "class 3", "3班".

        Such a column is not measured. What else "from class 3" may mean is not known: only less strictly it is read.
        """
        found: list[Filter] = []
        for number in numbers_of(self._text, self._language).values() if self._leaves_out else ():
            if (
                number.unit
                or number.is_money
                or number.power is not None
                or not set(number.places) <= set(self._free())
            ):
                continue
            first, last = number.places[0], number.places[-1]
            named = {
                (one, at) for one in self._subject.numeric for at in (first - 1, last + 1)
                if self._is_named_at(one, at, by_header)
            }  # fmt: skip
            if len({one for one, _ in named}) != 1:
                continue
            column = next(one for one, _ in named)
            places = sorted({*number.places, *(at for _, at in named)})
            own = by_header.get(column, set())
            while places[0] - 1 in own:
                places.insert(0, places[0] - 1)
            if self._follows_side(places[0]):
                continue  # "up to class 3"
            self._take(places, "header")
            self._numbered_at |= {places[0]}
            for one in list(by_header):  # "items with price 7" name no "Price net"
                by_header[one] -= set(places)
                if not by_header[one] or one == column:
                    del by_header[one]
            self.read_as[written([self._asked[at] for at in places])] = self._subject.headers[column]
            found.append(Filter(column, "==", number.value))
        return found

    def _truths(self, by_header: Mapping[int, set[int]]) -> list[Filter]:
        """Return which truth values rows must have: "active" asks for that of the column, "not active" for the other.

        What denies stands before what it denies; in a language where it stands behind, nothing is asked for. A word in
        another form, as of "were opened", is only less strictly one for the column.
        """
        denying = set(map(fold, DENYING.get(self._language, "").split()))
        found: list[Filter] = []
        for column in self._subject.truths & by_header.keys() if denying else ():
            own, name = by_header[column], self._name(column)
            read_as = written([self._asked[at] for at in sorted(own) if self._asked[at] not in name])
            if any(own & places for one, places in by_header.items() if one != column) or not self._is_whole(column):
                continue
            place, denied = min(own) - 1, list[int]()
            while place in self._free() and (self._asked[place] in self._stop or self._asked[place] in denying):
                denied += [place] if self._asked[place] in denying else []
                place -= 1
            if (read_as and not self._leaves_out) or any(at - 1 in denied for at in denied):
                continue  # "not without"
            self.read_as.update({read_as: self._subject.headers[column]} if read_as else {})
            self._take(denied, "form")
            found.append(Filter(column, "is", not denied))
        return found

    def _follows_side(self, place: int) -> bool:
        """Return whether words stand before a place that order in time or size: "after", "up to", "above the"."""
        sides = (getattr(self._words, one) for one in (*LIMITS, "after", "before", "since", "until", "between"))
        every = [units(phrase) for phrases in sides for phrase in phrases]
        first = place
        while first > 0 and self._asked[first - 1] in self._stop:
            first -= 1
        return any(
            all(map(partial(same_word, exact=True), self._asked[end - len(one) : end], one))
            for end in range(first, place + 1) for one in every if len(one) <= end
        )  # fmt: skip

    def _is_named_at(self, column: int, place: int, by_header: Mapping[int, set[int]]) -> bool:
        """Return whether a place has a whole name of a column, or in scripts without spaces its first character."""
        if place in by_header.get(column, ()):
            return self._is_whole(column)
        name = tokens(self._subject.headers[column])
        return place in self._free() and is_unspaced(self._asked[place][0]) and name[:1] == (self._asked[place],)

    def _may_be_numbers(self, column: int) -> bool:
        """Return whether a column of texts looks like one of numbers, as "62,994" does, which may be 63 or 62994."""
        texts = self._subject.values.get(column, ())
        return 2 * sum(map(_like_a_number, texts)) > len(texts)

    def _key(self, by_header: Mapping[int, set[int]], said: Mapping[str, int], filters: Sequence[Filter]) -> int | None:
        texts = [column for column in by_header if column in self._subject.values]
        if "per" in said:
            texts += self._times
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
