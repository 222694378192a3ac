"""Names of tenants, users and groups: what may be one."""

import re

from footnote_kit.errors import InvalidArgument

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+|:-]{0,127}")
RULE = "must be 1 to 128 letters, digits or ._@+|:-, beginning with a letter or digit"

GROUP = re.compile(r"[A-Za-z0-9/][A-Za-z0-9._@+|:/-]{0,127}")
GROUP_RULE = "must be 1 to 128 letters, digits or ._@+|:/-, beginning with a letter, a digit or a slash"
"""Issuers that keep groups as a tree give them as paths."""

MOST_GROUPS = 200
"""Groups of one user: every call carries them."""


def checked_name(field: str, value: str) -> str:
    """Return a name, or raise InvalidArgument when it is none."""
    if not NAME.fullmatch(value):
        raise InvalidArgument.field(field, RULE)
    return value


def checked_group(field: str, value: str) -> str:
    """Return the name of a group, or raise InvalidArgument when it is none."""
    if not GROUP.fullmatch(value):
        raise InvalidArgument.field(field, GROUP_RULE)
    return value
