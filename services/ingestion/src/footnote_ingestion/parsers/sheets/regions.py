"""Distributes the rows of a sheet to its declared tables; the rest goes to the search for tables."""

from __future__ import annotations

from collections.abc import Sequence

from footnote_ingestion.parsers.base import BlockWriter
from footnote_ingestion.parsers.rows import Typed
from footnote_ingestion.parsers.sheets.declared import Declarations, Declared
from footnote_ingestion.parsers.sheets.grid import GridWriter, Row
from footnote_ingestion.parsers.tables import header_path

_NONE: frozenset[int] = frozenset()


class SheetWriter:
    """Takes the rows of one sheet in order; `left` is the sheet's column of index 0."""

    def __init__(self, out: BlockWriter, sheet: str, left: int, declarations: Declarations | None = None) -> None:
        declarations = declarations or Declarations()
        known = set(declarations.headers_end)
        if declarations.repeated is not None:
            known.add(declarations.repeated)
        if not known and declarations.frozen is not None:
            known.add(declarations.frozen)
        self._rest = GridWriter(out, sheet, left, frozenset(known), declarations.lasting)
        self._declared = [
            _Declared(one, GridWriter(out, sheet, one.left, apart=False), left)
            for one in sorted(declarations.tables, key=lambda one: (one.top, one.left))
            if one.left >= left
        ]
        self._above: Row | None = None

    def row(
        self, number: int, values: Sequence[str], covered: frozenset[int] = _NONE, typed: Typed | None = None
    ) -> None:
        """Take row `number` (from 0), as `GridWriter.row` does."""
        if not self._declared:
            self._rest.row(number, values, covered, typed)
            return
        inside = [one for one in self._declared if one.declared.top <= number <= one.declared.bottom]
        rest = list(values)
        for one in inside:
            one.row(number, values, covered, typed, self._above)
            rest[one.start : one.end] = [""] * len(rest[one.start : one.end])
        if any(rest) or not inside:
            self._rest.row(number, rest, covered, typed)
        self._above = (number, values, covered, typed)

    def close(self) -> None:
        """Finish the sheet."""
        for one in self._declared:
            one.close()
        self._rest.close()


class _Declared:
    """A declared table, whose header is collected until its first row comes."""

    def __init__(self, declared: Declared, writer: GridWriter, left: int) -> None:
        self.declared = declared
        self.writer = writer
        self.start, self.end = declared.left - left, declared.right - left + 1
        self._heads: list[Sequence[str]] = []
        self._begun = False

    def row(
        self, number: int, values: Sequence[str], covered: frozenset[int], typed: Typed | None, above: Row | None
    ) -> None:
        mine = values[self.start : self.end]
        if number == self.declared.top and above is not None and above[0] == number - 1:
            self._heads = [groups] if any(groups := _groups(above, self.start, self.end)) else []
        if number < self.declared.top + self.declared.header_rows:
            self._heads.append(mine)
            return
        if not any(mine):
            return
        self._begin()
        inside = frozenset(column - self.start for column in covered if self.start <= column < self.end)
        self.writer.row(number, mine, inside, typed[self.start : self.end] if typed is not None else None)

    def close(self) -> None:
        """Finish the table; the header of one without filled rows is written as a line."""
        if any(map(any, self._heads)):
            self._begin()
        self.writer.close()

    def _begin(self) -> None:
        if self._begun:
            return
        self._begun = True
        width = self.end - self.start
        paths = [header_path([row[at] for row in self._heads if at < len(row)]) for at in range(width)]
        self.writer.begin(paths, self.declared.top, self.declared.name, range(self.declared.naming))


def _groups(above: Row, start: int, end: int) -> Sequence[str]:
    """Return the group names that merged cells directly above a table give its columns."""
    _, values, covered, _ = above
    whole = {values[at] for at in range(start, min(end, len(values)))}
    names = [""] * (end - start)
    if len(whole) < 2:  # a title over all columns
        return names
    for at in range(start, min(end, len(values))):
        if at in covered or (at + 1 < len(values) and at + 1 in covered and values[at + 1] == values[at]):
            names[at - start] = values[at]
    return names if all(names[1:]) else [""] * (end - start)  # else some are merged by chance, as in remarks
