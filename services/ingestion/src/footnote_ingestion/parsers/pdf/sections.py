"""Sections of a table: which names without values the rows below them stand under."""

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
    """Whether rows that begin where it does stand under it: it ends in a colon, and none began deeper yet."""


class Sections:
    """The sections that a table's rows stand under, from the outermost.

    `summed`: the table has lines above its sums. Only there do rows stand under a section that begins where they do,
    for only a sum shows where such a one ends.
    """

    def __init__(self, summed: bool) -> None:
        self._summed = summed
        self._open: list[_Section] = []
        self._ended = False

    def above(self, row: Row, bare: bool) -> list[str]:
        """Return the names of the sections above a row, which come to an end where it shows that they do."""
        while self._open:
            last = self._open[-1]
            if row.indent > last.indent + DEEPER:
                last.level = False
                break
            if last.level and not bare and not self._ended and row.indent > last.indent - DEEPER:
                break
            self._open.pop()
        self._ended = row.sums and not bare
        return [section.name for section in self._open]

    def begin(self, row: Row) -> None:
        """Open the section that a row without values begins."""
        name = row.cells[0].text
        level = self._summed and name.endswith((":", "："))
        self._open.append(_Section(row.indent, name.rstrip(":： ")[:_MOST_OF_NAME], level))
        self._ended = False
