"""Which rows of a table without values name the rows below them that are not indented."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from footnote_ingestion.parsers.pdf.grids import Row
from footnote_ingestion.parsers.pdf.names import DEEPER

_EMPTY_LINE = 0.5
"""How much wider than usual a gap between two rows is if an empty line is in it, as a fraction of the rows' height."""
_LEAST_BLOCKS = 2


def note_blocks(rows: Sequence[Row]) -> None:
    """Mark the rows that have an empty line above them, and those that name the rows as far as the next such one.

    A table has at least two blocks, and each but the first begins after an empty line: else nothing would tell where
    one ends, and a total below the last block would be named by it.
    """
    gaps = [_bottom(above) - _top(row) for above, row in pairwise(rows)]
    if not gaps:
        return
    usual = sorted(gaps)[len(gaps) // 2]
    height = sorted(_top(row) - _bottom(row) for row in rows)[len(rows) // 2]
    for row, gap in zip(rows[1:], gaps, strict=True):
        row.apart = gap > usual + _EMPTY_LINE * height
    named = [row for row, below in pairwise(rows) if _names_block(row, below)]
    if len(named) >= _LEAST_BLOCKS and all(row.apart for row in named if row is not rows[0]):
        for row in named:
            row.block = True


def _names_block(row: Row, below: Row) -> bool:
    """Return whether a row has only a name, and the next one, directly below it, begins at the same place."""
    return not _has_values(row) and _has_values(below) and not below.apart and abs(row.indent - below.indent) <= DEEPER


def _has_values(row: Row) -> bool:
    return any(cell.text for cell in row.cells[1:])


def _top(row: Row) -> float:
    return max(cell.top for cell in row.cells if cell.text)


def _bottom(row: Row) -> float:
    return min(cell.bottom for cell in row.cells if cell.text)
