"""How computed values, their cells and their units are shown, for any query that computed them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, time
from functools import lru_cache
from itertools import groupby
from typing import Any

from footnote.types.v1.table_pb2 import (
    COLUMN_TYPE_BOOLEAN,
    COLUMN_TYPE_TEXT,
    ColumnDescription,
    ComputedCells,
    Measure,
    TableDescription,
)
from footnote_text import locales
from footnote_text.a1 import column_letters
from footnote_text.lexical import is_unspaced
from google.protobuf.json_format import Parse

from footnote_ingestion.parsers.numbers import CODES
from footnote_ingestion.tables import forms
from footnote_ingestion.tables.collected import RowData
from footnote_ingestion.tables.engine import Engine
from footnote_ingestion.tables.opened import quoted

MOST_ROWS = 50_000
"""Rows whose cells are listed and computed again; an answer from more is not confirmed."""
MOST_LINES = 200
"""Rows of an answer."""
SMALLEST = 1e-9
"""What two computations of a number may differ by."""
_SIGNIFICANT = 3
_MOST_VALUES, _LONGEST_VALUE, _MOST_RANGES = 5000, 80, 40

Rows = Callable[[TableDescription], Iterable[RowData]]
"""Reads the rows of a table from the document itself."""


def raw(table: TableDescription) -> str:
    """Return the view of a table's kept columns, in which each cell has its text, value and unit apart."""
    return quoted("raw_" + table.view)


def literal(value: object) -> str:
    """Return a text or number as SQL."""
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def texts_of(engine: Engine, table: TableDescription, column: int) -> list[str]:
    """Return the different texts of a column, without the long ones."""
    return engine.texts(table, column, _LONGEST_VALUE, _MOST_VALUES)


def truths_of(engine: Engine, table: TableDescription) -> frozenset[int]:
    """Return the columns that have a truth value in each row."""
    columns = [one.number for one in table.columns if one.type == COLUMN_TYPE_BOOLEAN]
    counted = [engine.run(f"SELECT COUNT(b{one}) FROM {raw(table)}")[1] for one in columns]
    return frozenset(one for one, found in zip(columns, counted, strict=True) if found == [(table.rows,)])


def measures_of(engine: Engine, table: TableDescription, column: int) -> dict[int, str]:
    """Return, by row, what each number of a column says itself that it is counted in, "" for nothing."""
    there = engine.kept_columns(table)
    if f"n{column}" not in there:
        return {}
    own = f"m{column}" if f"m{column}" in there else "NULL"
    statement = f"SELECT row, {own} FROM {raw(table)} WHERE n{column} IS NOT NULL"
    return {row: str(said or "") for row, said in engine.run(statement)[1]}


def mixed_units(
    engine: Engine,
    table: TableDescription,
    column: ColumnDescription,
    own: Collection[str],
    rows: Collection[int],
    apart: Collection[str] = (),
) -> str:
    """Return what is mixed among a column's numbers in `rows`, "" where all are alike.

    `own` are the measures that the numbers' cells name; columns of currencies named in `apart` keep them apart.
    """
    units = {unit_of(column, [said]) for said in own}
    if len(units) > 1:
        return ", ".join(sorted(unit or "1" for unit in units))
    if column.measure.unit:
        return ""  # a weight is in no currency
    for other in table.columns:
        if other.type != COLUMN_TYPE_TEXT or other.name.casefold() in apart:
            continue
        codes = set(texts_of(engine, table, other.number))
        if len(codes) > 1 and codes <= CODES:
            here = engine.run(f"SELECT row, t{other.number} FROM {raw(table)}")[1]
            found = sorted({text for row, text in here if row in rows and text})
            if len(found) > 1:
                return f"{', '.join(found)} ({other.name})"
    return ""


def measure_of(column: ColumnDescription, own: Iterable[str]) -> Measure:
    """Return the measure of a column's numbers with what their cells say themselves."""
    measure = Measure()
    measure.CopyFrom(column.measure)
    for said in filter(None, own):
        measure.MergeFrom(Parse(said, Measure()))
    return measure


def unit_of(column: ColumnDescription, own: Iterable[str]) -> str:
    """Return what a column's numbers are counted in, as "× 10^3 EUR"; `own` are the measures that its cells name.

    Where the table states a magnitude with exceptions, its words stand there instead.
    """
    measure = measure_of(column, own)
    unit = "%" if measure.unit == "%" else measure.currency or measure.unit
    note = column.note if not (measure.scale or measure.unit) else ""
    return " ".join(part for part in (f"× 10^{measure.scale}" if measure.scale else "", unit, note) if part)


@lru_cache(maxsize=1)
def _total_words() -> Mapping[str, frozenset[tuple[str, ...]]]:
    """Return the words for totals in any locale, by the first of each."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for one in filter(None, map(locales.known, locales.codes())):
        for words in (forms.tokens(phrase) for phrase in one.tables.total if "*" not in phrase):
            found.setdefault(words[0], set()).add(words)
    return {first: frozenset(words) for first, words in found.items()}


def is_total(text: str) -> bool:
    """Return whether a text that names a row says that it is one of totals: such a word, one more at most beside it."""
    parts = forms.tokens(text)
    known = _total_words().get(parts[0], ()) if parts else ()
    return any(parts[: len(word)] == word and len(parts) <= len(word) + 1 for word in known)


def may_be_total(text: str) -> bool:
    """Return whether a text of two words ends in one for totals: "Länder gesamt", but also "La Somme"."""
    parts = forms.tokens(text)
    return len(parts) == 2 and not is_unspaced(parts[1][0]) and parts[1:] in _total_words().get(parts[1], ())


def cells_of(table: TableDescription, column: int, rows: Sequence[int], own: Iterable[RowData]) -> ComputedCells:
    """Return the cells of a column in rows, as ranges of the sheet; `own` are the table's rows, from the document."""
    letters = column_letters(column - 1 + next((row.left for row in own), 0))
    ranges = []
    for _, run in groupby(enumerate(sorted(rows)), key=lambda one: one[1] - one[0]):
        numbers = [row for _, row in run]
        ranges.append(f"{letters}{numbers[0]}" + (f":{letters}{numbers[-1]}" if len(numbers) > 1 else ""))
    found = ComputedCells(
        document_id=table.document_id, filename=table.filename, table=table.number, name=table.name, count=len(rows)
    )
    found.column = next(one.name for one in table.columns if one.number == column)
    found.ranges.extend(ranges[:_MOST_RANGES])
    return found


def written(value: float | None, unit: str, *, signed: bool = False) -> str:
    """Return a number as it stands in an answer, with its unit: rounded to two places, below 1 to three digits."""
    if value is None:
        return "–"
    size = abs(value)
    # Below what a second computation may differ by, rounding may have left it of 0.
    places = _SIGNIFICANT - 1 - math.floor(math.log10(size)) if SMALLEST <= size < 1 else 2
    rounded = round(value, places)
    text = f"{int(rounded)}" if rounded == int(rounded) else f"{rounded:.{places}f}".rstrip("0")
    return (f"+{text}" if signed and rounded > 0 else text) + (f" {unit}" if unit else "")


def key_of(value: object) -> str:
    """Return a text, day or year that names a row, as the rows of a document have it."""
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, datetime):
        return value.isoformat() if value.time() != time() else value.date().isoformat()
    return str(value or "")


def sentence(text: str) -> str:
    """Return a text with a capital at its start."""
    return text[:1].upper() + text[1:]


def same_results(one: Sequence[tuple[str, Any]], two: Sequence[tuple[str, Any]]) -> bool:
    """Return whether two computations gave the same keys, in order, and numbers."""
    if len(one) != len(two):
        return False
    for (key, value), (other, again) in zip(one, two, strict=True):
        alike = value is again is None or (
            value is not None and again is not None and math.isclose(value, again, rel_tol=1e-9, abs_tol=SMALLEST)
        )
        if key != other or not alike:
            return False
    return True
