"""What a sentence or row stands under: titles, sheet, headings, headers of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from footnote.types.v1.answer_pb2 import Source

from footnote_generation.extractive.passages import Unit

_LONGEST_LEAD = 120  # characters
_LONGEST = 600  # characters that are compared in meaning


class Above:
    """What each of the sentences and rows found stands under; `sources` are theirs, by number."""

    def __init__(self, found: Sequence[Unit], sources: Mapping[int, Source]) -> None:
        self._sources = sources
        self._lines = _heading_lines(found)

    def text(self, unit: Unit) -> str:
        """Return all of it as one text."""
        source = self._sources[unit.source]
        columns = dict.fromkeys(cell.header for cell in unit.cells if cell.header)
        titles = [source.title, source.filename, source.locator.sheet.sheet, *self._headings(unit)]
        return " . ".join([*titles, *columns])

    def behind(self, unit: Unit) -> str:
        """Return a sentence or row behind its title and headings, as it is compared in meaning."""
        source = self._sources[unit.source]
        titles = [source.title, source.locator.sheet.sheet, *self._headings(unit)]
        lead = " ".join(dict.fromkeys(one for one in titles if one))
        return f"{lead[:_LONGEST_LEAD]}: {unit.text}"[:_LONGEST]

    def _headings(self, unit: Unit) -> list[str]:
        source = self._sources[unit.source]
        inner = [
            one.locator.heading_path[-1]
            for one in source.anchors
            if one.locator.heading_path and one.span.start < unit.end and one.span.end > unit.start
        ]
        return [*source.locator.heading_path, *inner, self._lines.get((unit.source, unit.place), "")]


def _heading_lines(found: Sequence[Unit]) -> dict[tuple[int, int], str]:
    """Return the nearest heading line above each sentence of a passage."""
    above: dict[tuple[int, int], str] = {}
    last: dict[int, str] = {}
    for unit in found:
        if unit.stands_above:
            last[unit.source] = unit.text
        elif unit.source in last:
            above[unit.source, unit.place] = last[unit.source]
    return above
