"""Positions of a query's terms in passages, found once for all steps of a ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

Found: TypeAlias = tuple[tuple[int, ...], ...]
"""For each term, in order, its start positions in a passage, in characters."""
_NOWHERE: tuple[int, ...] = ()


class Occurrences:
    """Finds the terms of one query in passages, each distinct term once, and caches the positions.

    Searching for a handful of terms is quicker than splitting a passage into some hundred.
    """

    def __init__(self, query: Sequence[str]) -> None:
        self.terms = tuple(dict.fromkeys(query))
        self._needles = tuple(f" {term} " for term in self.terms)
        self._found: dict[str, Found] = {}

    def of(self, passage: str) -> Found:
        """Return the positions of the terms in a passage's search terms, joined by spaces."""
        found = self._found.get(passage)
        if found is None:
            found = self._found[passage] = self._look(f" {passage} ")
        return found

    def _look(self, padded: str) -> Found:
        """Search a passage that has an extra space at both ends."""
        found = []
        for needle in self._needles:
            at = padded.find(needle)
            if at < 0:
                found.append(_NOWHERE)
                continue
            places = []
            while at >= 0:
                places.append(at)
                at = padded.find(needle, at + 1)
            found.append(tuple(places))
        return tuple(found)
