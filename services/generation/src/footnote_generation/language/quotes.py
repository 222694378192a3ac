"""Finds a quote in a source despite different white space, quotation marks, dashes and case."""

from __future__ import annotations

import unicodedata

_SAME = {
    **dict.fromkeys("‘’‚‛`´′", "'"),
    **dict.fromkeys("“”„‟«»″", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
}
_AROUND = " \"'.…*_"
_SHORTEST = 4  # letters and digits; shorter quotes occur everywhere


def find(quote: str, text: str) -> tuple[int, int] | None:
    """Return the offsets of a quote in a text, None if it is missing or too short."""
    wanted = "".join(char for char, _ in _plain(quote)).strip(_AROUND)
    if sum(char.isalnum() for char in wanted) < _SHORTEST:
        return None
    plain = _plain(text)
    begin = "".join(char for char, _ in plain).find(wanted)
    if begin < 0:
        return None
    return plain[begin][1], plain[begin + len(wanted) - 1][1] + 1


def _plain(text: str) -> list[tuple[str, int]]:
    """Return the normalised characters of a text, each with its origin; white space becomes one space."""
    result: list[tuple[str, int]] = []
    for index, char in enumerate(text):
        if char.isspace():
            if result and result[-1][0] != " ":
                result.append((" ", index))
            continue
        for one in unicodedata.normalize("NFKC", _SAME.get(char, char)).casefold():
            result.append((_SAME.get(one, one), index))
    return result
