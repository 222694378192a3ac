"""Tables with cells that span rows and columns: lays them out, finds the header, writes row by row.

A cell's value counts for all rows and columns that it covers. Header cells above one another become one header, "Land ›
2023". A cell over a whole row is a line of its own, not a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from footnote_ingestion.parsers.base import PARAGRAPH, BlockWriter, Place
from footnote_ingestion.parsers.failures import OTHER
from footnote_ingestion.parsers.rows import TableRows
from footnote_ingestion.parsers.tables import (
    are_pairs,
    header_depth,
    header_path,
    looks_like_year,
    looks_numeric,
    naming_columns,
    pair_text,
)

MOST_REPEATED = 300
"""A longer value is written only in the first row that it covers."""
_MOST_COLUMNS = 1_000
_LEARNT_ROWS = 30
_MOST_RULED, _SHORTEST_RULE = 2, 3
"""Rows of a header that a line of signs below it shows; the fewest signs of a line."""
# Limit on repeated values in one table; a page can claim any number with a few bytes.
_MOST_POSITIONS = 500_000


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """A cell from the file; `head` if the file marks it as a header. Cells compare by identity."""

    text: str
    rows: int = 1
    columns: int = 1
    head: bool = False


_NONE = Cell("")


def write_table(
    rows: Sequence[Sequence[Cell]],
    out: BlockWriter,
    place: Place | None = None,
    marked: int = 0,
    caption: str = "",
) -> None:
    """Write a table; `marked` is the number of leading rows that the file itself calls its header."""
    grid = _laid_out(rows, out, place)
    width = max((len(row) for row in grid), default=0)
    titles = 0
    said = [caption] if caption else []
    while width > 1 and titles < len(grid) - 1 and (title := _whole(grid[titles], width)) is not None:
        out.add(PARAGRAPH, title.text, place)
        said.append(title.text)
        titles += title.rows if title.rows < len(grid) - titles else 1
    grid, marked = grid[titles:], max(marked - titles, 0)
    texts = [[cell.text for cell in row] for row in grid]
    out.numbers.learn(texts[:_LEARNT_ROWS])
    if not marked and _pairs(grid, texts):
        _write_pairs(texts, TableRows(out, ((), ()), naming={0}), out, place, titles)
        return
    ruled = next((at for at, row in enumerate(texts) if _is_rule(row)), 0)
    depth = _header_rows(grid, texts, max(marked, ruled if ruled <= _MOST_RULED else 0), width)
    headers = [header_path([line[column] for line in texts[:depth] if column < len(line)]) for column in range(width)]
    table = TableRows(
        out, headers, naming=_naming(grid[depth:], [row for row in texts[depth:] if not _is_rule(row)]), said=said
    )
    unused = {column for column, header in enumerate(headers) if header}
    above: Sequence[Cell] = ()
    for number, row in enumerate(grid[depth:], titles + depth + 1):
        if _is_rule(texts[number - titles - 1]):
            continue
        if len(row) != len(above) or any(one is not other for one, other in zip(row, above, strict=True)):
            _write_row(number, row, above, table, bool(depth), unused, out, place)
        above = row
    if unused:  # headers without values are in no row, but must not be lost; nor those of empty forms
        names = dict.fromkeys(table.names[column] for column in sorted(unused))
        out.add(PARAGRAPH, "; ".join(names), place)
        out.line_above = ""  # it says nothing of the table that follows


def _write_pairs(
    texts: Sequence[Sequence[str]], table: TableRows, out: BlockWriter, place: Place | None, titles: int
) -> None:
    for number, pair in enumerate(texts, titles + 1):
        text = pair_text(pair)
        name = pair[0].rstrip(":： ")
        spans = [(0, 0, len(name))] if name else []
        if len(pair) > 1 and pair[1]:
            spans.append((1, len(text) - len(pair[1]), len(text)))
        table.write(number, text, spans, place, typed=[*map(out.numbers.cell, pair)])


def _is_rule(row: Sequence[str]) -> bool:
    """Return whether a row is a line drawn with signs, as "-----" below the header of a table written as text."""
    filled = [text for text in row if text]
    return len(filled) > 1 and all(len(text) >= _SHORTEST_RULE and not text.strip("-–—=_:+| ") for text in filled)


def _naming(grid: Sequence[Sequence[Cell]], texts: Sequence[Sequence[str]]) -> frozenset[int]:
    """Return the columns that name the rows: those that the file marks, else those that distinguish rows."""
    heads = frozenset(
        at for row in grid[:_LEARNT_ROWS] for at, cell in enumerate(row) if cell.head and cell.text and at < 3
    )
    return heads or naming_columns(texts[:_LEARNT_ROWS])


def joined_down(lines: Sequence[Sequence[tuple[str, int, bool]]]) -> list[list[Cell]]:
    """Return cells with the rows that they cover, from text, columns and whether each continues the cell above.

    A part of a merged cell with text of its own stays a cell.
    """
    begun: dict[int, tuple[int, int]] = {}  # column -> where the cell that may continue is: row, index in it
    rows: list[list[tuple[str, int, int]]] = []
    for line in lines:
        row: list[tuple[str, int, int]] = []
        at = 0
        for text, columns, goes_on in line:
            above = begun.get(at)
            if goes_on and above is not None and (not text or text == rows[above[0]][above[1]][0]):
                whole = rows[above[0]][above[1]]
                rows[above[0]][above[1]] = (whole[0], whole[1] + 1, whole[2])
            else:
                begun[at] = (len(rows), len(row))
                row.append((text, 1, columns))
            at += columns
        rows.append(row)
    return [[Cell(text, down, columns) for text, down, columns in row] for row in rows]


def _write_row(
    number: int, row: Sequence[Cell], above: Sequence[Cell], table: TableRows, headed: bool, unused: set[int],
    out: BlockWriter, place: Place | None,
) -> None:  # fmt: skip
    whole = _whole(row, max(len(row), len(table.names)))
    if whole is not None and len(row) > 1:
        table.write(number, whole.text, [(0, 0, len(whole.text))], place)
        return
    values: list[str] = []
    covered: set[int] = set()
    for column, cell in enumerate(row):
        again = column < len(above) and above[column] is cell
        beside = column > 0 and row[column - 1] is cell
        if again or beside:
            covered.add(column)
        left_out = (again and len(cell.text) > MOST_REPEATED) or (beside and (not headed or len(cell.text) > 100))
        values.append("" if left_out else cell.text)
        if unused and cell.text:
            unused.discard(column)
    typed = table.counted_once(values, [*map(out.numbers.cell, values)], covered)
    table.row(number, values, place, typed=typed, bare=not headed)


def _laid_out(rows: Sequence[Sequence[Cell]], out: BlockWriter, place: Place | None) -> list[list[Cell]]:
    """Return the cell at each position; all positions that a cell covers hold that cell."""
    if all(cell.rows == cell.columns == 1 for cells in rows for cell in cells):
        return [list(cells) for cells in rows]
    grid: list[list[Cell]] = []
    pending: dict[int, tuple[Cell, int]] = {}  # column -> the cell from above, and its remaining rows
    room = _MOST_POSITIONS
    for cells in rows:
        row: list[Cell] = []
        below: dict[int, tuple[Cell, int]] = {}
        todo = list(cells)
        at = 0
        while at < len(todo) or len(row) in pending:
            if len(row) in pending:
                cell, more = pending.pop(len(row))
                if more > 1:
                    below[len(row)] = (cell, more - 1)
                row.append(cell)
                continue
            cell = todo[at]
            at += 1
            columns = min(max(cell.columns, 1), _MOST_COLUMNS)
            down = min(max(cell.rows, 1), len(rows) - len(grid))
            if columns > 1 or down > 1:
                if room < columns * down:
                    out.warn(OTHER, "{count} cells cover more than is written out", 1, [place])
                    columns = down = 1
                room -= columns * down
            for _ in range(columns):
                if len(row) in pending:  # two cells claim the same place
                    break
                if down > 1:
                    below[len(row)] = (cell, down - 1)
                row.append(cell)
        for column, (cell, more) in pending.items():  # right of a shorter row
            if more and column >= len(row):
                row += [_NONE] * (column - len(row)) + [cell]
                if more > 1:
                    below[column] = (cell, more - 1)
        pending = below
        grid.append(row)
    return grid


def _whole(row: Sequence[Cell], width: int) -> Cell | None:
    """Return the cell that covers a whole row of several columns."""
    return row[0] if len(row) == width > 1 and row[0].text and all(cell is row[0] for cell in row) else None


def _pairs(grid: Sequence[Sequence[Cell]], texts: Sequence[Sequence[str]]) -> bool:
    """Return whether each row is a name and its value, not a row below a header."""
    if any(len(row) != 2 for row in grid) or len(grid) < 2:
        return False
    if all(row[0].head and not row[1].head for row in grid):
        return True
    return not any(cell.head for row in grid for cell in row) and are_pairs(texts)


def _header_rows(grid: Sequence[Sequence[Cell]], texts: Sequence[Sequence[str]], marked: int, width: int) -> int:
    """Return how many leading rows are the header; all of them for an empty form."""
    if not grid:
        return 0
    depth = min(marked, len(grid))
    while depth < len(grid) and grid[depth] and all(cell.head or not cell.text for cell in grid[depth]):
        depth += 1
        if depth > 8:  # a table of nothing but header cells
            return 1
    if not depth:
        own = [[cell.text for at, cell in enumerate(row) if not at or row[at - 1] is not cell] for row in grid[:2]]
        grouped = bool(texts[0]) and not texts[0][0] and _grouped(grid[0], width)
        depth = 1 if grouped or header_depth([own[0], *texts[1:]]) else 0
    while 0 < depth < len(grid) - 1 and _goes_on(grid[depth - 1], grid[depth], width):
        depth += 1
    return depth if depth < len(grid) or marked or len(grid) == 1 else 1


def _goes_on(above: Sequence[Cell], row: Sequence[Cell], width: int) -> bool:
    """Return whether a row continues the header above: it only names the columns of groups."""
    new = [(at, cell) for at, cell in enumerate(row) if at >= len(above) or above[at] is not cell]
    if not new:
        return True
    if not _grouped(above, width):
        return False
    under = [cell.text for at, cell in new if at < len(above) and above[at].columns > 1 and cell.text]
    others = [cell.text for at, cell in new if (at >= len(above) or above[at].columns == 1) and cell.text]
    return bool(under) and not others and all(not looks_numeric(text) or looks_like_year(text) for text in under)


def _grouped(row: Sequence[Cell], width: int) -> bool:
    """Return whether a cell covers several columns of a row, but not all."""
    return any(
        cell.text and at + 1 < len(row) and row[at + 1] is cell and cell.columns < width for at, cell in enumerate(row)
    )
