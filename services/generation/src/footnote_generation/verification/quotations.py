"""Quotations in a text that go beyond one sentence: who speaks is said before or after, not in each sentence."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter

_CLOSED_BY = {
    "“": "”", "„": "“”\"", '"': '"', "”": "”", "«": "»", "»": "«»", "「": "」", "『": "』"
}  # fmt: skip
_MARK = re.compile(r"[“”„\"«»「」『』]|\n[ \t]*+\n")

Quotations = Sequence[tuple[int, int]]
"""Where quotations open and close, in order, each the place of its mark."""


def find(text: str) -> Quotations:
    """Return the quotations of a text that are closed within their paragraph; marks of inches are none."""
    found: list[tuple[int, int]] = []
    opened = -1
    for match in _MARK.finditer(text):
        mark, at = match[0], match.start()
        if mark not in _CLOSED_BY and mark not in "」』":
            opened = -1
        elif opened >= 0 and mark in _CLOSED_BY[text[opened]] and not (mark == '"' and _opens(text, at)):
            found.append((opened, at))
            opened = -1
        elif (opened < 0 or (mark == '"' and text[opened] == '"')) and mark in _CLOSED_BY and _opens(text, at):
            opened = at
    return found


def _opens(text: str, at: int) -> bool:
    if text[at] in "„«「『":
        return True
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    return after.isalnum() and (text[at] == "“" or not (before.isalnum() or before in set(".,!?…。，！？")))


def holds(quotations: Quotations, start: int, end: int) -> bool:
    """Return whether a sentence begins inside a quotation, or opens one that goes on after it."""
    at = bisect_right(quotations, start, key=itemgetter(0)) - 1
    opened, closed = quotations[at] if at >= 0 else (start, start)
    return opened < start < closed or (opened == start and closed >= end)
