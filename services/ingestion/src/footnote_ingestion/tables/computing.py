"""Answers a question from tables: finds the one form and table that it fits, and computes the answer twice.

The engine computes it from the kept tables. Plain Python computes it again from the cells of the file, parsed again.
The answer is confirmed only if both agree.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from footnote.types.v1.table_pb2 import (
    COLUMN_TYPE_DATE,
    COLUMN_TYPE_NUMBER,
    COLUMN_TYPE_TEXT,
    ColumnDescription,
    Measure,
    TableComputation,
    TableDescription,
)
from footnote_text import locales
from footnote_text.language import detect
from footnote_text.locales import Locale, TableWords

from footnote_ingestion.tables import forms, literals
from footnote_ingestion.tables.asked_forms import AskedForm
from footnote_ingestion.tables.candidates import Reading
from footnote_ingestion.tables.comparing import compared
from footnote_ingestion.tables.engine import Engine
from footnote_ingestion.tables.fitted import chosen, weigh
from footnote_ingestion.tables.form_statements import formula_of, kept_name, lacking, statement_of, where_of
from footnote_ingestion.tables.formatting import (
    MOST_LINES,
    MOST_ROWS,
    Rows,
    cells_of,
    key_of,
    measure_of,
    measures_of,
    mixed_units,
    raw,
    same_results,
    sentence,
    texts_of,
    truths_of,
    unit_of,
    written,
)
from footnote_ingestion.tables.forms import Form, Subject, Totals
from footnote_ingestion.tables.periods import FIRST_YEAR, LAST_YEAR, YEAR, is_year, nouns_of
from footnote_ingestion.tables.plain import of_rows
from footnote_ingestion.tables.statements import checked
from footnote_ingestion.tables.total_rows import repeats_in_sections, total_rows

_MOST_EQUAL = 10
"""Rows or groups that a ranking lists beyond those asked for, since they are equal to the last one."""


_MOST_ALIKE = 5
"""Tables that are compared where each explains a question as well."""
_Found = tuple[TableDescription, Form, AskedForm]


@dataclass(frozen=True, slots=True)
class _Line:
    """A row that counted: its number, its key, the number in it, what a cell of it says its number is counted in."""

    row: int
    key: str
    number: float | None
    text: str | None
    measure: str


class Computing:
    """Computes over the tables of an open engine; `again` reads a document's own rows."""

    def __init__(self, engine: Engine, again: Rows) -> None:
        self._engine = engine
        self._again = again
        self._names_year = False
        self.why = ""
        """Why nothing was computed, by the table and language that explain most of the question; "" where unknown."""
        self._nearest = (0, 0)
        self._subjects: dict[str, Subject] = {}
        self._views = [table.view for table in engine.tables]

    def answer(self, question: str, locale: str, reading: Reading | None = None) -> TableComputation | None:
        """Return what was computed, or None where the question is not understood as one that tables answer.

        With what an embedding model says of it, a question is read by fitted weights, without by its words alone.
        """
        if reading is not None and (read := self._read(question, locale, reading)) is not None:
            return read
        asked = forms.tokens(question)
        nouns = {noun for code in (locale, detect(question)) for noun in nouns_of(YEAR, code)}
        self._names_year = any(is_year(asked, at) or word in nouns for at, word in enumerate(asked))
        named = [one for one in self._files() if forms.place_in(asked, forms.tokens(one)) >= 0]
        named.sort(key=lambda one: forms.place_in(asked, forms.tokens(one)))
        # A short question's language is a guess: the other locales are tried after the likely ones.
        known = [locales.known(code) for code in dict.fromkeys((locale, detect(question), *locales.codes()))]
        likely = known[: len({locale, detect(question)})]
        for words in filter(None, known if reading is None else ()):
            if len(named) == 2 and forms.says(asked, words.tables.comparison):
                return compared(self._engine, self._again, asked, named, words)
            if not (forms.has_form(asked, words.tables) or words in likely):
                continue
            if (found := self._fitting(question, named, words)) is not None:
                return self._computed(*found[:2], words)
        # Less strictly in the likely languages alone, where words of others would be taken for unknown ones.
        for leaves_out in (True,) if reading is None else (False, True):
            for words in filter(None, likely):
                if leaves_out and not forms.has_form(asked, words.tables):
                    continue
                fits = self._fitting(question, named, words, leaves_out=leaves_out, reading=reading)
                if fits is not None and (computation := self._doubted(*fits, words)) is not None:
                    return computation
        return None

    def _doubted(self, table: TableDescription, form: Form, asked: AskedForm, words: Locale) -> TableComputation | None:
        """Return what a form gives, with the words left out or read as columns; None where a cell itself is better."""
        computation = self._computed(table, form, words)
        if computation is None or computation.mixed:
            return computation
        is_one = form.kind not in (forms.HIGHEST, forms.LOWEST) and all(cells.count == 1 for cells in computation.cells)
        is_found = is_one and all(one.op == "=" for one in form.filters)
        if is_found and (asked.left_out or (asked.read_as and asked.names_whole(form))):
            return None  # the words of its row and column find the cell, which is quoted without a doubt
        if asked.left_out:
            computation.doubts.append(words.tables.left_out.format(words=", ".join(asked.left_out)))
        if asked.read_as:
            said = ", ".join(f"{word} → {header}" for word, header in asked.read_as.items())
            computation.doubts.append(words.tables.read_as.format(words=said))
        return computation

    def _read(self, question: str, locale: str, reading: Reading) -> TableComputation | None:
        """Return what is computed by the fitted reading in the question's language, else in the answer's."""
        subjects = [self.subject(table) for table in self._engine.tables]
        for code in dict.fromkeys((detect(question), locale)):
            if (words := locales.known(code)) is None:
                continue
            weighed = weigh(question, subjects, reading, words)
            if (best := chosen(weighed, self._given)) is not None:
                table = self._engine.tables[best.table]
                form = None if best.passes_over else self._settled(table, best.form)
                return None if form is None else self._computed(table, form, words)
        return None

    def _given(self, at: int, form: Form) -> list[tuple[str, Any]] | None:
        table = self._engine.tables[at]
        rows = self._engine.run(statement_of(table, form, total_rows(self._engine, table)), most=MOST_LINES + 1)[1]
        found = _results(rows, form)
        return (found[: form.most] if form.kind in (forms.HIGHEST, forms.LOWEST) and not form.sides else found) or None

    def _files(self) -> list[str]:
        return list(dict.fromkeys(table.filename for table in self._engine.tables))

    def _fitting(
        self, question: str, named: Sequence[str], words: Locale, *, leaves_out: bool = False,
        reading: Reading | None = None,
    ) -> _Found | None:  # fmt: skip
        """Return the one table that explains most of the question, with its form and how that was read.

        With a reading, words that nothing explains may mean columns that are like them. None where no table or several
        explain as much.
        """
        found: list[_Found] = []
        for table in self._engine.tables:
            if named and table.filename not in named:
                continue
            subject = self.subject(table)
            asked = AskedForm(question, subject, words.tables, words.code, leaves_out=leaves_out and reading is None)
            form = asked.form()
            likened = {} if reading is None else reading.likened(asked.unknown, subject.headers)
            if likened or (leaves_out and reading is not None):
                asked = AskedForm(question, subject, words.tables, words.code, leaves_out=leaves_out, likened=likened)
                form = asked.form()
            if (form := self._settled(table, form)) is not None:
                found.append((table, form, asked))
            if (rank := (asked.known, -len(asked.unknown))) > self._nearest:
                self._nearest, self.why = rank, asked.why()
        best = max((form.known for _, form, _ in found), default=0)
        first = [one for one in found if one[1].known == best]
        whole = [one for one in first if one[2].names_whole(one[1])]
        first = self._summarising(whole if len(whole) == 1 else first)
        return first[0] if len(first) == 1 and first[0][1].kind != forms.SEVERAL else None

    def _summarising(self, found: list[_Found]) -> list[_Found]:
        """Return the smallest of a document's tables where all give the same, as a list and its sums by name do.

        Tables of the same columns, as of two months, are added up by nobody, and either may be meant.
        """
        columns = {tuple(column.name for column in table.columns) for table, _, _ in found}
        is_one = len({table.document_id for table, _, _ in found}) == 1 < len(found) == len(columns) <= _MOST_ALIKE
        if not is_one or any(form.kind not in (forms.HIGHEST, forms.LOWEST) for _, form, _ in found):
            return found
        first, *others = (self._given(self._engine.tables.index(table), form) for table, form, _ in found)
        same = first is not None and all(one is not None and same_results(one, first) for one in others)
        return [min(found, key=lambda one: one[0].rows)] if same else found

    def subject(self, table: TableDescription) -> Subject:
        """Return a table as questions see it."""
        if (known := self._subjects.get(table.view)) is not None:
            return known
        values = {
            column.number: texts_of(self._engine, table, column.number)
            for column in table.columns
            if column.type == COLUMN_TYPE_TEXT
        }
        worded = (column for column, texts in values.items() if 2 * sum(map(_has_letter, texts)) > len(texts))
        naming = next(worded, next(iter(values), 0))
        numeric, dates = (
            frozenset(column.number for column in table.columns if column.type == kind)
            for kind in (COLUMN_TYPE_NUMBER, COLUMN_TYPE_DATE)
        )
        headers = {column.number: column.name for column in table.columns}
        about = f"{table.filename} {table.name}"
        subject = self._subjects[table.view] = Subject(
            table.filename, about, headers, numeric, values, naming, table.rows, dates, self._years(table, numeric),
            {one.number: one.measure.currency for one in table.columns if one.measure.currency},
            *self._days(table, dates), {column: literals.common_words(texts) for column, texts in values.items()},
            {one.number: self._measure(table, one) for one in table.columns if one.number in numeric},
            truths_of(self._engine, table),
        )  # fmt: skip
        return subject

    def _measure(self, table: TableDescription, column: ColumnDescription) -> Measure | None:
        """Return what a column's numbers are counted in, by its name and cells that all say the same; None: unclear."""
        number, own = f"n{column.number}", f"m{column.number}"
        said: list[str] = []
        if {number, own} <= set(self._engine.kept_columns(table)):
            statement = f"SELECT DISTINCT {own} FROM {raw(table)} WHERE {number} IS NOT NULL LIMIT 2"
            said = [str(one or "") for (one,) in self._engine.run(statement)[1]]
        measure = measure_of(column, said if len(said) == 1 else ())
        if not measure.unit and "%" in column.name:
            measure.unit = "%"
        return None if column.note and not (measure.scale or measure.unit) else measure

    def _days(self, table: TableDescription, dates: Collection[int]) -> tuple[dict[int, int], frozenset[int]]:
        """Return the year of each column of days that are all of one, and the columns with another day in each row."""
        columns = sorted(dates)
        if not columns:
            return {}, frozenset()
        calls = "YEAR(MIN({0})), YEAR(MAX({0})), COUNT(DISTINCT CAST({0} AS DATE))"
        ends = ", ".join(calls.format(f"d{one}") for one in columns)
        (found,) = self._engine.run(f"SELECT {ends} FROM {raw(table)}")[1]
        of_columns = {one: found[3 * at : 3 * at + 3] for at, one in enumerate(columns)}
        years = {one: int(first) for one, (first, last, _) in of_columns.items() if first is not None and first == last}
        return years, frozenset(one for one, (_, _, days) in of_columns.items() if days == table.rows)

    def _years(self, table: TableDescription, numeric: Collection[int]) -> frozenset[int]:
        """Return the columns of numbers that are all years, where the question names one."""
        columns = sorted(numeric)
        if not columns or not self._names_year:
            return frozenset()
        ends = ", ".join(f"MIN(n{one}), MAX(n{one}), BOOL_AND(n{one} = FLOOR(n{one}))" for one in columns)
        (found,) = self._engine.run(f"SELECT {ends} FROM {raw(table)}")[1]
        return frozenset(
            one for at, one in enumerate(columns)
            if found[3 * at] is not None and found[3 * at] >= FIRST_YEAR and found[3 * at + 1] <= LAST_YEAR
            and found[3 * at + 2]
        )  # fmt: skip

    def _settled(self, table: TableDescription, form: Form | None) -> Form | None:
        """Decide whether a form means rows or groups, sums or means: where both give the same, else it is no form."""
        if (
            form is not None
            and form.needed
            and self._engine.run(lacking(table, form, total_rows(self._engine, table)))[1]
        ):
            return None
        if form is None or form.inner not in (forms.ROWS, forms.DISTINCT) or form.kind == forms.DIFFERENCE:
            return form
        at = self._engine.tables.index(table)
        if form.kind == forms.ROWS:
            counted = self._given(at, replace(form, kind=forms.COUNT, inner=forms.TOTAL))
            return replace(form, inner=forms.TOTAL) if counted == [("", 1)] else None
        if form.kind == forms.COUNT:
            rows, texts = (replace(form, kind=one, inner=forms.TOTAL) for one in (forms.COUNT, forms.DISTINCT))
            same = self._given(at, rows) == self._given(at, texts)
            return texts if form.inner == forms.DISTINCT else rows if same else None
        if form.kind == forms.AVERAGE:
            by_key = self._given(at, replace(form, kind=forms.COUNT, grouped=True, inner=forms.TOTAL))
            return replace(form, inner=forms.TOTAL) if {count for _, count in by_key or ()} == {1} else None
        groups = replace(form, inner=forms.TOTAL)
        rows = replace(form, inner=forms.AVERAGE) if form.sides else replace(groups, grouped=False)
        keys = [[key for key, _ in self._given(at, one) or ()] for one in (groups, rows)]
        if not keys[0] or keys[0] != keys[1]:
            return None
        single = form.sides and self._given(at, groups) == self._given(at, rows)
        return form if single else groups

    def _computed(self, table: TableDescription, form: Form, words: Locale) -> TableComputation | None:
        if form.adds_up and repeats_in_sections(self._engine, table):
            return None
        totals = total_rows(self._engine, table)
        lines = self._lines(table, form, where_of(form, totals, kept_name))
        if len(lines) > MOST_ROWS or not lines:
            return None
        measured = next((one for one in table.columns if one.number == form.measure), None)
        own = {line.measure for line in lines if line.number is not None} if measured is not None else set()
        rows = {line.row for line in lines}
        if measured is not None and (mixed := mixed_units(self._engine, table, measured, own, rows)):
            return TableComputation(mixed=mixed)
        if mixed := self._apart(table, form, own, rows):
            return TableComputation(mixed=mixed)
        ranked = form.kind in (forms.HIGHEST, forms.LOWEST) and not form.sides
        if form.sides and form.inner == forms.ROWS and len(lines) != (len(form.sides) if form.sides[0].filters else 1):
            return None
        if form.added and any(line.number is None for line in lines):
            return None  # a sum without all its parts
        if form.added and form.kind == forms.AVERAGE and len(lines) > 1:
            return None  # a mean of rows or of columns
        statement = statement_of(table, form, totals)
        ran = f"{statement} LIMIT {MOST_LINES + 1}" if ranked else statement
        results = _results(self._engine.run(ran)[1], form)
        if ranked:  # those that are equal to the last one belong to it
            last = [value for _, value in results[: form.most]][-1:]
            equal = sum([value] == last for _, value in results[form.most :])
            if equal > _MOST_EQUAL:
                return None  # a list of half the table is no answer
            form = replace(form, most=form.most + equal)
            results, statement = results[: form.most], f"{statement} LIMIT {form.most}"
        statement = checked(statement, self._views)
        if not results or len(results) > MOST_LINES or all(value is None for _, value in results):
            return None
        computation = TableComputation(query=statement, formula=formula_of(table, form, words.tables))
        computation.document_ids.append(table.document_id)
        computation.confirmed = same_results(results, of_rows(self._again(table), form, totals))
        kept = {key for key, _ in results} if ranked else None
        values = {value for _, value in results}
        cells = [
            line for line in lines
            if (kept is None or (line.key in kept and (form.grouped or line.number in values)))
            and (not form.measure or line.number is not None)
        ]  # fmt: skip
        column = form.measure or form.key or totals.naming or table.columns[0].number
        for one in (column, *form.beside):
            computation.cells.append(cells_of(table, one, [line.row for line in cells], self._again(table)))
        unit = unit_of(measured, own) if measured is not None and form.kind != forms.COUNT else ""
        unit = "%" if form.kind == forms.SHARE else unit
        if len(results) == 1 and not results[0][0]:
            computation.text = f"{sentence(computation.formula)}: {written(results[0][1], unit)}"
        else:
            listed = [f"- {key}: {written(value, unit)}" for key, value in results]
            computation.text = "\n".join([f"{sentence(computation.formula)}:", *listed])
        self._note(computation, form, lines, table, totals, words.tables)
        return computation

    def _apart(self, table: TableDescription, form: Form, own: Collection[str], rows: Collection[int]) -> str:
        """Return the different units of the columns that a form adds or subtracts, "" where they have one."""
        columns = {column.number: column for column in table.columns}
        units = {unit_of(columns[form.measure], [said]) for said in own}
        for other in form.beside:
            others = measures_of(self._engine, table, other)
            units |= {unit_of(columns[other], [said]) for row, said in others.items() if row in rows}
        return ", ".join(sorted(unit or "1" for unit in units)) if len(units) > 1 else ""

    def _lines(self, table: TableDescription, form: Form, where: str) -> list[_Line]:
        there = self._engine.kept_columns(table)
        number, text, own = (f"{kind}{form.measure}" if f"{kind}{form.measure}" in there else "NULL" for kind in "ntm")
        number = " + ".join([number, *(f"n{one}" if f"n{one}" in there else "NULL" for one in form.added)])
        key = f"{'d' if form.by_day else 't'}{form.key}" if form.key else "''"
        statement = (
            f"SELECT row, {key}, {number}, {text}, {own} FROM {raw(table)}{where} ORDER BY row LIMIT {MOST_ROWS + 1}"
        )
        return [
            _Line(row, key_of(key), value, shown, str(unit or ""))
            for row, key, value, shown, unit in self._engine.run(statement)[1]
        ]

    def _note(
        self, computation: TableComputation, form: Form, lines: Sequence[_Line], table: TableDescription,
        totals: Totals, words: TableWords,
    ) -> None:  # fmt: skip
        without = sum(line.number is None for line in lines) if form.measure else 0
        if without:
            computation.notes.append(words.no_number.format(count=without, cells=len(lines)))
        limited = {one.column for one in form.filters if isinstance(one.value, float)}
        for column in table.columns:
            if column.number in limited and column.other_cells:  # a row without a number is within no limit
                computation.notes.append(words.no_number.format(count=column.other_cells, cells=table.rows))
        if left := len(totals.texts) + len(totals.rows):
            computation.notes.append(words.total_rows.format(count=left))


def _results(rows: Sequence[Sequence[Any]], form: Form) -> list[tuple[str, Any]]:
    """Return the keys and values that a form's statement gave; of sides in order, none where one has no number."""
    if not form.is_ranking:
        return [(key_of(row[0]) if len(row) > 1 else "", row[-1]) for row in rows]
    found = [(side.name, value) for side, value in zip(form.sides, rows[0], strict=True)]
    if any(value is None for _, value in found):
        return []
    return sorted(found, key=lambda one: one[1], reverse=form.kind == forms.HIGHEST)


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))
