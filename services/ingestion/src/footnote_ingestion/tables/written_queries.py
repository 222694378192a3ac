"""Computes an answer by a query that a model wrote: validates it, runs it, and computes it a second time.

A query that does not run, or whose result cannot be shown, is refused with an explanation for the model to repair it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import sqlglot
from footnote.types.v1.table_pb2 import (
    COLUMN_TYPE_NUMBER,
    COLUMN_TYPE_TEXT,
    ColumnDescription,
    TableComputation,
    TableDescription,
)
from footnote_text import locales
from footnote_text.language import detect
from footnote_text.locales import Locale, TableWords
from sqlglot import exp

from footnote_ingestion.tables import accounting, formatting
from footnote_ingestion.tables.engine import Engine
from footnote_ingestion.tables.formatting import MOST_LINES, MOST_ROWS, Rows
from footnote_ingestion.tables.forms import Subject
from footnote_ingestion.tables.opened import quoted
from footnote_ingestion.tables.query_units import MixedUnits, QueryUnits
from footnote_ingestion.tables.recomputed import NotRecomputed, recomputed, same
from footnote_ingestion.tables.statements import RefusedStatement, checked

_MOST_COLUMNS, _MOST_USED = 8, 6
_WORDS_OF = {
    exp.Sum: "total_of",
    exp.Avg: "average_of",
    exp.Count: "count_of",
    exp.Max: "highest_of",
    exp.Min: "lowest_of",
}


@dataclass(frozen=True, slots=True)
class _Used:
    """Cells of a column that went in; `added` where they were summed or averaged, and not by group of `keys`."""

    table: TableDescription
    column: ColumnDescription
    rows: list[int]
    added: bool
    keys: frozenset[str]


class WrittenQuery:
    """Computes by statements over the tables of an open engine; `again` reads a document's own rows."""

    def __init__(self, engine: Engine, again: Rows, subject: Callable[[TableDescription], Subject]) -> None:
        self._engine = engine
        self._again = again
        self._subject = subject
        self._views = {table.view.casefold(): table for table in engine.tables}

    def answer(self, question: str, query: str, locale: str) -> TableComputation:
        """Return what the statement computes; raises `RefusedStatement` with what a repair has to change."""
        statement = checked(query, [table.view for table in self._engine.tables])
        tree = sqlglot.parse_one(statement, dialect="duckdb")
        named = {one.name.casefold() for one in tree.find_all(exp.Table)}
        tables = [table for view, table in self._views.items() if view in named]
        if not tables:
            raise RefusedStatement("reads no table")
        if sum(table.rows for table in tables) > MOST_ROWS:
            raise RefusedStatement(f"reads tables of more than {MOST_ROWS} rows, which are not computed again")
        ran = self._engine.query(query)
        if not ran.rows or all(value is None for row in ran.rows for value in row):
            raise RefusedStatement("gives no value")
        if len(ran.rows) > MOST_LINES or len(ran.columns) > _MOST_COLUMNS:
            raise RefusedStatement(f"gives more than {MOST_LINES} rows or {_MOST_COLUMNS} columns")
        used = [one for one in self._used(tree) if one.rows]
        if not used:
            raise RefusedStatement("reads no cell that has a value")
        computation = TableComputation(query=statement, document_ids=dict.fromkeys(one.document_id for one in tables))
        for one in used:
            self._refuse_totals(one)
            if mixed := self._mixed(one):
                return TableComputation(mixed=mixed)
        try:
            units = QueryUnits(tree, self._views, lambda table, column: self._unit(table, column, used)).of(ran.columns)
        except MixedUnits as mixed:
            return TableComputation(mixed=str(mixed))
        try:
            computation.confirmed = same(ran.rows, recomputed(statement, tables, self._again))
        except NotRecomputed as part:
            raise RefusedStatement(f"cannot be computed a second time ({part}): write it in plainer SQL") from None
        read = [one for one in map(locales.known, dict.fromkeys((locale, detect(question)))) if one is not None]
        words = read[0] if read else locales.choose(locale)
        subjects = [self._subject(table) for table in tables]
        others = [self._subject(table) for table in self._engine.tables if table not in tables]
        found = accounting.least(
            accounting.discrepancies(question, tree, subjects, others, one) for one in read or [words]
        )
        computation.doubts.extend(found.said(words))
        computation.cells.extend(
            formatting.cells_of(one.table, one.column.number, one.rows, self._again(one.table)) for one in used
        )
        computation.formula = _formula(tree, words.tables)
        computation.text = _text(computation.formula, ran.rows, ran.columns, units)
        self._note(computation, used, words)
        return computation

    def _used(self, tree: exp.Expr) -> Iterator[_Used]:
        """Yield the cells that each SELECT over tables read: those of its numbers, else of what it shows or counts."""
        parts = tree.args.get("with_")
        for select in tree.find_all(exp.Select):
            sources = _sources(select)
            tables = {alias: self._views[view] for alias, view in sources if view in self._views}
            if len(tables) < len(sources):
                if tables:
                    raise RefusedStatement("joins a table with a part of itself: join tables alone")
                continue
            added = any(one.find(exp.AggFunc) for one in select.expressions)
            for alias, table, column in _columns(select, tables):
                rows = self._rows(select, alias, column, parts, added=added)
                keys = frozenset(one.name.casefold() for one in _keys(select)) if added else frozenset()
                yield _Used(table, column, rows, bool(added and select.find(exp.Sum, exp.Avg)), keys)

    def _rows(
        self, select: exp.Select, alias: str, column: ColumnDescription, parts: exp.Expr | None, *, added: bool
    ) -> list[int]:
        inner = select.copy()
        row, value = (
            exp.alias_(exp.Column(this=_name(name), table=_name(alias)), into)
            for name, into in (("_row", "_r"), (column.name, "_v"))
        )
        if added:
            for name in ("group", "having", "order", "limit", "offset", "qualify"):
                inner.set(name, None)
        inner.set("distinct", None)
        inner.set("expressions", [row, value] if added else [*inner.expressions, row, value])
        inner.set("with_", None)
        outer = exp.select("_r").distinct().from_(inner.subquery("s")).where('"_v" IS NOT NULL')
        if parts is not None:
            outer.set("with_", parts.copy())
        return sorted(int(one[0]) for one in self._engine.run(outer.sql("duckdb"))[1])

    def _refuse_totals(self, used: _Used) -> None:
        """Refuse sums over rows of totals: they would count the same numbers twice."""
        naming = next((one for one in used.table.columns if one.type == COLUMN_TYPE_TEXT), None)
        if not used.added or naming is None:
            return
        totals = [text for text in self._subject(used.table).values[naming.number] if formatting.is_total(text)]
        if not totals:
            return
        listed = ", ".join(formatting.literal(one) for one in totals)
        statement = f"SELECT _row FROM {quoted(used.table.view)} WHERE {quoted(naming.name)} IN ({listed})"
        if {row[0] for row in self._engine.run(statement)[1]} & set(used.rows):
            raise RefusedStatement(f"adds rows of totals: leave out {quoted(naming.name)} IN ({listed})")

    def _mixed(self, used: _Used) -> str:
        """Return what is mixed among numbers that are added, "" where all are alike or grouped by it."""
        if not used.added or used.column.type != COLUMN_TYPE_NUMBER:
            return ""
        rows = set(used.rows)
        own = {said for row, said in self._measures(used).items() if row in rows}
        return formatting.mixed_units(self._engine, used.table, used.column, own, rows, used.keys)

    def _measures(self, used: _Used) -> dict[int, str]:
        return formatting.measures_of(self._engine, used.table, used.column.number)

    def _unit(self, table: TableDescription, column: ColumnDescription, used: Sequence[_Used]) -> str:
        """Return what a column's numbers that went in are counted in, "" where several or nothing is said."""
        own = formatting.measures_of(self._engine, table, column.number)
        rows = {row for one in used if one.table is table and one.column is column for row in one.rows}
        units = {formatting.unit_of(column, [said]) for row, said in own.items() if not rows or row in rows}
        return units.pop() if len(units) == 1 else ""

    def _note(self, computation: TableComputation, used: Sequence[_Used], words: Locale) -> None:
        for one in used:
            if one.added and one.column.other_cells:
                computation.notes.append(
                    words.tables.no_number.format(count=one.column.other_cells, cells=one.table.rows)
                )


def _sources(select: exp.Select) -> list[tuple[str, str]]:
    """Return the alias and name of each thing that a SELECT reads, folded; "" for one that has no name."""
    first = select.args.get("from_")
    every = [first.this] if first is not None else []
    every += [join.this for join in select.args.get("joins") or ()]
    return [(one.alias_or_name, one.name.casefold() if isinstance(one, exp.Table) else "") for one in every]


def _keys(select: exp.Select) -> list[exp.Column]:
    group = select.args.get("group")
    found: list[exp.Column] = []
    for one in group.expressions if group is not None else ():
        if isinstance(one, exp.Literal) and one.is_int and 0 < int(one.name) <= len(select.expressions):
            found += select.expressions[int(one.name) - 1].find_all(exp.Column)
        else:
            found += one.find_all(exp.Column)
    return found


def _columns(
    select: exp.Select, tables: dict[str, TableDescription]
) -> list[tuple[str, TableDescription, ColumnDescription]]:
    """Return the columns whose cells a SELECT shows or adds: numbers where there are any; else those it looks at."""
    shown_first = [list(one.find_all(exp.Column)) for one in select.expressions]
    looked_at = [one for one in select.find_all(exp.Column) if one.find_ancestor(exp.Select) is select]
    for every in ([one for found in shown_first for one in found], looked_at):
        known = [found for one in every if (found := _column_of(one, tables)) is not None]
        numbers = [one for one in known if one[2].type == COLUMN_TYPE_NUMBER]
        if found_here := numbers or known:
            distinct = {(alias, column.number): (alias, table, column) for alias, table, column in found_here}
            return list(distinct.values())[:_MOST_USED]
    alias, table = next(iter(tables.items()))
    return [(alias, table, table.columns[0])]


def _column_of(
    column: exp.Column, tables: dict[str, TableDescription]
) -> tuple[str, TableDescription, ColumnDescription] | None:
    for alias, table in tables.items():
        if column.table and column.table.casefold() != alias.casefold():
            continue
        for one in table.columns:
            if one.name.casefold() == column.name.casefold():
                return alias, table, one
    return None


def _name(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def _formula(tree: exp.Expr, words: TableWords) -> str:
    """Return what is computed in words: those of forms for its aggregates, the statement's own for the rest."""
    if not isinstance(tree, exp.Select):
        return words.rows_of
    aggregates = [one.unalias() for one in tree.expressions if one.find(exp.AggFunc)]
    said: list[str] = []
    for one in aggregates:
        inner = one.this if isinstance(one, exp.Round) else one
        column = inner.find(exp.Column)
        known = _WORDS_OF.get(type(inner), "")
        plain = known == "count_of" or (known and inner.this == column)
        said.append(str(getattr(words, known)).format(column=column.name if column else "") if plain else _bare(one))
    formula = ", ".join(said) or _ranked(tree, words)
    if keys := _keys(tree):
        formula = words.by.format(formula=formula, column=", ".join(one.name for one in keys))
    where = tree.args.get("where")
    if where is None or where.find(exp.Select):
        return formula
    return words.where.format(formula=formula, filters=_bare(where.this))


def _ranked(select: exp.Select, words: TableWords) -> str:
    """Return what rows are shown: the first by a column, else rows."""
    order = select.find(exp.Ordered) if select.args.get("limit") else None
    if order is None or not isinstance(order.this, exp.Column):
        return words.rows_of
    return (words.highest_of if order.args.get("desc") else words.lowest_of).format(column=order.this.name)


def _bare(part: exp.Expr) -> str:
    """Return a part of a statement for people: names and texts without quotes, days without their type."""
    return part.transform(_unquoted).sql("duckdb")


def _unquoted(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.is_type("date", "timestamp"):
        node = node.this
    if isinstance(node, exp.Identifier) or (isinstance(node, exp.Literal) and node.is_string):
        return exp.Var(this=node.name)
    return node


def _text(formula: str, rows: Sequence[Sequence[object]], columns: Sequence[str], units: Sequence[str]) -> str:
    if len(rows) == 1 and len(rows[0]) == 1:
        return f"{formatting.sentence(formula)}: {_value(rows[0][0], units[0])}"
    lines = []
    for row in rows:
        keys = [one for one in row if isinstance(one, str)]
        values = [
            (name, _value(one, unit))
            for name, one, unit in zip(columns, row, units, strict=True) if not isinstance(one, str)
        ]  # fmt: skip
        said = [value if len(values) == 1 else f"{name} {value}" for name, value in values]
        lines.append("- " + ": ".join(part for part in (", ".join(keys), ", ".join(said)) if part))
    return "\n".join([f"{formatting.sentence(formula)}:", *lines])


def _value(value: object, unit: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "–" if value is None else str(value)
    return formatting.written(value, unit)
