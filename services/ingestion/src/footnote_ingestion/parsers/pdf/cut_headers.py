"""Cuts headers that are set closer than usual, so that each column has its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from footnote_ingestion.parsers.pdf.grids import segments
from footnote_ingestion.parsers.pdf.groups import Columns, pitch_of
from footnote_ingestion.parsers.pdf.lines import Word
from footnote_ingestion.parsers.pdf.rulings import Rule
from footnote_ingestion.parsers.pdf.stacked import Piece, piece_of

_WIDER = 0.42
"""Minimum gap between two headers that nearly touch, as a fraction of their height."""
_FLUSH = 0.25
_TOUCH = 1.0
"""Maximum overlap, in points, of a letter's box with the line beside it."""
_SIDES: tuple[tuple[Callable[[Piece], float], Callable[[tuple[float, float]], float]], ...] = (
    (lambda piece: piece.left, lambda column: column[0]),
    (lambda piece: piece.right, lambda column: column[1]),
    (lambda piece: (piece.left + piece.right) / 2, lambda column: sum(column) / 2),
)


def cut_headers(pieces: list[Piece], columns: Columns, lowest: bool) -> list[Piece]:
    """Cut stretches with narrow gaps if each part is then over a column of its own: at the wider gaps, or at all.

    Only the lowest row is cut at all gaps, and only if that gives each column a name, because the gaps within one name
    are as wide. Above other headers such words name a group.
    """
    if len(pieces) >= len(columns):
        return pieces
    wider = _cut_at(_WIDER, _flush_apart(pieces, columns, lowest), columns)
    every = _cut_at(0.0, pieces, columns) if lowest else []
    return every if len(every) >= max(len(columns) - 1, len(wider)) else wider


def parted_by(words: list[Word], down: Sequence[Rule]) -> list[list[Word]]:
    """Cut a stretch of words where a vertical line is drawn between two of them: headers in boxes side by side."""
    left, right = words[0].left, words[-1].right
    height = (max(word.top for word in words) + min(word.bottom for word in words)) / 2
    between = [rule.at for rule in down if left < rule.at < right and rule.start < height < rule.end]
    found = [words[:1]]
    for last, word in pairwise(words):
        if any(last.right - _TOUCH < at < word.left + _TOUCH for at in between):
            found.append([word])
        else:
            found[-1].append(word)
    return found


def _flush_apart(pieces: list[Piece], columns: Columns, lowest: bool) -> list[Piece]:
    """Cut stretches at any gap into three or more parts, each flush with a column on the same side.

    Above the lowest row, a stretch that is also centred over all these columns stays whole: it may be a group's name.
    """
    made: list[Piece] = []
    for piece in pieces:
        found = [_flush_parts(words, columns, lowest) for words in segments(piece.words, _WIDER)]
        cut = any(len(parts) > 1 for parts in found)
        made += [part for parts in found for part in parts] if cut else [piece]
    return made


def _flush_parts(words: list[Word], columns: Columns, lowest: bool) -> list[Piece]:
    groups: dict[int, list[Word]] = {}
    for word in words:
        middle = (word.left + word.right) / 2
        home = min(range(len(columns)), key=lambda at: abs(sum(columns[at]) / 2 - middle))
        groups.setdefault(home, []).append(word)
    parts = [(piece_of(group), columns[home]) for home, group in groups.items()]
    near = _FLUSH * (words[0].top - words[0].bottom)
    flush = any(all(abs(side(part) - of(column)) < near for part, column in parts) for side, of in _SIDES)
    over = columns[min(groups)][0] + columns[max(groups)][1]
    flush = flush and (lowest or abs(words[0].left + words[-1].right - over) / 2 > near)
    return [part for part, _ in parts] if len(parts) > 2 and flush else [piece_of(words)]


def _cut_at(gap: float, pieces: list[Piece], columns: Columns) -> list[Piece]:
    made: list[Piece] = []
    for piece in pieces:
        parts = [piece_of(words) for words in segments(piece.words, gap)]
        homes = [_home(part, columns) for part in parts]
        if len(parts) > 1 and None not in homes and len(set(homes)) == len(homes):
            made += parts
        else:
            made.append(piece)
    return made


def _home(piece: Piece, columns: Columns) -> int | None:
    """Return the column under the words, matched by their middle or an edge."""
    middle = (piece.left + piece.right) / 2
    pitch = pitch_of(columns)
    for at, (left, right) in enumerate(columns):
        near = min(abs(middle - (left + right) / 2), abs(piece.right - right), abs(piece.left - left))
        if near <= 0.12 * pitch:
            return at
    return None
