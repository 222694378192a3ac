"""Cell names in spreadsheet notation: "C12", "A1:B3"; rows and columns count from 0."""

from __future__ import annotations

import re
from functools import lru_cache

_LONGEST_NAME = 16  # a sheet has at most three letters and seven digits
_CELL = re.compile(r"\$?([A-Za-z]{1,3})\$?([0-9]{1,7})")

Corners = tuple[int, int, int, int]
"""First row, first column, last row, last column of a range."""


@lru_cache(maxsize=1024)
def column_letters(column: int) -> str:
    """Return the letters of a column."""
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def cell_name(row: int, column: int) -> str:
    """Return the name of a cell."""
    return f"{column_letters(column)}{row + 1}"


def range_name(first_row: int, first_column: int, last_row: int, last_column: int) -> str:
    """Return the name of a range, or the cell's name for a single cell."""
    start, end = cell_name(first_row, first_column), cell_name(last_row, last_column)
    return start if start == end else f"{start}:{end}"


def cell_position(name: str) -> tuple[int, int]:
    """Return row and column of a cell; ValueError for an invalid name."""
    match = _CELL.fullmatch(name[: _LONGEST_NAME + 1])
    if match is None or match[2].strip("0") == "":
        raise ValueError(f"{name[:_LONGEST_NAME]!r} is no cell")
    column = 0
    for letter in match[1].upper():
        column = column * 26 + ord(letter) - 64
    return int(match[2]) - 1, column - 1


def corners(name: str) -> Corners | None:
    """Return the corners of a cell or range, in any order of its ends; None for an invalid name."""
    try:
        places = [cell_position(part.strip()) for part in name.split(":", 2)]
    except ValueError:
        return None
    rows, columns = [row for row, _ in places], [column for _, column in places]
    return min(rows), min(columns), max(rows), max(columns)


def joined(names: list[str]) -> str:
    """Return the smallest range that contains all ranges; "" when one of them is invalid."""
    found = [corners(name) for name in names]
    known = [one for one in found if one is not None]
    if len(known) < len(found) or not known:
        return ""
    return range_name(
        min(one[0] for one in known), min(one[1] for one in known),
        max(one[2] for one in known), max(one[3] for one in known),
    )  # fmt: skip


def holds(outer: str, inner: str) -> bool:
    """Return whether a range contains another one."""
    a, b = corners(inner), corners(outer)
    return a is not None and b is not None and b[0] <= a[0] and b[1] <= a[1] and a[2] <= b[2] and a[3] <= b[3]
