"""Computes a checked statement a second time: by another engine, from the cells of the documents themselves.

The other engine is sqlglot's executor. It writes Python from the statement, so every name and text in the statement is
replaced first: names by numbered ones, and texts keep no character that could end a Python string.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

import sqlglot
from footnote.types.v1.table_pb2 import (
    COLUMN_TYPE_BOOLEAN,
    COLUMN_TYPE_DATE,
    COLUMN_TYPE_NUMBER,
    TableDescription,
)
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.executor import execute

from footnote_ingestion.tables.collected import CellData, RowData
from footnote_ingestion.tables.formatting import SMALLEST

_KINDS: dict[int, str] = {COLUMN_TYPE_NUMBER: "number", COLUMN_TYPE_DATE: "date", COLUMN_TYPE_BOOLEAN: "boolean"}
# Days are texts that sort as days do: the other engine compares days and times of day with neither.
_SQL: dict[int, str] = {COLUMN_TYPE_NUMBER: "DOUBLE", COLUMN_TYPE_BOOLEAN: "BOOLEAN"}
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_PLACES = {"year": "1, 4", "month": "6, 2", "day": "9, 2"}
_MIDNIGHT = "T00:00:00"
# Each is replaced alike in the statement and in the cells, by a character of private use: equal texts stay equal.
_ENDS_STRINGS = {ord(one): 0xE000 + place for place, one in enumerate("'\"\\\r\n\0{}")}
_UNKNOWN: tuple[type[exp.Expr], ...] = (
    exp.Var, exp.Interval, exp.Window, exp.Median, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance,
    exp.VariancePop, exp.DateTrunc, exp.TimestampTrunc, exp.DateDiff, exp.Exists,
)  # fmt: skip
"""What the other engine lacks, or computes otherwise."""


class NotRecomputed(Exception):
    """The other engine cannot run the statement; the message says which part."""


def recomputed(
    statement: str, tables: Iterable[TableDescription], rows: Callable[[TableDescription], Iterable[RowData]]
) -> list[tuple[Any, ...]]:
    """Return the rows that a checked statement gives over the documents' own cells; raises `NotRecomputed`."""
    tree = sqlglot.parse_one(statement, dialect="duckdb")
    for node in tree.walk():
        if isinstance(node, _UNKNOWN):
            raise NotRecomputed(node.key.upper())
    for select in tree.find_all(exp.Select):
        _join_by_condition(select)
    tree = _spelled_out(tree)
    names: dict[str, str] = {}
    used = {table.name.casefold() for table in tree.find_all(exp.Table)}
    there = [table for table in tables if table.view.casefold() in used]
    for node in tree.find_all(exp.Identifier):
        node.set("this", _safe(names, node.name))
        node.set("quoted", False)
    for node in tree.find_all(exp.Literal):
        if node.is_string:
            node.set("this", node.name.translate(_ENDS_STRINGS))
    data = {_safe(names, table.view): _cells(table, rows(table), names) for table in there}
    schema = {_safe(names, table.view): _schema(table, names) for table in there}
    try:
        found = execute(tree, schema=schema, dialect="duckdb", tables=data)
    except (SqlglotError, ArithmeticError, TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
        raise NotRecomputed(type(error).__name__) from None
    return list(found.rows)


def same(one: Sequence[Sequence[Any]], two: Sequence[Sequence[Any]]) -> bool:
    """Return whether two results hold the same rows, in any order; numbers may differ by rounding."""
    if len(one) != len(two):
        return False
    return all(
        len(left) == len(right) and all(_alike(a, b) for a, b in zip(left, right, strict=True))
        for left, right in zip(sorted(map(_plain, one), key=_order), sorted(map(_plain, two), key=_order), strict=True)
    )


def _safe(names: dict[str, str], name: str) -> str:
    return names.setdefault(name.casefold(), f"x{len(names)}")


def _schema(table: TableDescription, names: dict[str, str]) -> dict[str, str]:
    columns = {_safe(names, column.name): _SQL.get(column.type, "VARCHAR") for column in table.columns}
    return {_safe(names, "_row"): "BIGINT", **columns}


def _cells(table: TableDescription, rows: Iterable[RowData], names: dict[str, str]) -> list[dict[str, Any]]:
    columns = [(column.number, _safe(names, column.name), column.type) for column in table.columns]
    row_name = _safe(names, "_row")
    return [
        {row_name: row.number, **{name: _value(row.cells.get(number), kind) for number, name, kind in columns}}
        for row in rows
    ]


def _value(cell: CellData | None, kind: int) -> Any:
    if cell is None or not cell.text:
        return None
    if kind not in _KINDS:
        return cell.text.translate(_ENDS_STRINGS)
    if cell.kind != _KINDS[kind]:
        return None
    return _moment(str(cell.value)) if cell.kind == "date" else cell.value


def _moment(text: str) -> str:
    """Return a day or time as a text that sorts by time."""
    try:
        return datetime.fromisoformat(text).isoformat()
    except ValueError:
        raise NotRecomputed("a day that is none") from None


def _join_by_condition(select: exp.Select) -> None:
    """Put USING as ON: the other engine knows no columns that belong to both sides."""
    first = select.args.get("from_")
    joins: list[exp.Join] = select.args.get("joins") or []
    using = {name.name.casefold() for join in joins for name in join.args.get("using") or ()}
    if not using or first is None:
        return
    if len(joins) > 1 or joins[0].side in ("FULL", "RIGHT"):
        raise NotRecomputed("USING with several joins, or joins that are FULL or RIGHT")
    left, right = first.this.alias_or_name, joins[0].this.alias_or_name
    equal = [
        exp.EQ(this=exp.column(name.copy(), table=left), expression=exp.column(name.copy(), table=right))
        for name in joins[0].args["using"]
    ]
    for column in select.find_all(exp.Column):
        if not column.table and column.name.casefold() in using:
            column.set("table", exp.to_identifier(left))
    joins[0].set("using", None)
    joins[0].set("on", exp.and_(*equal))


def _spelled_out(tree: exp.Expr) -> exp.Expr:
    """Put what the other engine lacks in other words: FILTER, IS DISTINCT FROM, days and parts of days."""

    def spelled(node: Any) -> Any:
        if isinstance(node, exp.Filter):
            call = node.this.copy()
            counted = exp.Literal.number(1) if isinstance(call.this, exp.Star) else call.this.copy()
            call.set("this", exp.Case().when(node.expression.this.copy(), counted))
            return call
        if isinstance(node, exp.NullSafeNEQ | exp.NullSafeEQ):
            left, right = node.left.sql("duckdb"), node.right.sql("duckdb")
            equal = f"(COALESCE({left} = {right}, FALSE) OR ({left} IS NULL AND {right} IS NULL))"
            negated = "" if isinstance(node, exp.NullSafeEQ) else "NOT "
            equality = sqlglot.parse_one(negated + equal, dialect="duckdb")
            return equality
        if isinstance(node, exp.Cast) and node.this.is_string and node.to.this.value in ("DATE", "TIMESTAMP"):
            return exp.Literal.string(_moment(node.this.name))
        if isinstance(node, exp.Literal) and node.is_string and _DAY.fullmatch(node.name):
            return exp.Literal.string(_moment(node.name))
        if isinstance(node, exp.Year | exp.Month | exp.Day):
            place = _PLACES[node.key]
            part = sqlglot.parse_one(f"CAST(SUBSTRING({node.this.sql('duckdb')}, {place}) AS INT)", dialect="duckdb")
            return part
        return node

    found: exp.Expr = tree.transform(spelled)
    return found


def _plain(row: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(
        value.translate(_ENDS_STRINGS).removesuffix(_MIDNIGHT) if isinstance(value, str)
        else float(value) if isinstance(value, int | float) and not isinstance(value, bool)
        else value if value is None or isinstance(value, bool)
        else float(value) if hasattr(value, "as_tuple")
        else str(value)
        for value in row
    )  # fmt: skip


def _order(row: Sequence[Any]) -> list[tuple[int, Any]]:
    return [(0, 0) if one is None else (1, one) if isinstance(one, bool | float) else (2, one) for one in row]


def _alike(one: Any, two: Any) -> bool:
    if isinstance(one, float) and isinstance(two, float):
        return math.isclose(one, two, rel_tol=1e-9, abs_tol=SMALLEST)
    return type(one) is type(two) and bool(one == two)
