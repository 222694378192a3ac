"""Names of a table's parts that are centred over its columns: "Number" above some rows, "Percent" above the next.

They are below the headers, which are given once, and name all rows up to the next one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from footnote_ingestion.parsers.pdf.grids import Cell, Row, cell_of, ids, segments, values_of
from footnote_ingestion.parsers.pdf.lines import Word
from footnote_ingestion.parsers.pdf.rulings import Rulings

_OFF = 2.0
"""Maximum distance of a part's name from the middle of the columns, in type sizes."""


def is_panel(row: Sequence[Word], columns: Sequence[tuple[float, float]], size: float) -> bool:
    """Return whether a row is a single stretch of words over several columns, in the middle of all, without figures."""
    if len(segments(row)) != 1 or values_of(row) or (row[0].text[0], row[-1].text[-1]) in (("(", ")"), ("[", "]")):
        return False
    left, right = row[0].left, row[-1].right
    middle = (columns[0][0] + columns[-1][1]) / 2
    met = sum(left < other and right > one for one, other in columns)
    return met > 1 and abs((left + right) / 2 - middle) < _OFF * size


def is_underlined(rows: Sequence[Sequence[Word]], rules: Rulings, size: float) -> bool:
    """Return whether a line across the first of two rows, as below headers, is drawn between them."""
    if len(rows) < 2 or not all(rows):
        return False
    first, second = rows
    low, high = max(word.top for word in second), min(word.bottom for word in first)
    left, right = first[0].left + size, first[-1].right - size
    return any(low - size < rule.at < high + size and rule.start < left and rule.end > right for rule in rules.across)


def with_panels(
    rows: Sequence[Sequence[Word]],
    columns: Sequence[tuple[float, float]],
    size: float,
    read: Callable[[Sequence[Sequence[Word]]], list[Row]],
) -> list[Row]:
    """Return the rows between the names of parts as `read` returns them, and these names as rows left of all others."""
    made: list[Row] = []
    start = 0
    for at in [*(at for at, row in enumerate(rows) if is_panel(row, columns, size)), len(rows)]:
        made += read(rows[start:at]) if at > start else []
        if at < len(rows):
            made.append(Row([cell_of(rows[at]), *(Cell() for _ in columns)], -math.inf, ids(rows[at])))
        start = at + 1
    return made
