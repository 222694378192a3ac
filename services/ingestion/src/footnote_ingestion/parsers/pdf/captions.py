"""What begins the caption of a table or a figure: "Table 3:", "Abb. 2.1 –", "TABLE IV", "表 7.5"."""

from __future__ import annotations

import re

_CAPTION = re.compile(
    r"(?:(?P<table>(?i:tables?|tabelle|tableau|tabla|tabella|tabela|tab)\.?\s|表)"
    r"|(?:(?i:figures?|abbildung|figura|fig|abb)\.?\s|图))\s*+"
    r"(?:[A-Z]{0,2}[.-]?\d{1,3}(?:[.-]\d{1,3}){0,4}[a-z]?+|[IVX]{1,6}|[A-Z])(?![^\W\d_])"
    r"(?P<ended>\s?[.:|–—])?"
)


def is_caption(text: str) -> bool:
    """Tell whether a line begins as captions do: what it is and its number, be it in a sentence about it."""
    return _CAPTION.match(text) is not None


def is_of_table(text: str) -> bool:
    """Tell whether a line begins as the caption of a table does."""
    found = _CAPTION.match(text)
    return found is not None and found["table"] is not None


def is_set_apart(text: str) -> bool:
    """Tell whether a sign parts the number of a caption from its words, as in no sentence: "Table 3: Costs"."""
    found = _CAPTION.match(text)
    return found is not None and found["ended"] is not None
