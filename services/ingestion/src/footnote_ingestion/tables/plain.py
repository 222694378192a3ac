"""Computes forms in plain Python from the rows of a table, without the engine."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

from footnote_ingestion.tables import forms
from footnote_ingestion.tables.collected import RowData
from footnote_ingestion.tables.forms import Filter, Form, Totals

_COMPARED = {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le, "==": operator.eq}


def of_rows(rows: Iterable[RowData], form: Form, totals: Totals) -> list[tuple[str, Any]]:
    """Compute a form from rows; those of totals do not count."""
    counted = [row for row in rows if _fits(row, form, totals)]
    if form.sides:
        return _compared(counted, form)
    if form.kind == forms.DISTINCT:
        return [("", len({_text(row, form.key) for row in counted} - {""}))]
    if form.kind == forms.SHARE:
        return _share(counted, form)
    if form.grouped or form.kind in (forms.TOTAL, forms.AVERAGE, forms.COUNT):
        found = _grouped(counted, form)
    else:
        key = _day if form.by_day else _text
        found = [(key(row, form.key), _added(row, form)) for row in counted]
        if form.kind != forms.ROWS:
            found = [one for one in found if one[1] is not None]
    if form.kind in (forms.HIGHEST, forms.LOWEST):
        found = [one for one in found if one[1] is not None]
        found.sort(key=lambda one: one[1] or 0.0, reverse=form.kind == forms.HIGHEST)
        return found[: form.most]
    return found


def _grouped(counted: Sequence[RowData], form: Form) -> list[tuple[str, Any]]:
    groups: dict[str, list[float]] = {}
    counts = form.kind == forms.COUNT or not form.measure
    for row in counted:
        group = groups.setdefault(_text(row, form.key) if form.grouped else "", [])
        number = 1.0 if counts else _added(row, form)
        if number is not None:
            group.append(number)
    mean = forms.AVERAGE in (form.kind, form.inner if form.grouped else "")
    parts = len(form.measures) if form.kind == forms.AVERAGE else 1
    return [
        (key, math.fsum(group) / (len(group) * parts if mean else 1) if group else None)
        for key, group in groups.items()
    ]


def _compared(counted: Sequence[RowData], form: Form) -> list[tuple[str, Any]]:
    """Return what the first side is more than the second, or the sides in order; nothing unless each has a number."""
    found: list[tuple[str, float]] = []
    for side in form.sides:
        rows = [row for row in counted if _has(row, side.filters)]
        numbers = [1.0 if not side.measure else _number(row, side.measure) for row in rows]
        known = [one for one in numbers if one is not None]
        if (side.measure and not known) or (form.inner == forms.ROWS and len(rows) != 1):
            return []
        found.append((side.name, math.fsum(known) / (len(known) if form.inner == forms.AVERAGE else 1)))
    if form.kind == forms.DIFFERENCE:
        return [("", found[0][1] - found[1][1])]
    return sorted(found, key=lambda one: one[1], reverse=form.kind == forms.HIGHEST)


def _share(counted: Sequence[RowData], form: Form) -> list[tuple[str, Any]]:
    """Return what the rows with the form's part are of all, in percent; nothing where all are nothing."""
    numbers = [(row, _added(row, form) if form.measure else 1.0) for row in counted]
    known = [(row, number) for row, number in numbers if number is not None]
    some = [number for row, number in known if form.part and _has(row, (form.part,))]
    whole = math.fsum(number for _, number in known)
    return [("", 100 * math.fsum(some) / whole)] if some and whole else []


def _text(row: RowData, column: int) -> str:
    return row.cells[column].text if column in row.cells else ""


def _number(row: RowData, column: int) -> float | None:
    cell = row.cells.get(column)
    return float(cell.value) if cell is not None and cell.kind == "number" and cell.value is not None else None


def _added(row: RowData, form: Form) -> float | None:
    """Return the sum of a row's numbers in the columns of a form; None where one is missing."""
    numbers = [_number(row, column) for column in form.measures]
    known = [one for one in numbers if one is not None]
    return math.fsum(known) if known and len(known) == len(numbers) else None


def _day(row: RowData, column: int) -> str:
    cell = row.cells.get(column)
    return str(cell.value) if cell is not None and cell.kind == "date" else ""


def _fits(row: RowData, form: Form, totals: Totals) -> bool:
    if row.number in totals.rows or (totals.texts and _text(row, totals.naming) in totals.texts):
        return False
    return _has(row, form.filters) and (not form.sides or any(_has(row, side.filters) for side in form.sides))


def _has(row: RowData, filters: Iterable[Filter]) -> bool:
    texts: dict[int, list[object]] = {}
    for one in filters:
        if one.op == "=":
            texts.setdefault(one.column, []).append(one.value)
            continue
        if one.op in ("from", "until"):
            day = _day(row, one.column)[:10]
            if not day or (day < str(one.value)) == (one.op == "from"):
                return False
            continue
        if one.op == "is":
            cell = row.cells.get(one.column)
            if cell is None or cell.value is not one.value:
                return False
            continue
        number = _number(row, one.column)
        limit = _number(row, one.other) if one.other else float(one.value)
        if number is None or limit is None or not _COMPARED[one.op](number, limit):
            return False
    return all(column in row.cells and row.cells[column].text in values for column, values in texts.items())
