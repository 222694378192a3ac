"""Validation of `request_id` (AIP-155), the same for every request that has one."""

import re

from footnote_kit.errors import InvalidArgument

MOST = 64
_ALLOWED = re.compile(rf"[ -~]{{1,{MOST}}}")


def check(value: str, field: str = "request_id") -> None:
    """Raise InvalidArgument for an id that is neither empty nor 1 to 64 printable ASCII characters."""
    if value and not _ALLOWED.fullmatch(value):
        raise InvalidArgument.field(field, f"must be 1 to {MOST} printable ASCII characters, such as a UUID")
