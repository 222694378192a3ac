"""Finds tables without borders: figures below one another are columns, and the words above them headers.

Lines of text show which regions of a page have rows of figures. Only there are the boxes of words read.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from footnote_ingestion.parsers.pdf.blocks_of_rows import note_blocks, note_sums
from footnote_ingestion.parsers.pdf.first_rows import (
    counts,
    ends_in_figure,
    heads_figures,
    names_days,
    over,
    start_of_body,
)
from footnote_ingestion.parsers.pdf.grids import (
    CLOSING,
    CURRENCIES,
    Grid,
    Row,
    bounds,
    cell_of,
    ids,
    is_figure,
    joined_figures,
    names_years,
    pieces_of,
    values_of,
    visual_rows,
)
from footnote_ingestion.parsers.pdf.groups_of_rows import note_groups
from footnote_ingestion.parsers.pdf.header_columns import header_names
from footnote_ingestion.parsers.pdf.lines import Line, Word
from footnote_ingestion.parsers.pdf.names import Spanning, around, beside_several, joined, under
from footnote_ingestion.parsers.pdf.panels import is_panel, is_underlined, with_panels
from footnote_ingestion.parsers.pdf.rotated import in_a_mirror, is_read_from_the_right
from footnote_ingestion.parsers.pdf.rulings import Rulings
from footnote_ingestion.parsers.pdf.seeds import as_one, beside, is_seed, regions
from footnote_ingestion.parsers.pdf.table_start import Words, drawn_from, lines_above, names_start
from footnote_ingestion.parsers.pdf.text_columns import column_of_names, column_of_words, with_signs
from footnote_ingestion.parsers.pdf.vertical_heads import vertical_heads

_LEAST_ROWS = 2
_NEXT = 2.0


def find(lines: Sequence[Line], words: Words, rules: Rulings) -> list[Grid]:
    """Return the tables of figures among the lines of a page, topmost first."""
    found: list[Grid] = []
    used: set[int] = set()
    joined = [(as_one(row), row) for row in beside(lines)]
    parts = {id(line): row for line, row in joined}

    made: dict[int, list[Word]] = {}

    def known(line: Line) -> list[Word]:
        if id(line) not in made:
            made[id(line)] = joined_figures([word for part in parts.get(id(line), (line,)) for word in words(part)])
        return made[id(line)]

    for region in regions([line for line in (*lines, *(line for line, _ in joined)) if is_seed(line)]):
        free = [line for line in lines if id(line) not in used]
        if is_read_from_the_right(region):
            found += in_a_mirror(_tables, region, free, known, rules)
        else:
            found += _tables(region, free, known, rules)
        used.update(*(grid.lines for grid in found))
    _pass_headers_on(found, lines)
    return found


def _pass_headers_on(grids: Sequence[Grid], lines: Sequence[Line]) -> None:
    """Give a table without headers those of the table above, if the columns agree and only names are between them.

    A row with only a section's name may be so far above the next figures that these look like a separate table.
    """
    for above, below in pairwise(sorted(grids, key=lambda grid: -_top(grid))):
        if any(below.headers) or len(above.columns) != len(below.columns):
            continue
        if not all(
            one[0] < other[1] and other[0] < one[1] for one, other in zip(above.columns, below.columns, strict=True)
        ):
            continue
        bottom = min(cell.bottom for cell in above.rows[-1].cells if cell.text)
        between = [line for line in lines if _top(below) < line.top <= bottom and line.right > below.columns[0][0]]
        if not between:
            below.headers = above.headers


def _top(grid: Grid) -> float:
    return max(cell.top for cell in grid.rows[0].cells if cell.text)


def _tables(seeds: list[Line], lines: Sequence[Line], words: Words, rules: Rulings) -> list[Grid]:
    seeds = [line for line in seeds if _is_body(words(line)) or names_years(words(line))]
    if not seeds:
        return []
    size = sorted(line.size for line in seeds)[len(seeds) // 2]
    seeds = _with_rows_beside(seeds, lines, words, size)
    if len(seeds) < _LEAST_ROWS:
        return []
    left, bottom, right, top = bounds(seeds)
    bottom = min(bottom, _name_below(lines, seeds, words, size))
    above = lines_above(lines, seeds, words, rules, size)
    if above:
        left, right = min(left, *(line.left for line in above)), max(right, *(line.right for line in above))
        top = max(line.top for line in above)
    if all(words(line)[0] is values_of(words(line))[0] for line in seeds):
        left = min(left, names_start(lines, seeds, left, size))
    left = drawn_from(rules, (left, right), (bottom, top), size)
    inside = [
        line
        for line in lines
        if line.size > 0
        and not line.rotated
        and line.left >= left - 2 * size
        and line.right <= right + 2 * size
        and bottom - 0.2 * size <= (line.top + line.bottom) / 2 <= top + 0.2 * size
    ]
    rows = [joined_figures(row) for row in visual_rows(word for line in inside for word in words(line))]
    if vertical := [line for line in lines if line.rotated]:
        columns = _columns([words(line) for line in seeds])
        heads = vertical_heads(vertical, words, columns, max(line.top for line in seeds), rules, size)
        rows[sum(row[0].bottom >= heads[0].bottom for row in rows) if heads else 0 : 0] = [heads] if heads else []
    return _split(rows, seeds[0].page, rules, size)


def _with_rows_beside(seeds: list[Line], lines: Sequence[Line], words: Words, size: float) -> list[Line]:
    """Return rows of figures together with adjacent rows that a line's text alone does not identify as such."""
    columns = _columns([words(line) for line in seeds])
    left, bottom, right, top = bounds(seeds)
    inside = [
        line
        for line in lines
        if not line.rotated and line.left > left - 2 * size and line.right < right + 2 * size and line.size > 0
    ]
    above = sorted((line for line in inside if line.bottom > top - 0.5 * size), key=lambda line: line.bottom)
    below = sorted((line for line in inside if line.top < bottom + 0.5 * size), key=lambda line: -line.top)
    for line in above:
        if line.bottom - top > _NEXT * size or not _fills(words(line), columns):
            break
        seeds, top = [*seeds, line], line.top
    for line in below:
        row = words(line)
        if bottom - line.top > _NEXT * size or not (_fills(row, columns) or _goes_with(row, columns)):
            break
        seeds, bottom = [*seeds, line], line.bottom
    return seeds


def _fills(row: Sequence[Word], columns: Sequence[tuple[float, float]]) -> bool:
    """Return whether a row has figures in more than half of the columns."""
    values = values_of(row)
    return len(values) > 1 and _is_body(row) and over(values, columns) * 2 > len(columns)


def _goes_with(row: Sequence[Word], columns: Sequence[tuple[float, float]]) -> bool:
    """Return whether a row consists of a name left of all columns and figures in some of them.

    The first column may hold the names of other rows: "2027", then "Thereafter".
    """
    values = values_of(row)
    names = [word for word in row if word.text not in CURRENCIES][: -len(values) or None]
    if not values or not names or over(values, columns) < len(values):
        return False
    return names[-1].right < columns[0][0] or (
        len(columns) > 1
        and columns[0][0] - 1 < names[0].left
        and names[-1].right < columns[1][0]
        and values[0].left > columns[0][1]
    )


def _name_below(lines: Sequence[Line], seeds: Sequence[Line], words: Words, size: float) -> float:
    """Return where the second line of the last row's name ends, if the name stands above and below its figures."""
    last = min(seeds, key=lambda line: line.bottom)
    row = words(last)
    if len(values_of(row)) < len(row):
        return last.bottom
    below = [
        line.bottom
        for line in lines
        if line.right < last.left and last.bottom - 0.6 * size < line.top < last.top and line.bottom < last.bottom
    ]
    return max(below, default=last.bottom)


def _is_body(row: Sequence[Word]) -> bool:
    values = values_of(row)
    if not values or names_years(row):
        return False
    if len(values) >= 2 or any(char.isdigit() for char in values[0].text):
        return True
    figures = [word.text for word in row if is_figure(word.text)]
    return sum(any(map(str.isdigit, text)) for text in figures) > 2 and len(figures) * 2 >= len(row)


def _split(rows: list[list[Word]], page: int, rules: Rulings, size: float) -> list[Grid]:
    """Return the tables among rows: a new one begins where rows of years or headers follow rows of figures."""
    columns = _columns([row for row in rows if _is_body(row)])
    if not columns:
        return []
    first = columns[0][0]
    begins = [0]
    seen = False
    for at, row in enumerate(rows):
        if _is_body(row):
            seen = seen or not (counts(row) or ends_in_figure(row, columns))
        elif (
            seen
            and row
            and (
                (
                    row[0].left > first - 4 * size
                    and over(row, columns) >= 2
                    and not (is_panel(row, columns, size) and not is_underlined(rows[at + 1 : at + 3], rules, size))
                )
                or (names_years(row) and len(values_of(row)) >= 2)
            )
        ):
            begins.append(_begin_of_header(rows, at, begins[-1], columns))
            seen = False
    parts = [rows[start:end] for start, end in zip(begins, [*begins[1:], len(rows)], strict=True)]
    grids: list[Grid] = []
    for part in parts:
        if (grid := _grid(part, page, rules, size)) is not None:
            grids.append(grid)
    return grids


def _begin_of_header(
    rows: Sequence[Sequence[Word]], at: int, least: int, columns: Sequence[tuple[float, float]]
) -> int:
    """Return where the header begins that ends in row `at`: rows above it without a name or figures belong to it."""
    while at - 1 > least:
        above = rows[at - 1]
        if not above or _is_body(above) or above[0].left < columns[0][0] or len(pieces_of(above)) > len(columns):
            break
        at -= 1
    return at


def _columns(rows: Sequence[Sequence[Word]]) -> list[tuple[float, float]]:
    """Return the columns' places from the left: where the figures of all rows overlap horizontally."""
    values = [values_of(row) for row in rows]
    merged: list[list[float]] = []
    for left, right in sorted((word.left, word.right) for row in values for word in row):
        if merged and left < merged[-1][1] - 0.3:
            merged[-1][1] = max(merged[-1][1], right)
        else:
            merged.append([left, right])
    while len(merged) > 1 and _are_names(rows, values, merged[0][1]):
        del merged[0]
    return [(left, right) for left, right in merged]


def _are_names(rows: Sequence[Sequence[Word]], values: Sequence[Sequence[Word]], right: float) -> bool:
    """Return whether the cells up to a place are names, even if some are figures: "Less than $5,000", "$5,000–9,999".

    More rows have words there than figures.
    """
    left = min(row[0].left for row in values if row)
    figures = sum(bool(row) and row[0].left < right for row in values)
    if figures * 2 > len(rows):
        return False
    others = 0
    for row, own in zip(rows, values, strict=True):
        known = {id(word) for word in own}
        others += any(
            word.left < right and word.right > left and id(word) not in known and word.text not in CURRENCIES
            for word in row
        )
    return others > figures


def _grid(rows: list[list[Word]], page: int, rules: Rulings, size: float) -> Grid | None:
    body = [at for at, row in enumerate(rows) if _is_body(row)]
    if len(body) > _LEAST_ROWS and (
        heads_figures(rows, body, rules, size)
        or (counts(rows[body[0]]) and not counts(rows[body[1]]))
        or (names_days(rows[body[0]]) and not names_days(rows[body[1]]))
    ):
        body = body[1:]
    columns = _columns([rows[at] for at in body])
    while len(body) > _LEAST_ROWS and ends_in_figure(rows[body[0]], columns):
        body = body[1:]
        columns = _columns([rows[at] for at in body])
    if len(body) < _LEAST_ROWS:
        return None
    names_column = column_of_names(rows, body, columns) if len(columns) > 1 else None
    full = sum(len(values_of(rows[at])) for at in body) / len(body)
    # Figures that name some rows are no column where other rows have words in their place.
    several = sum(len(values_of(rows[at])) > 1 for at in body)
    if len(columns) < 2 and several <= _LEAST_ROWS:
        return None
    if len(columns) > 1 and full < 1.3 and names_column is None:
        return None
    if names_column is not None:
        columns = columns[1:]
    elif (worded := column_of_words(rows[: body[0]], [rows[at] for at in body], columns[0][0], size)) is not None:
        columns = [worded, *columns]
    first = columns[0][0] if columns else 0.0
    heads = with_signs([rows[at] for at in body], columns)
    start = start_of_body(rows, body[0], first, heads, size)
    spanning = beside_several(rows[start:], first)
    if spanning is not None and _is_headed(rows[:start], spanning):
        columns, heads, names_column = [spanning.own, *columns], [spanning.own, *heads], None
    head, head_used = header_names(
        rows[:start], heads, names_column, rules, size, min(row[0].left for row in rows[start:])
    )
    made = _rows(rows[start:], spanning, columns, names_column, size)
    note_sums(made, rules, size)
    note_blocks(made, rules.across)
    note_groups(made)
    grid = Grid(page, head.names, made, columns, lead=head.lead)
    grid.header_lines = ids(word for row in head_used for word in row)
    grid.lines = set(grid.header_lines).union(*(row.lines for row in made)) if made else set()
    return grid


def _is_headed(head: Sequence[Sequence[Word]], spanning: Spanning) -> bool:
    """Return whether the rows' own names have a separate header from that of the names beside them."""
    left, right = spanning.own
    edge = max(word.right for name in spanning.names for word in name)
    return any(edge < piece[0].left < right and piece[-1].right > left for row in head for piece in pieces_of(row))


def _rows(
    rows: Sequence[Sequence[Word]],
    spanning: Spanning | None,
    columns: Sequence[tuple[float, float]],
    names_column: tuple[float, float] | None,
    size: float,
) -> list[Row]:
    if spanning is not None:
        made = [_row(row, columns, names_column) for row in spanning.rows]
        return [under(name, row) for name, row in zip(spanning.names, made, strict=True)]

    def read(rows: Sequence[Sequence[Word]]) -> list[Row]:
        made = [_row(row, columns, names_column) for row in rows]
        ends = [row.cells[0].right for row in made if row.cells[0].text and any(cell.text for cell in row.cells[1:])]
        made = around(made)
        return joined(made, max((end for end in ends if end < columns[0][0]), default=0.0))

    return with_panels(rows, columns, size, read)


def _row(row: Sequence[Word], columns: Sequence[tuple[float, float]], names_column: tuple[float, float] | None) -> Row:
    """Return a row's cells: its name, then one for each column, empty ones in place."""
    edge = columns[0][0]
    values = values_of(row)
    tail = {id(word) for word in values}
    cells: list[list[Word]] = [[] for _ in range(len(columns) + 1)]
    signs: list[Word] = []
    name = {id(word) for word in pieces_of(row)[0]} - tail if row[0].left < edge - 2 else set()
    for word in row:
        if id(word) in name:
            cells[0].append(word)
            continue
        if word.text in CURRENCIES:
            signs.append(word)
            continue
        at = _column_of(word, columns) if id(word) in tail or word.left >= edge - 2 else None
        if at is None and word.text in CLOSING and any(cells[1:]):
            at = max(index for index, cell in enumerate(cells[1:]) if cell)
        if at is None and word.left < edge:
            cells[0] += [*signs, word]
        else:
            place = at if at is not None else _nearest(word, columns)
            cells[place + 1] += [*signs, word]
        signs = []
    if not any(cells):  # a row without a text in it would have no place
        cells[_nearest(signs[0], columns) + 1] = signs
    made = [cell_of(cell) for cell in cells]
    indent = made[0].left if made[0].text else (names_column[0] if names_column else row[0].left)
    return Row(made, indent, ids(row))


def _column_of(word: Word, columns: Sequence[tuple[float, float]]) -> int | None:
    best, most = None, 0.0
    begin, end = word.left, word.right
    for at, (left, right) in enumerate(columns):
        shared = (right if right < end else end) - (left if left > begin else begin)
        if shared > most:
            best, most = at, shared
    return best


def _nearest(word: Word, columns: Sequence[tuple[float, float]]) -> int:
    centre = (word.left + word.right) / 2
    return min(range(len(columns)), key=lambda at: abs(sum(columns[at]) / 2 - centre))
