"""Numbers in JSON as people wrote them: protobuf keeps every number of free metadata as a double."""

from typing import Any

_EXACT = 2**53


def whole(value: Any) -> Any:
    """Return JSON values with whole numbers as integers: 5.0, which was 5, is 5 again."""
    if isinstance(value, dict):
        return {key: whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT else value
