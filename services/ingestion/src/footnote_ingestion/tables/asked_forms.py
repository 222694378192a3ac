"""Matches a question to a form over tables; a question with an unexplained word matches none.

A word is explained if it is one of the locale's words for forms, is part of a column's headers, of a value in a column,
or of the name of the table or its file, is a number or a period that counts, or adds nothing to the meaning. Each word
of a form must be used by the form: what is asked beside it would be left out otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from footnote_text.lexical import fold, is_unspaced
from footnote_text.locales import TableWords
from footnote_text.stopwords import STOP_WORDS

from footnote_ingestion.tables import literals
from footnote_ingestion.tables.asked_periods import AskedPeriods
from footnote_ingestion.tables.currencies import Money, sets_apart_by_space
from footnote_ingestion.tables.forms import (
    AVERAGE,
    BRACKETS,
    COUNT,
    DIFFERENCE,
    FORMS,
    HIGHEST,
    LIMITS,
    LOWEST,
    ROWS,
    SEVERAL,
    TOTAL,
    Filter,
    Form,
    Subject,
    alike,
    number_of,
    place_of,
    runs,
    same_word,
    tokens,
    units,
)
from footnote_ingestion.tables.mentions import SHORTEST_RUN, TURNING, longest_run

_LINKING = frozenset({"que", "ou", "o", "che", "or", "oder", "als", "u", "e"})
"""Words that turn a question's meaning only beside words that are unknown, or are other words without accents."""
_MOST_NAMED = 5
_THOUSANDS = 3


def read(question: str, subject: Subject, words: TableWords, language: str) -> Form | None:
    """Return the form that a question has over a table, None where it has none or a word of it is not known."""
    return AskedForm(question, subject, words, language).form()


class AskedForm:
    """One question over one table. `unknown` are the words that nothing explains, `several` what may be meant."""

    def __init__(self, question: str, subject: Subject, words: TableWords, language: str) -> None:
        self._asked, self._subject, self._words, self._language = tokens(question), subject, words, language
        self._text = question
        self._taken: dict[int, str] = {}
        self._stop = {fold(word) for word in STOP_WORDS.get(language, ())}
        self._named_by_default = False
        self.unknown: list[str] = []
        self.several: list[str] = []
        self.known = 0

    def form(self) -> Form | None:
        """Return the form, None where there is none; of kind SEVERAL where several columns may be meant."""
        self._file()
        values = self._values_of_periods()
        when = AskedPeriods(self._asked, self._subject, self._words, self._language, {*self._taken, *values})
        self._take(when.places, "period")
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
        money = Money(self._text, self._asked, self._language)
        self._take(money.words(set(self._subject.currencies.values())) & set(self._free()), "currency")
        is_known = self._rest_says_nothing()
        self.known = sum(kind in ("header", "value", "about", "period") for kind in self._taken.values())
        if not is_known:
            return None
        placed = when.placed(by_header, compares="comparison" in said)
        self.unknown += placed.unknown
        if placed.unknown:
            return None
        measure = placed.columns[0] if placed.columns else self._measure(by_header)
        key = self._key(by_header, said)
        if key is None:
            return None
        if measure is None or placed.several:
            self.several += placed.several
            return Form(SEVERAL, known=self.known)
        if not money.is_in(self._subject.currencies.get(measure, "")):
            return None
        form = Form(ROWS, measure, key, most=most, known=self.known, added=placed.columns[1:])
        form.filters = [*filters, *placed.filters, *(Filter(measure, op, value) for op, value in limits)]
        return self._decided(form, said, by_header, limits, is_placed=bool(placed.columns))

    def why(self) -> str:
        """Return why there is no form, or several, as a sentence; "" where no word or column says it."""
        if self.unknown:
            return f"Not understood in the question: {', '.join(self.unknown[:_MOST_NAMED])}."
        if self.several:
            return f"Several columns may be meant: {', '.join(self.several[:_MOST_NAMED])}."
        return ""

    def _decided(
        self, form: Form, said: Mapping[str, int], by_header: Mapping[int, set[int]],
        limits: Sequence[tuple[str, float]], *, is_placed: bool,
    ) -> Form | None:  # fmt: skip
        """Return a form with its kind; None where a word of a form would not be used."""
        measure, named = form.measure, form.measure in by_header or is_placed
        self._named_by_default = not named
        asked = {one for one in said if one not in LIMITS}
        if any(one in LIMITS for one in said) != bool(limits) and "comparison" not in said:
            return None
        if "comparison" in asked:
            return self._difference(form, asked, by_header)
        best = next((one for one in (HIGHEST, LOWEST) if one in asked), "")
        if best:
            return self._best(form, best, asked, by_header)
        if "per" in asked:
            form.grouped, form.kind = True, next((one for one in (AVERAGE, COUNT, TOTAL) if one in asked), TOTAL)
            if form.kind == COUNT:
                form.measure, form.added = (0, ()) if not named else (measure, form.added)
                form.kind = COUNT if not named else TOTAL
            elif form.kind == AVERAGE and form.key == self._subject.naming and self._names_single_rows(form.key):
                form.grouped = False
        elif AVERAGE in asked:
            form.kind = AVERAGE
        elif COUNT in asked and not (named and not limits):
            form.kind, form.measure, form.added = COUNT, measure if limits else 0, form.added if limits else ()
        elif TOTAL in asked or COUNT in asked:
            form.kind = TOTAL
        elif not limits:
            return None
        if limits and not measure:
            return None
        return form if form.measure or form.kind == COUNT else None

    def _best(self, form: Form, best: str, asked: set[str], by_header: Mapping[int, set[int]]) -> Form | None:
        """Return the form of what is greatest or least: of rows, or of groups by their total, mean or number."""
        subject = self._subject
        form.kind = best
        texts = [column for column in by_header if column in subject.values]
        others = [column for column in texts if column != subject.naming]
        if self._named_by_default and subject.naming in texts and len(texts) == 2:
            # "The town with the most items": rows are counted.
            return Form(best, 0, others[0], grouped=True, most=form.most, filters=form.filters, known=form.known)
        if "per" in asked and not self._is_ordered_by(form):
            return None
        if not form.measure or (self._named_by_default and "about" in self._taken.values() and others):
            return None
        if form.key in others and len(subject.values[form.key]) < subject.rows:
            inner = [one for one in (TOTAL, AVERAGE) if one in asked]
            if len(inner) != 1 or COUNT in asked:
                form.inner = ROWS  # rows or groups: decided where both give the same
            else:
                form.inner = inner[0]
            form.grouped = True
            return form
        return form if AVERAGE not in asked else None

    def _is_ordered_by(self, form: Form) -> bool:
        """Return whether "by" names the column of numbers: "the first three by price"."""
        header = tokens(self._subject.headers[form.measure]) if form.measure else ()
        place = max((at for at, kind in self._taken.items() if kind == "form"), default=-1)
        return any(alike(word, part) for word in self._asked[place + 1 :] for part in header)

    def _difference(self, form: Form, asked: set[str], by_header: Mapping[int, set[int]]) -> Form | None:
        """Return the difference of two rows in a column, or of two columns in a row."""
        form.kind = DIFFERENCE
        if asked & {AVERAGE, HIGHEST, LOWEST, "per"}:
            return None
        by_column: dict[int, list[Filter]] = {}
        for one in form.filters:
            if one.op == "=" and one not in by_column.setdefault(one.column, []):
                by_column[one.column].append(one)
        pairs = [sides for sides in by_column.values() if len(sides) == 2]
        if len(pairs) == 1 and not form.added:
            form.sides = (pairs[0][0], pairs[0][1])
            form.filters = [one for one in form.filters if one not in pairs[0]]
            return form if form.measure else None
        columns = form.measures
        if not form.added:
            columns = tuple(sorted(
                (one for one in by_header if one in self._subject.numeric), key=lambda one: min(by_header[one])
            ))  # fmt: skip
        if pairs or len(columns) != 2 or not form.filters:
            return None
        # Of periods the later without the earlier, of others the one that the question names first.
        form.measure, form.other = columns[::-1] if form.added else columns
        form.added = ()
        return form

    def _names_single_rows(self, column: int) -> bool:
        return len(self._subject.values.get(column, ())) >= self._subject.rows > 0

    def _values_of_periods(self) -> set[int]:
        """Return the places of texts of cells of several words, which may have a month within."""
        there = set(self._asked)
        every = {tokens(value) for values in self._subject.values.values() for value in values}
        longer = [parts for parts in every if len(parts) > 1 and there.issuperset(parts)]
        return {at for parts in longer for start, end in self._places(parts, exact=True) for at in range(start, end)}

    def _file(self) -> None:
        """Take the name of the table's file, which is no header even where it has the same words."""
        for start, end in self._places(tokens(self._subject.filename), exact=True):
            self._take(range(start, end), "file")

    def _forms(self) -> dict[str, int]:
        """Return the forms whose words stand in the question, by the place after them; longest words first."""
        found: dict[str, int] = {}
        phrases = [(phrase, form) for form in FORMS for phrase in getattr(self._words, form)]
        for phrase, form in sorted(phrases, key=lambda one: -len(one[0])):
            for start, end in self._places(list(units(phrase)), exact=True):
                self._take(range(start, end), "form")
                found.setdefault(form, end)
        return found

    def _values(self) -> list[Filter] | None:
        """Return which texts of columns the question names, in its order; None where several columns may be meant.

        Of several columns that have a text, the one that the question names is meant: "to Madrid" is not "from Madrid".
        """
        found: list[tuple[int, Filter]] = []
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
                found.append((start, Filter(column, "=", one)))
        return [one for _, one in sorted(found, key=lambda one: one[0])]

    def _names(self, column: int) -> bool:
        """Return whether the question has a word of a column's headers."""
        header = tokens(BRACKETS.sub(" ", self._subject.headers[column]))
        return any(alike(word, part) for word in self._asked for part in header)

    def _headers(self) -> dict[int, set[int]]:
        """Return which words of the question, by their places, each column's headers hold."""
        hits: dict[int, set[int]] = {}
        for column, header in self._subject.headers.items():
            for unit in runs(BRACKETS.sub(" ", header)):
                there = list(self._places(unit, exact=False))
                if not there and is_unspaced(unit[0][0]):
                    start, size = longest_run(self._asked, unit)
                    there = [(start, start + size)] if size >= SHORTEST_RUN else []
                for start, end in there:
                    hits.setdefault(column, set()).update(range(start, end))
        for places in hits.values():
            self._take(places, "header")
        return hits

    def _limits(self, said: Mapping[str, int]) -> list[tuple[str, float]]:
        found = []
        for form, op in LIMITS.items():
            place = said.get(form)
            if place is not None and self._asked[place : place + 1] and self._asked[place] in self._stop:
                place += 1  # "more than the 200"
            if place in self._free() and place is not None and self._asked[place][0].isdecimal():
                digits = self._digits(place)
                found.append((op, number_of("".join(self._asked[at] for at in digits))))
                self._take(digits, "number")
        return found

    def _digits(self, place: int) -> range:
        """Return the places of a number of which spaces set thousands apart, where a language writes it so."""
        end, written = place + 1, self._asked[place]
        while (
            end in self._free() and len(self._asked[end]) == _THOUSANDS and self._asked[end].isdecimal()
            and len(self._asked[place]) <= _THOUSANDS and sets_apart_by_space(self._language)
            and f"{written} {self._asked[end]}" in " ".join(self._text.split())
        ):  # fmt: skip
            written += f" {self._asked[end]}"
            end += 1
        return range(place, end)

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
        if len(first) > 1:
            self.several += [self._subject.headers[column] for column in sorted(first)]
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
            if not near and (HIGHEST in said or LOWEST in said):
                # The first so many "by" a number, of rows or of what the question names.
                return (texts or [self._subject.naming])[0] if len(texts) < 2 else None
            return near[0] if len(near) == 1 else None
        return texts[0] if len(texts) == 1 else self._subject.naming

    def _rest_says_nothing(self) -> bool:
        for phrase in self._words.said:
            for start, end in self._places(list(units(phrase)), exact=True, over=("header", "period")):
                self._take(range(start, end), "said")
        turning = {fold(one) for one in TURNING.get(self._language, "").split()} - _LINKING
        self.unknown += [
            self._asked[place] for place in self._free()
            if self._asked[place] not in self._stop or self._asked[place] in turning
        ]  # fmt: skip
        return not self.unknown

    def _free(self) -> list[int]:
        return [place for place in range(len(self._asked)) if place not in self._taken]

    def _take(self, places: Iterable[int], kind: str) -> None:
        for place in places:
            self._taken.setdefault(place, kind)

    def _places(
        self, parts: Sequence[str], *, exact: bool, over: Sequence[str] = ("header",)
    ) -> Iterator[tuple[int, int]]:
        """Yield where words occur consecutively among those not taken yet, or taken as one of `over`."""
        for start in range(len(self._asked) - len(parts) + 1):
            there = range(start, start + len(parts))
            if any(place in self._taken and self._taken[place] not in over for place in there):
                continue
            if all(same_word(self._asked[place], part, exact) for place, part in zip(there, parts, strict=True)):
                yield start, start + len(parts)


def _like_a_number(text: str) -> bool:
    """Return whether a text begins with a figure, but for signs, and has no Latin letter."""
    first = next((char for char in text if char.isalnum()), "")
    return first.isdigit() and not any(char.isascii() and char.isalpha() for char in text)
