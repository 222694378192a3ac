"""Replaces zero bytes in parameters: PostgreSQL refuses a text that contains one."""

from typing import Any


def replace(
    _connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, many: bool
) -> tuple[str, Any]:
    """Replace zero bytes by U+FFFD; a listener for SQLAlchemy's before_cursor_execute with retval."""
    rows = parameters if many else [parameters]
    if any(_has(value) for row in rows or () for value in _values(row)):
        rows = [_replaced(row) for row in rows]
        return statement, rows if many else rows[0]
    return statement, parameters


def _values(row: Any) -> Any:
    return row.values() if isinstance(row, dict) else row or ()


def _has(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    return isinstance(value, list) and any(map(_has, value))


def _replaced(row: Any) -> Any:
    if isinstance(row, dict):
        return {name: shown(value) for name, value in row.items()}
    return type(row)(shown(value) for value in row)


def shown(value: Any) -> Any:
    """Return a value without zero bytes."""
    if isinstance(value, list):
        return [shown(one) for one in value]
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value
