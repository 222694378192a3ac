"""Validates queries: one SELECT over the given views with listed functions; anything else is refused before it runs."""

from __future__ import annotations

import logging
from collections.abc import Collection

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

MOST_CHARACTERS = 8000
MOST_NODES = 2000
_MOST_TABLES = 8
_PART = "part "

_ALLOWED: tuple[type[exp.Expression], ...] = (
    # Statement and clauses.
    exp.Select, exp.From, exp.Join, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit, exp.Offset,
    exp.Subquery, exp.With, exp.CTE, exp.Union, exp.Intersect, exp.Except, exp.Distinct, exp.Table, exp.TableAlias,
    exp.Alias, exp.Column, exp.Identifier, exp.Star, exp.Literal, exp.Null, exp.Boolean, exp.Paren, exp.Tuple,
    exp.Window, exp.WindowSpec, exp.Filter, exp.Exists,
    # Operators.
    exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is, exp.In, exp.Between, exp.Like,
    exp.ILike, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.NullSafeEQ, exp.NullSafeNEQ, exp.DPipe,
    exp.IntDiv,
    # Types and branches.
    exp.Cast, exp.TryCast, exp.DataType, exp.Case, exp.If, exp.Interval, exp.Var,
    # Functions of values only: none reads a file, a setting, a catalogue or the clock.
    exp.Sum, exp.Avg, exp.Count, exp.Min, exp.Max, exp.Median, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance,
    exp.VariancePop, exp.Abs, exp.Round, exp.Ceil, exp.Floor, exp.Sqrt, exp.Coalesce, exp.Nullif, exp.Greatest,
    exp.Least, exp.Lower, exp.Upper, exp.Trim, exp.Length, exp.Substring, exp.Concat, exp.Extract, exp.Year, exp.Month,
    exp.Day, exp.DateTrunc, exp.TimestampTrunc, exp.DateDiff, exp.RowNumber, exp.Rank, exp.DenseRank, exp.Lag, exp.Lead,
    exp.FirstValue, exp.LastValue, exp.StartsWith, exp.Contains,
)  # fmt: skip
_TYPES = frozenset(
    {
        *("BIGINT", "INT", "DOUBLE", "FLOAT", "DECIMAL", "VARCHAR", "TEXT", "DATE", "TIMESTAMP", "BOOLEAN"),
        "INTERVAL",
    }
)

# The parser logs statements that it does not know, which may quote documents; they are refused with the reason instead.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL + 1)


class RefusedStatement(ValueError):
    """A refused statement; the message says why."""


def checked(query: str, views: Collection[str]) -> str:
    """Return the statement to run for a query over `views`; raises `RefusedStatement`.

    The result is generated from the parsed query, so that nothing unchecked can run; every name in it is quoted.
    """
    if len(query) > MOST_CHARACTERS:
        raise RefusedStatement(f"is longer than {MOST_CHARACTERS} characters")
    try:
        statements = [one for one in sqlglot.parse(query, read="duckdb") if one is not None]
    except (SqlglotError, RecursionError) as error:
        raise RefusedStatement(f"is no SQL that is understood: {_first_line(str(error))}") from None
    if len(statements) != 1:
        raise RefusedStatement("must be one statement")
    tree = statements[0]
    if not isinstance(tree, exp.Select | exp.Union | exp.Intersect | exp.Except):
        raise RefusedStatement("must be a SELECT")
    named = _rename_parts(tree)
    known = {view.casefold() for view in views}
    tables = 0
    for count, node in enumerate(tree.walk()):
        if count > MOST_NODES:
            raise RefusedStatement("is too large")
        _check(node)
        if isinstance(node, exp.Table):
            tables += 1
            _check_table(node, known, named)
    if tables > _MOST_TABLES:
        raise RefusedStatement(f"reads more than {_MOST_TABLES} tables")
    try:
        return tree.sql(dialect="duckdb", comments=False, identify=True)
    except (SqlglotError, RecursionError) as error:
        raise RefusedStatement(f"cannot be written: {_first_line(str(error))}") from None


def _check(node: exp.Expr) -> None:
    if type(node) not in _ALLOWED:
        what = node.name if isinstance(node, exp.Anonymous) else node.key
        raise RefusedStatement(f"uses {what.upper()[:60]}, which is not allowed here")
    if isinstance(node, exp.With) and node.args.get("recursive"):
        raise RefusedStatement("uses RECURSIVE, which is not allowed here")
    if isinstance(node, exp.DataType):
        kind = node.this.value if isinstance(node.this, exp.DataType.Type) else str(node.this)
        if kind not in _TYPES:
            raise RefusedStatement(f"uses the type {kind[:40]}, which is not allowed here")
    if isinstance(node, exp.Join) and not (node.args.get("on") or node.args.get("using")):
        raise RefusedStatement("joins without ON or USING")
    if isinstance(node, exp.Select) and not node.expressions:
        raise RefusedStatement("selects nothing")
    if isinstance(node, exp.Select) and (node.args.get("into") or node.args.get("locks") or node.args.get("hint")):
        raise RefusedStatement("must only read")


def _check_table(table: exp.Table, views: Collection[str], named: Collection[str]) -> None:
    if not isinstance(table.this, exp.Identifier) or table.args.get("db") or table.args.get("catalog"):
        raise RefusedStatement("reads something that is no table")
    if table.name.casefold() not in views and table.name.casefold() not in named:
        raise RefusedStatement(f"names the table {table.name[:80]}, which is not among those asked")


def _rename_parts(tree: exp.Expression) -> Collection[str]:
    """Give the WITH parts unique names, so that no name can reach past them into the catalogue."""
    parts = {one.alias_or_name.casefold() for one in tree.find_all(exp.CTE)}
    for table in list(tree.find_all(exp.Table)):
        if isinstance(table.this, exp.Identifier) and table.name.casefold() in parts:
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
            table.set("this", exp.to_identifier(_PART + table.name, quoted=True))
    for part in tree.find_all(exp.CTE):
        alias = part.args["alias"]
        alias.set("this", exp.to_identifier(_PART + part.alias_or_name, quoted=True))
    return {(_PART + name).casefold() for name in parts}


def _first_line(text: str) -> str:
    return text.partition("\n")[0][:200]
