"""Answers a question from tables: finds the one form and table that it fits, and computes the answer twice.

The engine computes it from the kept tables. Plain Python computes it again from the cells of the file, parsed again.
The answer is confirmed only if both agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from footnote.types.v1.table_pb2 import (
    COLUMN_TYPE_NUMBER,
    COLUMN_TYPE_TEXT,
    TableComputation,
    TableDescription,
)
from footnote_text import locales
from footnote_text.language import detect
from footnote_text.locales import Locale, TableWords

from footnote_ingestion.tables import forms
from footnote_ingestion.tables.collected import RowData
from footnote_ingestion.tables.comparing import compared
from footnote_ingestion.tables.engine import Engine
from footnote_ingestion.tables.formatting import (
    MOST_LINES,
    MOST_ROWS,
    Rows,
    cells_of,
    is_total,
    literal,
    mixed_units,
    raw,
    sentence,
    texts_of,
    unit_of,
    written,
)
from footnote_ingestion.tables.forms import Form, Subject
from footnote_ingestion.tables.opened import quoted
from footnote_ingestion.tables.statements import checked


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
        self._subjects: dict[str, Subject] = {}
        self._views = [table.view for table in engine.tables]

    def answer(self, question: str, locale: str) -> TableComputation | None:
        """Return what was computed, or None where the question is not understood as one that tables answer."""
        asked = forms.tokens(question)
        named = [one for one in self._files() if forms.place_in(asked, forms.tokens(one)) >= 0]
        named.sort(key=lambda one: forms.place_in(asked, forms.tokens(one)))
        # A short question's language is a guess: the other locales are tried after the likely ones.
        known = [locales.known(code) for code in dict.fromkeys((locale, detect(question), *locales.codes()))]
        for words in filter(None, known):
            if len(named) == 2 and _says(asked, words.tables.comparison):
                return compared(self._engine, self._again, asked, named, words)
            if not forms.has_form(asked, words.tables):
                continue
            found = self._fitting(question, named, words)
            if found is not None:
                return self._computed(*found, words)
        return None

    def _files(self) -> list[str]:
        return list(dict.fromkeys(table.filename for table in self._engine.tables))

    def _fitting(self, question: str, named: Sequence[str], words: Locale) -> tuple[TableDescription, Form] | None:
        """Return the one table that explains most of the question; None where none or several do."""
        found: list[tuple[TableDescription, Form]] = []
        for table in self._engine.tables:
            if named and table.filename not in named:
                continue
            form = forms.read(question, self.subject(table), words.tables, words.code)
            if form is not None:
                found.append((table, form))
        best = max((form.known for _, form in found), default=0)
        first = [one for one in found if one[1].known == best]
        return first[0] if len(first) == 1 and first[0][1].kind != forms.SEVERAL else None

    def subject(self, table: TableDescription) -> Subject:
        """Return a table as questions see it."""
        if (known := self._subjects.get(table.view)) is not None:
            return known
        values = {
            column.number: texts_of(self._engine, table, column.number)
            for column in table.columns
            if column.type == COLUMN_TYPE_TEXT
        }
        naming = next(iter(values), 0)
        numeric = frozenset(column.number for column in table.columns if column.type == COLUMN_TYPE_NUMBER)
        headers = {column.number: column.name for column in table.columns}
        about = f"{table.filename} {table.name}"
        subject = self._subjects[table.view] = Subject(table.filename, about, headers, numeric, values, naming)
        return subject

    def _computed(self, table: TableDescription, form: Form, words: Locale) -> TableComputation | None:
        naming = next((column.number for column in table.columns if column.type == COLUMN_TYPE_TEXT), 0)
        totals = [text for text in texts_of(self._engine, table, naming) if is_total(text)] if naming else []
        lines = self._lines(table, form, _where(form, naming, totals, _kept_name))
        if len(lines) > MOST_ROWS or not lines:
            return None
        measured = next((one for one in table.columns if one.number == form.measure), None)
        own = {line.measure for line in lines if line.number is not None} if measured is not None else set()
        rows = {line.row for line in lines}
        if measured is not None and (mixed := mixed_units(self._engine, table, measured, own, rows)):
            return TableComputation(mixed=mixed)
        ranked = form.kind in (forms.HIGHEST, forms.LOWEST)
        statement = _statement(table, form, naming, totals)
        # One more, so that an equal that is left out is noticed.
        ran = f"{statement} LIMIT {form.most + 1}" if ranked else statement
        statement = checked(f"{statement} LIMIT {form.most}" if ranked else statement, self._views)
        results = [(str(row[0] or "") if len(row) > 1 else "", row[-1]) for row in self._engine.run(ran)[1]]
        if ranked:
            if len(results) > form.most and results[form.most][1] == results[form.most - 1][1]:
                return None
            results = results[: form.most]
        if not results or len(results) > MOST_LINES or all(value is None for _, value in results):
            return None
        computation = TableComputation(query=statement, formula=_formula(table, form, words.tables))
        computation.document_ids.append(table.document_id)
        computation.confirmed = _same(results, self._recomputed(table, form, naming, totals))
        kept = {key for key, _ in results} if ranked else None
        values = {value for _, value in results}
        cells = [
            line for line in lines
            if (kept is None or (line.key in kept and line.number in values))
            and (not form.measure or line.number is not None)
        ]  # fmt: skip
        column = form.measure or form.key or naming
        computation.cells.append(cells_of(table, column, [line.row for line in cells]))
        unit = unit_of(measured, own) if measured is not None and form.kind != forms.COUNT else ""
        if len(results) == 1 and not results[0][0]:
            computation.text = f"{sentence(computation.formula)}: {written(results[0][1], unit)}"
        else:
            listed = [f"- {key}: {written(value, unit)}" for key, value in results]
            computation.text = "\n".join([f"{sentence(computation.formula)}:", *listed])
        self._note(computation, form, lines, table, totals, words.tables)
        return computation

    def _lines(self, table: TableDescription, form: Form, where: str) -> list[_Line]:
        there = self._engine.kept_columns(table)
        number, text, own = (f"{kind}{form.measure}" if f"{kind}{form.measure}" in there else "NULL" for kind in "ntm")
        key = f"t{form.key}" if form.key else "''"
        statement = (
            f"SELECT row, {key}, {number}, {text}, {own} FROM {raw(table)}{where} ORDER BY row LIMIT {MOST_ROWS + 1}"
        )
        return [
            _Line(row, str(key or ""), value, shown, str(unit or ""))
            for row, key, value, shown, unit in self._engine.run(statement)[1]
        ]

    def _recomputed(
        self, table: TableDescription, form: Form, naming: int, totals: Sequence[str]
    ) -> list[tuple[str, Any]]:
        """Compute a form from the document's own rows, without the engine."""
        groups: dict[str, list[float]] = {}
        singles: list[tuple[str, float | None]] = []
        for row in self._again(table):
            if not _fits(row, form, naming, totals):
                continue
            cell = row.cells.get(form.measure)
            number = (
                float(cell.value) if cell is not None and cell.kind == "number" and cell.value is not None else None
            )
            key = row.cells[form.key].text if form.key in row.cells else ""
            if form.kind in (forms.ROWS, forms.HIGHEST, forms.LOWEST):
                if number is not None or form.kind == forms.ROWS:
                    singles.append((key, number))
                continue
            group = groups.setdefault(key if form.grouped else "", [])
            if form.kind == forms.COUNT:
                group.append(1.0)
            elif number is not None:
                group.append(number)
        if form.kind in (forms.HIGHEST, forms.LOWEST):
            singles.sort(key=lambda one: one[1] or 0.0, reverse=form.kind == forms.HIGHEST)
            return list(singles[: form.most])
        if form.kind == forms.ROWS:
            return list(singles)
        mean = form.kind == forms.AVERAGE
        return [
            (key, math.fsum(group) / (len(group) if mean else 1) if group else None) for key, group in groups.items()
        ]

    def _note(
        self, computation: TableComputation, form: Form, lines: Sequence[_Line], table: TableDescription,
        totals: Sequence[str], words: TableWords,
    ) -> None:  # fmt: skip
        without = sum(line.number is None for line in lines) if form.measure else 0
        if without:
            computation.notes.append(words.no_number.format(count=without, cells=len(lines)))
        if totals:
            computation.notes.append(words.total_rows.format(count=len(totals)))


def _kept_name(column: int, kind: str) -> str:
    return f"{kind}{column}"


def _where(form: Form, naming: int, totals: Sequence[str], name: Callable[[int, str], str]) -> str:
    """Return the condition that rows count by; `name` gives what a column's texts ("t") or numbers ("n") are called."""
    parts = ["true"]
    by_column: dict[int, list[object]] = {}
    for one in form.filters:
        if one.op == "=":
            by_column.setdefault(one.column, []).append(one.value)
        else:
            parts.append(f"{name(one.column, 'n')} {one.op} {literal(one.value)}")
    for column, values in by_column.items():
        parts.append(f"{name(column, 't')} IN ({', '.join(map(literal, values))})")
    if totals:
        column_name = name(naming, "t")
        parts.append(f"({column_name} IS NULL OR {column_name} NOT IN ({', '.join(map(literal, totals))}))")
    return f" WHERE {' AND '.join(parts[1:] or parts)}"


def _statement(table: TableDescription, form: Form, naming: int, totals: Sequence[str]) -> str:
    """Return the statement of a form over the table as callers query it, without the limit of the first so many."""
    names = {column.number: quoted(column.name) for column in table.columns}
    measured = names[form.measure] if form.measure else '"_row"'
    key = f"{names[form.key]}, " if form.key else ""
    source = f"{quoted(table.view)}{_where(form, naming, totals, lambda column, _: names[column])}"
    calls = {forms.TOTAL: f"SUM({measured})", forms.AVERAGE: f"AVG({measured})", forms.COUNT: "COUNT(*)"}
    if form.kind in calls and not form.grouped:
        return f"SELECT {calls[form.kind]} FROM {source}"
    if form.kind in calls:
        return f'SELECT {key}{calls[form.kind]} FROM {source} GROUP BY 1 ORDER BY MIN("_row")'
    if form.kind == forms.ROWS:
        return f'SELECT {key}{measured} FROM {source} ORDER BY "_row"'
    order = "DESC" if form.kind == forms.HIGHEST else "ASC"
    return f'SELECT {key}{measured} FROM {source} AND {measured} IS NOT NULL ORDER BY {measured} {order}, "_row"'


def _fits(row: RowData, form: Form, naming: int, totals: Sequence[str]) -> bool:
    if naming in row.cells and row.cells[naming].text in totals:
        return False
    texts: dict[int, list[object]] = {}
    for one in form.filters:
        cell = row.cells.get(one.column)
        if one.op == "=":
            texts.setdefault(one.column, []).append(one.value)
        else:
            number = (
                float(cell.value) if cell is not None and cell.kind == "number" and cell.value is not None else None
            )
            if number is None or not (number > float(one.value) if one.op == ">" else number < float(one.value)):
                return False
    return all(column in row.cells and row.cells[column].text in values for column, values in texts.items())


def _same(one: Sequence[tuple[str, Any]], two: Sequence[tuple[str, Any]]) -> bool:
    if len(one) != len(two):
        return False
    for (key, value), (other, again) in zip(one, two, strict=True):
        alike = value is again is None or (
            value is not None and again is not None and math.isclose(value, again, rel_tol=1e-9, abs_tol=1e-9)
        )
        if key != other or not alike:
            return False
    return True


def _says(asked: Sequence[str], phrases: Sequence[str]) -> bool:
    return any(
        any(word.startswith(forms.tokens(phrase)[0]) for word in asked)
        if phrase.endswith("*")
        else forms.place_in(asked, forms.tokens(phrase)) >= 0
        for phrase in phrases
    )


def _formula(table: TableDescription, form: Form, words: TableWords) -> str:
    names = {column.number: column.name for column in table.columns}
    plain = {forms.COUNT: words.count_of, forms.ROWS: words.rows_of}
    formula = plain.get(form.kind) or str(getattr(words, f"{form.kind}_of")).format(column=names[form.measure])
    if form.grouped:
        formula = words.by.format(formula=formula, column=names[form.key])
    if form.filters:
        said = ", ".join(
            f"{names[one.column]} {one.op} {one.value if isinstance(one.value, str) else written(one.value, '')}"
            for one in form.filters
        )
        formula = words.where.format(formula=formula, filters=said)
    return formula
