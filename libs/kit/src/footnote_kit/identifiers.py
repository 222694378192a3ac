"""Validation of the names of tenants, users and groups, and of `request_id` (AIP-155)."""

import re

from footnote_kit.errors import InvalidArgument

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+|:-]{0,127}")
RULE = "must be 1 to 128 letters, digits or ._@+|:-, beginning with a letter or digit"

GROUP = re.compile(r"[A-Za-z0-9/][A-Za-z0-9._@+|:/-]{0,127}")
GROUP_RULE = "must be 1 to 128 letters, digits or ._@+|:/-, beginning with a letter, a digit or a slash"
"""Slashes are allowed because issuers with a tree of groups name each group by its path."""

MOST_GROUPS = 200
"""The most groups of one user. The number is bounded because every call carries them."""


def checked_name(field: str, value: str) -> str:
    """Return the name; raise InvalidArgument when it is not valid."""
    if not NAME.fullmatch(value):
        raise InvalidArgument.field(field, RULE)
    return value


def checked_group(field: str, value: str) -> str:
    """Return the group's name; raise InvalidArgument when it is not valid."""
    if not GROUP.fullmatch(value):
        raise InvalidArgument.field(field, GROUP_RULE)
    return value


MOST = 64
_ALLOWED = re.compile(rf"[ -~]{{1,{MOST}}}")


def check(value: str, field: str = "request_id") -> None:
    """Raise InvalidArgument for an id that is neither empty nor 1 to 64 printable ASCII characters."""
    if value and not _ALLOWED.fullmatch(value):
        raise InvalidArgument.field(field, f"must be 1 to {MOST} printable ASCII characters, such as a UUID")
