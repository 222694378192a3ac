"""Parts of a sheet before a blank row that may be the header, or its beginning, of the rows that follow."""

from __future__ import annotations

from collections.abc import Sequence

from footnote_ingestion.parsers.sheets.headers import counts_columns
from footnote_ingestion.parsers.sheets.kinds import filled_cells
from footnote_ingestion.parsers.tables import is_range, looks_numeric

_HEADER_ALONE = 8
_HEADER_WITHOUT_MERGES = 3


def may_head(own: Sequence[Sequence[str]], merged: Sequence[bool], *, kept: bool) -> bool:
    """Return whether rows before a blank row may be a header, below titles, of rows that follow.

    More than a few must be `kept` above the rest by the file, or group their columns by `merged` cells.
    """
    if len(own) > _HEADER_ALONE:
        return False
    first = len(own)
    while first and _may_name(own[first - 1]):
        first -= 1
    if not kept and not all(merged[first:-_HEADER_WITHOUT_MERGES]):
        return False
    return max(map(filled_cells, own[first:]), default=0) > 2 and all(filled_cells(row) < 3 for row in own[:first])


def names_more(own: Sequence[Sequence[str]], above: Sequence[Sequence[str]]) -> bool:
    """Return whether a single row has more cells than the row above the blank row: names below their groups."""
    return len(own) == 1 and filled_cells(own[0]) > filled_cells(above[-1])


def _may_name(row: Sequence[str]) -> bool:
    """Return whether a row may name columns: several texts and years, or a count of the columns."""
    if filled_cells(row) < 2:
        return False
    return counts_columns(row) or not any(looks_numeric(text) and len(text) != 4 and not is_range(text) for text in row)
