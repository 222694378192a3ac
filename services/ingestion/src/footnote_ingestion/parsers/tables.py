"""Rows of tables as text: "Header: value; Header: value", with the place of every value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from footnote.types.v1.locator_pb2 import Anchor, SheetLocator

_LONGEST_NAME = 16  # of a cell: three letters and seven digits are the most that a sheet has
_NUMBER = re.compile(r"[-+(]?[$€£¥]?\s?\d[\d\s.,:/%-]*\)?%?")


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
    if len(first) < 2 or any(looks_numeric(value) for value in first if len(value) != 4):
        return 0
    return 1 if len(set(first)) == len(first) else 0


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
