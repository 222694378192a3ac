"""Reading order of a page: the order of its content, but never a line before one above it in the same column.

Most layout programs write pages in reading order: columns, figures and notes are right. Some write headings, boxes or
notes first or last. Where that is visible, each line follows the lines above it. Otherwise the page's own order counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from footnote_ingestion.parsers.pdf.grids import Grid
from footnote_ingestion.parsers.pdf.lines import Line

# A page with more pieces is a plan or a table of tiny pieces, and comparing all of them would take long.
_MOST = 600
_STRIPS = 32
# Two pieces are in the same column if they share this fraction of the narrower one's width.
_SHARED = 0.3
# Maximum gap between lines of a piece, as a fraction of their height.
_NEAR = 0.75


@dataclass(slots=True, eq=False)
class _Piece:
    """Lines that stay together, as a paragraph or as one table: their box, and the height of the smallest."""

    left: float
    right: float
    top: float
    bottom: float
    least: float
    lines: list[Line]

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2

    def take(self, other: _Piece) -> None:
        """Add another piece's lines."""
        self.left, self.right = min(self.left, other.left), max(self.right, other.right)
        self.bottom, self.top = min(self.bottom, other.bottom), max(self.top, other.top)
        self.least = min(self.least, other.least)
        self.lines += other.lines


def in_order(lines: list[Line], tables: Sequence[Grid] = ()) -> list[Line]:
    """Return the lines of a page in reading order; text along the page's edge, which would interrupt, is last."""
    rotated = [line for line in lines if line.rotated]
    upright = [line for line in lines if not line.rotated] if rotated else lines
    return (_ordered(upright, tables) if _have_places(upright) else upright) + rotated


def _have_places(lines: Sequence[Line]) -> bool:
    return 1 < len(lines) <= _MOST and all(
        line.size and math.isfinite(line.left + line.right + line.top + line.bottom) for line in lines
    )


def _ordered(lines: list[Line], tables: Sequence[Grid]) -> list[Line]:
    pieces = _pieces(lines, tables)
    if not _goes_up(pieces):
        return lines
    order: list[_Piece] = []
    done: set[int] = set()
    for piece in pieces:
        for one in _led_up_to(piece, pieces, done):
            order.append(one)
    return [line for piece in order for line in piece.lines]


def _pieces(lines: Sequence[Line], tables: Sequence[Grid]) -> list[_Piece]:
    """Return the lines in the order of the content, with a table's lines together at the place of its first one."""
    of_table = {one: grid for grid in tables for one in grid.lines}
    known: dict[int, _Piece] = {}
    pieces: list[_Piece] = []
    last: _Piece | None = None
    for line in lines:
        bottom, top = sorted((line.bottom, line.top))
        piece = _Piece(line.left, line.right, top, bottom, top - bottom, [line])
        grid = of_table.get(id(line))
        if grid is not None:
            if (whole := known.get(id(grid))) is not None:
                whole.take(piece)
                continue
            known[id(grid)] = piece
        elif last is not None and pieces[-1].lines[-1] is last.lines[-1] and _goes_on(pieces[-1], last, piece):
            last = _Piece(piece.left, piece.right, top, bottom, piece.least, [line])
            pieces[-1].take(piece)
            continue
        pieces.append(piece)
        last = None if grid is not None else _Piece(piece.left, piece.right, top, bottom, piece.least, [line])
    return pieces


def _goes_on(whole: _Piece, last: _Piece, line: _Piece) -> bool:
    """Return whether a line continues a paragraph or the last line."""
    tall = max(last.least, line.least)
    if last.bottom < line.middle < last.top:
        return -_NEAR * tall < line.left - last.right < tall
    gap = last.bottom - line.top
    return -_NEAR * tall < gap < _NEAR * tall and line.left < whole.right and whole.left < line.right


def _goes_up(pieces: Sequence[_Piece]) -> bool:
    """Return whether a piece comes after one below it in the same column.

    The lowest piece so far is remembered for several vertical strips of the page. Only pieces above it are compared in
    detail.
    """
    left = min(piece.left for piece in pieces)
    width = max(max(piece.right for piece in pieces) - left, 1.0) / _STRIPS
    lowest: list[_Piece | None] = [None] * _STRIPS
    for piece in pieces:
        first = min(int((piece.left - left) / width), _STRIPS - 1)
        for strip in range(first, min(int((piece.right - left) / width), _STRIPS - 1) + 1):
            other = lowest[strip]
            if other is None or piece.middle < other.middle:
                lowest[strip] = piece
            elif _above(piece, other):
                return True
    return False


def _above(piece: _Piece, other: _Piece) -> bool:
    """Return whether a piece is above another one in the same column; two pieces are never above each other."""
    if piece.bottom <= other.top - 0.5 * min(piece.least, other.least):
        return False
    shared = min(piece.right, other.right) - max(piece.left, other.left)
    return shared > _SHARED * min(piece.right - piece.left, other.right - other.left)


def _led_up_to(piece: _Piece, pieces: Sequence[_Piece], done: set[int]) -> Iterator[_Piece]:
    """Yield a piece after all pieces above it, recursively."""
    stack = [(piece, iter(pieces))]
    while stack:
        one, others = stack[-1]
        if id(one) in done:
            stack.pop()
            continue
        before = next((other for other in others if id(other) not in done and _above(other, one)), None)
        if before is not None:
            stack.append((before, iter(pieces)))
            continue
        stack.pop()
        done.add(id(one))
        yield one
