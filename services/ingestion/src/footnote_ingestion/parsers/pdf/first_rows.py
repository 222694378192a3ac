"""Finds where a table's rows begin, and which of its first rows of figures are headers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from footnote_ingestion.parsers.pdf.grids import CURRENCIES, is_figure, pieces_of, segments, values_of
from footnote_ingestion.parsers.pdf.lines import Word
from footnote_ingestion.parsers.pdf.panels import is_panel
from footnote_ingestion.parsers.pdf.rulings import Rule, Rulings

_LEAST_ROWS = 2
_DAY = re.compile(r"\d{1,2}/\d{2,4}|\d{1,4}[/.-]\d{1,2}[/.-]\d{2,4}")


def start_of_body(
    rows: Sequence[Sequence[Word]], first_body: int, edge: float, columns: Sequence[tuple[float, float]], size: float
) -> int:
    """Return the first row that is not a header; a name without values below the headers is a section's name."""
    start = first_body
    parted = any(is_panel(row, columns, size) for row in rows[first_body:])
    while start and (
        _ends_before(rows[start - 1], edge - 0.5 * size)
        or _is_section(rows[start - 1], edge, columns)
        or (parted and is_panel(rows[start - 1], columns, size))
    ):
        start -= 1
    # Names at the very top are not sections unless a header is above them.
    while start < first_body and not any(over(row, columns) for row in rows[:start]):
        start += 1
    return start


def counts(row: Sequence[Word]) -> bool:
    """Return whether a row's figures count up, like grades or months above columns: 1, 2, 3."""
    texts = [word.text for word in values_of(row)]
    if len(texts) < 3 or not all(text.isascii() and text.isdecimal() and len(text) < 5 for text in texts):
        return False
    return all(int(below) == int(above) + 1 for above, below in pairwise(texts))


def heads_figures(rows: Sequence[Sequence[Word]], body: Sequence[int], rules: Rulings, size: float) -> bool:
    """Return whether the first row of figures is a header: only it has no name, and a line is drawn below it.

    Without such a line, it counts if there is no name directly above whose values it might be.
    """
    first = rows[body[0]]
    others = [rows[at] for at in body[1:]]
    left, right = first[0].left, max(word.right for word in first)
    if len(values_of(first)) < len(first):
        return len(values_of(first)) > 1 and _is_underlined(rows, body, rules, size)
    if sum(row[0].left < left - size for row in others) < len(others):
        return False
    low, high = max(word.top for word in rows[body[0] + 1]), min(word.bottom for word in first)
    above = rows[body[0] - 1] if body[0] else []
    bare = all(word.left > left - size for word in above) and low < high
    return (bare and len(others) > _LEAST_ROWS) or any(
        low - 0.5 * size < rule.at < high + 0.5 * size and rule.start < left and rule.end > right - size
        for rule in rules.across
    )


def _is_underlined(rows: Sequence[Sequence[Word]], body: Sequence[int], rules: Rulings, size: float) -> bool:
    """Return whether only the first row has a line below it, and no header above it but one over all figures.

    The line is drawn across the whole table, or in pieces under each figure. That row is then the header, its name and
    figures included.
    """
    first = rows[body[0]]
    values = values_of(first)
    if any(sum(piece[0].left > values[0].left - size for piece in segments(row)) > 1 for row in rows[: body[0]]):
        return False
    left, right = first[0].left + size, values[-1].right - size
    whole: list[bool] = []
    pieced: list[bool] = []
    for above, below in pairwise(body):
        low, foot = max(word.top for word in rows[below]) - 0.5 * size, min(word.bottom for word in rows[above])
        drawn = [rule for rule in rules.across if low < rule.at < foot + size]
        whole.append(any(rule.start < left and rule.end > right for rule in drawn))
        pieces = [rule for rule in drawn if rule.at < foot + 0.5 * size and not whole[-1]]
        pieced.append(bool(pieces) and all(_is_under(pieces, word) for word in values_of(rows[above])))
    return any(lines[0] and not any(lines[1:]) for lines in (whole, pieced))


def _is_under(drawn: Sequence[Rule], word: Word) -> bool:
    middle = (word.left + word.right) / 2
    return any(rule.start < middle < rule.end for rule in drawn)


def names_days(row: Sequence[Word]) -> bool:
    """Return whether a row's figures are numeric days or months: 12/31/2019, 12/19."""
    texts = [word.text for word in values_of(row)]
    return len(texts) > 1 and all(len(text) <= 10 and _DAY.fullmatch(text) is not None for text in texts)


def ends_in_figure(row: Sequence[Word], columns: Sequence[tuple[float, float]]) -> bool:
    """Return whether a row has more words than figures over the columns, like a header that ends "Less than $5,000"."""
    values = {id(word) for word in values_of(row)}
    words = [
        word for word in row if id(word) not in values and not is_figure(word.text) and word.text not in CURRENCIES
    ]
    return over(words, columns) >= max(2, len(row) - len(words))


def _ends_before(row: Sequence[Word], edge: float) -> bool:
    return all(word.right < edge for word in row)


def _is_section(row: Sequence[Word], edge: float, columns: Sequence[tuple[float, float]]) -> bool:
    """Return whether a row is one stretch of words that begins in the column of names and is too long for it."""
    left = columns[0][1] - columns[0][0]
    return len(pieces_of(row)) == 1 and row[0].left < edge - max(left, 4 * row[0].line.size)


def over(row: Sequence[Word], columns: Sequence[tuple[float, float]]) -> int:
    """Return the number of columns over which a row has words."""
    return sum(any(word.left < right and word.right > left for word in row) for left, right in columns)
