"""Finds tables that are sideways on their page, by rotating them, and reads the vertical headers of upright tables.

Tables that are read from the right are mirrored, for the code that finds left-to-right ones.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TypeVar

from footnote_ingestion.parsers.pdf.bidi import has_letters, lean
from footnote_ingestion.parsers.pdf.grids import Cell, Grid
from footnote_ingestion.parsers.pdf.lines import Line, Word
from footnote_ingestion.parsers.pdf.rulings import Rule, Rulings
from footnote_ingestion.parsers.pdf.table_start import Words

Box = tuple[float, float, float, float]
"""Left, bottom, right, top."""
_Place = TypeVar("_Place", bound=Hashable)


def is_sideways(lines: Sequence[Line]) -> bool:
    """Return whether most of a page's text is vertical; many short vertical headers are above an upright table."""
    return sum(len(line.text) for line in lines if line.rotated) * 2 > sum(len(line.text) for line in lines)


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


def turned(
    find: Callable[[Sequence[Line], Words, Rulings], list[Grid]],
    lines: Sequence[Line],
    words: Words,
    rules: Rulings,
) -> list[Grid]:
    """Return the tables found among the rotated lines of a page, with their cells as on the page."""
    own = [(line, made) for line in lines if line.rotated and line.size > 0 and (made := words(line))]
    up = sum(_is_up(made) for _, made in own) >= 0
    seen: dict[int, list[Word]] = {}
    back: dict[int, int] = {}
    upright: list[Line] = []
    for line, made in own:
        boxes = [_turn((word.left, word.bottom, word.right, word.top), up) for word in made]
        left, bottom = min(box[0] for box in boxes), min(box[1] for box in boxes)
        right, top = max(box[2] for box in boxes), max(box[3] for box in boxes)
        one = replace(line, left=left, bottom=bottom, right=right, top=top, rotated=False)
        upright.append(one)
        back[id(one)] = id(line)
        seen[id(one)] = [
            replace(word, left=box[0], bottom=box[1], right=box[2], top=box[3], line=one)
            for word, box in zip(made, boxes, strict=True)
        ]
    across = [(_turn((rule.at, rule.start, rule.at, rule.end), up)) for rule in rules.down]
    down = [(_turn((rule.start, rule.at, rule.end, rule.at), up)) for rule in rules.across]
    drawn = Rulings(
        [Rule(box[1], box[0], box[2]) for box in across],
        [Rule(box[0], box[1], box[3]) for box in down],
        [_turn(fill, up) for fill in rules.fills],
    )
    grids = find(upright, lambda line: seen[id(line)], drawn)
    for grid in grids:
        grid.lines = {back[one] for one in grid.lines}
        grid.header_lines = {back[one] for one in grid.header_lines}
        for row in grid.rows:
            row.lines = {back[one] for one in row.lines}
        for cell in {id(cell): cell for row in grid.rows for cell in row.cells}.values():
            _turn_back(cell, up)
    return grids


def _is_up(words: Sequence[Word]) -> int:
    """Return 1 for a line that runs up, -1 for one that runs down, 0 for one of a single word."""
    if len(words) < 2:
        return 0
    return 1 if words[-1].bottom > words[0].bottom else -1


def _turn(box: Box, up: bool) -> Box:
    left, bottom, right, top = box
    return (bottom, -right, top, -left) if up else (-top, left, -bottom, right)


def _turn_back(cell: Cell, up: bool) -> None:
    left, bottom, right, top = cell.left, cell.bottom, cell.right, cell.top
    if not cell.text:
        return
    if up:
        cell.left, cell.bottom, cell.right, cell.top = -top, left, -bottom, right
    else:
        cell.left, cell.bottom, cell.right, cell.top = bottom, -right, top, -left


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
