"""Which names a source selects: settings, and patterns with `*` for any characters, matched in linear time."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


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


_MOST_STARS = 20
"""A pattern is looked for from star to star in each of up to 20 000 links of a page."""
Pattern = Annotated[str, Field(min_length=1, max_length=500)]


class Selecting(BaseModel):
    """Settings that select items by name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    include: tuple[Pattern, ...] = Field(
        default=(), max_length=100, description="Only names that match one of these; * is any text. None means all."
    )
    exclude: tuple[Pattern, ...] = Field(
        default=(), max_length=100, description="No names that match one of these; * is any text."
    )

    def problems(self) -> list[str]:
        """Return what is wrong with new settings, though an earlier version may have stored such ones."""
        patterns = {"include": self.include, "exclude": self.exclude}
        return [
            f"{name}.{index}: must have at most {_MOST_STARS} *."
            for name, several in patterns.items()
            for index, one in enumerate(several)
            if one.count("*") > _MOST_STARS
        ]


def file_name(path: str) -> str:
    """Return the last component of a path, as a document's file name."""
    return path.rstrip("/").rpartition("/")[2][:200] or "item"
