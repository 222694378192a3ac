"""Evaluates filters in plain Python: the reference semantics for the compiled form."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from footnote.stages.v1.passage_pb2 import Chunk

from footnote_store.expr import And, Compare, Exists, Expr, In, Not, Or, Scalar
from footnote_store.fields import (
    DATE_COLUMNS,
    NUMBER_COLUMNS,
    TEXT_COLUMNS,
    Field,
    kind_of,
    metadata_fields,
    metadata_name,
    number_column,
    text_column,
    to_millis,
)

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}


def evaluate(expr: Expr, chunk: Chunk) -> bool:
    """Return whether a chunk passes a filter."""
    match expr:
        case And(children):
            return all(evaluate(child, chunk) for child in children)
        case Or(children):
            return any(evaluate(child, chunk) for child in children)
        case Not(child):
            return not evaluate(child, chunk)
        case Exists(field):
            return (
                _lookup(chunk, field) not in (None, "") if field in TEXT_COLUMNS else _lookup(chunk, field) is not None
            )
        case Compare(field, op, value):
            return _compare(_lookup(chunk, field), op, _literal(field, value))
        case In(field, values):
            found = _lookup(chunk, field)
            return any(_compare(found, "eq", _literal(field, value)) for value in values)


def _lookup(chunk: Chunk, field: str) -> Field | None:
    if field in TEXT_COLUMNS:
        return text_column(chunk, TEXT_COLUMNS[field])
    if field in NUMBER_COLUMNS:
        return number_column(chunk, NUMBER_COLUMNS[field])
    if field in DATE_COLUMNS:
        return number_column(chunk, DATE_COLUMNS[field])
    return metadata_fields(chunk).get(metadata_name(field))


def _literal(field: str, value: Scalar) -> Scalar | None:
    return to_millis(value) if field in DATE_COLUMNS else value


def _compare(found: Field | None, op: str, value: Scalar | None) -> bool:
    if found is None or value is None:
        return False
    if isinstance(found, list):
        return op == "eq" and any(_compare(item, "eq", value) for item in found)
    return kind_of(found) == kind_of(value) and _OPERATORS[op](found, value)
