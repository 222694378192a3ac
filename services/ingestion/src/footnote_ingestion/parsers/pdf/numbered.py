"""Takes the numbers of columns, "1, 2, 3 = 1 + 2", which a table has below their headers, out of these."""

from __future__ import annotations

import re
from collections.abc import Sequence

from footnote_ingestion.parsers.pdf.grids import cell_of
from footnote_ingestion.parsers.pdf.groups import Columns, Part
from footnote_ingestion.parsers.pdf.stacked import Piece

_NUMBER = re.compile(r"[(\[]?(\d{1,3})[)\]]?(?!\d)(?:\s*=.*)?")
"""The number of a column, or with the sum that it is of others: "6= (7 to 13)"."""
_LEAST = 3


def without_numbers(
    stub: Sequence[Piece], parts: Sequence[list[Part]], columns: Columns
) -> tuple[list[Piece], list[list[Part]], list[str]]:
    """Return the headers of names and columns without a row that numbers all of them, and that row as one text.

    The row begins with 1 over the names, or over the first column, and every column has a header above it. Words below
    a number that is not alone continue it; with others below it, the row is a header like grades or months.
    """
    for at, row in enumerate(parts):
        own = [_number(part.piece) for part in row]
        names = [piece for piece in stub if row and _is_level(piece, row[0].piece)]
        first = 1 + len(names)
        if (
            at == 0
            or len(row) < max(_LEAST, len(columns))
            or own != list(range(first, first + len(row)))
            or [(part.first, part.last) for part in row] != [(one, one + 1) for one in range(len(row))]
            or [_number(piece) for piece in names] != list(range(1, first))
            or not _are_headed(parts[:at], len(columns))
        ):
            continue
        alone = {part.first for part in row if cell_of(part.piece.words).text.strip("()[]").isdecimal()}
        below = [part for rest in parts[at + 1 :] for part in rest]
        if any(part.first in alone or part.last > part.first + 1 for part in below):
            continue
        texts = [cell_of(piece.words).text for piece in names]
        for part in row:
            more = [one.piece for one in below if one.first == part.first]
            texts.append(" ".join(cell_of(piece.words).text for piece in (part.piece, *more)))
        kept = [piece for piece in stub if not any(piece is one for one in names)]
        return kept, list(parts[:at]), ["; ".join(texts)]
    return list(stub), list(parts), []


def _number(piece: Piece) -> int:
    """Return the number of a column; 0 for other words."""
    found = _NUMBER.fullmatch(cell_of(piece.words).text)
    return int(found[1]) if found else 0


def _are_headed(rows: Sequence[Sequence[Part]], count: int) -> bool:
    """Return whether every column has a header of its own, not only that of a group."""
    return {part.first for row in rows for part in row if part.last == part.first + 1} == set(range(count))


def _is_level(piece: Piece, other: Piece) -> bool:
    return min(piece.top, other.top) - max(piece.bottom, other.bottom) > 0.5 * (other.top - other.bottom)
