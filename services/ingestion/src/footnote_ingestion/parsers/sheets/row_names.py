"""What names the rows of a table on a sheet beside their own cells: sections, and names above empty cells.

A section is certain only where the sheet sets it apart; a name without values elsewhere may be a row that has none.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from footnote_ingestion.parsers.tables import looks_like_year, looks_numeric

_LONGEST_NAME = 120


class RowNames:
    """The sections and outer names of a table's rows, given in order; `naming` are the columns that name rows."""

    def __init__(self, naming: Collection[int]) -> None:
        self._naming = sorted(naming)
        self._outer: dict[int, str] = {}
        self._sections: list[str] = []
        self._apart = self._adjacent = False

    @property
    def is_apart(self) -> bool:
        """Whether the next row comes after a blank row."""
        return self._apart

    def blank(self) -> None:
        """Take a blank row: a section ends there, and the next one may begin."""
        self._sections = []
        self._apart, self._adjacent = True, False

    def section(self, name: str, column: int, *, across: bool) -> None:
        """Take a row that holds a name and no values; `across`: merged over the values."""
        is_remark = len(name) > _LONGEST_NAME or name.endswith((".", "。"))
        is_name = not looks_numeric(name) or looks_like_year(name)
        if column in self._naming[:-1] and is_name and not is_remark:  # rows below may leave its column empty
            self._outer = {at: text for at, text in self._outer.items() if at < column} | {column: name.rstrip(":： ")}
        if (self._apart or across or self._adjacent) and is_name and not is_remark:
            kept = self._sections if self._adjacent else []
            self._sections = [*kept, name.rstrip(":： ")]
            self._adjacent = True
        else:
            self._sections = []  # where the section above it ends is uncertain
            self._adjacent = False
        self._apart = False

    def above(self, values: Sequence[str]) -> list[str]:
        """Return the names of a row with values that are above it, from the outermost."""
        apart, self._apart, self._adjacent = self._apart, False, False
        if len(self._naming) < 2:
            return self._sections
        named = [column for column in self._naming if column < len(values) and values[column]]
        if apart and len(named) < 2:
            self._outer = {}  # a total below a blank row is of all
        if not named:
            return self._sections
        outer = [text for column, text in self._outer.items() if column < named[0]]
        self._outer = {column: text for column, text in self._outer.items() if column < named[0]}
        for column in named:
            text = values[column]
            if len(text) <= _LONGEST_NAME and (not looks_numeric(text) or looks_like_year(text)):
                self._outer[column] = values[column]
        return [*(name for name in self._sections if name not in outer), *outer]
