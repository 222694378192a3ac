"""Finds tables of words without borders by three drawn lines: above the table, below its headers, and below it.

Other modules find tables by columns of figures or by borders. This one is for the rest: names with a single figure
each, or with words.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from footnote_ingestion.parsers.pdf.grids import YEAR, Grid, Row, cell_of, ids, is_figure, visual_rows
from footnote_ingestion.parsers.pdf.header_columns import header_names
from footnote_ingestion.parsers.pdf.lines import Line, Word
from footnote_ingestion.parsers.pdf.names import joined
from footnote_ingestion.parsers.pdf.rulings import Rule, Rulings
from footnote_ingestion.parsers.pdf.table_start import Words

LEAST_ACROSS = 3
_NEAR = 3.0
_LEAST_WIDTH = 60.0
_MOST_RULES = 400
_LEAST_ROWS = 2
_MOST_HEAD_LINES = 4
_GAP = 0.8
"""Minimum width of the strip between two columns, as a multiple of the type size."""
_ABOVE = 5.0
_LONGEST = 4.0
"""Maximum number of words in most cells of a column, except for one column: more is text set in columns."""
_FILLED = 0.6


def find(lines: Sequence[Line], words: Words, rules: Rulings, others: Sequence[Grid]) -> list[Grid]:
    """Return the tables between drawn lines of equal width, topmost first.

    Words directly above one of the `others` are its headers and are left out.
    """
    if not LEAST_ACROSS <= len(rules.across) <= _MOST_RULES:
        return []
    found: list[Grid] = []
    used: set[int] = set()
    for frame in _frames(rules.across):
        at = 0
        while at + 2 < len(frame):
            grid, last, size = _table(frame, at, [line for line in lines if id(line) not in used], words, rules)
            if grid is not None and not any(_is_above(frame[last], size, other) for other in others):
                found.append(grid)
                used |= grid.lines
            at = last if grid is not None else at + 1
    return found


def _frames(across: Sequence[Rule]) -> list[list[Rule]]:
    """Return groups of three or more lines with the same ends, topmost first; a line drawn twice counts once."""
    groups: list[list[Rule]] = []
    for rule in sorted(across, key=lambda rule: (round(rule.start / _NEAR), -rule.at)):
        if rule.end - rule.start < _LEAST_WIDTH:
            continue
        for group in groups:
            if abs(group[0].start - rule.start) < _NEAR and abs(group[0].end - rule.end) < _NEAR:
                group.append(rule)
                break
        else:
            groups.append([rule])
    made = []
    for group in groups:
        group.sort(key=lambda rule: -rule.at)
        once = [rule for at, rule in enumerate(group) if not at or group[at - 1].at - rule.at > _NEAR]
        if len(once) >= LEAST_ACROSS:
            made.append(once)
    return made


def _table(
    frame: Sequence[Rule], at: int, lines: Sequence[Line], words: Words, rules: Rulings
) -> tuple[Grid | None, int, float]:
    """Return the table whose headers are below a line, if there is one, with its last line and its type size."""
    inside = [_between(lines, frame[number], frame[number + 1]) for number in range(at, len(frame) - 1)]
    head = inside[0]
    if not head:
        return None, at, 0.0
    size = median(line.size for line in head)
    head_rows = visual_rows(word for line in head for word in words(line))
    if len(head_rows) > _MOST_HEAD_LINES:
        return None, at, size
    body: list[list[Word]] = []
    columns: list[tuple[float, float]] = []
    last = at + 1
    for number, band in enumerate(inside[1:], at + 2):
        rows = visual_rows(word for line in band for word in words(line))
        if not rows:
            break
        tried = _columns([*body, *rows], size)
        if not _are_columns([*body, *rows], tried) or (columns and len(tried) != len(columns)):
            break
        body, columns, last = [*body, *rows], tried, number
    if len(body) < _LEAST_ROWS or len(columns) < 2:
        return None, at, size
    start = min(row[0].left for row in (*head_rows, *body))
    named, head_used = header_names(head_rows, columns[1:], None, rules, size, start)
    if sum(map(bool, named.names[1:])) * 2 < len(columns) or len(head_used) < len(head_rows):
        return None, at, size
    if all(is_figure(name) and YEAR.fullmatch(name) is None for name in named.names[1:] if name):
        return None, at, size  # the line is above a sum, and not below headers
    made = _rows(body, columns)
    grid = Grid(head[0].page, named.names, made, columns[1:], lead=named.lead)
    grid.header_lines = ids(word for row in head_used for word in row)
    grid.lines = set(grid.header_lines).union(*(row.lines for row in made))
    return grid, last, size


def _is_above(rule: Rule, size: float, grid: Grid) -> bool:
    tops = [cell.top for cell in grid.rows[0].cells if cell.text]
    left, right = grid.columns[0][0], grid.columns[-1][1]
    return bool(tops) and 0 <= rule.at - max(tops) + size < _ABOVE * size and rule.start < right and rule.end > left


def _between(lines: Sequence[Line], upper: Rule, lower: Rule) -> list[Line]:
    return [
        line
        for line in lines
        if line.size > 0
        and not line.rotated
        and lower.at - 1 < (line.top + line.bottom) / 2 < upper.at + 1
        and line.left > upper.start - _NEAR
        and line.right < upper.end + _NEAR
    ]


def _columns(rows: Sequence[Sequence[Word]], size: float) -> list[tuple[float, float]]:
    """Return the places of words over all rows, from the left, separated by strips without words."""
    found: list[list[float]] = []
    for left, right in sorted((word.left, word.right) for row in rows for word in row):
        if found and left < found[-1][1] + _GAP * size:
            found[-1][1] = max(found[-1][1], right)
        else:
            found.append([left, right])
    return [(left, right) for left, right in found]


def _are_columns(rows: Sequence[Sequence[Word]], columns: Sequence[tuple[float, float]]) -> bool:
    """Return whether most rows fill the first column and another one, and the whole is not text set in columns."""
    if len(columns) < 2:
        return False
    cells = [_cells(row, columns) for row in rows]
    if sum(bool(row[0]) and sum(map(bool, row)) > 1 for row in cells) < _FILLED * len(rows):
        return False
    long = [median(len(row[at]) for row in cells if row[at]) > _LONGEST for at in range(len(columns))]
    return sum(long) <= 1 and not (len(columns) == 2 and long[0])


def _cells(row: Sequence[Word], columns: Sequence[tuple[float, float]]) -> list[list[Word]]:
    cells: list[list[Word]] = [[] for _ in columns]
    for word in row:
        middle = (word.left + word.right) / 2
        cells[sum(middle > (one[1] + other[0]) / 2 for one, other in pairwise(columns))].append(word)
    return cells


def _rows(body: Sequence[Sequence[Word]], columns: Sequence[tuple[float, float]]) -> list[Row]:
    """Return the rows; a row without a name is joined with the row above it."""
    made: list[list[list[Word]]] = []
    for words in body:
        cells = _cells(words, columns)
        if cells[0] or not made:
            made.append(cells)
        else:
            made[-1] = [[*above, *below] for above, below in zip(made[-1], cells, strict=True)]
    rows = [
        Row(
            [cell_of(cell) for cell in cells],
            next(cell for cell in cells if cell)[0].left,
            ids(word for cell in cells for word in cell),
        )
        for cells in made
    ]
    return joined(rows, columns[0][1])
