"""Where a table begins: the lines above its first row of figures that may head it, and its left side."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from footnote_ingestion.parsers.pdf.grids import bounds, pieces_of
from footnote_ingestion.parsers.pdf.lines import Line, Word
from footnote_ingestion.parsers.pdf.rulings import Rulings

Words = Callable[[Line], list[Word]]
_ABOVE = 2.6
_ASIDE = 3.0
_MOST_HEAD_ROWS = 7
_CAPTION = re.compile(r"(?:table|figure|fig\.|tab\.|tabelle|tableau|abbildung)\s+[\dIVXA-Z]", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?]\s*$")


def drawn_from(rules: Rulings, sides: tuple[float, float], heights: tuple[float, float], size: float) -> float:
    """Return where a table begins on the left: where two or more lines that are drawn over all of it do, at most."""
    left, right = sides
    starts = sorted(
        rule.start
        for rule in rules.across
        if heights[0] - 2 * size < rule.at < heights[1] + 2 * size
        and left - (right - left) < rule.start < left
        and right - size < rule.end < right + 2 * size
    )
    return next((start for start, other in pairwise(starts) if other - start < size), left)


def lines_above(lines: Sequence[Line], seeds: Sequence[Line], words: Words, rules: Rulings, size: float) -> list[Line]:
    """Return the lines above the first row of figures that may be its headers, from the lowest."""
    left, _, right, top = bounds(seeds)
    over = [
        line
        for line in lines
        if line.size > 0
        and not line.rotated
        and line.bottom >= top - 0.5 * size
        and line.left < right + size
        and line.right > left - size
    ]
    found: list[Line] = []
    edge, count, last = top, 0, top
    for line in sorted(over, key=lambda line: line.bottom):
        if line.bottom - edge > _ABOVE * size or count > _MOST_HEAD_ROWS:
            break
        if _CAPTION.match(line.text) or line.size > 1.35 * size:
            break
        short = line.right - line.left < 0.6 * (right - left) and abs(line.left - left) < _ASIDE * size
        noted = line.text.startswith("(") and line.text.endswith(")")  # "(in thousands, except for shares)"
        if not short and not noted and _is_prose(line, words):
            break
        if line.left < left - _ASIDE * size or line.right > right + _ASIDE * size:
            break
        headed = any(one.right > (left + right) / 2 for one in found)
        if headed and _rules_between(rules, (top, line.bottom), (left, right), size) >= 2:
            break
        count += line.bottom > last
        last = line.top - 0.3 * size
        found.append(line)
        edge = max(edge, line.top)
    return found


def _rules_between(rules: Rulings, heights: tuple[float, float], sides: tuple[float, float], size: float) -> int:
    """Return how many lines are drawn over the whole width of a table between two heights."""
    width = sides[1] - sides[0]
    found: list[float] = []
    for rule in rules.across:
        inside = heights[0] - 0.5 * size < rule.at < heights[1] + 0.3 * size
        whole = min(rule.end, sides[1]) - max(rule.start, sides[0]) > 0.9 * width
        if inside and whole and not any(abs(rule.at - one) < 0.4 * size for one in found):
            found.append(rule.at)
    return len(found)


def _is_prose(line: Line, words: Words) -> bool:
    """Tell whether a line is a sentence's: words set as close as words are, or ended by a full stop."""
    found = words(line)
    letters = sum(word.text[0].isalpha() for word in found)
    if any(right.left - left.right > 2 * line.size for left, right in pairwise(found)):
        return False
    if len(found) >= 5 and letters >= 4 and len(pieces_of(found)) * 4 <= len(found):
        return True
    return len(found) > 3 and _SENTENCE.search(line.text) is not None and len(pieces_of(found)) * 3 <= len(found)
