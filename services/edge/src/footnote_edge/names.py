"""Names of tenants and users: what may be one."""

import re

from footnote_kit.errors import InvalidArgument

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+|:-]{0,127}")
RULE = "must be 1 to 128 letters, digits or ._@+|:-, beginning with a letter or digit"


def checked_name(field: str, value: str) -> str:
    """Return a name, or raise InvalidArgument when it is none."""
    if not NAME.fullmatch(value):
        raise InvalidArgument.field(field, RULE)
    return value
