"""Rows of tables as text: "Header: value; Header: value", with the place of every value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

HEADER_SEPARATOR = " › "
"""Separates the headers of a column in its rows' text."""
_NUMBER = re.compile(r"[-+−–(]?[$€£¥]?\s?\d[\d\s.,:/%-]*\)?%?(?:\s?[$€£¥])?")


_RANGE = re.compile(r"[<>≤≥] ?[0-9]{1,18}+|[0-9]{1,18}+ ?(?:[-–] ?[0-9]{1,18}+|\+)")
_MOST_NAMING = 4
_LONGEST_HEADER = 160
_DAY = re.compile(r"\d{4}-\d\d?(?:-\d\d?)?(?: 00:00:00)?|\d{1,2}[./]\d{1,2}[./](?:\d\d){1,2}|\d{1,2}[./]\d{4}")


def looks_numeric(text: str) -> bool:
    """Return True for numbers, amounts, percentages and dates in figures."""
    return bool(_NUMBER.fullmatch(text.strip()))


def is_range(text: str) -> bool:
    """Return whether a text is a range of numbers, which names a class: "15 - 24", "75+", "< 5"."""
    return _RANGE.fullmatch(text) is not None


def row_text(headers: Sequence[str], values: Sequence[str]) -> tuple[str, list[tuple[int, int, int]]]:
    """Return one row as text, and (column index, start, end) of each value written in it.

    A value without a header is written alone; empty values are left out.
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
    """Return how many leading rows are the header: 1, or 0 when the first row looks like data."""
    if len(rows) < 2 or not any(rows[0]):
        return 0
    first = [value for value in rows[0] if value]
    if len(first) < 2 or len(set(first)) != len(first):
        return 0
    if any(looks_numeric(value) for value in first if len(value) != 4):
        return 1 if is_series(rows[0], rows[1]) else 0
    return 1


def is_series(row: Sequence[str], below: Sequence[str]) -> bool:
    """Return whether figures in a row are column headers: rising or falling days, years or steps, over other values.

    The corner is empty or a name; figures in a data row that begins with a name do not rise by one.
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


def is_day(text: str) -> bool:
    """Return whether a text is a date in figures."""
    return _DAY.fullmatch(text) is not None


def looks_like_year(text: str) -> bool:
    """Return whether four digits may be a year."""
    return len(text) == 4 and text.isdecimal() and 1900 <= int(text) <= 2100


def header_path(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the headers of a column from the cells above one another, outermost first, without repetitions."""
    return tuple(text[:200] for text in dict.fromkeys(texts) if text)


def are_pairs(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether rows of two columns are names with their values: names differ, values are of several kinds.

    Names that end in a colon are clear. Figures alone under a word are a column; words alone give no evidence.
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


def is_form(headers: Sequence[Sequence[str]]) -> bool:
    """Return whether rows that might be a header are a form: most of their cells are labels with their values.

    Labels end in a colon, with or without the value after it. Cells as long as sentences are not column names either.
    """
    cells = list(dict.fromkeys(text for row in headers for text in row if text))
    return sum(_is_label(text) or len(text) > _LONGEST_HEADER for text in cells) * 2 > len(cells)


def _is_label(text: str) -> bool:
    """Return whether a text has a colon outside of a number such as 12:30: "Age: 50", "Ward:"."""
    for mark in ":：":
        before, found, after = text.partition(mark)
        if found and before and not (before[-1].isdigit() and after[:1].isdigit()):
            return True
    return False


def naming_columns(rows: Sequence[Sequence[str]]) -> frozenset[int]:
    """Return the columns that name the rows: the first that distinguish them, or a number with the name beside it.

    Where none do, as rows come again, they are those that distinguish most. Plain numbers alone distinguish no names:
    rows that are counted are named by the columns beside as well.
    """
    seen: list[tuple[str, ...]] = [() for _ in rows]
    apart = list(seen)
    width = max((len(row) for row in rows), default=0)
    if width < 2:
        return frozenset()
    named = False
    found: frozenset[int] = frozenset()
    most, best = 0, 1
    for column in range(min(width - 1, _MOST_NAMING)):
        texts = [row[column] if column < len(row) else "" for row in rows]
        figures = sum(looks_numeric(text) and not looks_like_year(text) and not is_range(text) for text in texts)
        plain = figures * 2 > len(texts)
        with_this = [(*above, text) for above, text in zip(seen, texts, strict=True)]
        known = column and (named or len(set(seen)) == len(seen))
        if plain and known and (found or not _repeats(seen, with_this)):
            return found or frozenset(range(column))
        named = named or (not plain and len(set(texts)) > 1) or (len(texts) == 1 and bool(texts[0]))
        above = ""
        for at, text in enumerate(texts):  # an empty cell goes on naming what the cell above it names
            above = text or above
            seen[at] = (*seen[at], above)
            apart[at] = apart[at] if plain else (*apart[at], above)
        if named and len(set(apart)) == len(apart):
            return frozenset(range(column + 1))
        if not plain and len(set(seen)) > most:
            most, best = len(set(seen)), column + 1
        if named and not (plain or found) and len(set(seen)) == len(seen):
            found = frozenset(range(column + 1))
            first = [names[0] for names in seen]
            if len(set(first)) == len(first) and first[0] not in ("0", "1"):
                return found  # identifiers, and no count of the rows
    return found or frozenset(range(best))


def _repeats(names: Sequence[tuple[str, ...]], with_more: Sequence[tuple[str, ...]]) -> bool:
    """Return whether a column repeats its texts where the names repeat: a code of theirs, and no value."""
    return len(set(with_more)) == len(set(names)) < len(names)


def pair_text(row: Sequence[str]) -> str:
    """Return a name and its value: "Born: 1990"."""
    name = row[0].rstrip(":： ")
    return f"{name}: {row[1]}" if row[1] else name
