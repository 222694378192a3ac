"""Finds tables that are read from the right, by mirroring them for the code that finds left-to-right ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from footnote_ingestion.parsers.pdf.bidi import has_letters, lean
from footnote_ingestion.parsers.pdf.grids import Grid
from footnote_ingestion.parsers.pdf.lines import Line, Word
from footnote_ingestion.parsers.pdf.rulings import Rule, Rulings
from footnote_ingestion.parsers.pdf.table_start import Words


class _Mirror:
    """A page's lines, words and drawn lines with left and right exchanged.

    A word's line is still the page's own.
    """

    def __init__(self, lines: Sequence[Line], words: Words, rules: Rulings) -> None:
        self.lines = [replace(line, left=-line.right, right=-line.left) for line in lines]
        self.rules = Rulings(
            [Rule(rule.at, -rule.end, -rule.start) for rule in rules.across],
            [Rule(-rule.at, rule.start, rule.end) for rule in rules.down],
        )
        self._own = {id(seen): line for seen, line in zip(self.lines, lines, strict=True)}
        self._words = words

    def words(self, line: Line) -> list[Word]:
        """Return the words of a mirrored line, from its left."""
        words = sorted(self._words(self._own[id(line)]), key=lambda word: -word.right)
        return [replace(word, left=-word.right, right=-word.left, mirrored=True) for word in words]


def is_read_from_the_right(lines: Sequence[Line]) -> bool:
    """Return whether most words of these lines are read from the right."""
    return any(has_letters(line.text) for line in lines) and sum(lean(line.text) for line in lines) > 0


def in_a_mirror(
    find: Callable[[list[Line], Sequence[Line], Words, Rulings], list[Grid]],
    seeds: Sequence[Line],
    lines: Sequence[Line],
    words: Words,
    rules: Rulings,
) -> list[Grid]:
    """Return the tables found among mirrored lines, with cells and columns placed as on the page."""
    mirror = _Mirror([*seeds, *lines], words, rules)
    grids = find(mirror.lines[: len(seeds)], mirror.lines[len(seeds) :], mirror.words, mirror.rules)
    for grid in grids:
        grid.columns = [(-right, -left) for left, right in grid.columns]
        for row in grid.rows:
            for cell in row.cells:
                cell.left, cell.right = -cell.right, -cell.left
    return grids
