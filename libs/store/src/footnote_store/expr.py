"""The filter language: its expression types, and the parser for JSON text.

The language is `{"k": v}`, several keys meaning AND, with `$and $or $not $in $nin $eq $ne $gt $gte $lt $lte $exists`.
A comparison with a missing field, or one of another type, is false, and its negation true. Equality with a list field
means that the list contains the value.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from footnote_kit.errors import InvalidArgument

Refuse = Callable[[str], InvalidArgument]
"""Turns a description of the problem into the error, with its location."""

Scalar = str | bool | int | float
Op = Literal["eq", "gt", "gte", "lt", "lte"]

_MAX_CHARS = 16_384
_LONGEST_FILENAME = 255
"""No longer name is composed: the time to do so grows with the square of its length."""
MAX_DEPTH = 16
MAX_NODES = 256
_COMPARISONS: dict[str, Op] = {"$gt": "gt", "$gte": "gte", "$lt": "lt", "$lte": "lte"}


@dataclass(frozen=True, slots=True)
class And:
    """True when all children are true; always true without children."""

    children: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True when any child is true; never true without children."""

    children: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """True when the child is false."""

    child: Expr


@dataclass(frozen=True, slots=True)
class Compare:
    """Compares a field with a value; "eq" on a list field means that the list contains the value."""

    field: str
    op: Op
    value: Scalar


@dataclass(frozen=True, slots=True)
class In:
    """True when a field equals one of several values."""

    field: str
    values: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Exists:
    """True when a field exists and is not empty."""

    field: str


Expr = And | Or | Not | Compare | In | Exists
ALL: Expr = And(())


def invalid(problem: str) -> InvalidArgument:
    """Return the error for an invalid filter."""
    return InvalidArgument(
        f"Invalid 'where' filter: {problem}", reason="INVALID_FILTER", violations=[("filter.json", problem)]
    )


def parse_where(json_text: str) -> Expr:
    """Parse a filter; an empty text means ALL.

    Raises InvalidArgument with reason INVALID_FILTER. For text that is not JSON, its message is exactly `Invalid
    'where' filter: must be valid JSON`.
    """
    if not json_text.strip():
        return ALL
    if len(json_text) > _MAX_CHARS:
        raise invalid(f"must be at most {_MAX_CHARS} characters")
    try:
        data = json.loads(json_text, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        raise invalid("must be valid JSON") from None
    if not isinstance(data, dict):
        raise invalid("must be a JSON object")
    return _Parser().object(data, 0)


def measured(expr: Expr) -> tuple[int, int]:
    """Return an expression's number of conditions and values, and its depth."""
    if isinstance(expr, Compare | Exists):
        return 1, 1
    if isinstance(expr, In):
        return 1 + len(expr.values), 1
    parts = [measured(child) for child in (expr.children if isinstance(expr, And | Or) else (expr.child,))]
    return 1 + sum(nodes for nodes, _ in parts), 1 + max((height for _, height in parts), default=0)


def fields_of(expr: Expr) -> set[str]:
    """Return the names of the fields that an expression compares."""
    if isinstance(expr, Compare | Exists | In):
        return {expr.field}
    children = expr.children if isinstance(expr, And | Or) else (expr.child,)
    return set().union(*(fields_of(child) for child in children))


def check_name(field: str, refuse: Refuse) -> None:
    """Raise the result of `refuse` for a name that no field can have."""
    if field.startswith("$"):
        raise refuse(f"unknown operator '{field[:32]}'")
    if not field or len(field) > 256:
        raise refuse("field names must have 1 to 256 characters")


def _reject_constant(name: str) -> Any:
    raise ValueError(name)


class _Parser:
    def __init__(self) -> None:
        self._nodes = 0

    def object(self, data: dict[str, Any], depth: int) -> Expr:
        if depth > MAX_DEPTH:
            raise invalid(f"must not be nested deeper than {MAX_DEPTH}")
        children = [self._entry(key, value, depth) for key, value in data.items()]
        return children[0] if len(children) == 1 else And(tuple(children))

    def _entry(self, key: str, value: Any, depth: int) -> Expr:
        self._count(1)
        if key in {"$and", "$or"}:
            if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
                raise invalid(f"{key} takes a list of objects")
            children = tuple(self.object(item, depth + 1) for item in value)
            return And(children) if key == "$and" else Or(children)
        if key == "$not":
            if not isinstance(value, dict):
                raise invalid("$not takes an object")
            return Not(self.object(value, depth + 1))
        check_name(key, invalid)
        if isinstance(value, dict):
            return self._operators(key, value, depth + 1)
        return self._equals(key, value)

    def _operators(self, field: str, operators: dict[str, Any], depth: int) -> Expr:
        if not operators:
            raise invalid(f"the condition on '{field[:64]}' is empty")
        if depth > MAX_DEPTH:
            raise invalid(f"must not be nested deeper than {MAX_DEPTH}")
        children = tuple(self._operator(field, name, value, depth) for name, value in operators.items())
        return children[0] if len(children) == 1 else And(children)

    def _operator(self, field: str, name: str, value: Any, depth: int) -> Expr:
        self._count(1)
        if name == "$eq":
            return self._equals(field, value)
        if name == "$ne":
            return Not(self._equals(field, value))
        if name in {"$in", "$nin"}:
            if not isinstance(value, list):
                raise invalid(f"{name} takes a list")
            self._count(len(value))
            inside = In(field, composed_too(field, [scalar_of(item, invalid) for item in value]))
            return inside if name == "$in" else Not(inside)
        if name in _COMPARISONS:
            scalar = scalar_of(value, invalid)
            if isinstance(scalar, bool):
                raise invalid(f"{name} takes a number or a string")
            return Compare(field, _COMPARISONS[name], scalar)
        if name == "$exists":
            if not isinstance(value, bool):
                raise invalid("$exists takes true or false")
            return Exists(field) if value else Not(Exists(field))
        if name == "$not":
            if not isinstance(value, dict):
                raise invalid("$not takes an object")
            return Not(self._operators(field, value, depth + 1))
        raise invalid(f"unknown operator '{name[:32]}'")

    def _equals(self, field: str, value: Any) -> Expr:
        return Not(Exists(field)) if value is None else equals(field, scalar_of(value, invalid))

    def _count(self, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise invalid(f"must have at most {MAX_NODES} conditions and values")


def one_line(text: str) -> str:
    """Replace line breaks by visible symbols on both sides of a comparison: engine literals cannot contain them."""
    return text.replace("\n", "␊").replace("\r", "␍") if "\n" in text or "\r" in text else text


def scalar_of(value: Any, refuse: Refuse) -> Scalar:
    """Return a value that is valid in a comparison; raises the result of `refuse` for any other."""
    if isinstance(value, str):
        if "\x00" in value or any(0xD800 <= ord(char) <= 0xDFFF for char in value):
            raise refuse("strings must not hold null characters or lone surrogates")
        return one_line(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        # Metadata holds numbers as doubles: such a number would equal its neighbours.
        if isinstance(value, int) and abs(value) > 2**53:
            raise refuse("whole numbers beyond 2^53 are not exact; compare texts, or numbers with a decimal point")
        if not math.isfinite(value):
            raise refuse("numbers must be finite")
        return value
    raise refuse("values must be strings, numbers or true or false; use $in for lists")


def equals(field: str, value: Scalar) -> Expr:
    """Return the condition that a field has a value; a file's name has it in any form."""
    values = composed_too(field, [value])
    return Compare(field, "eq", value) if len(values) == 1 else In(field, values)


def composed_too(field: str, values: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """Return the values to compare a field with: names of files are composed, except those of earlier versions."""
    if field != "filename":
        return tuple(values)
    names = (one for one in values if isinstance(one, str) and len(one) <= _LONGEST_FILENAME)
    composed = (unicodedata.normalize("NFC", one) for one in names)
    return tuple(dict.fromkeys((*values, *composed)))


def any_of(field: str, values: Sequence[str]) -> Expr:
    """Return the filter for a field that equals one of several texts; without texts, ALL."""
    return In(field, tuple(values)) if values else ALL


def both(left: Expr, right: Expr) -> Expr:
    """Return the filter that is true when both filters are."""
    if left == ALL:
        return right
    return left if right == ALL else And((left, right))
