"""The statement of a form over a table, and what it computes in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from footnote.types.v1.table_pb2 import TableDescription
from footnote_text.locales import TableWords

from footnote_ingestion.tables import forms
from footnote_ingestion.tables.formatting import literal, written
from footnote_ingestion.tables.forms import Form
from footnote_ingestion.tables.opened import quoted


def kept_name(column: int, kind: str) -> str:
    """Return what a table's kept texts ("t"), numbers ("n") or measures ("m") of a column are called."""
    return f"{kind}{column}"


def where_of(form: Form, naming: int, totals: Sequence[str], name: Callable[[int, str], str]) -> str:
    """Return the condition that rows count by; `name` gives what a column's texts ("t") or numbers ("n") are called."""
    parts = ["true"]
    by_column: dict[int, list[object]] = {}
    for one in (*form.filters, *form.sides):
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


def statement_of(table: TableDescription, form: Form, naming: int, totals: Sequence[str]) -> str:
    """Return the statement of a form over the table as callers query it, without the limit of the first so many."""
    names = {column.number: quoted(column.name) for column in table.columns}
    measured = names[form.measure] if form.measure else '"_row"'
    key = f"{names[form.key]}, " if form.key else ""
    source = f"{quoted(table.view)}{where_of(form, naming, totals, lambda column, _: names[column])}"
    if form.kind == forms.DIFFERENCE:
        if form.other:
            return f"SELECT {measured} - {names[form.other]} FROM {source}"
        first = f"{names[form.sides[0].column]} = {literal(form.sides[0].value)}"
        return f"SELECT SUM(CASE WHEN {first} THEN {measured} ELSE -{measured} END) FROM {source}"
    order = "DESC" if form.kind == forms.HIGHEST else "ASC"
    if form.grouped and form.kind in (forms.HIGHEST, forms.LOWEST):
        value = f"SUM({measured})" if form.measure else "COUNT(*)"
        there = f" HAVING {value} IS NOT NULL"
        return f'SELECT {key}{value} FROM {source} GROUP BY 1{there} ORDER BY 2 {order}, MIN("_row")'
    calls = {forms.TOTAL: f"SUM({measured})", forms.AVERAGE: f"AVG({measured})", forms.COUNT: "COUNT(*)"}
    if form.kind in calls and not form.grouped:
        return f"SELECT {calls[form.kind]} FROM {source}"
    if form.kind in calls:
        return f'SELECT {key}{calls[form.kind]} FROM {source} GROUP BY 1 ORDER BY MIN("_row")'
    if form.kind == forms.ROWS:
        return f'SELECT {key}{measured} FROM {source} ORDER BY "_row"'
    return f'SELECT {key}{measured} FROM {source} AND {measured} IS NOT NULL ORDER BY {measured} {order}, "_row"'


def formula_of(table: TableDescription, form: Form, words: TableWords) -> str:
    """Return what a form computes, in words: "sum of Units where City = Lyon"."""
    names = {column.number: column.name for column in table.columns}
    if form.kind == forms.DIFFERENCE:
        column = "" if form.other else names[form.measure]
        sides = [names[form.other], names[form.measure]] if form.other else [str(one.value) for one in form.sides[::-1]]
        formula = words.difference_of.format(column=column, first=sides[0], second=sides[1]).removeprefix(": ")
        return _narrowed(formula, form, names, words)
    plain = {forms.COUNT: words.count_of, forms.ROWS: words.rows_of}
    if form.grouped and form.kind in (forms.HIGHEST, forms.LOWEST):
        added = words.total_of.format(column=names[form.measure]) if form.measure else words.count_of
        formula = str(getattr(words, f"{form.kind}_of")).format(column=added)
    else:
        formula = plain.get(form.kind) or str(getattr(words, f"{form.kind}_of")).format(column=names[form.measure])
    if form.grouped:
        formula = words.by.format(formula=formula, column=names[form.key])
    return _narrowed(formula, form, names, words)


def _narrowed(formula: str, form: Form, names: Mapping[int, str], words: TableWords) -> str:
    if form.filters:
        said = ", ".join(
            f"{names[one.column]} {one.op} {one.value if isinstance(one.value, str) else written(one.value, '')}"
            for one in form.filters
        )
        formula = words.where.format(formula=formula, filters=said)
    return formula
