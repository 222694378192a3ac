"""Repeats the text of cells that span several rows of a bordered table in each of these rows."""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import pairwise

from footnote_ingestion.parsers.pdf.grids import is_figure, visual_rows
from footnote_ingestion.parsers.pdf.lines import Word
from footnote_ingestion.parsers.pdf.rulings import Rule

_NEAR = 2.5
_MOSTLY, _PARTLY = 0.7, 0.4
"""Fraction of the borders between a column's cells that are drawn, in a table where each of them means something.

With fewer, lines may only separate sums and sections, and only an empty cell without a line above is part of a span.
"""

Cells = list[list[Word]]


def spread_down(
    bands: Sequence[list[Cells]],
    xs: Sequence[float],
    ys: Sequence[float],
    across: Sequence[Rule],
    apart: Set[int] = frozenset(),
) -> None:
    """Repeat text that spans several bands of a column, without a line between them, in each row.

    `bands` are the rows between two horizontal lines each, at the heights `ys` from the top; `xs` is where columns end.
    Nothing is repeated from or into the bands `apart`.
    """
    closed = [
        [
            not apart.isdisjoint((at, at + 1))
            or any(
                abs(rule.at - y) <= _NEAR and rule.start - 1 <= (left + right) / 2 <= rule.end + 1 for rule in across
            )
            for left, right in pairwise(xs)
        ]
        for at, y in enumerate(ys[1:-1])
    ]
    places = sum(map(len, closed))
    share = sum(map(sum, closed)) / places if places else 1.0
    if share == 1.0 or share < _PARTLY:
        return
    for at in range(len(xs) - 1):
        start = 0
        for end in range(1, len(bands) + 1):
            if end < len(bands) and not closed[end - 1][at]:
                continue
            if end - start > 1:
                _spread(bands[start:end], at, strictly=share < _MOSTLY, whole=end - start == len(bands))
            start = end


def _spread(bands: Sequence[list[Cells]], at: int, *, strictly: bool, whole: bool) -> None:
    """Repeat a column's words in each band, unless they are figures of several bands or rows."""
    words = [[word for row in band for word in row[at]] for band in bands]
    filled = [band for band in words if band]
    if not filled or any(len(band) > 1 for band in bands) or (strictly and (whole or len(filled) == len(bands))):
        return
    if len(filled) > 1 and all(is_figure(band[-1].text) for band in filled):
        return
    together = [word for row in visual_rows(word for band in words for word in band) for word in row]
    for band in bands:
        for row in band:
            row[at] = together
