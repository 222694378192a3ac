"""Where a page's tables of figures may be: lines that end in figures, near enough below one another."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Sequence, Set
from itertools import pairwise

from footnote_ingestion.parsers.pdf.grids import CLOSING, CURRENCIES, bounds, is_figure
from footnote_ingestion.parsers.pdf.lines import Line

LEAST_ROWS = 2
_FURTHEST = 5.0
"""Two rows of figures with more than this many type sizes between them are of two tables."""
_BEGUN = re.compile(r"(?<!\S)[^\w\s]{0,3}[\d–—−nN-]")
_DIGIT = re.compile(r"\d")
_LONGEST_BARE, _LONGEST_NAME = 40, 90


def is_seed(line: Line) -> bool:
    """Tell whether a line has two figures or more at its end, or figures for half of it."""
    if (
        _DIGIT.search(line.text) is None
        or len(_BEGUN.findall(line.text)) < 2
        or line.size <= 0
        or line.rotated
        or len(line.text) > 400
    ):
        return False
    words = [word for word in line.text.split() if word not in CURRENCIES and word not in "%()"]
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
    """Return lines that follow one another and stand beside one another: cells that are lines of their own."""
    found: list[list[Line]] = []
    for one, other in pairwise(lines):
        if abs(one.top - other.top) < 0.3 * one.size and other.left > one.right + 0.5 * one.size:
            if found and found[-1][-1] is one:
                found[-1].append(other)
            else:
                found.append([one, other])
    return found + _bare_beside(lines, {id(line) for row in found for line in row})


def _bare_beside(lines: Sequence[Line], known: Set[int]) -> list[list[Line]]:
    """Return lines of figures alone beside one another, with the name left of them: tables written column by column."""
    bare = [line for line in lines if id(line) not in known and line.size > 0 and not line.rotated and _is_bare(line)]
    found: list[list[Line]] = []
    for line in sorted(bare, key=lambda line: (-line.top, line.left)):
        if found and abs(found[-1][-1].top - line.top) < 0.3 * line.size:
            found[-1].append(line)
        else:
            found.append([line])
    rows = [sorted(row, key=lambda line: line.left) for row in found if len(row) > 1]
    rows = [row for row in rows if all(one.right < other.left for one, other in pairwise(row))]
    return _named(rows, [line for line in lines if id(line) not in known and not _is_bare(line)])


def _named(rows: Sequence[list[Line]], lines: Sequence[Line]) -> list[list[Line]]:
    """Return rows with the nearest short line left of each, if there is one."""
    made = []
    names = sorted((line.top, at) for at, line in enumerate(lines) if len(line.text) <= _LONGEST_NAME) if rows else []
    for row in rows:
        first = row[0]
        reach = 0.3 * first.size
        near = names[bisect(names, (first.top - reach, -1)) : bisect(names, (first.top + reach, -1))]
        left = [lines[at] for _, at in near if lines[at].right < first.left and not lines[at].rotated]
        made.append([max(left, key=lambda line: line.right), *row] if left else row)
    return made


def _is_bare(line: Line) -> bool:
    words = line.text.split() if len(line.text) <= _LONGEST_BARE else ()
    return bool(words) and all(is_figure(word) or word in CURRENCIES or word in CLOSING for word in words)


def as_one(row: Sequence[Line]) -> Line:
    """Return lines that stand beside one another as one."""
    left, bottom, right, top = bounds(row)
    text = " ".join(line.text for line in row)
    return Line(text, row[0].page, left, right, top, bottom, row[0].size, bold=False, hyphen=False)


def regions(seeds: list[Line]) -> list[list[Line]]:
    """Return rows of figures that stand near enough below one another."""
    regions: list[list[Line]] = []
    for line in sorted(seeds, key=lambda line: -line.top):
        for region in regions:
            last = region[-1]
            left, _, right, _ = bounds(region)
            shared = min(right, line.right) - max(left, line.left)
            near = last.bottom - line.top <= _FURTHEST * max(last.size, line.size)
            if near and shared >= 0.5 * min(right - left, line.right - line.left):
                region.append(line)
                break
        else:
            regions.append([line])
    return [region for region in regions if len(region) >= LEAST_ROWS]
