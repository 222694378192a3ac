"""Compiles filters to Milvus expressions; every name and literal is escaped here, none is copied unchecked."""

from __future__ import annotations

import math
from collections.abc import Sequence

from footnote_kit.errors import InvalidArgument

from footnote_store.expr import And, Compare, Exists, Expr, In, Not, Op, Or, Scalar
from footnote_store.fields import (
    DATE_COLUMNS,
    NUMBER_COLUMNS,
    TEXT_COLUMNS,
    item_key,
    kind_of,
    metadata_name,
    normal,
    to_millis,
    type_key,
    unique,
    value_key,
)

# The engine has no constants; no row's primary key is empty.
TRUE = 'id != ""'
FALSE = 'id == ""'

_SYMBOLS: dict[Op, str] = {"eq": "==", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_NEGATED: dict[Op, str] = {"eq": "!=", "gt": "<=", "gte": "<", "lt": ">=", "lte": ">"}
_INT64 = 2**63
_FLAT = 8
"""Parts joined without further parentheses: the engine refuses what is nested some 50 deep, as each part was."""


def quote(text: str) -> str:
    """Return a text literal. The engine unescapes `\\\\` and `\\"` and takes every other character as it is."""
    if "\n" in text or "\r" in text:
        raise InvalidArgument("names and ids must not hold line breaks")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def literal(value: Scalar) -> str:
    """Return a literal of any type."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return quote(value) if isinstance(value, str) else repr(normal(value))


def compile_expr(expr: Expr) -> str:
    """Compile a filter for Milvus, with negation pushed down to the comparisons."""
    return _compile(expr, negated=False)


def conjunction(parts: Sequence[str]) -> str:
    """Join compiled filters by AND, without those that are always true."""
    kept = [part for part in parts if part != TRUE]
    return _joined(kept, " and ") if kept else TRUE


def _compile(expr: Expr, *, negated: bool) -> str:
    match expr:
        case Not(child):
            return _compile(child, negated=not negated)
        case And(children) | Or(children):
            parts = [_compile(child, negated=negated) for child in children]
            if isinstance(expr, And) != negated:
                return FALSE if FALSE in parts else conjunction(parts)
            return TRUE if TRUE in parts else _disjunction(parts)
        case Exists(field):
            return _exists(field, negated)
        case Compare(field, op, value):
            return _comparison(field, op, value, negated)
        case In(field, values):
            return _membership(field, unique(values), negated)


def _disjunction(parts: Sequence[str]) -> str:
    kept = [part for part in parts if part != FALSE]
    return _joined(kept, " or ") if kept else FALSE


def _joined(parts: Sequence[str], word: str) -> str:
    """Join one part or more, as a tree whose depth grows by the logarithm of their number."""
    while len(parts) > _FLAT:
        parts = [_joined(parts[at : at + _FLAT], word) for at in range(0, len(parts), _FLAT)]
    return word.join(f"({part})" for part in parts)


def _constant(value: bool) -> str:
    return TRUE if value else FALSE


def _path(key: str) -> str:
    return f'facets["{key}"]'


def _exists(field: str, negated: bool) -> str:
    if field in TEXT_COLUMNS:
        return f'{TEXT_COLUMNS[field]} {"==" if negated else "!="} ""'
    if field in NUMBER_COLUMNS or field in DATE_COLUMNS:
        return _constant(not negated)
    kinds = '["n", "s", "b", "l"]'
    return f"{_path(type_key(metadata_name(field)))} {'not in' if negated else 'in'} {kinds}"


def _comparison(field: str, op: Op, value: Scalar, negated: bool) -> str:
    symbol = (_NEGATED if negated else _SYMBOLS)[op]
    if field in TEXT_COLUMNS:
        return f"{TEXT_COLUMNS[field]} {symbol} {quote(value)}" if isinstance(value, str) else _constant(negated)
    if field in NUMBER_COLUMNS:
        number = None if isinstance(value, str | bool) else value
        return _integer_comparison(NUMBER_COLUMNS[field], op, number, negated)
    if field in DATE_COLUMNS:
        return _integer_comparison(DATE_COLUMNS[field], op, to_millis(value), negated)
    name = metadata_name(field)
    comparison = f"{_path(value_key(name))} {symbol} {literal(value)}"
    if op == "eq":
        in_list = f"{_path(item_key(name, value))} {symbol} true"
        return f"{comparison} {'and' if negated else 'or'} {in_list}"
    # With a value of another type, both the comparison and its opposite are false, so the negation checks the type
    # too.
    return f"{comparison} or {_path(type_key(name))} != {quote(kind_of(value))}" if negated else comparison


def _integer_comparison(column: str, op: Op, value: int | float | None, negated: bool) -> str:
    """Compare an integer column with any number; the column accepts integer literals only."""
    if value is None or (op == "eq" and value != math.floor(value)):
        return _constant(negated)
    bound = math.floor(value) if op in {"eq", "gt", "lte"} else math.ceil(value)
    if not -_INT64 <= bound < _INT64:
        above = bound > 0
        return _constant(({"eq": False, "gt": not above, "gte": not above, "lt": above, "lte": above}[op]) != negated)
    return f"{column} {(_NEGATED if negated else _SYMBOLS)[op]} {bound}"


def _membership(field: str, values: Sequence[Scalar], negated: bool) -> str:
    word = "not in" if negated else "in"
    texts = [quote(value) for value in values if isinstance(value, str)]
    if field in TEXT_COLUMNS:
        return f"{TEXT_COLUMNS[field]} {word} [{', '.join(texts)}]" if texts else _constant(negated)
    if field in NUMBER_COLUMNS or field in DATE_COLUMNS:
        parts = [_comparison(field, "eq", value, negated) for value in values]
        return conjunction(parts) if negated and FALSE not in parts else FALSE if negated else _disjunction(parts)
    name = metadata_name(field)
    # A list literal may contain one type only; integers and fractions count as two.
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    lists = [texts]
    if all(isinstance(normal(number), int) for number in numbers):
        lists.append([literal(number) for number in numbers])
    else:
        lists.append([repr(float(number)) for number in numbers])
    parts = [f"{_path(value_key(name))} {word} [{', '.join(items)}]" for items in lists if items]
    symbol = "!=" if negated else "=="
    parts += [f"{_path(value_key(name))} {symbol} {literal(value)}" for value in values if isinstance(value, bool)]
    parts += [f"{_path(item_key(name, value))} {symbol} true" for value in values]
    if not parts:
        return _constant(negated)
    return conjunction(parts) if negated else _disjunction(parts)
