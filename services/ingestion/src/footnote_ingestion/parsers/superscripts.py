"""Superscript digits in documents that mark them: separated from the number or word before them."""

from __future__ import annotations

import re
from collections.abc import Iterable

RAISED = "\x00"
"""Marks superscript text in a list of pieces; `joined` replaces it."""
_BEFORE = re.compile(r"(?<!\w)[^\W\d_]{1,3}\Z")
_FIGURE = re.compile(r"[-−–+]?\d+")
_ABOVE = str.maketrans("0123456789-−–+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻⁻⁺")
_MOST_BEFORE = 8


def starts_as_figure(text: str) -> bool:
    """Return whether a text begins with a digit, after white space."""
    return _FIGURE.match(text.lstrip()) is not None


def joined(pieces: Iterable[str]) -> str:
    """Join pieces of text, without NULs.

    Superscript digits become "m²" after a word as short as a unit, else "102^3", so that they do not extend the number
    before them. "[3]" is separate already.
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
