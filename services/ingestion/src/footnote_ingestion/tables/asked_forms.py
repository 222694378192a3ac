"""Matches a question to a form over tables; strictly, a question with an unexplained word matches none.

A word is explained if it is one of the locale's words for forms, is part of a column's headers, of a value in a column,
or of the name of the table or its file, is a number or a period that counts, or adds nothing to the meaning. Each word
of a form must be used by the form: what is asked beside it would be left out otherwise. Read less strictly, two words
that name nothing and turn nothing may be left out, which the answer then says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from footnote_text.locales import TableWords

from footnote_ingestion.tables.asked_periods import AskedPeriods
from footnote_ingestion.tables.asked_words import AskedWords
from footnote_ingestion.tables.currencies import Money
from footnote_ingestion.tables.forms import (
    AVERAGE,
    COUNT,
    DIFFERENCE,
    DISTINCT,
    HIGHEST,
    LIMITS,
    LOWEST,
    ROWS,
    SEVERAL,
    SHARE,
    TOTAL,
    Filter,
    Form,
    Subject,
    alike,
    tokens,
    units,
)

_MOST_NAMED = 5


def read(question: str, subject: Subject, words: TableWords, language: str) -> Form | None:
    """Return the form that a question has over a table, None where it has none or a word of it is not known."""
    return AskedForm(question, subject, words, language).form()


class AskedForm(AskedWords):
    """One question over one table. `several` are the columns that may be meant, `known` counts words of the table."""

    def __init__(
        self, question: str, subject: Subject, words: TableWords, language: str, *, leaves_out: bool = False
    ) -> None:
        super().__init__(question, subject, words, language, leaves_out=leaves_out)
        self._named_by_default = False
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
        compared = None if limits else self._compared_columns(said, by_header)
        most = self._most(said)
        about = [
            place
            for place in self._free()
            if any(alike(self._asked[place], one) for one in tokens(self._subject.about))
        ]
        self._take(about, "about")
        money = Money(self._text, self._asked, self._language)
        self._take(money.words(set(self._subject.currencies.values())) & set(self._free()), "currency")
        self._said()
        filters += self._inflected_values()
        is_known = self._rest_says_nothing()
        self.known = sum(kind in ("header", "value", "about", "period") for kind in self._taken.values())
        self.known += set(tokens(self._own_name)) <= set(self._asked) if self._own_name else 0
        if not is_known:
            return None
        placed = when.placed(by_header, compares="comparison" in said)
        other = [one for one in placed.unknown if not self._is_period_of_table(one)]
        self.unknown += other
        if other:
            return None
        measure = placed.columns[0] if placed.columns else self._measure(by_header, said, filters)
        if compared is not None:
            measure = compared.column
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
        form.filters += [] if compared is None else [compared]
        is_limited = bool(limits) or compared is not None
        decided = self._decided(form, said, by_header, is_limited=is_limited, is_placed=bool(placed.columns))
        if decided is None or not (self.left_out or decided.kind == SHARE):
            return decided
        named = decided.filters or decided.part if not decided.measure else not self._named_by_default
        return decided if named and not self._passes_over(decided, by_header) else None

    def _passes_over(self, form: Form, by_header: Mapping[int, set[int]]) -> bool:
        """Return whether the question names a column of numbers that a form does not use: "what part of A is B"."""
        used = {*form.measures, form.other, *(at for one in form.filters for at in (one.column, one.other))}
        words = {place for column in used for place in by_header.get(column, ())}
        return any(by_header[one] - words for one in by_header if one in self._subject.numeric and one not in used)

    def why(self) -> str:
        """Return why there is no form, or several, as a sentence; "" where no word or column says it."""
        if self.unknown:
            return f"Not understood in the question: {', '.join(self.unknown[:_MOST_NAMED])}."
        if self.several:
            return f"Several columns may be meant: {', '.join(self.several[:_MOST_NAMED])}."
        return ""

    def _decided(
        self, form: Form, said: Mapping[str, int], by_header: Mapping[int, set[int]],
        *, is_limited: bool, is_placed: bool,
    ) -> Form | None:  # fmt: skip
        """Return a form with its kind; None where a word of a form would not be used."""
        measure, named = form.measure, form.measure in by_header or is_placed or self._is_named_total(form.measure)
        self._named_by_default = not named
        asked = {one for one in said if one not in LIMITS}
        if any(one in LIMITS for one in said) != is_limited and "comparison" not in said:
            return None
        if "comparison" in asked:
            return self._difference(form, asked, by_header)
        if DISTINCT in asked:
            form.kind, form.measure = DISTINCT, 0
            return form if form.key in by_header and asked <= {DISTINCT, COUNT} and not form.added else None
        if SHARE in asked:
            return self._share(form, asked, named=named)
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
        elif COUNT in asked and not (named and not is_limited):
            form.kind, form.measure, form.added = COUNT, measure if is_limited else 0, form.added if is_limited else ()
        elif TOTAL in asked or COUNT in asked:
            form.kind = TOTAL
        elif not is_limited:
            return None
        if is_limited and not measure:
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
            if form.most > 1 and not inner:
                inner = [TOTAL]  # the first three of what comes in many rows are no three rows
            if len(inner) != 1 or COUNT in asked:
                form.inner = ROWS  # rows or groups: decided where both give the same
            else:
                form.inner = inner[0]
            form.grouped = True
            return form
        return form if AVERAGE not in asked else None

    def _share(self, form: Form, asked: set[str], *, named: bool) -> Form | None:
        """Return the share of the rows that have the one text that the question names."""
        texts = [one for one in form.filters if one.op == "="]
        if len(texts) != 1 or form.added or not asked <= {SHARE, TOTAL, COUNT}:
            return None
        form.kind, form.part = SHARE, texts[0]
        form.filters = [one for one in form.filters if one is not form.part]
        if not named:
            form.measure, self._named_by_default = 0, False  # of the number of rows
        return form

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
        if DISTINCT in said and texts:  # "how many different towns have we sold to": the nearest
            return min(texts, key=lambda column: min(abs(place - said[DISTINCT]) for place in by_header[column]))
        return texts[0] if len(texts) == 1 else self._subject.naming


def _like_a_number(text: str) -> bool:
    """Return whether a text begins with a figure, but for signs, and has no Latin letter."""
    first = next((char for char in text if char.isalnum()), "")
    return first.isdigit() and not any(char.isascii() and char.isalpha() for char in text)
