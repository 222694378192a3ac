"""Digits of every script as ASCII ones, so that "٥٠٠" and "５００" are compared as 500."""

from __future__ import annotations

import re
import unicodedata

_FOREIGN = re.compile(r"[^\D0-9]|[\u066a-\u066c]")
_ARABIC_SIGNS = {"\u066a": "%", "\u066b": ".", "\u066c": ","}


def latin_digits(text: str) -> str:
    """Write a text's decimal digits in ASCII, and the Arabic percent, decimal and thousands signs as "%", "." and ",".

    Each character becomes one, so that places in the text stay the same.
    """
    return text if text.isascii() else _FOREIGN.sub(_latin, text)


def _latin(found: re.Match[str]) -> str:
    return _ARABIC_SIGNS.get(found[0]) or str(unicodedata.decimal(found[0]))
