"""Reads the vertical headers of tables, and places the cells of tables on turned pages.

Tables that are read from the right are mirrored, for the code that finds left-to-right ones.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TypeVar

from footnote_ingestion.parsers.pdf.bidi import has_letters, lean
from footnote_ingestion.parsers.pdf.grids import Grid
from footnote_ingestion.parsers.pdf.lines import Line, Word
from footnote_ingestion.parsers.pdf.rulings import Rule, Rulings
from footnote_ingestion.parsers.pdf.table_start import Words
from footnote_ingestion.parsers.pdf.turns import turned

Box = tuple[float, float, float, float]
"""Left, bottom, right, top."""
_Place = TypeVar("_Place", bound=Hashable)


def upright(lines: Sequence[Line], words: Words, place: Callable[[Box], _Place | None]) -> dict[_Place, Word]:
    """Return the text of vertical lines as one word for each cell, in reading order.

    `place` returns the cell where a line is, given its box; lines for which it returns None are left out.
    """
    own = [(line, made) for line in lines if line.rotated and line.size > 0 and (made := words(line))]
    # Lines that run up follow each other to the right, those that run down to the left.
    step = 1 if sum(_is_up(made) for _, made in own) >= 0 else -1
    found: dict[_Place, list[tuple[float, Line, Box]]] = {}
    for line, made in own:
        box = (
            min(word.left for word in made), min(word.bottom for word in made),
            max(word.right for word in made), max(word.top for word in made),
        )  # fmt: skip
        if (cell := place(box)) is not None:
            found.setdefault(cell, []).append((step * box[0], line, box))
    joined = {}
    for cell, parts in found.items():
        parts.sort(key=lambda part: part[0])
        boxes = [box for _, _, box in parts]
        first, *more = (line for _, line, _ in parts)
        joined[cell] = Word(
            " ".join(line.text for line in (first, *more)),
            min(box[0] for box in boxes), max(box[2] for box in boxes),
            max(box[3] for box in boxes), min(box[1] for box in boxes), first, tuple(more),
        )  # fmt: skip
    return joined


def turn_back(grids: Sequence[Grid], degrees: int) -> None:
    """Place the cells of tables of a page that was turned clockwise as they are on the page."""
    cells = {id(cell): cell for grid in grids for row in grid.rows for cell in row.cells if cell.text}
    for cell in cells.values():
        box = turned((cell.left, cell.bottom, cell.right, cell.top), -degrees)
        cell.left, cell.bottom, cell.right, cell.top = box


def _is_up(words: Sequence[Word]) -> int:
    """Return 1 for a line that runs up, -1 for one that runs down, 0 for one of a single word."""
    if len(words) < 2:
        return 0
    return 1 if words[-1].bottom > words[0].bottom else -1


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
