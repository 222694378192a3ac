"""Finds columns that are not values: words between names and figures, and figures that name rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from footnote_ingestion.parsers.pdf.grids import CURRENCIES, pieces_of, segments, values_of
from footnote_ingestion.parsers.pdf.lines import Word

_LEAST_ROWS = 2
_GAP = 0.45


def column_of_words(
    head: Sequence[Sequence[Word]], body: Sequence[Sequence[Word]], edge: float, size: float
) -> tuple[float, float] | None:
    """Return the column of words between names and figures that is set apart in most rows and has its own header."""
    names: list[float] = []
    words: list[tuple[float, float]] = []
    count = 0
    for row in body:
        tail = {id(word) for word in values_of(row)}
        before = [word for word in row if id(word) not in tail and word.text not in CURRENCIES and word.right < edge]
        if not before:
            continue
        count += 1
        *first, last = pieces_of(before)
        if first:
            names.append(first[-1][-1].right)
            words.append((last[0].left, last[-1].right))
        else:
            names.append(last[-1].right)
    if len(words) < _LEAST_ROWS or len(words) * 2 < count:
        return None
    left, right = min(one for one, _ in words), max(other for _, other in words)
    if left - max(names) < _GAP * size:
        return None
    headed = any(
        piece[0].left < right
        and piece[-1].right > left
        and piece[0].left > max(names)
        and piece[-1].right < edge + size
        for row in head
        for piece in pieces_of(row)
    )
    return (left, right) if headed else None


def with_signs(body: Sequence[Sequence[Word]], columns: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return columns of figures extended by the separate currency signs before them, as they count for headers."""
    lefts = [left for left, _ in columns]
    for row in body:
        for sign, figure in pairwise(row):
            if sign.text not in CURRENCIES:
                continue
            for at, (left, right) in enumerate(columns):
                if figure.left < right and figure.right > left and (not at or sign.left > columns[at - 1][1]):
                    lefts[at] = min(lefts[at], sign.left)
    return [(left, right) for left, (_, right) in zip(lefts, columns, strict=True)]


def column_of_names(
    rows: Sequence[Sequence[Word]], body: Sequence[int], columns: Sequence[tuple[float, float]]
) -> tuple[float, float] | None:
    """Return the first column if its figures name the rows, with nothing to the left."""
    left, right = columns[0]
    bare = sum(rows[at][0].left >= left - 1 for at in body)
    if bare * 2 <= len(body) or len(columns) < 2:
        return None
    # Names of two lines are above and below the figures; the first column then has a header like the others.
    beside = any(row[-1].right < left for row in rows[body[0] :])
    heads = [piece for row in rows[: body[0]][-1:] for piece in segments(row) if piece[-1].right > left]
    headed = len(heads) >= len(columns) and heads[0][0].left < right
    return None if beside and headed else (left, right)
