"""Recognises the beginning of a table's or figure's caption: "Table 3:", "Abb. 2.1 –", "TABLE IV", "表 7.5"."""

from __future__ import annotations

import re

_CAPTION = re.compile(
    r"(?:(?P<table>(?i:tables?|tabelle|tableau|tabla|tabella|tabela|tab)\.?\s|表)"
    r"|(?:(?i:figures?|abbildung|figura|fig|abb)\.?\s|图))\s*+"
    r"(?:[A-Z]{0,2}[.-]?\d{1,3}(?:[.-]\d{1,3}){0,4}[a-z]?+|[IVX]{1,6}|[A-Z])(?![^\W\d_])"
    r"(?P<ended>\s?[.:|–—])?"
)


def is_caption(text: str) -> bool:
    """Return whether a line begins like a caption, with a kind and a number; so may a sentence about the figure."""
    return _CAPTION.match(text) is not None


def is_of_table(text: str) -> bool:
    """Return whether a line begins as the caption of a table does."""
    found = _CAPTION.match(text)
    return found is not None and found["table"] is not None


def is_set_apart(text: str) -> bool:
    """Return whether a sign separates a caption's number from its words, unlike in a sentence: "Table 3: Costs"."""
    found = _CAPTION.match(text)
    return found is not None and found["ended"] is not None
