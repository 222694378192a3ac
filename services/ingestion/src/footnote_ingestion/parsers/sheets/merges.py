"""Merged cells of a sheet: all covered cells get the value of the first."""

from __future__ import annotations

from collections.abc import Iterable

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
