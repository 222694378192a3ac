"""Parses and checks a request's filter: typed messages and JSON text produce the same expressions."""

from __future__ import annotations

from typing import Any

from footnote.types.v1 import filter_pb2 as pb
from footnote_kit.errors import InvalidArgument

from footnote_store import expr
from footnote_store.expr import (
    ALL,
    MAX_DEPTH,
    MAX_NODES,
    And,
    Compare,
    Exists,
    Expr,
    In,
    Not,
    Op,
    Or,
    Scalar,
    check_name,
    composed_too,
    equals,
    invalid,
    measured,
    scalar_of,
)
from footnote_store.fields import DATE_COLUMNS, to_millis

MAX_BYTES = 65_536
_ORDERED: dict[int, Op] = {
    pb.COMPARISON_OP_GT: "gt",
    pb.COMPARISON_OP_GTE: "gte",
    pb.COMPARISON_OP_LT: "lt",
    pb.COMPARISON_OP_LTE: "lte",
}
_EQUAL = (pb.COMPARISON_OP_EQ, pb.COMPARISON_OP_NE)
_LISTED = (pb.COMPARISON_OP_IN, pb.COMPARISON_OP_NOT_IN)
_PRESENT = (pb.COMPARISON_OP_EXISTS, pb.COMPARISON_OP_NOT_EXISTS)
_NEGATED = (pb.COMPARISON_OP_NE, pb.COMPARISON_OP_NOT_IN, pb.COMPARISON_OP_NOT_EXISTS)


def parse_filter(request: Any) -> Expr:
    """Return the expression of a request's `filter`; without one, ALL.

    Raises InvalidArgument with reason INVALID_FILTER and the location in the filter.
    """
    return _Parser().parse(request.filter) if request.HasField("filter") else ALL


def _refused(path: str, problem: str) -> InvalidArgument:
    return InvalidArgument(f"Invalid filter: {path}: {problem}", reason="INVALID_FILTER", violations=[(path, problem)])


class _Parser:
    def __init__(self) -> None:
        self._nodes = 0

    def parse(self, given: pb.Filter) -> Expr:
        if given.ByteSize() > MAX_BYTES:
            raise _refused("filter", f"must have at most {MAX_BYTES} bytes")
        return self._filter(given, "filter", 1)

    def _filter(self, given: pb.Filter, path: str, depth: int) -> Expr:
        if depth > MAX_DEPTH:
            raise _refused(path, f"must not be nested deeper than {MAX_DEPTH}")
        self._count(1, path)
        kind = given.WhichOneof("kind")
        if kind is None:
            raise _refused(path, "must be one of and, or, not, comparison, json")
        inner: Any = getattr(given, kind)
        if kind == "json":
            return self._json(inner, f"{path}.json", depth)
        if kind == "comparison":
            return self._comparison(inner, f"{path}.comparison")
        if kind == "not":
            return Not(self._filter(inner, f"{path}.not", depth + 1))
        parts = enumerate(inner.filters)
        children = tuple(self._filter(part, f"{path}.{kind}.filters[{at}]", depth + 1) for at, part in parts)
        return And(children) if kind == "and" else Or(children)

    def _json(self, text: str, path: str, depth: int) -> Expr:
        """Return the expression of JSON text, which counts towards the limits of the whole filter."""
        try:
            parsed = parse_where(text)
        except InvalidArgument as error:
            found = [(path, violation.description) for violation in error.violations]
            raise InvalidArgument(error.message, reason=error.reason, violations=found) from None
        nodes, height = measured(parsed)
        self._count(nodes - 1, path)
        if depth > 1 and depth + height > MAX_DEPTH + 1:
            raise _refused(path, f"must not be nested deeper than {MAX_DEPTH}")
        return parsed

    def _comparison(self, given: pb.Comparison, path: str) -> Expr:
        check_name(given.field, lambda problem: _refused(f"{path}.field", problem))
        found = self._positive(given, path)
        return Not(found) if given.op in _NEGATED else found

    def _positive(self, given: pb.Comparison, path: str) -> Expr:
        """Return a comparison before its negation."""
        kind = given.value.WhichOneof("kind")
        if given.op in _PRESENT:
            if given.HasField("value"):
                raise _refused(f"{path}.value", "must not be given: whether a field is there needs none")
            return Exists(given.field)
        if given.op in _LISTED:
            if kind != "list_value":
                raise _refused(f"{path}.value", "must be a list_value")
            items = given.value.list_value.items
            self._count(len(items), f"{path}.value.list_value")
            places = ((item, f"{path}.value.list_value.items[{at}]") for at, item in enumerate(items))
            return In(given.field, composed_too(given.field, [_scalar(given.field, *one) for one in places]))
        if given.op not in _ORDERED and given.op not in _EQUAL:
            raise _refused(f"{path}.op", "must be one of EQ, NE, GT, GTE, LT, LTE, IN, NOT_IN, EXISTS, NOT_EXISTS")
        if given.op in _ORDERED and kind == "bool_value":
            raise _refused(f"{path}.value", "must be a number, a text or a time: true is not greater than false")
        value = _scalar(given.field, given.value, f"{path}.value")
        return Compare(given.field, _ORDERED[given.op], value) if given.op in _ORDERED else equals(given.field, value)

    def _count(self, nodes: int, path: str) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise _refused(path, f"must have at most {MAX_NODES} conditions and values in all")


def _scalar(field: str, given: pb.FilterValue, path: str) -> Scalar:
    """Return a single value; a time as Unix milliseconds."""
    kind = given.WhichOneof("kind")
    if kind is None:
        raise _refused(path, "must be given")
    if kind == "list_value":
        raise _refused(path, "must be a single value; IN and NOT_IN take a list")
    if kind == "time_value":
        return _millis(field, given, f"{path}.time_value")
    value = scalar_of(getattr(given, kind), lambda problem: _refused(f"{path}.{kind}", problem))
    if field in DATE_COLUMNS and to_millis(value) is None:
        raise _refused(f"{path}.{kind}", no_date(field))
    return value


def _millis(field: str, given: pb.FilterValue, path: str) -> int | float:
    if field not in DATE_COLUMNS:
        raise _refused(path, "is for create_time only; compare metadata with the text or number that was uploaded")
    moment = given.time_value
    whole, rest = divmod(moment.nanos, 1_000_000)
    millis = moment.seconds * 1000 + whole
    # Times are stored as whole milliseconds, so the exact position between two does not matter.
    return millis + 0.5 if rest else millis


def parse_where(json_text: str) -> Expr:
    """Parse a filter as `expr.parse_where` does; also raises InvalidArgument for an invalid date."""
    parsed = expr.parse_where(json_text)
    _check(parsed)
    return parsed


def _check(part: Expr) -> None:
    if isinstance(part, And | Or):
        for child in part.children:
            _check(child)
    elif isinstance(part, Compare | In):
        values = part.values if isinstance(part, In) else (part.value,)
        if part.field in DATE_COLUMNS and any(to_millis(value) is None for value in values):
            raise invalid(no_date(part.field))
    elif not isinstance(part, Exists):
        _check(part.child)


def no_date(field: str) -> str:
    """Return the message that explains which values a date field accepts."""
    return f"'{field}' takes dates in ISO 8601, such as \"2026-11-22\", or Unix milliseconds"
