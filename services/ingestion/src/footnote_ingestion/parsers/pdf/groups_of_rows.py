"""Which rows of a table with values of their own are groups: the rows indented below them are their parts.

Indentation alone does not show it: additions below an opening balance are indented, and so are totals.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from footnote_ingestion.parsers.pdf.grids import Row
from footnote_ingestion.parsers.pdf.names import DEEPER

_LEAST = 2
"""Least number of a group's parts, and of columns in which the values agree: one may agree by chance."""
_MOST_PARTS = 100
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?")


def note_groups(rows: Sequence[Row]) -> None:
    """Mark the rows whose values are the sum, or lie between the least and greatest, of the rows indented below."""
    for at, row in enumerate(rows):
        parts = _parts(row, rows[at + 1 : at + 1 + _MOST_PARTS])
        row.group = len(parts) >= _LEAST and _agree(row, parts)


def _parts(row: Row, below: Sequence[Row]) -> list[Row]:
    """Return the rows directly below that are indented to the same place; deeper ones belong to those."""
    parts: list[Row] = []
    for one in below:
        if one.indent <= row.indent + DEEPER or one.apart or one.sums or not any(cell.text for cell in one.cells[1:]):
            break
        if not parts or abs(one.indent - parts[0].indent) <= DEEPER:
            parts.append(one)
        elif one.indent < parts[0].indent:
            return []
    return parts if all(_is_set_left(part, row) for part in parts) else []


def _is_set_left(part: Row, row: Row) -> bool:
    """Return whether a name is right of another by its beginning: names flush right or centred are not indented."""
    name, other = part.cells[0], row.cells[0]
    if not name.text or not other.text:
        return False
    return abs(name.right - other.right) > DEEPER and abs(name.left + name.right - other.left - other.right) > DEEPER


def _agree(row: Row, parts: Sequence[Row]) -> bool:
    """Return whether the values agree in each of at least two columns."""
    agreeing = 0
    for column in range(1, len(row.cells)):
        whole = _number(row.cells[column].text)
        values = [value for part in parts if (value := _number(part.cells[column].text)) is not None]
        if whole is None or len(values) < _LEAST:
            continue
        rounding = 0.005 * abs(whole)
        is_sum = abs(sum(values) - whole) <= rounding
        is_between = min(values) >= 0 and min(values) - rounding <= whole <= max(values) + rounding
        if not is_sum and not is_between:
            return False
        agreeing += 1
    return agreeing >= _LEAST


def _number(text: str) -> float | None:
    """Return the number of a cell; one with a decimal comma is read as too large in each row alike."""
    plain = text.replace(",", "").replace(" ", "")
    found = _NUMBER.search(plain)
    if found is None:
        return None
    return -float(found[0]) if plain[: found.start()].endswith(("(", "-", "−", "–")) else float(found[0])
