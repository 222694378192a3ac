"""Headers that run up or down above columns of figures, as one row of words at their lower ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from footnote_ingestion.parsers.pdf.groups import Columns, pitch_of
from footnote_ingestion.parsers.pdf.lines import Line, Word
from footnote_ingestion.parsers.pdf.rotated import Box, upright
from footnote_ingestion.parsers.pdf.rulings import Rulings
from footnote_ingestion.parsers.pdf.table_start import Words

_LEAST = 2
_ABOVE = 5.0
"""Maximum distance of such headers from the first row of figures, in type sizes."""


def vertical_heads(
    lines: Sequence[Line],
    words: Words,
    columns: Columns,
    foot: float,
    rules: Rulings,
    size: float,
) -> list[Word]:
    """Return one word for each column that vertical lines of text head, from the left; none for fewer than two.

    `foot` is where the first row of figures ends. Lines between the same two drawn lines are one header; without those,
    a line heads the column that it is over.
    """

    def place(box: Box) -> tuple[float, float] | None:
        left, bottom, right, top = box
        middle, height = (left + right) / 2, (bottom + top) / 2
        beside = [rule.at for rule in rules.down if rule.start < height < rule.end]
        before, after = [at for at in beside if at < middle], [at for at in beside if at > middle]
        if before and after:
            inside = [one for one in columns if max(before) < (one[0] + one[1]) / 2 < min(after)]
            return (inside[0][0], inside[-1][1]) if inside else None
        nearest = min(columns, key=lambda one: abs(sum(one) / 2 - middle))
        return nearest if abs(sum(nearest) / 2 - middle) < 0.5 * pitch_of(columns) else None

    reach = _reach(rules, columns, foot, size) if columns else 0.0
    found = upright(_side_by_side(lines, words, foot, size, reach), words, place) if columns else {}
    if len(found) < _LEAST:
        return []
    lowest = min(word.bottom for word in found.values())
    return [
        replace(word, left=left, right=right, top=lowest + size, bottom=lowest)
        for (left, right), word in sorted(found.items())
    ]


def _reach(rules: Rulings, columns: Columns, foot: float, size: float) -> float:
    """Return how far up the lowest header may begin: within boxes that begin near the figures, up to their ends."""
    left, right = columns[0][0], columns[-1][1]
    ends = [
        rule.end
        for rule in rules.down
        if left < rule.at < right and rule.start < foot + _ABOVE * size and rule.end > foot + _ABOVE * size
    ]
    return min(ends) if len(ends) >= _LEAST else foot + _ABOVE * size


def _side_by_side(lines: Sequence[Line], words: Words, foot: float, size: float, reach: float) -> list[Line]:
    """Return the vertical lines above a place that are beside the lowest one, or beside others that are.

    The lowest one begins below `reach`.
    """
    places = sorted(
        ((min(word.bottom for word in made), max(word.top for word in made), at), line)
        for at, line in enumerate(lines)
        if (made := words(line))
    )
    found: list[Line] = []
    for (bottom, top, _), line in places:
        if bottom > foot - 0.5 * size and bottom < reach:
            reach = top if not found else max(reach, top)
            found.append(line)
    return found
