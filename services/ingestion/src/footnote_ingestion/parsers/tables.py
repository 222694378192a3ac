"""Rows of tables as text: "Header: value; Header: value", with the place of every value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from footnote.types.v1.locator_pb2 import Anchor, SheetLocator

_LONGEST_NAME = 16  # of a cell: three letters and seven digits are the most that a sheet has
_NUMBER = re.compile(r"[-+(]?[$€£¥]?\s?\d[\d\s.,:/%-]*\)?%?")


_DAY = re.compile(r"\d{4}-\d\d?(?:-\d\d?)?(?: 00:00:00)?|\d{1,2}[./]\d{1,2}[./](?:\d\d){1,2}|\d{1,2}[./]\d{4}")


def looks_numeric(text: str) -> bool:
    """Return True for numbers, amounts, percentages and dates in figures."""
    return bool(_NUMBER.fullmatch(text.strip()))


def row_text(headers: Sequence[str], values: Sequence[str]) -> tuple[str, list[tuple[int, int, int]]]:
    """One row as text, and for each value written (column index, start, end) of the value in it.

    A value without a header stands alone; empty values are left out.
    """
    parts: list[str] = []
    spans: list[tuple[int, int, int]] = []
    length = 0
    for column, value in enumerate(values):
        if not value:
            continue
        header = headers[column] if column < len(headers) else ""
        lead = ("; " if parts else "") + (f"{header}: " if header and header != value else "")
        start = length + len(lead)
        parts.append(lead + value)
        length = start + len(value)
        spans.append((column, start, length))
    return "".join(parts), spans


def header_depth(rows: Sequence[Sequence[str]]) -> int:
    """How many of the first rows are the header: 1, or 0 when the first row looks like data."""
    if len(rows) < 2 or not any(rows[0]):
        return 0
    first = [value for value in rows[0] if value]
    if len(first) < 2 or len(set(first)) != len(first):
        return 0
    if any(looks_numeric(value) for value in first if len(value) != 4):
        return 1 if is_series(rows[0], rows[1]) else 0
    return 1


def is_series(row: Sequence[str], below: Sequence[str]) -> bool:
    """Tell whether figures in a row head their columns: days, years or steps that rise or fall, over other things.

    The corner is empty or a name; a row of data that begins with a name does not rise by one.
    """
    cells = [value for value in row[1:] if value]
    if len(cells) < 2 or (row[0] and looks_numeric(row[0])):
        return False
    under = [value for at, value in enumerate(below) if at and at < len(row) and row[at] and value]
    if not under:
        return False
    if all(_DAY.fullmatch(value) for value in cells):
        return not any(_DAY.fullmatch(value) for value in under) and len(set(cells)) == len(cells)
    if not all(value.isascii() and value.isdecimal() and len(value) < 10 for value in cells):
        return False
    numbers = [int(value) for value in cells]
    steps = {after - before for before, after in pairwise(numbers)}
    if len(steps) != 1 and not (
        not row[0] and (numbers == sorted(set(numbers)) or numbers[::-1] == sorted(set(numbers)))
    ):
        return False
    return steps <= {1, -1} or not row[0] or all(looks_like_year(value) for value in cells)


def looks_like_year(text: str) -> bool:
    """Return True for four figures that may be a year."""
    return len(text) == 4 and text.isdecimal() and 1900 <= int(text) <= 2100


def header_path(texts: Sequence[str]) -> str:
    """Return the header of a column from the cells above one another: "Land › 2023"; the same one counts once."""
    return " › ".join(text[:200] for text in dict.fromkeys(texts) if text)


def are_pairs(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether rows of two columns are names with their values: names differ, values are of several kinds.

    Names that end in a colon say so themselves. Figures alone under a word are a column; words alone cannot be told.
    """
    if len(rows) < 2 or any(len(row) < 2 or not row[0] or any(row[2:]) for row in rows):
        return False
    names, values = [row[0] for row in rows], [row[1] for row in rows]
    if len(set(names)) != len(names) or any(looks_numeric(name) for name in names):
        return False
    if all(name.endswith((":", "：")) for name in names):
        return True
    figures = [looks_numeric(value) for value in values[1:] if value]
    return len(rows) > 2 and any(figures) and not all(figures)


def pair_text(row: Sequence[str]) -> str:
    """Return a name and its value: "Born: 1990"."""
    name = row[0].rstrip(":： ")
    return f"{name}: {row[1]}" if row[1] else name


@lru_cache(maxsize=1024)
def _letters(column: int) -> str:
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def cell_name(row: int, column: int) -> str:
    """Return the A1 name of a cell; row and column count from 0."""
    return f"{_letters(column)}{row + 1}"


def cell_position(name: str) -> tuple[int, int]:
    """Return row and column, from 0, of a cell by its A1 name; ValueError for anything else."""
    letters = name.rstrip("0123456789")
    if len(name) > _LONGEST_NAME:
        raise ValueError(f"{name[:_LONGEST_NAME]!r}… is no cell")
    column = 0
    for letter in letters.upper():
        if not "A" <= letter <= "Z":
            raise ValueError(f"{name!r} is no cell")
        column = column * 26 + ord(letter) - ord("A") + 1
    return int(name[len(letters) :]) - 1, column - 1


def cell_range(sheet: str, row: int, first: int, last: int) -> SheetLocator:
    """Return the locator of the cells `first`..`last` (from 0) of a row."""
    start, end = cell_name(row, first), cell_name(row, last)
    return SheetLocator(sheet=sheet, range=start if start == end else f"{start}:{end}")


def cell_anchors(sheet: str, row: int, offset: int, spans: Sequence[tuple[int, int, int]]) -> list[Anchor]:
    """Return the anchors of the values of a row; `offset` is the sheet's column of index 0."""
    anchors = []
    for column, start, end in spans:  # set in place: a large table has millions of these
        one = Anchor()
        one.span.start, one.span.end = start, end
        place = one.locator.sheet
        place.sheet, place.range = sheet, f"{_letters(offset + column)}{row + 1}"
        anchors.append(one)
    return anchors
