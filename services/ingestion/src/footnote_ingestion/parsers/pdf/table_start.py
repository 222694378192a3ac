"""Finds where a table begins: the lines above its first row of figures that may be headers, and its left side."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import median

from footnote_ingestion.parsers.measures import is_note
from footnote_ingestion.parsers.pdf.grids import bounds, pieces_of, values_of
from footnote_ingestion.parsers.pdf.headings import is_caption
from footnote_ingestion.parsers.pdf.lines import Line, Word
from footnote_ingestion.parsers.pdf.rulings import Rulings, joined_pieces
from footnote_ingestion.parsers.pdf.seeds import SKIPPED, pitch

Words = Callable[[Line], list[Word]]
_ABOVE, _ABOVE_RULE = 2.6, 5.0
"""Maximum distance of a header from what follows, without and with a drawn line below it, in type sizes."""
_UNDER, _PIECES = 0.7, 2.0
_LEAST_DOWN = 3
_NEAR = 3.0
_ASIDE, _BESIDE = 3.0, 4.0
_MOST_HEAD_ROWS = 7
_ON_FOOT, _LEAST_NAMED = 0.1, 0.75
_NAME = re.compile(r"[^\W\d_]{3}")
_SENTENCE, _ENDED = re.compile(r"[.!?]\s*$"), re.compile(r"[.:!?]\s*$")
_MOST_NAMING = 6


def drawn_from(rules: Rulings, sides: tuple[float, float], heights: tuple[float, float], size: float) -> float:
    """Return the left side of a table: at the latest where two or more lines across the whole table begin."""
    left, right = sides
    starts = sorted(
        rule.start
        for rule in rules.across
        if heights[0] - 2 * size < rule.at < heights[1] + 2 * size
        and left - (right - left) < rule.start < left
        and right - size < rule.end < right + 2 * size
    )
    return next((start for start, other in pairwise(starts) if other - start < size), left)


def _reach(rules: Rulings, sides: tuple[float, float], heights: tuple[float, float], size: float) -> float:
    """Return the right end of two or more lines across a whole table, also in pieces by column; 0 without any."""
    left, right = sides
    ends = sorted(
        rule.end
        for rule in joined_pieces(rules.across, _PIECES * size)
        if heights[0] - 2 * size < rule.at < heights[1] + _ABOVE_RULE * size
        and rule.start < left + size
        and right < rule.end < right + (right - left)
    )
    return next((end for end, other in pairwise(ends) if other - end < size), 0.0)


def _drawn_to(rules: Rulings, sides: tuple[float, float], top: float, size: float) -> float:
    """Return the height where the vertical lines between a table's columns end, above its first row of figures."""
    down = sorted(
        ((rule.start, rule.end) for rule in rules.down if sides[0] - size < rule.at < sides[1] + 2 * size),
        reverse=True,
    )
    end = top - 0.5 * size
    for start, stop in reversed(down):
        if start <= end + _NEAR < stop + _NEAR:
            end = max(end, stop)
    at_end = sum(abs(stop - end) < _NEAR for _, stop in down)
    closed = any(
        rule.at > sides[1] - 1 and abs(rule.end - end) < _NEAR
        for rule in rules.down
        if rule.at < sides[1] + _BESIDE * size
    )
    return end if at_end >= _LEAST_DOWN and end > top and closed else float("inf")


def lines_above(lines: Sequence[Line], seeds: Sequence[Line], words: Words, rules: Rulings, size: float) -> list[Line]:
    """Return the lines above the first row of figures that may be its headers, lowest first."""
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
    # Headers may be as far above the first row as rows are from one another.
    reach_up = max(_ABOVE * size, SKIPPED * pitch(sorted(seeds, key=lambda seed: -seed.top)) - size)
    end = _drawn_to(rules, (left, right), top, size)
    start = names_start(lines, seeds, left, size)
    named, figures = _values_begin(seeds, words, start, left, right)
    reach = max(right, _reach(rules, (left, right), (seeds[-1].bottom, top), size))
    for line in sorted(over, key=lambda line: line.bottom):
        heads = [one for one in found if one.right > (left + right) / 2 and _NAME.search(one.text)]
        headed = bool(heads)
        if (headed and heads[0].bottom < end < line.bottom) or count > _MOST_HEAD_ROWS:
            break
        far, aside = line.bottom - edge > reach_up, line.left < left - _ASIDE * size
        boxed = _boxed_from(rules, (edge, line.bottom), (start, left, right), size) if far or aside else None
        if far and boxed is None:
            ruled = not found and _rules_between(rules, (top, line.bottom), (left, right), size) == 1
            if not ruled or line.bottom - edge > _ABOVE_RULE * size:
                break
        if is_caption(line.text) or line.size > 1.35 * size:
            break
        short = line.right - line.left < 0.6 * (right - left) or line.right < figures - size  # a section's name
        short = short and abs(line.left - left) < _ASIDE * size
        inner = line.right < right + size and _is_over(line, named, figures, right, (start + right) / 2, size)
        within = short or is_note(line.text) or inner or _is_below_head(line, rules, (start, right), size)
        if not within and _is_prose(line, words):
            break
        if aside and (boxed is None or line.left < boxed):
            break
        if line.right > reach + _ASIDE * size and not _ends_over(line, words, right + _ASIDE * size):
            break
        several = next(
            (one for one in heads if _names_several(one, found, words) or _is_over_part(one, rules, start, size)), None
        )
        if (
            several
            and _rules_between(rules, (several.bottom + 1.1 * size, line.bottom), (start, right), size)
            and not _are_boxed_together(several, line, (start, right + size), rules)
            and not _is_in_border(line, seeds, (start, right), rules, size)
        ):
            break
        count += line.bottom > last
        last = line.top - 0.3 * size
        found.append(line)
        edge = max(edge, line.top)
    return found


def _boxed_from(
    rules: Rulings, heights: tuple[float, float], sides: tuple[float, float, float], size: float
) -> float | None:
    """Return the left side of a box of vertical lines around the headers of all figures, but not those of the names.

    `heights` are those between which the lines have to go on; `sides` are where the names, and where the figures begin,
    and where these end. None without such a box.
    """
    low, high = heights[0] + _ABOVE * size, heights[1] + 0.5 * size
    start, left, right = sides
    through = [rule.at for rule in rules.down if rule.start < low and rule.end > high]
    before = [at for at in through if (start + size < at or start >= left) and at <= left]
    after = [at for at in through if right - 1 <= at < right + _BESIDE * size]
    return max(before) if before and after else None


def _are_boxed_together(lower: Line, upper: Line, sides: tuple[float, float], rules: Rulings) -> bool:
    """Return whether vertical lines of a table enclose two lines of headers together: they go through both."""
    low, high = (lower.bottom + lower.top) / 2, (upper.bottom + upper.top) / 2
    through = {round(rule.at) for rule in rules.down if rule.start < low and rule.end > high}
    inside = [at for at in through if sides[0] < at < sides[1]]
    return len(inside) >= _LEAST_DOWN


def _is_in_border(line: Line, seeds: Sequence[Line], sides: tuple[float, float], rules: Rulings, size: float) -> bool:
    """Return whether a line is in the same border as the first rows of figures, which have lines between them."""
    first, second = sorted(seeds, key=lambda seed: -seed.top)[:2]
    if not _rules_between(rules, (second.top, first.bottom), sides, size):
        return False
    low, high = (second.bottom + second.top) / 2, (line.bottom + line.top) / 2
    through = [rule.at for rule in rules.down if rule.start < low and rule.end > high]
    return any(sides[0] - _BESIDE * size < at < sides[0] for at in through) and any(
        sides[1] - 1 < at < sides[1] + _BESIDE * size for at in through
    )


def _is_over(line: Line, named: float, figures: float, right: float, centre: float, size: float) -> bool:
    """Return whether a line is over figures: right of the names, or centred over all figures but not over the table.

    Names end at `named`, figures begin at `figures` and end at `right`; `centre` is the table's middle.
    """
    middle = (line.left + line.right) / 2
    if line.left > figures - _ASIDE * size or abs(middle - (figures + right) / 2) < size:
        return True
    return line.left > named and middle > figures - _ASIDE * size and abs(middle - centre) > size


def _values_begin(seeds: Sequence[Line], words: Words, start: float, left: float, right: float) -> tuple[float, float]:
    """Return where most rows' names end and where the first figures begin; a row's first figure may be its name."""
    ends: list[float] = []
    begins: list[float] = []
    for seed in seeds:
        row = words(seed)
        values = values_of(row)
        if values and values[0] is row[0] and start >= left:
            values = values[1:]
        if values:
            begins.append(values[0].left)
            ends += [word.right for word in row if word.right < values[0].left][-1:]
    return (median(ends) if ends else right), min(begins, default=right)


def names_start(lines: Sequence[Line], seeds: Sequence[Line], left: float, size: float) -> float:
    """Return where names begin that share the figures' base line but are set apart from them.

    All rows but one or two have such a name; lines of text in the page's next column are not on the same base lines.
    """
    feet = sorted((line.bottom, line.left) for line in lines if line.right < left)
    near = _ON_FOOT * size
    beside = [
        [at for _, at in feet[bisect(feet, (seed.bottom - near,)) : bisect(feet, (seed.bottom + near,))]]
        for seed in seeds
    ]
    named = [min(one) for one in beside if one]
    return min(named) if len(named) > _LEAST_NAMED * len(seeds) else left


def _rules_between(rules: Rulings, heights: tuple[float, float], sides: tuple[float, float], size: float) -> int:
    """Return the number of lines across the whole table between two heights, drawn whole or in pieces."""
    width = sides[1] - sides[0]
    found: list[float] = []
    near = [rule for rule in rules.across if heights[0] - 0.5 * size < rule.at < heights[1] + 0.3 * size]
    for rule in joined_pieces(near):
        whole = min(rule.end, sides[1]) - max(rule.start, sides[0]) > 0.9 * width
        if (
            whole
            and rule.start < sides[0] + _ASIDE * size
            and not any(abs(rule.at - one) < 0.4 * size for one in found)
        ):
            found.append(rule.at)
    return len(found)


def _is_below_head(line: Line, rules: Rulings, sides: tuple[float, float], size: float) -> bool:
    """Return whether a line across the whole table is drawn directly above some words, and another above its headers.

    The words then name a section, however long they are.
    """
    near, far = (line.top, line.top + _UNDER * size), (line.top, line.top + _MOST_HEAD_ROWS * size)
    return _rules_between(rules, near, sides, size) == 1 < _rules_between(rules, far, sides, size)


def _is_over_part(line: Line, rules: Rulings, start: float, size: float) -> bool:
    """Return whether a line is drawn under words like a group's name: wider than the words, and not over row names."""
    return any(
        line.bottom - 0.8 * size < rule.at < line.bottom + 0.45 * size
        and start + _ASIDE * size < rule.start < line.left - size
        and rule.end > line.right + size
        for rule in rules.across
    )


def _names_several(line: Line, found: Sequence[Line], words: Words) -> bool:
    """Return whether a line has gaps, or another line beside it, unlike a title or a section's name."""
    beside = any(one is not line and abs(one.bottom - line.bottom) < 0.3 * line.size for one in found)
    return beside or len(pieces_of(words(line))) > 1


def _ends_over(line: Line, words: Words, right: float) -> bool:
    """Return whether the last words after a gap have their middle left of a place."""
    pieces = pieces_of(words(line))
    return len(pieces) > 1 and (pieces[-1][0].left + pieces[-1][-1].right) / 2 < right


def _is_prose(line: Line, words: Words) -> bool:
    """Return whether a line is part of a sentence: without wide gaps, or ended by a full stop.

    The gaps of a justified line are wide; its end and its words in lower case show that it is a sentence.
    """
    if line.text.isupper():
        return False
    found = words(line)
    letters = sum(word.text[0].isalpha() for word in found)
    lower = sum(word.text[0].islower() for word in found)
    if len(found) > _MOST_NAMING and lower * 2 > len(found) and _ENDED.search(line.text) is not None:
        return True
    if any(right.left - left.right > 2 * line.size for left, right in pairwise(found)):
        return False
    if len(found) >= 5 and letters >= 4 and len(pieces_of(found)) * 4 <= len(found):
        return True
    return len(found) > 3 and _SENTENCE.search(line.text) is not None and len(pieces_of(found)) * 3 <= len(found)
