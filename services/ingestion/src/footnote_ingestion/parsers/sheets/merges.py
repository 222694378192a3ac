"""Merged cells of a sheet: all covered cells get the value of the first.

Without merged cells, `groups_of` finds which columns the name of a group in a header covers.
"""

from __future__ import annotations

from collections.abc import Iterable

from footnote_ingestion.parsers.tables import looks_like_year, looks_numeric

# Limit on covered cells to fill per sheet; a file can claim any number with a few bytes.
_MOST_FILLED = 500_000
_MOST_ACROSS = 10_000
_NONE: frozenset[int] = frozenset()
Range = tuple[tuple[int, int], tuple[int, int]]


class Across:
    """Collects texts centred across empty cells, which look like merged cells; takes cells so formatted in order."""

    def __init__(self) -> None:
        self.ranges: list[Range] = []
        self._row = self._first = self._last = -1

    def cell(self, row: int, column: int, *, filled: bool) -> None:
        """Take a cell: a filled one begins a range, an empty one next to it continues it."""
        if filled:
            self._row, self._first, self._last = row, column, column
        elif row == self._row and column == self._last + 1:
            if self._last > self._first:
                self.ranges.pop()
            self._last = column
            if len(self.ranges) < _MOST_ACROSS:
                self.ranges.append(((row, self._first), (row, column)))
            else:
                self._row = -1


class Merges:
    """Fills rows in order; `left` is the sheet's column of index 0, rows and columns count from 0."""

    def __init__(self, ranges: Iterable[Range], left: int) -> None:
        self._left = left
        self._coming = sorted(ranges, reverse=True)
        self._active: list[tuple[Range, str]] = []
        self._room = _MOST_FILLED

    def fill(self, number: int, values: list[str]) -> frozenset[int]:
        """Write the values of merged cells into the covered cells of a row, and return their columns."""
        if not self._coming and not self._active:
            return _NONE
        self._active = [(one, value) for one, value in self._active if one[1][0] >= number]
        while self._coming and self._coming[-1][0][0] <= number:
            one = self._coming.pop()
            at = one[0][1] - self._left
            if one[0][0] == number and 0 <= at < len(values) and values[at]:
                self._active.append((one, values[at]))
        covered: set[int] = set()
        for ((top, first), (_, last)), value in self._active:
            columns = range(max(first - self._left, 0), min(last - self._left + 1, len(values)))
            self._room -= len(columns) + 1
            if self._room < 0:
                self._coming = []
                break
            for column in columns:
                if (number > top or column > first - self._left) and not values[column]:
                    values[column] = value
                    covered.add(column)
        if self._room < 0:
            self._active = []
        return frozenset(covered)


def groups_of(columns: list[int], names: list[str], labels: list[int]) -> list[tuple[list[int], int]]:
    """Return the columns of each group with the place of its name; none if uncertain."""
    within = [label for label in labels if label >= columns[0]]
    if not within:
        return []
    for size in range(2, len(columns) // 2 + 1):  # repeated names show the groups
        if len(columns) % size or any(name != names[index % size] for index, name in enumerate(names)):
            continue
        groups = [columns[start : start + size] for start in range(0, len(columns), size)]
        owners = [[label for label in within if group[0] <= label <= group[-1]] for group in groups]
        if all(len(one) == 1 for one in owners):
            return [(group, one[0]) for group, one in zip(groups, owners, strict=True)]
        return []
    runs = _runs(columns)
    owners = [[label for label in within if run[0] <= label <= run[-1]] for run in runs]
    if len(runs) > 1 and all(len(one) == 1 for one in owners):  # blank columns separate them
        return [(run, one[0]) for run, one in zip(runs, owners, strict=True)]
    if within[0] != columns[0]:
        return []
    ends = [*within[1:], columns[-1] + 1]
    groups = [[column for column in columns if start <= column < end] for start, end in zip(within, ends, strict=True)]
    alike = all(looks_like_year(name) or looks_numeric(name) for name in names)
    if all(len(group) > 1 for group in groups) and (len(groups) > 1 or alike):
        return list(zip(groups, within, strict=True))
    return []


def _runs(columns: list[int]) -> list[list[int]]:
    """Split columns into runs without a gap."""
    runs: list[list[int]] = []
    for column in columns:
        if runs and runs[-1][-1] == column - 1:
            runs[-1].append(column)
        else:
            runs.append([column])
    return runs
