"""What the cells of a sheet's row are: figures, years, texts or nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from footnote_ingestion.parsers.tables import is_range, looks_like_year, looks_numeric

_ABSENT = frozenset(
    {"-", "–", "—", "−", "..", "...", "…", ":", "n/a", "N/A", "na", "NA", "n.a.", "x", "X", "*", ".", "k. A."}
)
_ERRORS = frozenset({"#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A", "#GETTING_DATA"})
"""Errors in the place of values (ECMA-376 part 1, 18.17.3)."""
_NOTED_YEAR = re.compile(r"(?:19|20)[0-9]{2} ?[0-9]{1,2}\)(?:, ?[0-9]{1,2}\))*+")


def kind_of(text: str) -> str:
    """Return "" for empty cells and placeholders, "y" for years, "n" for other figures and errors, "t" for texts."""
    if not text or text in _ABSENT or text.replace(" ", "") in _ABSENT:
        return ""
    if is_range(text):
        return "t"
    if looks_like_year(text) or _NOTED_YEAR.fullmatch(text):  # "20171)" is 2017 with a raised mark of a note
        return "y"
    return "n" if looks_numeric(text) or text in _ERRORS else "t"


def filled_cells(row: Sequence[str]) -> int:
    """Return the number of non-empty cells of a row."""
    return len(row) - row.count("")
