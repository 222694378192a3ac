"""Finds tables of words under a row of underlined headers, such as lists of exhibits.

Figures show their columns better than lines do; other modules find tables of them.
The lines under the headers show the columns, or one line under all headers and the gaps between the words below it.
Cells have several lines; a row begins where its first column has words.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from footnote_ingestion.parsers.measures import is_note
from footnote_ingestion.parsers.pdf.grids import Grid, Row, cell_of, ids, is_figure, segments, visual_rows
from footnote_ingestion.parsers.pdf.header_columns import header_names
from footnote_ingestion.parsers.pdf.lines import Line, Word
from footnote_ingestion.parsers.pdf.rulings import Rule, Rulings
from footnote_ingestion.parsers.pdf.table_start import Words

_LEAST_COLUMNS, _MOST_RULES, _LEAST_ROWS, _LEAST_PARTED = 3, 400, 3, 4
_LEVEL, _SIDE, _NARROWEST = 1.2, 1.0, 12.0
_GAP, _ABOVE, _MOST_HEAD_ROWS = 2.0, 1.5, 4
"""Maximum distance between rows, and between lines of headers, in type sizes; maximum number of these lines."""
_FILLED, _LARGER = 0.6, 1.2


def find(lines: Sequence[Line], words: Words, rules: Rulings, others: Sequence[Grid]) -> list[Grid]:
    """Return the tables under underlined headers, topmost first.

    Words directly above one of the `others` are its headers and are left out.
    """
    if not 0 < len(rules.across) <= _MOST_RULES:
        return []
    found: list[Grid] = []
    used: set[int] = set()
    levels = _levels(rules.across)
    for level in levels:
        free = [line for line in lines if id(line) not in used and line.size > 0 and not line.rotated]
        underlines = _parted(level[0], free, words) if len(level) == 1 else level
        grid = _table(underlines, free, words, rules) if _are_apart(underlines) else None
        if (
            grid is not None
            and not any(_is_within(other, grid) for other in levels if _are_apart(other) or _is_across(other, grid))
            and not any(_is_above(grid, other) for other in others)
        ):
            found.append(grid)
            used |= grid.lines
    return found


def _levels(across: Sequence[Rule]) -> list[list[Rule]]:
    """Return the lines at each height, topmost first, each row from the left."""
    levels: list[list[Rule]] = []
    for rule in sorted(across, key=lambda rule: -rule.at):
        if rule.end - rule.start < _NARROWEST:
            continue
        if levels and levels[-1][0].at - rule.at < _LEVEL:
            levels[-1].append(rule)
        else:
            levels.append([rule])
    return [sorted(level, key=lambda rule: rule.start) for level in levels]


def _are_apart(level: Sequence[Rule]) -> bool:
    """Return whether there are three or more lines side by side."""
    return len(level) >= _LEAST_COLUMNS and all(other.start - one.end > _SIDE for one, other in pairwise(level))


def _parted(rule: Rule, lines: Sequence[Line], words: Words) -> list[Rule]:
    """Return the parts of a line under several headers that are over their columns; none if it is not that.

    A column is as wide as its header and the words below it; words below two headers end the table.
    """
    head = [line for line in lines if line.right > rule.start and _is_on(rule, line)]
    if sum(line.text.count(" ") + 1 for line in head) < _LEAST_PARTED:
        return []
    rows = visual_rows(word for line in head for word in words(line))
    places = [(part[0].left, part[-1].right) for part in segments(rows[-1])] if rows else []
    if len(places) < _LEAST_PARTED or places[0][0] < rule.start - _SIDE or places[-1][1] > rule.end + _SIDE:
        return []
    inside = [line for line in lines if line.right > rule.start and line.left < rule.end]
    below = _without_gap([line for line in inside if (line.top + line.bottom) / 2 < rule.at], rule.at)
    for row in visual_rows(word for line in below for word in words(line)):
        for part in segments(row):
            left, right = part[0].left, part[-1].right
            met = [at for at, (one, other) in enumerate(places) if left < other and right > one]
            if len(met) != 1:
                break
            places[met[0]] = (min(left, places[met[0]][0]), max(right, places[met[0]][1]))
        else:
            continue
        break
    return [Rule(rule.at, left, right) for left, right in places]


def _is_within(level: Sequence[Rule], grid: Grid) -> bool:
    """Return whether lines are under a row of a table but the last one, as under sums, or under links in each row."""
    tops = [max(cell.top for cell in row.cells if cell.text) for row in grid.rows]
    return tops[-1] < level[0].at < tops[0] and level[0].start < grid.columns[-1][1]


def _is_across(level: Sequence[Rule], grid: Grid) -> bool:
    """Return whether a single line is drawn from the first to the last column."""
    return len(level) == 1 and level[0].start < grid.columns[0][0] and level[0].end > grid.columns[-1][0]


def _is_above(grid: Grid, other: Grid) -> bool:
    last = [cell for cell in grid.rows[-1].cells if cell.text]
    first = [cell.top for cell in other.rows[0].cells if cell.text]
    height = max(cell.top - cell.bottom for cell in last)
    gap = min(cell.bottom for cell in last) - max(first, default=0.0)
    beside = grid.columns[0][0] < other.columns[-1][1] and other.columns[0][0] < grid.columns[-1][1]
    return beside and -height < gap < _GAP * height


def _table(underlines: Sequence[Rule], lines: Sequence[Line], words: Words, rules: Rulings) -> Grid | None:
    height, left, right = underlines[0].at, underlines[0].start, underlines[-1].end
    inside = [line for line in lines if line.right > left and line.left < right]
    if not all(any(_is_on(rule, line) for line in inside) for rule in underlines):
        return None
    below = _without_gap([line for line in inside if (line.top + line.bottom) / 2 < height], height)
    if len(below) < _LEAST_ROWS:
        return None
    size = median(line.size for line in below)
    ends = [(one.end + other.start) / 2 for one, other in pairwise(underlines)]
    body = _body(visual_rows(word for line in below for word in words(line)), height, ends, (left, right), size)
    notes = []
    while body and is_note(cell_of(body[0]).text):  # "(In millions)" below the line belongs to the headers
        notes.append(body.pop(0))
    rows = _rows(body, ends)
    if len(rows) < _LEAST_ROWS or sum(sum(bool(cell.text) for cell in row.cells) > 1 for row in rows) < _FILLED * len(
        rows
    ):
        return None
    above = _heads([line for line in inside if (line.top + line.bottom) / 2 > height], height, size)
    heads = [*visual_rows(word for line in above for word in words(line))[-_MOST_HEAD_ROWS:], *notes]
    columns = [(rule.start, rule.end) for rule in underlines[1:]]
    named, head_used = header_names(heads, columns, None, rules, size, left)
    figures = [is_figure(cell.text) for row in rows for cell in row.cells[1:] if cell.text]
    if not all(named.names) or sum(figures) * 2 > len(figures):
        return None
    grid = Grid(lines[0].page, named.names, rows, columns, lead=named.lead)
    grid.header_lines = ids(word for row in head_used for word in row)
    grid.lines = set(grid.header_lines).union(*(row.lines for row in rows))
    return grid


def _is_on(rule: Rule, line: Line) -> bool:
    """Return whether a line of text is directly above a drawn line."""
    return -line.size < line.bottom - rule.at < line.size and line.left < rule.end and line.right > rule.start


def _without_gap(lines: Sequence[Line], height: float) -> list[Line]:
    """Return the lines of text below a height, from the top, until a gap of more than two lines."""
    found: list[Line] = []
    for line in sorted(lines, key=lambda line: -line.top):
        if height - line.top > _GAP * line.size:
            break
        found.append(line)
        height = min(height, line.bottom)
    return found


def _heads(lines: Sequence[Line], height: float, size: float) -> list[Line]:
    """Return the lines of text above a height with hardly a gap between them, up to a title in larger type."""
    found: list[Line] = []
    for line in sorted(lines, key=lambda line: line.bottom):
        if line.bottom - height > _ABOVE * size or (found and line.size > _LARGER * found[0].size):
            break
        found.append(line)
        height = max(height, line.top)
    return found


def _body(
    rows: Sequence[list[Word]], height: float, ends: Sequence[float], sides: tuple[float, float], size: float
) -> list[list[Word]]:
    """Return the rows of words below a height until a wide gap, or a word that is in no single column."""
    found: list[list[Word]] = []
    for row in rows:
        top, bottom = max(word.top for word in row), min(word.bottom for word in row)
        crossed = any(word.left < end < word.right for word in row for end in ends)
        outside = row[0].left < sides[0] - size or row[-1].right > sides[1] + size
        if height - top > _GAP * size or crossed or outside:
            break
        found.append(row)
        height = bottom
    return found


def _rows(body: Sequence[Sequence[Word]], ends: Sequence[float]) -> list[Row]:
    """Return the rows; a line without words in the first column belongs to the row above it."""
    made: list[list[list[Word]]] = []
    for words in body:
        cells: list[list[Word]] = [[] for _ in range(len(ends) + 1)]
        for word in words:
            cells[sum((word.left + word.right) / 2 > end for end in ends)].append(word)
        if cells[0] or not made:
            made.append(cells)
        else:
            made[-1] = [[*above, *below] for above, below in zip(made[-1], cells, strict=True)]
    return [
        Row(
            [cell_of(cell) for cell in cells],
            next(cell for cell in cells if cell)[0].left,
            ids(word for cell in cells for word in cell),
        )
        for cells in made
    ]
