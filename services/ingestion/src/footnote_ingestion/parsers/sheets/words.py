"""The header of a table of words alone, where no figures show it."""

from __future__ import annotations

from collections.abc import Sequence

from footnote_ingestion.parsers.sheets.kinds import filled_cells
from footnote_ingestion.parsers.tables import is_series, looks_like_year, looks_numeric


def first_of_words(rows: Sequence[Sequence[str]], merged: Sequence[Sequence[str]]) -> int | None:
    """Return the header among rows of words, or None when the first wide row looks like data."""
    widest = max(filled_cells(row) for row in rows)
    if widest < 2:
        return None
    for index, row in enumerate(rows[:-1]):
        if filled_cells(row) < max(2, widest * 0.6):
            continue
        filled = [value for value in merged[index] if value]
        if len(filled) < 2 and (row[0] or not filled or filled_cells(row) == len(row)):  # a title over the whole table
            continue
        labels = [value for value in filled if not looks_numeric(value) or looks_like_year(value)]
        distinct = len(set(filled)) >= len(filled) * 0.7
        short = sum(len(value) for value in filled) <= 120 * len(filled)
        named = len(labels) == len(filled) or is_series(row, rows[index + 1])
        return index if named and distinct and short else None
    return None


def more_of_words(rows: Sequence[Sequence[str]], own: Sequence[Sequence[str]]) -> int:
    """Return how many more rows continue a header: they only name the columns of groups."""
    more = 0
    while more < len(rows) - 2:
        group = _grouped_columns(rows[more], own[more])
        names = [value for column, value in enumerate(own[more + 1]) if value and column in group]
        others = [value for column, value in enumerate(own[more + 1]) if value and column not in group]
        if not names or others or any(looks_numeric(name) and not looks_like_year(name) for name in names):
            break
        more += 1
    return more


def _grouped_columns(values: Sequence[str], own: Sequence[str]) -> set[int]:
    """Return the columns under a cell that spans several."""
    found: set[int] = set()
    for column in range(1, len(values)):
        if not own[column] and values[column] and values[column] == values[column - 1]:
            found |= {column - 1, column}
    return found
