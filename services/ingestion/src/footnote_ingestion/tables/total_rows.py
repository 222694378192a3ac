"""Finds the rows of a table that hold totals, which no computation counts again."""

from __future__ import annotations

from footnote.types.v1.table_pb2 import COLUMN_TYPE_TEXT, TableDescription

from footnote_ingestion.parsers.tables import HEADER_SEPARATOR
from footnote_ingestion.tables.engine import Engine
from footnote_ingestion.tables.formatting import SMALLEST, is_total, may_be_total, raw, texts_of
from footnote_ingestion.tables.forms import Totals

_MOST_NAMELESS, _MOST_TOTALS = 1000, 100
"""Rows without a name, from the end, that are looked through for totals; rows of totals that are left out."""

_MOST_SECTIONS = 1000
_FEWEST = 5
"""Rows of a table in which one may be recognised by its numbers: of three, one often is as much as two others."""


def total_rows(engine: Engine, table: TableDescription) -> Totals:
    """Return the rows of totals of a table: by their names, or by their first cell where they have none."""
    naming = next((column.number for column in table.columns if column.type == COLUMN_TYPE_TEXT), 0)
    texts = texts_of(engine, table, naming) if naming else []
    named = [text for text in texts if is_total(text)]
    if maybe := {text for text in texts if may_be_total(text)}:
        named += sorted(maybe & _greatest(engine, table, naming))
    kept = engine.kept_columns(table)
    columns = [f"t{column.number}" for column in table.columns if f"t{column.number}" in kept]
    if not columns:
        return Totals(naming, named)
    nameless = f"t{naming} IS NULL" if naming else f"{columns[0]} IS NOT NULL"
    statement = f"SELECT row, COALESCE({', '.join(columns)}) FROM {raw(table)} WHERE {nameless} ORDER BY row DESC"
    found = engine.run(f"{statement} LIMIT {_MOST_NAMELESS}")[1]
    return Totals(naming, named, sorted(row for row, text in found if text and is_total(text))[:_MOST_TOTALS])


def repeats_in_sections(engine: Engine, table: TableDescription) -> bool:
    """Return whether a section of a table says that its rows are the totals of others'.

    Where such a section ends may be uncertain, so that nothing is added up at all.
    """
    found = engine.run(f"SELECT DISTINCT sections FROM {raw(table)}", most=_MOST_SECTIONS)[1]
    return len(found) > 1 and any(is_total(one) for (path,) in found for one in str(path or "").split(HEADER_SEPARATOR))


def _greatest(engine: Engine, table: TableDescription, naming: int) -> set[str]:
    """Return the names of rows of which most numbers, as all but shares are, reach the sums of all others."""
    kept = engine.kept_columns(table)
    numbers = [f"n{column.number}" for column in table.columns if f"n{column.number}" in kept]
    if not numbers or table.rows < _FEWEST:
        return set()
    reaches = " + ".join(
        f"CAST(2 * SUM({one}) + {SMALLEST} * ABS(SUM({one})) >= SUM(SUM({one})) OVER ()"
        f" AND COUNT({one}) BETWEEN 1 AND SUM(COUNT({one})) OVER () - 1 AS INTEGER)"
        for one in numbers
    )
    names = f"SELECT t{naming} AS name, {reaches} AS many FROM {raw(table)} WHERE t{naming} IS NOT NULL GROUP BY name"
    statement = f"SELECT name FROM ({names}) WHERE 2 * many > {len(numbers)}"
    return {name for (name,) in engine.run(statement)[1]}
