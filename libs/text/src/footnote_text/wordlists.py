"""Word lists written as running text."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text, separated by white space."""
    return frozenset(text.split())
