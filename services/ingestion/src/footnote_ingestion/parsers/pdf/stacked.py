"""Joins headers of several lines before they are assigned to columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from footnote_ingestion.parsers.pdf.lines import Word
from footnote_ingestion.parsers.pdf.rulings import Rule

_NEAR = 0.6
_ALIGNED = 0.4
_NEXT = 1.5
"""Maximum distance of a header's next line, and of its middle from the first line's, in type sizes."""


@dataclass(slots=True, eq=False)
class Piece:
    """Words of a header that belong together, in reading order, with their box in points."""

    words: list[Word]
    left: float
    right: float
    top: float
    bottom: float


def piece_of(words: list[Word]) -> Piece:
    """Return the words of one line, from the left, as a piece."""
    return Piece(
        words, words[0].left, words[-1].right, max(word.top for word in words), min(word.bottom for word in words)
    )


def stacked(
    rows: Sequence[Sequence[Piece]], pitch: float, across: Sequence[Rule], size: float
) -> list[tuple[list[Piece], list[Piece]]]:
    """Return for each row of headers the pieces that end in it, and all pieces in it: some continue in the next row.

    A piece continues in the one below if neither has another neighbour above or below, both have the same middle, and
    no line is drawn between them. Pieces about one `pitch` apart, the distance between columns, have a column each, so
    that words above such a piece may be a group's name.
    """
    found: list[tuple[list[Piece], list[Piece]]] = []
    begun: list[tuple[int, Piece]] = []
    for at, row in enumerate(rows):
        made: list[tuple[int, Piece]] = []
        for piece in row:
            over = [one for one in begun if _meet(one[1], piece)]
            if (
                len(over) == 1
                and not any(one is not piece and _between(one, piece) < _NEXT * pitch for one in row)
                and sum(_meet(over[0][1], one) for one in row) == 1
                and _goes_on(over[0][1], piece, across, size)
            ):
                start, upper = over[0]
                begun.remove(over[0])
                made.append((start, _both(upper, piece)))
            else:
                made.append((at, piece))
        _end(found, begun, at - 1)
        found.append(([], []))
        begun = made
    _end(found, begun, len(rows) - 1)
    for ending, standing in found:
        ending.sort(key=lambda piece: piece.left)
        standing.sort(key=lambda piece: piece.left)
    return found


def _end(found: list[tuple[list[Piece], list[Piece]]], pieces: Sequence[tuple[int, Piece]], last: int) -> None:
    for start, piece in pieces:
        found[last][0].append(piece)
        for _, standing in found[start : last + 1]:
            standing.append(piece)


def _between(one: Piece, other: Piece) -> float:
    return abs(one.left + one.right - other.left - other.right) / 2


def _meet(one: Piece, other: Piece) -> bool:
    return one.left < other.right and other.left < one.right


def _goes_on(upper: Piece, piece: Piece, across: Sequence[Rule], size: float) -> bool:
    if _between(upper, piece) > _ALIGNED * size or upper.bottom - piece.top > _NEAR * size:
        return False
    low, high = min(piece.top, upper.bottom) - 0.3 * size, max(piece.top, upper.bottom) + 0.3 * size
    return not any(low < rule.at < high and rule.start < upper.right and rule.end > upper.left for rule in across)


def _both(upper: Piece, piece: Piece) -> Piece:
    return Piece(
        [*upper.words, *piece.words],
        min(upper.left, piece.left),
        max(upper.right, piece.right),
        upper.top,
        min(upper.bottom, piece.bottom),
    )
