"""Figures above the line in documents that mark them so: parted from the number or the word before them."""

from __future__ import annotations

import re
from collections.abc import Iterable

RAISED = "\x00"
"""Stands in pieces of text before what is raised; `joined` says what becomes of it."""
_BEFORE = re.compile(r"(?<!\w)[^\W\d_]{1,3}\Z")
_FIGURE = re.compile(r"[-−–+]?\d+")
_ABOVE = str.maketrans("0123456789-−–+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻⁻⁺")
_MOST_BEFORE = 8


def starts_as_figure(text: str) -> bool:
    """Tell whether a text begins with a figure, white space before it aside."""
    return _FIGURE.match(text.lstrip()) is not None


def joined(pieces: Iterable[str]) -> str:
    """Return pieces of text as one, NULs left out.

    Raised figures: "m²" after a word as short as a unit, "102^3" after all else, so that they make no other number of
    what is before them; "[3]" is parted already.
    """
    made: list[str] = []
    last = ""
    for piece in pieces:
        raised = piece.startswith(RAISED)
        text = piece.replace(RAISED, "")
        if raised and last[-1:].strip() and (figure := _FIGURE.match(text)):
            is_unit = _BEFORE.search(last) and figure.end() == len(text)
            text = text.translate(_ABOVE) if is_unit else f"^{text}"
        if text:
            made.append(text)
            last = (last + text)[-_MOST_BEFORE:]
    return "".join(made)
