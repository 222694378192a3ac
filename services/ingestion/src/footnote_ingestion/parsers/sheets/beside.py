"""Tables beside one another on a sheet: their columns, and the captions above their headers."""

from __future__ import annotations

from collections.abc import Sequence

from footnote_ingestion.parsers.sheets.kinds import filled_cells, kind_of
from footnote_ingestion.parsers.tables import is_day, looks_numeric


def tables_beside(own: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """Return the column ranges of tables separated by blank columns, each with row names; none for one table."""
    width = max((len(row) for row in own), default=0)
    filled = [any(column < len(row) and row[column] for row in own) for column in range(width)]
    parts: list[tuple[int, int]] = []
    for column in range(width):
        if filled[column] and (not column or not filled[column - 1]):
            end = next((at for at in range(column, width) if not filled[at]), width)
            parts.append((column, end))
    if len(parts) < 2 or not all(_stands_alone(own, start, end) for start, end in parts):
        return []
    return parts


def captions(own: Sequence[Sequence[str]], parts: Sequence[tuple[int, int]]) -> Sequence[str]:
    """Return the captions of adjacent tables if the row above their headers has one for each; else empty ones."""
    header = next(
        (at for at, row in enumerate(own) if all(filled_cells(row[start:end]) > 1 for start, end in parts)), 0
    )
    above = own[header - 1] if header else ()
    captions = [above[start] for start, _ in parts if start < len(above)]
    if filled_cells(above) != len(parts) or len(set(captions) - {""}) != len(parts):
        return [""] * len(parts)
    return captions


def _stands_alone(own: Sequence[Sequence[str]], start: int, end: int) -> bool:
    """Return whether columns are a table by themselves: a header over rows that begin with names."""
    rows = [row[start:end] for row in own if any(row[start:end])]
    full = [row for row in rows if filled_cells(row) > 1]
    if end - start < 2 or len(full) < 3:
        return False
    texts = sum(kind_of(row[0]) == "t" or is_day(row[0]) for row in full[1:])
    return bool(full[0][0]) and not any(map(looks_numeric, full[0])) and texts * 2 > len(full)
