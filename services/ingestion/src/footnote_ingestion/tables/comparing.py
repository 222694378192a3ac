"""Computes what differs between the numbers of two files, by the texts that name their rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from footnote.types.v1.table_pb2 import (
    COLUMN_TYPE_NUMBER,
    COLUMN_TYPE_TEXT,
    ColumnDescription,
    ColumnType,
    TableComputation,
    TableDescription,
)
from footnote_text.locales import Locale

from footnote_ingestion.tables import forms
from footnote_ingestion.tables.engine import Engine
from footnote_ingestion.tables.formatting import (
    MOST_LINES,
    MOST_ROWS,
    SMALLEST,
    Rows,
    cells_of,
    is_total,
    literal,
    measures_of,
    sentence,
    unit_of,
    written,
)
from footnote_ingestion.tables.opened import quoted
from footnote_ingestion.tables.statements import checked

_MOST_KEYS = 50
"""Keys of one file alone that an answer names."""

_Columns = tuple[ColumnDescription, ColumnDescription, ColumnDescription, ColumnDescription]
"""The columns that name the rows of two tables, and those of the numbers that both have."""


def compared(
    engine: Engine, again: Rows, asked: Sequence[str], named: Sequence[str], words: Locale
) -> TableComputation | None:
    """Return the differences of two named files' numbers; None where not exactly two of their tables fit together."""
    pairs = [
        (one, two, shared)
        for one in engine.tables if one.filename == named[0]
        for two in engine.tables if two.filename == named[1]
        if (shared := _shared(one, two, asked)) is not None
    ]  # fmt: skip
    if len(pairs) != 1:
        return None
    one, two, columns = pairs[0]
    views = [table.view for table in engine.tables]
    rows = [row for row in engine.run(checked(_every(one, two, columns), views))[1] if row[0] and not is_total(row[0])]
    keys = [row[0] for row in rows]
    if not rows or len(rows) > MOST_ROWS or len(set(keys)) < len(keys):
        return None  # a key that names several rows says nothing of which to compare
    wanted = [key for key in keys if forms.place_in(asked, forms.tokens(key)) >= 0]
    rows = [row for row in rows if row[0] in wanted] if wanted else rows
    units = [
        {unit_of(column, [said]) for row, said in measures_of(engine, table, column.number).items() if row in used}
        for table, column, used in (
            (one, columns[2], {row[3] for row in rows}),
            (two, columns[3], {row[4] for row in rows}),
        )
    ]
    if len(units[0] | units[1]) > 1:
        return TableComputation(mixed=", ".join(sorted(unit or "1" for unit in units[0] | units[1])))
    unit = next(iter(units[0] | units[1]), "")
    both = [(row[0], row[2] - row[1], row[3], row[4]) for row in rows if row[1] is not None and row[2] is not None]
    differing = [found for found in both if wanted or abs(found[1]) > 1e-9]
    computation = TableComputation(query=checked(_differing(one, two, columns, wanted), views))
    computation.document_ids.extend(dict.fromkeys((one.document_id, two.document_id)))
    computation.formula = words.tables.difference_of.format(column=columns[2].name, second=named[1], first=named[0])
    own = [_own(again, table, key, number) for table, key, number in ((one, *columns[::2]), (two, *columns[1::2]))]
    computation.confirmed = all(
        (key in own[0], key in own[1]) == (first is not None, second is not None) for key, _, _, first, second in rows
    ) and all(_agrees(own[0].get(key), own[1].get(key), value) for key, value, _, _ in both)
    listed = [f"- {key}: {written(value, unit, signed=True)}" for key, value, _, _ in differing[:MOST_LINES]]
    computation.text = "\n".join([f"{sentence(computation.formula)}:", *listed])
    if more := len(differing) - len(listed):
        computation.notes.append(words.finder.more.format(count=more))
    if same := len(both) - len(differing):
        computation.notes.append(words.tables.same.format(count=same))
    for file, there, other in ((named[0], 3, 4), (named[1], 4, 3)):
        if only := [row[0] for row in rows if row[there] is not None and row[other] is None]:
            shown = [*only[:_MOST_KEYS], *([f"… (+{len(only) - _MOST_KEYS})"] if len(only) > _MOST_KEYS else [])]
            computation.notes.append(words.tables.only_in.format(file=file, keys=", ".join(shown)))
    paired = [row for row in rows if row[3] is not None and row[4] is not None]
    if without := sum((row[1] is None) + (row[2] is None) for row in paired):
        computation.notes.append(words.tables.no_number.format(count=without, cells=2 * len(paired)))
    for table, column, place in ((one, columns[2], 2), (two, columns[3], 3)):
        computation.cells.append(cells_of(table, column.number, sorted(found[place] for found in both), again(table)))
    return computation


def _own(
    again: Rows, table: TableDescription, key: ColumnDescription, number: ColumnDescription
) -> dict[str, float | None]:
    """Return the numbers of a table by their keys, from the document's own cells; None where one holds no number."""
    found: dict[str, float | None] = {}
    for row in again(table):
        if key.number in row.cells:
            cell = row.cells.get(number.number)
            is_number = cell is not None and cell.kind == "number" and cell.value is not None
            found[row.cells[key.number].text] = float(cell.value or 0.0) if cell is not None and is_number else None
    return found


def _agrees(first: float | None, second: float | None, value: float) -> bool:
    return (
        first is not None and second is not None and math.isclose(second - first, value, rel_tol=1e-9, abs_tol=SMALLEST)
    )


def _every(one: TableDescription, two: TableDescription, columns: _Columns) -> str:
    """Return the statement over two tables that gives each key, both numbers, and their rows."""
    key, first, second, joined = _joined(one, two, columns)
    return (
        f'SELECT {key} AS "key", {first} AS "first", {second} AS "second", '
        f'a."_row" AS "row_first", b."_row" AS "row_second"{joined} ORDER BY COALESCE(a."_row", b."_row")'
    )


def _differing(one: TableDescription, two: TableDescription, columns: _Columns, wanted: Sequence[str]) -> str:
    """Return the statement that shows what differs, or the `wanted` keys, with the numbers under their files' names."""
    key, first, second, joined = _joined(one, two, columns)
    where = f"{key} IN ({', '.join(map(literal, wanted))})" if wanted else f"{first} IS DISTINCT FROM {second}"
    return (
        f"SELECT {key} AS {quoted(columns[0].name)}, {first} AS {quoted(one.filename)}, "
        f'{second} AS {quoted(two.filename)}, {second} - {first} AS "difference"{joined} '
        f'WHERE {where} ORDER BY COALESCE(a."_row", b."_row")'
    )


def _joined(one: TableDescription, two: TableDescription, columns: _Columns) -> tuple[str, str, str, str]:
    """Return the key, both numbers and the FROM of two tables whose rows are joined by their keys."""
    key_one, key_two, first, second = (
        f"{alias}.{quoted(column.name)}" for alias, column in zip("abab", columns, strict=True)
    )
    joined = f" FROM {quoted(one.view)} AS a FULL JOIN {quoted(two.view)} AS b ON {key_one} = {key_two}"
    return f"COALESCE({key_one}, {key_two})", first, second, joined


def _shared(one: TableDescription, two: TableDescription, asked: Sequence[str]) -> _Columns | None:
    """Return the columns that name the rows of two tables, and the one of numbers that both have."""

    def pairs(kind: ColumnType.ValueType) -> list[tuple[ColumnDescription, ColumnDescription]]:
        return [
            (a, b)
            for a in one.columns if a.type == kind
            for b in two.columns if b.type == kind and forms.tokens(a.name) == forms.tokens(b.name)
        ]  # fmt: skip

    keys, numbers = pairs(COLUMN_TYPE_TEXT), pairs(COLUMN_TYPE_NUMBER)
    if len(numbers) > 1:
        numbers = [
            pair for pair in numbers
            if any(forms.alike(word, part) for word in asked for part in forms.tokens(pair[0].name))
        ]  # fmt: skip
    return (*keys[0], *numbers[0]) if keys and len(numbers) == 1 else None
