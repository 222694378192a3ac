"""Assigns underlined headers: the lines show which columns a row of headers is for, the middles which each heads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from footnote_ingestion.parsers.pdf.groups import Columns, Part
from footnote_ingestion.parsers.pdf.lines import Word
from footnote_ingestion.parsers.pdf.rulings import Rule
from footnote_ingestion.parsers.pdf.stacked import Piece

_OVER, _UNDER = 0.8, 0.45
"""Maximum distance of an underline below and above the base of its words, in type sizes."""
_OFF = 0.6
"""Maximum distance between the middle of words and of the columns that they head, in type sizes."""
_MOST = 60
_LEAST_USED, _NEXT = 2, 0.6


@dataclass(frozen=True, slots=True)
class _Line:
    """A line under headers, and the columns from `first` to before `last` below it."""

    left: float
    right: float
    first: int
    last: int


def by_lines(pieces: Sequence[Piece], columns: Columns, across: Sequence[Rule], size: float) -> list[Part]:
    """Return the columns that each stretch of a row of headers heads, if the lines below show them.

    Each line belongs to one header, which may have several lines side by side. Every underlined column has a header
    centred over its columns. A header without a line is over a single column.
    """
    if not 0 < len(pieces) <= _MOST or len(columns) > _MOST:
        return []
    lines = _under(min(piece.bottom for piece in pieces), columns, across, size)
    if not lines:
        return []
    over = [piece for piece in pieces if any(left < _middle(piece) < right for left, right in _joined(lines))]
    rest = [piece for piece in pieces if not any(piece is one for one in over)]
    found = _shared(over, lines, size) if len(over) <= len(lines) else []
    taken = {at for part in found for at in range(part.first, part.last)}
    for piece in rest:
        met = [at for at, (left, right) in enumerate(columns) if piece.left < right and piece.right > left]
        if len(met) != 1 or met[0] in taken:
            return []
        taken.add(met[0])
        found.append(Part(piece, met[0], met[0] + 1))
    return sorted(found, key=lambda part: part.first) if len(found) == len(pieces) else []


def with_lines(
    columns: Columns, rows: Sequence[Sequence[Word]], across: Sequence[Rule], size: float, start: float
) -> list[tuple[float, float]]:
    """Return the places of columns, each as wide as the line over it alone, under the lowest headers.

    A line that begins at the table's `start` is over the names of rows as well.
    """
    made = list(columns)
    if not rows or not rows[-1]:
        return made
    foot = min(word.bottom for word in rows[-1])
    for line in _under(foot, columns, across, size):
        left, right = made[line.first]
        free = (not line.first or columns[line.first - 1][1] < line.left) and (
            line.last == len(columns) or columns[line.last][0] > line.right
        )
        if line.last == line.first + 1 and free and line.left > start + size:
            made[line.first] = (min(left, line.left), max(right, line.right))
    return made


def over_no_column(
    rows: Sequence[Sequence[Piece]], columns: Columns, across: Sequence[Rule], size: float
) -> list[Piece]:
    """Return the headers, with all their lines, of columns without values: only the line below shows such a column."""
    found: list[Piece] = []
    begun: list[tuple[Rule, float]] = []
    for row in reversed(rows):
        for piece in row:
            lines = [rule for rule in across if -_OVER * size <= rule.at - piece.bottom <= _UNDER * size]
            used = [rule for rule in lines if _is_over_any(rule, columns)]
            beside = (rule for rule in lines if rule.start > columns[0][0] and rule not in used)
            own = next((rule for rule in beside if _is_within(piece, rule)), None)
            if own is None and not any(rule.end - rule.start > size + piece.right - piece.left for rule in used):
                lower = (rule for rule, top in begun if piece.bottom - top < _NEXT * size and _is_within(piece, rule))
                own = next(lower, None)
            elif len(used) < _LEAST_USED:
                own = None
            if own is not None:
                found.append(piece)
                begun.append((own, piece.top))
    return found


def _is_over_any(rule: Rule, columns: Columns) -> bool:
    return any(rule.start < (left + right) / 2 < rule.end for left, right in columns)


def _is_within(piece: Piece, rule: Rule) -> bool:
    return rule.start - 1 < piece.left and piece.right < rule.end + 1


def _under(foot: float, columns: Columns, across: Sequence[Rule], size: float) -> list[_Line]:
    """Return the lines, from the left, that are under words with the given base and have columns below them."""
    found: list[_Line] = []
    for rule in sorted(across, key=lambda rule: (rule.start, rule.end)):
        if not foot - _OVER * size <= rule.at <= foot + _UNDER * size:
            continue
        below = [at for at, (left, right) in enumerate(columns) if rule.start < (left + right) / 2 < rule.end]
        if below and (not found or below[0] >= found[-1].last):
            found.append(_Line(rule.start, rule.end, below[0], below[-1] + 1))
    return found


def _joined(lines: Sequence[_Line]) -> list[tuple[float, float]]:
    """Return the extents of lines without a column between them that has no line."""
    found: list[tuple[float, float]] = []
    last = -1
    for line in lines:
        if found and line.first == last:
            found[-1] = (found[-1][0], line.right)
        else:
            found.append((line.left, line.right))
        last = line.last
    return found


def _middle(piece: Piece) -> float:
    return (piece.left + piece.right) / 2


def _shared(pieces: Sequence[Piece], lines: Sequence[_Line], size: float) -> list[Part]:
    """Assign all lines to headers in order, so that each header is centred over its own."""
    many, count = len(pieces), len(lines)
    best: list[list[float]] = [[math.inf] * (count + 1) for _ in range(many + 1)]
    begun: list[list[int]] = [[0] * (count + 1) for _ in range(many + 1)]
    best[0][0] = 0.0
    for done, piece in enumerate(pieces):
        for start in range(done, count):
            if best[done][start] == math.inf:
                continue
            for end in range(start + 1, count - (many - done) + 2):
                if end > start + 1 and lines[end - 1].first != lines[end - 2].last:
                    break
                off = _off(piece, lines[start:end])
                if off <= _OFF * size and best[done][start] + off < best[done + 1][end]:
                    best[done + 1][end] = best[done][start] + off
                    begun[done + 1][end] = start
    if best[many][count] == math.inf:
        return []
    found: list[Part] = []
    end = count
    for done in range(many, 0, -1):
        start = begun[done][end]
        found.append(Part(pieces[done - 1], lines[start].first, lines[end - 1].last))
        end = start
    return found[::-1]


def _off(piece: Piece, lines: Sequence[_Line]) -> float:
    """Return the distance of words from the middle of their lines; over one line they may be flush with an end."""
    left, right = lines[0].left, lines[-1].right
    middle = abs(_middle(piece) - (left + right) / 2)
    if len(lines) > 1 or lines[0].last - lines[0].first > 1:
        return middle
    return 0.0 if left - 1 <= piece.left and piece.right <= right + 1 else min(middle, abs(piece.right - right))
