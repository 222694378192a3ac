"""Matches a question to a form over tables; strictly, a question with an unexplained word matches none.

A word is explained if it is one of the locale's words for forms, is part of a column's headers, of a value in a column,
or of the name of the table or its file, is a number or a period that counts, or adds nothing to the meaning. Each word
of a form must be used by the form: what is asked beside it would be left out otherwise. Read less strictly, two words
that name nothing and turn nothing may be left out, which the answer then says.
"""

from __future__ import annotations

from collections.abc import Mapping

from footnote.types.v1.table_pb2 import Measure
from footnote_text.locales import TableWords

from footnote_ingestion.tables.asked_periods import AskedPeriods
from footnote_ingestion.tables.asked_sides import AskedSides
from footnote_ingestion.tables.currencies import Money
from footnote_ingestion.tables.forms import (
    AVERAGE,
    COUNT,
    DISTINCT,
    HIGHER,
    HIGHEST,
    LIMITS,
    LOWER,
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
)

_MOST_NAMED = 5


def read(question: str, subject: Subject, words: TableWords, language: str) -> Form | None:
    """Return the form that a question has over a table, None where it has none or a word of it is not known."""
    return AskedForm(question, subject, words, language).form()


class AskedForm(AskedSides):
    """One question over one table. `several` are the columns that may be meant, `known` counts words of the table."""

    def form(self) -> Form | None:
        """Return the form, None where there is none; of kind SEVERAL where several columns may be meant."""
        self._file()
        values = self._values_of_periods()
        taken = {*self._taken, *values}
        when = AskedPeriods(self._asked, self._subject, self._words, self._language, taken, self._text)
        self._take(when.places, "period")
        said = self._forms()
        filters = self._values()
        if filters is None:
            return Form(SEVERAL)
        filters += self._territories()
        by_header = self._headers()
        self._days(said)
        if "per" in said and self._is_by_one(said["per"], by_header):
            del said["per"]
        limits = self._limits(said)
        compared = None if limits else self._compared_columns(said, by_header)
        choices = [] if limits or compared is not None else self._choices(said)
        most = self._most(said)
        filters += self._numbered(by_header)
        filters += self._truths(by_header)
        about = [
            place
            for place in self._free()
            if any(alike(self._asked[place], one) for one in tokens(self._subject.about))
        ]
        self._take(about, "about")
        money = Money(self._text, self._asked, self._language)
        self._take(money.words(set(self._subject.currencies.values())) & set(self._free()), "currency")
        self._said(said)
        filters += self._inflected_values()
        is_known = self._rest_says_nothing(said)
        self.known = sum(kind in ("header", "value", "about", "period") for kind in self._taken.values())
        self.known += set(tokens(self._own_name)) <= set(self._asked) if self._own_name else 0
        if not is_known:
            return None
        if choices:
            choice = self._choice(said, when, by_header, filters, choices)
            return None if choice is None else self._narrowed(choice, by_header)
        placed = when.placed(by_header, compares="comparison" in said)
        other = [one for one in placed.unknown if not self._is_period_of_table(one)]
        self.unknown += other
        if other:
            return None
        measure = placed.columns[0] if placed.columns else self._measure(by_header, said, filters)
        if compared is not None:
            measure = compared.column
        if measure is None and DISTINCT in said:
            measure = 0  # of different texts nothing is measured
        key = self._key(by_header, said, filters)
        if key is None or (limits and measure == 0):
            return None  # no column of numbers is named that the limit could be of
        if measure is None or placed.several:
            self.several += placed.several
            return Form(SEVERAL, known=self.known)
        if not money.is_in(self._subject.currencies.get(measure, "")):
            return None
        form = Form(ROWS, measure, key, most=most, known=self.known, added=placed.columns[1:])
        form.filters = [*filters, *placed.filters]
        for op, number in limits:
            if (value := number.among(self._subject.measures.get(measure, Measure()))) is None:
                self.unknown.append(" ".join(self._asked[at] for at in number.places))
                return None
            form.filters.append(Filter(measure, op, value))
        form.filters += [] if compared is None else [compared]
        is_limited = bool(limits) or compared is not None
        decided = self._decided(form, said, by_header, is_limited=is_limited, is_placed=bool(placed.columns))
        decided = None if decided is None else self._narrowed(decided, by_header)
        if decided is None or not (self.left_out or decided.kind == SHARE):
            return decided
        named = decided.filters or decided.part or decided.kind == DISTINCT
        named = not self._named_by_default if decided.measure else named
        if decided.kind == COUNT and self.counts_unknown and not self._may_count_rows(decided, by_header):
            return None
        return decided if named and not self._passes_over(decided, by_header) else None

    def _narrowed(self, form: Form, by_header: Mapping[int, set[int]]) -> Form | None:
        """Return a form with the columns that the question names beside it: only rows that have something there count.

        None where such a column tells rows apart, as one of truth values does: "active employees".
        """
        subject, filters = self._subject, [*form.filters, *(one for side in form.sides for one in side.filters)]
        filters += [] if form.part is None else [form.part]
        used = {*form.measures, *form.beside, *(at for one in filters for at in (one.column, one.other))}
        if form.grouped or form.kind in (HIGHEST, LOWEST, DISTINCT) or (form.kind == COUNT and form.inner != TOTAL):
            used.add(form.key)
        used |= set() if self._subject.tells_apart(subject.naming) else {subject.naming}
        words = {place for column in used for place in by_header.get(column, ())}
        others = [one for one in by_header if one not in used | subject.numeric and by_header[one] - words]
        form.needed += tuple(one for one in others if by_header[one] - words - self._of_name())
        return None if any(map(self._subject.tells_apart, others)) else form

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
        if not {HIGHER, LOWER}.isdisjoint(asked):
            return None  # two sides are missing
        if "comparison" in asked:
            return self._difference(form, asked, by_header)
        if DISTINCT in asked:
            form.kind, form.measure = DISTINCT, 0
            return form if form.key in by_header and asked <= {DISTINCT, COUNT} and not form.added else None
        if SHARE in asked:
            return self._share(form, asked, named=named)
        best = next((one for one in (HIGHEST, LOWEST) if one in asked), "")
        if best:
            found = None if self._compares(form) else self._best(form, best, asked, by_header)
            if found is None:
                return None
            others = {one: places for one, places in by_header.items() if one != found.key}
            return None if self._passes_over(found, others) else found
        if COUNT in asked and named and not is_limited and self._is_of_noun(form, by_header):
            form.kind, form.needed, form.measure, form.added = COUNT, form.measures, 0, ()
            return form if asked == {COUNT} else None
        counted = self._counted_column(by_header) if COUNT in asked else 0
        if counted and self._counted != said[COUNT] and self._subject.tells_apart(counted):
            return None  # "how many are active"
        if counted and "per" not in asked and TOTAL not in asked and AVERAGE not in asked:
            form.kind, form.key, form.measure, form.added = COUNT, counted, 0, ()
            is_said = self._is_whole(counted) or counted in self._times
            form.inner = DISTINCT if is_said else ROWS  # decided where both give the same
            return form
        if counted and counted != form.key:
            return None  # how many different ones there are in each group
        if "per" in asked:
            form.grouped, form.kind = True, next((one for one in (AVERAGE, COUNT, TOTAL) if one in asked), TOTAL)
            if form.kind == COUNT:
                form.measure, form.added = (0, ()) if not named else (measure, form.added)
                form.kind = COUNT if not named else TOTAL
            elif form.kind == AVERAGE and form.key in self._times:
                form.grouped, form.inner = False, ROWS  # decided where each year is one row
            elif form.kind == AVERAGE and form.key == self._subject.naming and self._names_single_rows(form.key):
                form.grouped = False
        elif AVERAGE in asked:
            form.kind = AVERAGE
        elif COUNT in asked and not (named and not is_limited):
            form.kind, form.measure, form.added = COUNT, measure if is_limited else 0, form.added if is_limited else ()
        elif TOTAL in asked or COUNT in asked:
            form.kind = TOTAL
        elif not is_limited:
            # "The price of A-1": the number of the one row that has the texts, in a column that is named as a whole.
            is_whole = named and (self._is_whole(measure) or self._subject.headers[measure] in self.read_as.values())
            is_lookup = is_whole and not asked and any(one.op in ("=", "==") for one in form.filters)
            form.inner = ROWS
            return form if is_lookup and not self.left_out and not form.added else None
        if is_limited and not measure:
            return None
        return form if form.measure or form.kind == COUNT else None

    def _counted_column(self, by_header: Mapping[int, set[int]]) -> int:
        """Return the column whose texts are counted, if they are in several rows: "how many towns"; else 0."""
        named = [one for one, places in by_header.items() if self._counted in places]
        if named and named[0] in self._times:
            return named[0]
        repeats = len(named) == 1 and len(self._subject.values.get(named[0], ())) < self._subject.rows
        return named[0] if repeats and named[0] in self._subject.values else 0

    def _compares(self, form: Form) -> bool:
        """Return whether two texts of a column stand on both sides of "than": "más ventas en A que en B"."""
        than = [at for at, word in enumerate(self._asked) if self._between.get(word) == "than"]
        columns = {one.column for one in form.filters if one.op == "="}
        return any(
            self._are_apart((self._starts.get(one) for one in form.filters if one.column == column), than)
            for column in columns
        )

    def _best(self, form: Form, best: str, asked: set[str], by_header: Mapping[int, set[int]]) -> Form | None:
        """Return the form of what is greatest or least: of rows, or of groups by their total, mean or number."""
        subject = self._subject
        form.kind = best
        words = {place for column in (form.key, *form.measures) for place in by_header.get(column, ())}
        if len(self._times) == 1:  # "in which year": decided where each year is one row
            form.key, form.grouped, form.inner = next(iter(self._times)), True, ROWS
            return form if form.measure and asked == {best} else None
        narrowed = {one.column for one in form.filters} - subject.daily
        days = [one for one in subject.dates - narrowed if by_header.get(one, words) - words and self._is_whole(one)]
        if days:  # "on which date": where each row is another day, it names the row
            form.key, form.by_day = days[0], True
            return form if len(days) == 1 and days[0] in subject.daily and asked == {best} and form.measure else None
        texts = [column for column in by_header if column in subject.values]
        others = [column for column in texts if column != subject.naming]
        if self._named_by_default and subject.naming in texts and len(texts) == 2:
            # "The town with the most items": rows are counted.
            return Form(best, 0, others[0], grouped=True, most=form.most, filters=form.filters, known=form.known)
        if "per" in asked and not self._is_ordered_by(form):
            return None
        if not form.measure or (self._named_by_default and "about" in self._taken.values() and others):
            return None
        if form.key in texts and len(subject.values[form.key]) < subject.rows:
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
        texts = [one for one in form.filters if one.op in ("=", "is")]
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
