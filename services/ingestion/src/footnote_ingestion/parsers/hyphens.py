"""Joins words that are hyphenated at a line's end."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_LAST_FRAGMENT = re.compile(r"(?<![^\W\d_])[^\W\d_]++$")
_FIRST_FRAGMENT = re.compile(r"[^\W\d_]+")


def words_of(text: str) -> set[str]:
    """Return the words of a document as written, with inner hyphens, in lower case."""
    return set(_WORD.findall(text.lower()))


def mend(text: str, part: str, vocabulary: set[str]) -> str:
    """Join a word split at a line's end; the hyphen stays if the document has that word with it elsewhere."""
    before, after = _LAST_FRAGMENT.search(text), _FIRST_FRAGMENT.match(part)
    if before is None or after is None:
        return f"{text}-{part}"
    whole = (before[0] + after[0]).lower()
    hyphenated = f"{before[0]}-{after[0]}".lower()
    keep = hyphenated in vocabulary and whole not in vocabulary
    if not keep and whole not in vocabulary:  # "CO-" + "Author", "Transformer-" + "XL": capitals are not hyphenation
        keep = after[0][0].isupper() and not before[0].isupper()
    return f"{text}-{part}" if keep else text + part
