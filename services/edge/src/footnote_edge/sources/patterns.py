"""Name patterns in which `*` matches any number of characters, in linear time without backtracking."""

from collections.abc import Sequence

MOST = 100
"""Maximum patterns of one setting."""


def matches(pattern: str, text: str) -> bool:
    """Return whether a pattern matches a whole text."""
    first, *rest = pattern.split("*")
    if not rest:
        return pattern == text
    *middle, last = rest
    if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
        return False
    place, end = len(first), len(text) - len(last)
    for part in middle:
        place = text.find(part, place, end)
        if place < 0:
            return False
        place += len(part)
    return True


def wanted(name: str, include: Sequence[str], exclude: Sequence[str]) -> bool:
    """Return whether a name is included (all are by default) and not excluded."""
    if include and not any(matches(one, name) for one in include):
        return False
    return not any(matches(one, name) for one in exclude)
