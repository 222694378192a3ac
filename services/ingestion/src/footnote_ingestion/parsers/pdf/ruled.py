"""Finds tables with borders: lines enclose their cells."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from statistics import median

from footnote_ingestion.parsers.pdf.bidi import lean
from footnote_ingestion.parsers.pdf.frames import LEAST_DOWN, NEAR, frames
from footnote_ingestion.parsers.pdf.grids import YEAR, Cell, Grid, Row, cell_of, ids, is_figure, segments, visual_rows
from footnote_ingestion.parsers.pdf.lines import Line, Word
from footnote_ingestion.parsers.pdf.rotated import Box, upright
from footnote_ingestion.parsers.pdf.rulings import Rule, Rulings
from footnote_ingestion.parsers.pdf.seeds import has_figures, is_seed
from footnote_ingestion.parsers.pdf.spans import spread_down
from footnote_ingestion.parsers.pdf.table_start import Words
from footnote_ingestion.parsers.tables import header_depth, is_form, is_range

_FEW_FIGURES, _MOSTLY = 0.3, 0.8
_MOST_RULES = 3_000
_LEAST_FILLED = 0.4
_CROWDED = 0.2
_LEAST_THROUGH = 2
_MANY = 4
_LEAST_REPEATED = 3
_MOST_HEAD_ROWS, _BELOW = 4, 6.0
"""Maximum number of rows of headers in a box, and its maximum distance from figures, in type sizes."""
_APART = 1.5
"""Minimum gap between texts of two cells, as a multiple of their height."""


def find(lines: Sequence[Line], words: Words, rules: Rulings) -> list[Grid]:
    """Return the tables whose columns are separated by lines, topmost first."""
    if not rules.across or len(rules.down) < LEAST_DOWN or len(rules.across) + len(rules.down) > _MOST_RULES:
        return []
    if len({round(rule.at / NEAR) for rule in rules.down}) < LEAST_DOWN:
        return []
    found = []
    vertical = [line for line in lines if line.rotated]
    shared: dict[int, Line] = {}
    for xs, ys, drawn, is_open in frames(rules):
        if len(ys) <= _MOST_HEAD_ROWS + 1 and _is_above_figures(lines, xs, ys):
            continue  # a box of headers; the figures below it show its columns
        through = [line for line in lines if _goes_through(line, xs, ys)]
        if len(through) >= _LEAST_THROUGH:
            if is_open or not _are_beside(through, words, xs, ys, drawn):
                continue  # the lines separate columns of a wider table
            shared |= {id(line): line for line in through}
        inside = [line for line in lines if _is_inside(line, xs, ys)]
        turned = list(upright(vertical, words, partial(_cell_at, xs, ys)).values())
        if len(through) >= _LEAST_THROUGH:
            inside += through
        grid = _grid(inside, turned, partial(_within, words, xs), xs, ys, drawn, is_open=is_open) if inside else None
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
        max(rule.end for rule in drawn.across) <= xs[-1] + NEAR
        and min(rule.start for rule in drawn.across) >= xs[0] - NEAR
        and max(rule.end for rule in drawn.down) <= ys[0] + NEAR
        and min(rule.start for rule in drawn.down) >= ys[-1] - NEAR
    )
    return closed and not any(
        word.left < x - NEAR and word.right > x + NEAR
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


def _goes_through(line: Line, xs: Sequence[float], ys: Sequence[float]) -> bool:
    """Return whether words of a line are on both sides of the leftmost or rightmost vertical line."""
    if line.rotated or not ys[-1] <= (line.top + line.bottom) / 2 <= ys[0]:
        return False
    return any(line.left < x - 3 and line.right > x + 3 for x in (xs[0], xs[-1]))


def _is_above_figures(lines: Sequence[Line], xs: Sequence[float], ys: Sequence[float]) -> bool:
    """Return whether borders without a figure between them are directly above figures for almost all columns."""
    if any(has_figures(line) for line in lines if _is_inside(line, xs, ys)):
        return False
    below = [
        line
        for line in lines
        if line.top < ys[-1] + 1
        and ys[-1] - line.top < _BELOW * line.size
        and xs[0] < line.left
        and line.right < xs[-1] + 3
    ]
    figures = sum(len(line.text.split()) for line in below if has_figures(line) or is_seed(line))
    return figures > max(len(xs) - 3, 2)


def _cell_at(xs: Sequence[float], ys: Sequence[float], box: Box) -> tuple[int, int] | None:
    """Return the column and the row of a table that a box is in, the row counted from below; None outside."""
    left, bottom, right, top = box
    across, up = (left + right) / 2, (bottom + top) / 2
    if not (xs[0] < across < xs[-1] and ys[-1] < bottom and top < ys[0] + NEAR):
        return None
    return bisect(xs, across), bisect(ys[::-1], up)


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
    turned: Sequence[Word],
    words: Words,
    xs: Sequence[float],
    ys: Sequence[float],
    rules: Rulings,
    *,
    is_open: bool,
) -> Grid | None:
    every = [*(word for line in inside for word in words(line)), *turned]
    backwards = sum(lean(word.text) for word in every) > 0
    parts = [
        visual_rows(word for word in every if bottom <= (word.top + word.bottom) / 2 < top)
        for top, bottom in pairwise(ys)
    ]
    # If most rows have a line below them, several lines of words between two lines are one row, unless most are there.
    single = len(parts) >= _MANY and median(len(lines) for lines in parts) <= 1
    most = sum(map(len, parts)) / 2
    bands = [
        _band(
            lines,
            xs,
            rules.down,
            (top + bottom) / 2,
            named_at=-1 if backwards else 0,
            single=single and len(lines) <= most,
        )
        for lines, (top, bottom) in zip(parts, pairwise(ys), strict=True)
    ]
    spread_down(bands, xs, ys, rules.across, apart=_repeated_heads(bands))
    rows = [row for band in bands for row in band]
    rows = [row[::-1] if backwards else row for row in rows if any(row)]
    titles: list[list[list[Word]]] = []
    over_all = next((at for at, row in enumerate(rows) if not _is_over_all(row)), len(rows))
    if 0 < over_all < len(rows) - 1:
        titles, rows = rows[:over_all], rows[over_all:]
    whole = {at for at, row in enumerate(rows) if at and _is_over_all(row)}
    rows = [[row[0], *([] for _ in row[1:])] if at in whole else row for at, row in enumerate(rows)]
    width = len(xs) - 1
    cells = [cell for row in rows for cell in row]
    filled = sum(bool(cell) for cell in cells)
    if len(rows) < 2 or filled < _LEAST_FILLED * len(cells) or _crowded(cells, is_open) > _CROWDED * filled:
        return None
    made = [Row([cell_of(cell) for cell in row], xs[0], ids(word for cell in row for word in cell)) for row in rows]
    texts = [[cell.text for cell in row.cells] for row in made]
    depth = 0 if is_form(texts[: _depth(texts)]) else _depth(texts)
    again = [at for at in range(max(depth, 1), len(texts)) if _repeats(texts[max(depth - 1, 0)], texts[at])]
    depth = depth or min(len(again), 1)
    headers = [" › ".join(dict.fromkeys(filter(None, (row[at] for row in texts[:depth])))) for at in range(width)]
    body = [_section(row) if at in again or at in whole else row for at, row in enumerate(made[depth:], depth)]
    body = [row for row in body if not row.section or row.cells[0].text]
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
    if depth >= len(texts) - 1:
        return depth
    if depth and any(texts[depth]) and not any(map(_is_value, texts[depth])):
        return depth + 1  # the same names below several years
    return depth + max(header_depth(texts[depth:]), _named(texts[depth:]))


def _named(texts: Sequence[Sequence[str]]) -> int:
    """Return the number of leading rows, all without values, up to one that names the columns of figures below it.

    Marks of absent values ("..", "k. A.") name nothing: they are no letters, or stand in several columns.
    """
    for at, row in enumerate(texts[: min(_MOST_HEAD_ROWS, len(texts) - 2)]):
        if any(map(_is_value, row)):
            return 0
        below = texts[at + 1 : at + 3]
        columns = [column for column in range(1, len(row)) if all(_is_value(one[column]) for one in below)]
        names = [row[column] for column in columns if row[column]]
        apart = len(set(names)) == len(names) and all(any(map(str.isalnum, name)) for name in names)
        if len(columns) * 2 > len(row) and len(names) >= _MOSTLY * len(columns) and apart:
            return at + 1
    return 0


def _is_value(text: str) -> bool:
    """Return whether a cell holds a value, or those of several rows."""
    return bool(text) and not is_range(text) and all(map(is_figure, text.split()))


def _repeats(header: Sequence[str], row: Sequence[str]) -> bool:
    """Return whether a row has the same values as the first one: headers that are repeated above each section."""
    values = [text for text in header[1:] if text]
    return len(values) >= _LEAST_REPEATED and len(set(values)) == len(values) and header[1:] == row[1:]


def _repeated_heads(bands: Sequence[Sequence[Sequence[Sequence[Word]]]]) -> set[int]:
    """Return the bands with the same values as the first one: repeated headers, whose texts reach no row below."""
    texts = [[" ".join(word.text for word in cell) for cell in band[0]] if len(band) == 1 else [] for band in bands]
    first = next((at for at, row in enumerate(texts) if any(row)), 0)
    again = {at for at in range(first + 1, len(texts)) if _repeats(texts[first], texts[at])} if texts else set()
    return again | {first} if again else set()


def _section(row: Row) -> Row:
    """Return a repeated header, or words across the table, as the name of a section."""
    return Row([row.cells[0], *(Cell() for _ in row.cells[1:])], row.indent, row.lines, section=True)


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
    rows = [_cells(line, xs) for line in lines]
    if (
        len(xs) > 3
        and not any(abs(rule.at - x) <= NEAR and rule.start <= middle <= rule.end for rule in down for x in xs[1:-1])
        and not any(map(_are_apart, rows))
    ):
        return [[[word for line in lines for word in line]] * (len(xs) - 1)]
    named = sum(bool(row[named_at]) for row in rows)
    figured = sum(_is_whole(row, named_at) for row in rows)
    if not single and len(rows) >= 3 and figured > 1 and figured == sum(sum(map(bool, row)) > 1 for row in rows):
        return _named_throughout(rows, named_at)
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
        return _named_throughout(rows, named_at)
    whole = [_by_line(word for row in rows for word in row[at]) for at in range(len(xs) - 1)]
    return [_spread(whole, xs, down, middle)]


def _named_throughout(rows: list[list[list[Word]]], named_at: int) -> list[list[list[Word]]]:
    """Return rows between two lines, each named by the words of the first that are left of all other rows' names."""
    if named_at or not all(row[0] for row in rows):
        return rows
    begin = min(row[0][0].left for row in rows[1:])
    outer = [word for word in rows[0][0] if word.right < begin]
    own = rows[0][0][len(outer) :]
    if not outer or not own or abs(own[0].left - begin) > own[0].top - own[0].bottom:
        return rows
    return [rows[0], *([[*outer, *row[0]], *row[1:]] for row in rows[1:])]


def _by_line(words: Iterable[Word]) -> list[Word]:
    """Return the words of one cell in reading order; the lines of cells side by side may be at different heights."""
    return [word for line in visual_rows(words) for word in line]


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


def _are_apart(cells: Sequence[Sequence[Word]]) -> bool:
    """Return whether words of several cells are not one text: the gap between them is wider than between words.

    A cell that is filled with a colour may hide the lines beside it.
    """
    filled = [cell for cell in cells if cell]
    return any(
        right.left - left.right > _APART * (left.top - left.bottom)
        for one, other in pairwise(filled)
        for left in one[-1:]
        for right in other[:1]
        if min(left.top, right.top) - max(left.bottom, right.bottom) > 0
    )


def _over_all_or_shared(cells: list[list[Word]], xs: Sequence[float]) -> list[list[Word]]:
    """Return the cells of columns without a line between them: their one text, or for each the nearest of several."""
    if not _are_apart(cells):
        return [_by_line(word for cell in cells for word in cell)] * len(cells)
    texts = segments(_by_line(word for cell in cells for word in cell), _APART)
    if len(cells) % len(texts) or len(cells) == len(texts) or any(is_figure(text[-1].text) for text in texts):
        return cells
    middles = [(text[0].left + text[-1].right) / 2 for text in texts]
    near = [min(range(len(texts)), key=lambda at: abs(middles[at] - (one + other) / 2)) for one, other in pairwise(xs)]
    shared = len({near.count(at) for at in range(len(texts))}) == 1
    return [texts[at] for at in near] if shared else cells


def _spread(row: list[list[Word]], xs: Sequence[float], down: Sequence[Rule], middle: float) -> list[list[Word]]:
    """Repeat text that spans several columns without a line between them in each of these columns."""
    closed = [
        any(abs(rule.at - x) <= NEAR and rule.start - 1 <= middle <= rule.end + 1 for rule in down) for x in xs[1:-1]
    ]
    made = list(row)
    start = 0
    for at in range(len(row)):
        if at < len(closed) and not closed[at]:
            continue
        if at > start:
            made[start : at + 1] = _over_all_or_shared(row[start : at + 1], xs[start : at + 2])
        start = at + 1
    return made
