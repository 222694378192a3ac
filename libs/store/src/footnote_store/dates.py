"""Validates dates in filters: a value compared with a date field must be a date."""

from footnote_store import expr
from footnote_store.expr import And, Compare, Exists, Expr, In, Or, invalid
from footnote_store.fields import DATE_COLUMNS, to_millis


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
