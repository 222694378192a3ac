"""The statement of a form over a table, and what it computes in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from footnote.types.v1.table_pb2 import COLUMN_TYPE_DATE, TableDescription
from footnote_text.locales import TableWords

from footnote_ingestion.tables import forms
from footnote_ingestion.tables.formatting import literal, raw
from footnote_ingestion.tables.forms import Filter, Form, Side, Totals
from footnote_ingestion.tables.opened import quoted

DAYS = {"from": ">=", "until": "<"}
"""How a day is compared with that of a filter."""


def kept_name(column: int, kind: str) -> str:
    """Return what a table's kept texts ("t"), numbers ("n") or measures ("m") of a column are called."""
    return f"{kind}{column or ''}"


def where_of(form: Form, totals: Totals, name: Callable[[int, str], str]) -> str:
    """Return the condition that rows count by; `name` gives a column's texts "t", numbers "n" or days "d", or "row"."""
    parts = ["true", *_conditions(form.filters, name)]
    if sides := [" AND ".join(_conditions(side.filters, name)) for side in form.sides if side.filters]:
        parts.append(f"({' OR '.join(sides)})")
    if totals.texts:
        column_name = name(totals.naming, "t")
        parts.append(f"({column_name} IS NULL OR {column_name} NOT IN ({', '.join(map(literal, totals.texts))}))")
    if totals.rows:
        parts.append(f"{name(0, 'row')} NOT IN ({', '.join(map(str, totals.rows))})")
    return f" WHERE {' AND '.join(parts[1:] or parts)}"


def lacking(table: TableDescription, form: Form, totals: Totals) -> str:
    """Return the statement that gives a row, if there is one, that counts and has nothing in a column it needs."""
    kinds = {one.number: "d" if one.type == COLUMN_TYPE_DATE else "t" for one in table.columns}
    empty = " OR ".join(f"{kept_name(one, kinds[one])} IS NULL" for one in form.needed)
    return f"SELECT row FROM {raw(table)}{where_of(form, totals, kept_name)} AND ({empty}) LIMIT 1"


def _conditions(filters: Iterable[Filter], name: Callable[[int, str], str]) -> list[str]:
    parts = []
    by_column: dict[int, list[object]] = {}
    for one in filters:
        if one.op == "=":
            by_column.setdefault(one.column, []).append(one.value)
        elif one.op in DAYS:
            parts.append(f"{name(one.column, 'd')} {DAYS[one.op]} CAST({literal(one.value)} AS DATE)")
        elif one.op == "is":
            parts.append(f"{name(one.column, 'b')} = {literal(one.value)}")
        elif one.op == "==":
            parts.append(f"{name(one.column, 'n')} = {literal(one.value)}")
        else:
            limit = name(one.other, "n") if one.other else literal(one.value)
            parts.append(f"{name(one.column, 'n')} {one.op} {limit}")
    for column, values in by_column.items():
        parts.append(f"{name(column, 't')} IN ({', '.join(map(literal, values))})")
    return parts


def statement_of(table: TableDescription, form: Form, totals: Totals) -> str:
    """Return the statement of a form over the table as callers query it, without the limit of the first so many."""
    names = {column.number: quoted(column.name) for column in table.columns} | {0: '"_row"'}
    measured = " + ".join(names[one] for one in form.measures) or '"_row"'
    if form.added:
        measured = f"({measured})"
    key = f"{names[form.key]}, " if form.key else ""
    source = f"{quoted(table.view)}{where_of(form, totals, lambda column, _: names[column])}"
    if form.sides:
        sides = [_side(one, form.inner, names) for one in form.sides]
        if form.kind == forms.DIFFERENCE:
            return f"SELECT {sides[0]} - {sides[1]} FROM {source}"
        listed = ", ".join(f"{call} AS {quoted(one.name)}" for call, one in zip(sides, form.sides, strict=True))
        return f"SELECT {listed} FROM {source}"
    if form.kind == forms.DISTINCT:
        return f"SELECT COUNT(DISTINCT {names[form.key]}) FROM {source}"
    if form.kind == forms.SHARE and form.part is not None:
        counted = measured if form.measure else "1"
        part = f"{names[form.part.column]} = {literal(form.part.value)}"
        return f"SELECT 100.0 * SUM(CASE WHEN {part} THEN {counted} END) / NULLIF(SUM({counted}), 0) FROM {source}"
    order = "DESC" if form.kind == forms.HIGHEST else "ASC"
    if form.grouped and form.kind in (forms.HIGHEST, forms.LOWEST):
        call = "AVG" if form.inner == forms.AVERAGE else "SUM"
        value = f"{call}({measured})" if form.measure else "COUNT(*)"
        there = f" HAVING {value} IS NOT NULL"
        return f'SELECT {key}{value} FROM {source} GROUP BY 1{there} ORDER BY 2 {order}, MIN("_row")'
    mean = f"AVG({measured})" + (f" / {len(form.measures)}" if form.added else "")
    calls = {forms.TOTAL: f"SUM({measured})", forms.AVERAGE: mean, forms.COUNT: "COUNT(*)"}
    if form.kind in calls and not form.grouped:
        return f"SELECT {calls[form.kind]} FROM {source}"
    if form.kind in calls:
        return f'SELECT {key}{calls[form.kind]} FROM {source} GROUP BY 1 ORDER BY MIN("_row")'
    if form.kind == forms.ROWS:
        return f'SELECT {key}{measured} FROM {source} ORDER BY "_row"'
    return f'SELECT {key}{measured} FROM {source} AND {measured} IS NOT NULL ORDER BY {measured} {order}, "_row"'


def _side(side: Side, inner: str, names: Mapping[int, str]) -> str:
    value = names[side.measure] if side.measure else "1"
    if conditions := _conditions(side.filters, lambda column, _: names[column]):
        value = f"CASE WHEN {' AND '.join(conditions)} THEN {value} END"
    return f"{'AVG' if inner == forms.AVERAGE else 'SUM' if side.measure else 'COUNT'}({value})"


def formula_of(table: TableDescription, form: Form, words: TableWords) -> str:
    """Return what a form computes, in words: "sum of Units where City = Lyon"."""
    names = {column.number: column.name for column in table.columns}
    measured = (", " if form.kind == forms.AVERAGE else " + ").join(names[one] for one in form.measures)
    if form.kind == forms.DIFFERENCE:
        column = "" if form.beside else names[form.measure]
        second, first = (one.name for one in form.sides)
        formula = words.difference_of.format(column=column, first=first, second=second).removeprefix(": ")
        return _narrowed(formula, form, names, words)
    if form.sides:
        sides = ", ".join(one.name for one in form.sides)
        inner = {forms.TOTAL: words.total_of, forms.AVERAGE: words.average_of}.get(form.inner, "{column}")
        column = inner.format(column=sides if form.beside else measured) if form.measure else words.count_of
        formula = str(getattr(words, f"{form.kind}_of")).format(column=column)
        of_rows = [f"{names[form.sides[0].filters[0].column]} = {sides}"] if form.sides[0].filters else []
        return _narrowed(formula, form, names, words, of_rows)
    if form.kind == forms.DISTINCT:
        return _narrowed(words.distinct_of.format(column=names[form.key]), form, names, words)
    if form.kind == forms.SHARE and form.part is not None:
        whole = words.total_of.format(column=measured) if form.measure else words.count_of
        part = f"{names[form.part.column]} = {_said(form.part.value)}"
        return words.share_of.format(part=part, formula=_narrowed(whole, form, names, words))
    plain = {forms.COUNT: words.count_of, forms.ROWS: words.rows_of}
    if form.grouped and form.kind in (forms.HIGHEST, forms.LOWEST):
        inner = words.average_of if form.inner == forms.AVERAGE else words.total_of
        added = inner.format(column=measured) if form.measure else words.count_of
        formula = str(getattr(words, f"{form.kind}_of")).format(column=added)
    else:
        formula = plain.get(form.kind) or str(getattr(words, f"{form.kind}_of")).format(column=measured)
    if form.grouped:
        formula = words.by.format(formula=formula, column=names[form.key])
    return _narrowed(formula, form, names, words)


_SIGNS = {**DAYS, "==": "=", "is": "="}


def _said(value: str | float) -> str:
    """Return what a row must have, as text."""
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else f"{value:.15g}"


def _narrowed(formula: str, form: Form, names: Mapping[int, str], words: TableWords, first: Sequence[str] = ()) -> str:
    if form.filters or first:
        values = [names[one.other] if one.other else _said(one.value) for one in form.filters]
        said = [
            f"{names[one.column]} {_SIGNS.get(one.op, one.op)} {value}"
            for one, value in zip(form.filters, values, strict=True)
        ]
        formula = words.where.format(formula=formula, filters=", ".join((*first, *said)))
    return formula
