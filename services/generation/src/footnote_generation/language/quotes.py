"""Finding a quote in a source as people and models copy it: with other white space, quotation marks, dashes, case."""

from __future__ import annotations

import unicodedata

_SAME = {
    **dict.fromkeys("‘’‚‛`´′", "'"),
    **dict.fromkeys("“”„‟«»″", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
}
_AROUND = " \"'.…*_"
_SHORTEST = 4  # letters and digits; less stands everywhere


def find(quote: str, text: str) -> tuple[int, int] | None:
    """Return where a quote stands in a text, None where it does not or is too short to tell; offsets into the text."""
    wanted = "".join(char for char, _ in _plain(quote)).strip(_AROUND)
    if sum(char.isalnum() for char in wanted) < _SHORTEST:
        return None
    plain = _plain(text)
    begin = "".join(char for char, _ in plain).find(wanted)
    if begin < 0:
        return None
    return plain[begin][1], plain[begin + len(wanted) - 1][1] + 1


def _plain(text: str) -> list[tuple[str, int]]:
    """Return the characters of a text made alike, each with where it comes from; white space as one blank."""
    result: list[tuple[str, int]] = []
    for index, char in enumerate(text):
        if char.isspace():
            if result and result[-1][0] != " ":
                result.append((" ", index))
            continue
        for one in unicodedata.normalize("NFKC", _SAME.get(char, char)).casefold():
            result.append((_SAME.get(one, one), index))
    return result
