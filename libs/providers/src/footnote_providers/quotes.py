"""Takes quoted texts out of a provider's error messages, which reach logs, stored failures and answers."""

import re
from collections.abc import Sequence

_RUN = 20
"""Letters and digits in a row that a message and a text do not share by chance."""
_SHORTEST = 8
_WORD = re.compile(r"[^\W_]+")
# A letter or digit, or an escape as JSON and Python write it.
_WRITTEN = re.compile(r"\\{1,8}(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|[a-zA-Z])?|([^\W_])")


def before_quote(message: str, texts: Sequence[str]) -> str:
    """Return a message up to where it quotes one of the texts, with "…" for the rest.

    A quote is 20 letters and digits in a row, or the whole of a shorter text of several words. Case, escapes and what
    stands between the letters do not matter.
    """
    letters: list[str] = []
    starts: list[int] = []
    for match in _WRITTEN.finditer(message):
        code = match[1] or match[2]
        char = chr(int(code, 16)) if code else match[3] or ""
        for letter in char.casefold() if char.isalnum() else "":
            letters.append(letter)
            starts.append(match.start())
    said = "".join(letters)
    runs: dict[str, int] = {}
    for at in range(len(said) - _RUN + 1):
        runs.setdefault(said[at : at + _RUN], at)
    first = min((_first(said, runs, text) for text in texts), default=len(said))
    return message if first == len(said) else f"{message[: starts[first]].rstrip()}…"


def _first(said: str, runs: dict[str, int], text: str) -> int:
    """Return where a message first quotes a text; its length if it does not."""
    words = _WORD.findall(text)
    sent = "".join(words).casefold()
    if len(sent) >= _RUN:
        return min(runs.get(sent[at : at + _RUN], len(said)) for at in range(len(sent) - _RUN + 1))
    at = said.find(sent) if len(words) > 1 and len(sent) >= _SHORTEST else -1
    return at if at >= 0 else len(said)
