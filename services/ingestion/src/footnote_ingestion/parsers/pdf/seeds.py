"""Finds regions of a page that may be tables of figures: lines below one another that end in figures."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Mapping, Sequence, Set
from itertools import pairwise
from statistics import median_low

from footnote_ingestion.parsers.pdf.grids import CLOSING, CURRENCIES, bounds, is_figure
from footnote_ingestion.parsers.pdf.lines import Line

_FURTHEST = 5.0
"""Two rows of figures further apart than this, in type sizes, belong to two tables."""
SKIPPED, _EVEN = 1.75, 0.1
"""Two rows belong to one table if their distance is less than this multiple of that of rows at even distances."""
_BEGUN = re.compile(r"(?<!\S)[^\w\s]{0,3}[\d–—−nN-]")
_MEASURE = 8.0
"""Minimum width, in type sizes, of two lines whose equal width is no coincidence."""
_LETTERS = re.compile(r"[^\W\d_]{3}")
_DIGIT = re.compile(r"\d")
_SIGNS = frozenset(("(", *CLOSING))
_LEAST_BARE, _LONGEST_BARE, _LONGEST_NAME = 3, 40, 6


def is_seed(line: Line) -> bool:
    """Return whether a line ends with two or more figures, or half of it is figures."""
    if (
        _DIGIT.search(line.text) is None
        or len(_BEGUN.findall(line.text)) < 2
        or line.size <= 0
        or line.rotated
        or len(line.text) > 400
    ):
        return False
    words = [word for word in line.text.split() if word not in CURRENCIES and word not in _SIGNS]
    if not 2 <= len(words) <= 60:
        return False
    figures = [is_figure(word) for word in words]
    trailing = 0
    for figure in reversed(figures):
        if not figure:
            break
        trailing += 1
    return (trailing >= 2 or (sum(figures) >= 2 and sum(figures) * 2 >= len(words))) and any(
        any(char.isdigit() for char in word) for word in words
    )


def beside(lines: Sequence[Line]) -> list[list[Line]]:
    """Return consecutive lines that are side by side: cells that are separate lines."""
    found: list[list[Line]] = []
    for one, other in pairwise(lines):
        if abs(one.top - other.top) < 0.3 * one.size and other.left > one.right + 0.5 * one.size:
            if found and found[-1][-1] is one:
                found[-1].append(other)
            else:
                found.append([one, other])
    return found + _bare_beside(lines, {id(line) for row in found for line in row})


def _bare_beside(lines: Sequence[Line], known: Set[int]) -> list[list[Line]]:
    """Return lines of a single figure that are side by side, with the name left of them: tables written by column."""
    bare = [
        line for line in lines if id(line) not in known and line.size > 0 and not line.rotated and has_figures(line)
    ]
    found: list[list[Line]] = []
    for line in sorted(bare, key=lambda line: (-line.top, line.left)):
        if found and abs(found[-1][-1].top - line.top) < 0.3 * line.size:
            found[-1].append(line)
        else:
            found.append([line])
    rows = [sorted(row, key=lambda line: line.left) for row in found if len(row) > 1]
    rows = [row for row in rows if all(one.right < other.left for one, other in pairwise(row))]
    return _named(rows, [line for line in lines if id(line) not in known and not has_figures(line)])


def _named(rows: Sequence[list[Line]], lines: Sequence[Line]) -> list[list[Line]]:
    """Return rows with the nearest short line of words left of each; none if a name is missing, as on an axis."""
    if len(rows) < _LEAST_BARE:
        return []
    prose = _prose(lines)
    names = sorted((line.top, at) for at, line in enumerate(lines) if _may_name(line, prose))
    made = []
    for row in rows:
        first = row[0]
        reach = 0.7 * first.size
        near = names[bisect(names, (first.top - reach, -1)) : bisect(names, (first.top + reach, -1))]
        left = [lines[at] for _, at in near if lines[at].right < first.left]
        if left:
            made.append([max(left, key=lambda line: (line.right, -abs(line.top - first.top))), *row])
    return made if len(made) >= _LEAST_BARE else []


def _prose(lines: Sequence[Line]) -> dict[int, list[float]]:
    """Return the places of lines of running text: long ones, and those as wide as the line above or below."""
    found: dict[int, list[float]] = {}
    for at, line in enumerate(lines):
        near = [*lines[max(at - 1, 0) : at], *lines[at + 1 : at + 2]]
        justified = line.right - line.left > _MEASURE * line.size and any(
            abs(one.left - line.left) < 1 and abs(one.right - line.right) < 1 for one in near
        )
        if justified or len(line.text.split()) > _LONGEST_NAME:
            found.setdefault(round(line.left), []).append(line.top)
    return found


def _may_name(line: Line, prose: Mapping[int, Sequence[float]]) -> bool:
    """Return whether a line may be a name: it has no figure and is not running text in a column beside the table."""
    if line.rotated or len(line.text.split()) > _LONGEST_NAME or _LETTERS.search(line.text) is None:
        return False
    left = round(line.left)
    return not any(
        abs(top - line.top) < 1.6 * line.size for at in (left - 1, left, left + 1) for top in prose.get(at, ())
    )


def has_figures(line: Line) -> bool:
    """Return whether a line is short and has nothing but figures."""
    words = line.text.split() if len(line.text) <= _LONGEST_BARE else ()
    return bool(words) and all(is_figure(word) or word in CURRENCIES or word in CLOSING for word in words)


def as_one(row: Sequence[Line]) -> Line:
    """Join lines that are side by side into one."""
    left, bottom, right, top = bounds(row)
    text = " ".join(line.text for line in row)
    return Line(text, row[0].page, left, right, top, bottom, row[0].size, bold=False, hyphen=False)


def regions(seeds: list[Line]) -> list[list[Line]]:
    """Return groups of rows of figures that are close enough below one another, by their size or by other rows."""
    found: list[list[Line]] = []
    for line in sorted(seeds, key=lambda line: -line.top):
        for region in found:
            last = region[-1]
            near = last.bottom - line.top <= _FURTHEST * max(last.size, line.size)
            if (near or last.top - line.top < SKIPPED * pitch(region)) and _share_columns(region, [line]):
                region.append(line)
                break
        else:
            found.append([line])
    made: list[list[Line]] = []
    for region in found:
        above = made[-1] if made else []
        if len(above) == 1 and above[0].top - region[0].top < SKIPPED * pitch(region) and _share_columns(above, region):
            above += region
        else:
            made.append(region)
    return made


def pitch(rows: Sequence[Line]) -> float:
    """Return the distance between three or more rows if most of them are at even distances; else 0."""
    if len(rows) < 3:
        return 0.0
    steps = [above.top - below.top for above, below in pairwise(rows)]
    usual = median_low(steps)
    return usual if sum(abs(step - usual) < _EVEN * usual for step in steps) * 2 > len(steps) else 0.0


def _share_columns(above: Sequence[Line], below: Sequence[Line]) -> bool:
    left, _, right, _ = bounds(above)
    other_left, _, other_right, _ = bounds(below)
    shared = min(right, other_right) - max(left, other_left)
    return shared >= 0.5 * min(right - left, other_right - other_left)
