"""Finds tables with borders: lines enclose their cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from statistics import median

from footnote_ingestion.parsers.pdf.bidi import lean
from footnote_ingestion.parsers.pdf.grids import YEAR, Grid, Row, cell_of, ids, is_figure, visual_rows
from footnote_ingestion.parsers.pdf.lines import Line, Word
from footnote_ingestion.parsers.pdf.rulings import Rule, Rulings
from footnote_ingestion.parsers.pdf.spans import spread_down
from footnote_ingestion.parsers.pdf.table_start import Words
from footnote_ingestion.parsers.tables import header_depth, is_form

LEAST_DOWN = 3
_NEAR = 2.5
_NARROWEST = 12.0
_FEW_FIGURES = 0.3
_OPEN_LINES = 3
"""A table with an unbordered column has a line above it, one below its headers, and one below the table."""
_MOST_RULES = 3_000
_LEAST_FILLED = 0.4
_CROWDED = 0.2
_LEAST_THROUGH = 2
_MANY = 4


def find(lines: Sequence[Line], words: Words, rules: Rulings) -> list[Grid]:
    """Return the tables whose columns are separated by lines, topmost first."""
    if not rules.across or len(rules.down) < LEAST_DOWN or len(rules.across) + len(rules.down) > _MOST_RULES:
        return []
    if len({round(rule.at / _NEAR) for rule in rules.down}) < LEAST_DOWN:
        return []
    found = []
    shared: dict[int, Line] = {}
    for xs, ys, drawn, is_open in _frames(rules):
        through = [line for line in lines if _goes_through(line, xs, ys)]
        if len(through) >= _LEAST_THROUGH:
            if is_open or not _are_beside(through, words, xs, ys, drawn):
                continue  # the lines separate columns of a wider table
            shared |= {id(line): line for line in through}
        inside = [line for line in lines if _is_inside(line, xs, ys)]
        if len(through) >= _LEAST_THROUGH:
            inside += through
        grid = _grid(inside, partial(_within, words, xs), xs, ys, drawn, is_open=is_open) if inside else None
        # Without a border around the table, figures show the columns better than lines.
        if grid is not None and (not is_open or share_of_figures(grid) < _FEW_FIGURES):
            found.append((grid, xs))
    kept = _whole_lines(found, shared, words)
    return sorted(kept, key=lambda grid: -max(cell.top for row in grid.rows for cell in row.cells))


def _are_beside(
    through: Sequence[Line], words: Words, xs: Sequence[float], ys: Sequence[float], drawn: Rulings
) -> bool:
    """Return whether lines of text cross a table with borders on all sides, but none of their words crosses a side."""
    closed = (
        max(rule.end for rule in drawn.across) <= xs[-1] + _NEAR
        and min(rule.start for rule in drawn.across) >= xs[0] - _NEAR
        and max(rule.end for rule in drawn.down) <= ys[0] + _NEAR
        and min(rule.start for rule in drawn.down) >= ys[-1] - _NEAR
    )
    return closed and not any(
        word.left < x - _NEAR and word.right > x + _NEAR
        for line in through
        for word in words(line)
        for x in (xs[0], xs[-1])
    )


def _within(words: Words, xs: Sequence[float], line: Line) -> list[Word]:
    """Return the words of a line that are in a table; others may be in a table beside it."""
    return [word for word in words(line) if xs[0] - 3 <= (word.left + word.right) / 2 <= xs[-1] + 3]


def _whole_lines(found: Sequence[tuple[Grid, Sequence[float]]], shared: Mapping[int, Line], words: Words) -> list[Grid]:
    """Return the tables without those that have a line with a word in no table."""
    within = {
        one: {at: len(_within(words, xs, line)) for at, (grid, xs) in enumerate(found) if one in grid.lines}
        for one, line in shared.items()
    }
    kept = set(range(len(found)))
    while True:
        short = [one for one, line in shared.items() if sum(within[one][at] for at in within[one]) < len(words(line))]
        lost = kept & {at for one in short for at in within[one]}
        if not lost:
            return [grid for at, (grid, _) in enumerate(found) if at in kept]
        kept -= lost
        for parts in within.values():
            for at in lost & parts.keys():
                parts[at] = 0


def share_of_figures(grid: Grid) -> float:
    """Return the fraction of a table's values that are figures."""
    texts = [cell.text for row in grid.rows for cell in row.cells[1:] if cell.text]
    return sum(map(is_figure, texts)) / max(len(texts), 1)


def _frames(rules: Rulings) -> list[tuple[list[float], list[float], Rulings, bool]]:
    """Return for touching lines where columns and bands of rows end, and whether a side is open."""
    groups: list[tuple[list[Rule], list[Rule], list[float]]] = []  # down, across, box
    for vertical, rule in [*((True, rule) for rule in rules.down), *((False, rule) for rule in rules.across)]:
        box = [rule.at, rule.start, rule.at, rule.end] if vertical else [rule.start, rule.at, rule.end, rule.at]
        touched = [group for group in groups if _touch(group[2], box)]
        merged: tuple[list[Rule], list[Rule], list[float]] = ([], [], box)
        for group in touched:
            merged[0].extend(group[0])
            merged[1].extend(group[1])
            other = group[2]
            merged[2][:] = [
                min(merged[2][0], other[0]), min(merged[2][1], other[1]),
                max(merged[2][2], other[2]), max(merged[2][3], other[3]),
            ]  # fmt: skip
        groups = [group for group in groups if not any(group is one for one in touched)]
        (merged[0] if vertical else merged[1]).append(rule)
        groups.append(merged)
    found = []
    for down, across, (left, bottom, right, top) in groups:
        xs = _lasting(down, 0.5 * (top - bottom))
        ys = _lasting(across, 0.45 * (right - left))
        opened = xs
        if len(xs) >= LEAST_DOWN and len(ys) == _OPEN_LINES:
            opened = [*_open_side(xs[0], left), *xs, *_open_side(xs[-1], right)]
        if len(xs) >= 3 and len(ys) >= 2:
            found.append((opened, ys[::-1], Rulings(across, down), len(opened) > len(xs)))
    return found


def _open_side(outermost: float, end: float) -> list[float]:
    """Return the end of horizontal lines that extend beyond the outermost vertical line: a column without a border."""
    return [end] if abs(end - outermost) > _NARROWEST else []


def _touch(one: Sequence[float], other: Sequence[float]) -> bool:
    return (
        one[0] <= other[2] + _NEAR
        and other[0] <= one[2] + _NEAR
        and one[1] <= other[3] + _NEAR
        and other[1] <= one[3] + _NEAR
    )


def _lasting(rules: Sequence[Rule], least: float) -> list[float]:
    """Return the places, in rising order, of lines with at least some total length."""
    places: list[list[float]] = []  # place, length
    for rule in sorted(rules, key=lambda rule: rule.at):
        if places and rule.at - places[-1][0] <= _NEAR:
            places[-1][1] += rule.end - rule.start
        else:
            places.append([rule.at, rule.end - rule.start])
    return [place for place, length in places if length >= least]


def _goes_through(line: Line, xs: Sequence[float], ys: Sequence[float]) -> bool:
    """Return whether words of a line are on both sides of the leftmost or rightmost vertical line."""
    if line.rotated or not ys[-1] <= (line.top + line.bottom) / 2 <= ys[0]:
        return False
    return any(line.left < x - 3 and line.right > x + 3 for x in (xs[0], xs[-1]))


def _is_inside(line: Line, xs: Sequence[float], ys: Sequence[float]) -> bool:
    middle = (line.top + line.bottom) / 2
    return (
        not line.rotated
        and line.size > 0
        and ys[-1] - 1 <= middle <= ys[0] + 1
        and line.left >= xs[0] - 3
        and line.right <= xs[-1] + 3
    )


def _grid(
    inside: list[Line],
    words: Words,
    xs: Sequence[float],
    ys: Sequence[float],
    rules: Rulings,
    *,
    is_open: bool,
) -> Grid | None:
    every = [word for line in inside for word in words(line)]
    backwards = sum(lean(word.text) for word in every) > 0
    parts = [
        visual_rows(word for word in every if bottom <= (word.top + word.bottom) / 2 < top)
        for top, bottom in pairwise(ys)
    ]
    # If most rows have a line below them, several lines of words between two lines are one row.
    single = len(parts) >= _MANY and median(len(lines) for lines in parts) <= 1
    bands = [
        _band(lines, xs, rules.down, (top + bottom) / 2, named_at=-1 if backwards else 0, single=single)
        for lines, (top, bottom) in zip(parts, pairwise(ys), strict=True)
    ]
    spread_down(bands, xs, ys, rules.across)
    rows = [row for band in bands for row in band]
    rows = [row[::-1] if backwards else row for row in rows if any(row)]
    titles: list[list[list[Word]]] = []
    over_all = next((at for at, row in enumerate(rows) if not _is_over_all(row)), len(rows))
    if 0 < over_all < len(rows) - 1:
        titles, rows = rows[:over_all], rows[over_all:]
    rows = [[row[0], *([] for _ in row[1:])] if at and _is_over_all(row) else row for at, row in enumerate(rows)]
    width = len(xs) - 1
    cells = [cell for row in rows for cell in row]
    filled = sum(bool(cell) for cell in cells)
    if len(rows) < 2 or filled < _LEAST_FILLED * len(cells) or _crowded(cells, is_open) > _CROWDED * filled:
        return None
    made = [Row([cell_of(cell) for cell in row], xs[0], ids(word for cell in row for word in cell)) for row in rows]
    texts = [[cell.text for cell in row.cells] for row in made]
    depth = 0 if is_form(texts[: _depth(texts)]) else _depth(texts)
    headers = [" › ".join(dict.fromkeys(filter(None, (row[at] for row in texts[:depth])))) for at in range(width)]
    body = made[depth:]
    places = list(pairwise(xs))
    grid = Grid(inside[0].page, headers, body, places[-2::-1] if backwards else places[1:])
    grid.header_lines = set().union(*(row.lines for row in made[:depth]))
    grid.lead = [cell_of(row[0]).text for row in titles]
    grid.lines = ids(every)
    return grid if body else None


def _is_over_all(row: Sequence[list[Word]]) -> bool:
    """Return whether a row is one cell across the table: a title above its headers, or the name of a section."""
    return len(row) > 1 and bool(row[0]) and all(cell is row[0] for cell in row)


def _depth(texts: Sequence[Sequence[str]]) -> int:
    """Return the number of header rows: a row with a name over several columns, and the one below it."""
    depth = 0
    while depth < len(texts) - 1 and depth < 4:
        row = [text for text in texts[depth] if text]
        if len(row) == len(set(row)) or any(is_figure(text) and YEAR.fullmatch(text) is None for text in row):
            break
        depth += 1
    if 0 < depth < len(texts) - 1 and any(texts[depth]) and not any(map(is_figure, texts[depth])):
        return depth + 1  # the same names below several years
    return depth + header_depth(texts[depth:]) if depth < len(texts) - 1 else depth


def _crowded(cells: Sequence[Sequence[Word]], words: bool) -> int:
    """Return the number of cells with figures, or `words`, far apart, as in a cell that spans several columns."""
    return sum(
        any(
            (words or (is_figure(one.text) and is_figure(other.text)))
            and other.left - one.right > 0.8 * (one.top - one.bottom)
            for one, other in pairwise(cell)
        )
        for cell in cells
    )


def _band(
    lines: Sequence[list[Word]],
    xs: Sequence[float],
    down: Sequence[Rule],
    middle: float,
    *,
    named_at: int,
    single: bool,
) -> list[list[list[Word]]]:
    """Return the rows between two horizontal lines: one, or several if each begins with a name at `named_at`."""
    if len(xs) > 3 and not any(
        abs(rule.at - x) <= _NEAR and rule.start <= middle <= rule.end for rule in down for x in xs[1:-1]
    ):
        return [[[word for line in lines for word in line]] * (len(xs) - 1)]
    rows = [_cells(line, xs) for line in lines]
    named = sum(bool(row[named_at]) for row in rows)
    figured = sum(_is_whole(row, named_at) for row in rows)
    if not single and len(rows) >= 3 and figured > 1 and figured == sum(sum(map(bool, row)) > 1 for row in rows):
        return rows
    if (
        not single
        and len(rows) >= 3
        and named >= 0.6 * len(rows)
        and sum(sum(map(bool, row)) >= 2 for row in rows) >= 0.6 * len(rows)
    ):
        made: list[list[list[Word]]] = []
        for row in rows:
            if row[named_at] or not made:
                made.append(row)
            else:
                made[-1] = [[*above, *below] for above, below in zip(made[-1], row, strict=True)]
        return made
    if not single and len(rows) == 2 and all(_is_whole(row, named_at) for row in rows):
        return rows
    whole = [[word for row in rows for word in row[at]] for at in range(len(xs) - 1)]
    return [_spread(whole, xs, down, middle)]


def _is_whole(row: Sequence[Sequence[Word]], named_at: int) -> bool:
    """Return whether a row has a name and a figure in every other cell, so that it does not continue the row above."""
    values = [cell for at, cell in enumerate(row) if at != named_at % len(row)]
    return bool(row[named_at]) and all(cell and is_figure(cell[-1].text) for cell in values)


def _cells(row: Sequence[Word], xs: Sequence[float]) -> list[list[Word]]:
    cells: list[list[Word]] = [[] for _ in range(len(xs) - 1)]
    for word in row:
        centre = (word.left + word.right) / 2
        at = sum(centre >= x for x in xs[1:-1])
        cells[at].append(word)
    return cells


def _spread(row: list[list[Word]], xs: Sequence[float], down: Sequence[Rule], middle: float) -> list[list[Word]]:
    """Repeat text that spans several columns without a line between them in each of these columns."""
    closed = [
        any(abs(rule.at - x) <= _NEAR and rule.start - 1 <= middle <= rule.end + 1 for rule in down) for x in xs[1:-1]
    ]
    made = list(row)
    start = 0
    for at in range(len(row)):
        if at < len(closed) and not closed[at]:
            continue
        if at > start:
            together = [word for cell in row[start : at + 1] for word in cell]
            made[start : at + 1] = [together] * (at + 1 - start)
        start = at + 1
    return made
