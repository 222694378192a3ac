"""Restores integers in JSON: protobuf stores every number of free metadata as a double."""

from typing import Any

_EXACT = 2**53


def whole(value: Any) -> Any:
    """Return a JSON value in which doubles without a fraction are integers again: 5.0 becomes 5."""
    if isinstance(value, dict):
        return {key: whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT else value
