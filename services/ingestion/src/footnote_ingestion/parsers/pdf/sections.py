"""Sections of a table: the names without values that the rows below them belong to."""

from __future__ import annotations

from dataclasses import dataclass

from footnote_ingestion.parsers.pdf.grids import Row
from footnote_ingestion.parsers.pdf.names import DEEPER

_MOST_OF_NAME = 200


@dataclass(slots=True)
class _Section:
    indent: float
    name: str
    level: bool
    """Whether rows with the same indentation belong to it, as long as no row is indented deeper."""
    block: bool
    """Whether they belong to it as far as the next row with an empty line above it."""


class Sections:
    """The sections that a table's rows belong to, outermost first.

    `summed`: the table has lines above its sums. Only then may a section and its rows have the same indentation,
    because a sum shows where such a section ends.
    """

    def __init__(self, summed: bool) -> None:
        self._summed = summed
        self._open: list[_Section] = []
        self._ended = False

    def above(self, row: Row, bare: bool) -> list[str]:
        """Return the names of a row's sections; sections that the row shows to have ended are closed."""
        while self._open:
            last = self._open[-1]
            if last.block and row.apart:
                self._open.pop()
                continue
            if row.indent > last.indent + DEEPER:
                last.level = False
                break
            if (last.level or last.block) and not bare and not self._ended and row.indent > last.indent - DEEPER:
                break
            self._open.pop()
        self._ended = row.sums and not bare
        return [section.name for section in self._open]

    def begin(self, row: Row) -> None:
        """Open the section that a row without values, or a group, begins."""
        name = row.cells[0].text
        level = row.section or (self._summed and name.endswith((":", "：")))
        self._open.append(_Section(row.indent, name.rstrip(":： ")[:_MOST_OF_NAME], level, row.block))
        self._ended = False
