"""Which rows of a table without values name the rows below them that are not indented."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from footnote_ingestion.parsers.pdf.grids import Row
from footnote_ingestion.parsers.pdf.names import DEEPER
from footnote_ingestion.parsers.pdf.rulings import Rule, Rulings, joined_pieces

_EMPTY_LINE = 0.5
"""How much wider than usual a gap between two rows is if an empty line is in it, as a fraction of the rows' height."""
_TOUCHING = 0.3
_LEAST_NAMED = 2


def note_blocks(rows: Sequence[Row], across: Sequence[Rule]) -> None:
    """Mark the rows with an empty line or a line across the table above them, and those that name the rows up to one.

    A table has several blocks, and each but the first begins at such a line: else nothing would tell where one ends,
    and a total below the last block would be named by it. A single name is the first row: it is the table's own.
    """
    gaps = [_bottom(above) - _top(row) for above, row in pairwise(rows)]
    if not gaps:
        return
    usual = sorted(gaps)[len(gaps) // 2]
    height = sorted(_top(row) - _bottom(row) for row in rows)[len(rows) // 2]
    drawn = _drawn_above(rows, across, height)
    for at, (row, gap) in enumerate(zip(rows[1:], gaps, strict=True), start=1):
        row.apart = gap > usual + _EMPTY_LINE * height or at in drawn
    named = [row for at, row in enumerate(rows[:-1]) if _names_block(row, rows[at + 1 : at + 3])]
    if len(named) == 1:
        _note_own_name(rows, named[0])
    elif all(row.apart for row in named if row is not rows[0]):
        for row in named:
            row.block = True


def note_sums(rows: Sequence[Row], rules: Rulings, size: float) -> None:
    """Mark the rows that have a drawn line above their values and a row with values above it."""
    for above, row in pairwise(rows):
        values = [cell for cell in row.cells[1:] if cell.text]
        over = [cell.bottom for cell in above.cells[1:] if cell.text]
        if values and over:
            low, high = max(cell.top for cell in values) - 0.5 * size, min(over) + 0.5 * size
            row.sums = any(
                low < rule.at < high and rule.start < values[-1].right and rule.end > values[-1].left
                for rule in rules.across
            )


def _note_own_name(rows: Sequence[Row], name: Row) -> None:
    """Mark a table's only name without values if it is above all others and no item of a table with empty cells."""
    below = rows[1 : _LEAST_NAMED + 1]
    filled = [sum(bool(cell.text) for cell in row.cells[1:]) for row in rows]
    if name is not rows[0] or len(below) < _LEAST_NAMED or any(row.apart for row in below):
        return
    if filled[1] < max(filled) or not all(filled[1:]):
        return
    name.block = True
    end = next((row for row in rows if row.apart), name)
    end.apart = end.apart and not end.sums  # a sum below a gap is that of the block


def _drawn_above(rows: Sequence[Row], across: Sequence[Rule], height: float) -> set[int]:
    """Return the rows that have a line across the whole table above them; none if most have one, as in a grid."""
    cells = [cell for row in rows for cell in row.cells if cell.text]
    left, right = min(cell.left for cell in cells) + height, max(cell.right for cell in cells) - height
    whole = [rule.at for rule in joined_pieces(across, height) if rule.start < left and rule.end > right]
    if not whole:
        return set()
    near = _TOUCHING * height
    found = {
        at
        for at, (above, row) in enumerate(pairwise(rows), start=1)
        if any(_top(row) - near < place < _bottom(above) + near for place in whole)
    }
    return found if 2 * len(found) < len(rows) else set()


def _names_block(row: Row, below: Sequence[Row]) -> bool:
    """Return whether a row has only a name, and the next one, directly below it, begins at the same place.

    The next one has values, or it is the name of indented rows.
    """
    first, *second = below
    if _has_values(row) or first.apart or abs(row.indent - first.indent) > DEEPER:
        return False
    return _has_values(first) or any(_has_values(one) and one.indent > first.indent + DEEPER for one in second)


def _has_values(row: Row) -> bool:
    return any(cell.text for cell in row.cells[1:])


def _top(row: Row) -> float:
    return max(cell.top for cell in row.cells if cell.text)


def _bottom(row: Row) -> float:
    return min(cell.bottom for cell in row.cells if cell.text)
