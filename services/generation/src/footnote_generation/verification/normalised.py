"""Texts as comparable tokens, without typographic differences.

White space, quotation marks, dashes, bullets, commas, hyphens at line ends, character width and digit grouping are
ignored. Words, their order, digits, currency and percent signs count.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from footnote_kit.memoise import memoised
from footnote_text.lexical import is_unspaced

_TOKEN = re.compile(
    r"""(?x)
      (?P<number>\d{1,3}(?:[ \u00a0\u202f\u2009]\d{3})+(?![\d])(?:[.,]\d+)?|\d+(?:[.,:'’]\d+)*)
    | (?P<word>[^\W\d_]+(?:['’]\s?[^\W\d_]+|-\n\s*[a-zß-ÿ]+)*)
    | (?P<sign>[%％‰°℃<>≤≥=+±×÷/&§@^~€$£¥₹])
    | (?P<minus>(?<![\w)])[-−](?=\d))"""
)
_MONEY = frozenset("€$£¥₹")
_GROUPED = re.compile(r"(?<=\d)[ \u00a0\u202f\u2009'’](?=\d{3})")
_HYPHEN = re.compile(r"-\n\s*")
_TOKEN_BYTES = 120


class Token(NamedTuple):
    """A normalised word, number or sign, and its place."""

    text: str
    start: int
    end: int


@memoised(2 * 2**20, lambda found: _TOKEN_BYTES * len(found))
def tokens(text: str, decimal: str = ".") -> tuple[Token, ...]:
    """Return the tokens of a text; `decimal` is the decimal sign of the text's language."""
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        written = unicodedata.normalize("NFKC", match[0])
        if match.lastgroup == "number":
            found.append(Token(_number(written, decimal), start, end))
            if len(found) > 1 and found[-2].text in _MONEY and found[-2].end + 1 >= start:
                found[-2:] = [found[-1], found[-2]]  # "€45" is "45 €"
        elif match.lastgroup == "word" and is_unspaced(written[0]):
            found += [Token(written[at - start], at, at + 1) for at in range(start, start + len(written))]
        elif match.lastgroup == "word":
            found.append(Token(_HYPHEN.sub("", written).replace("’", "'").replace("\u00ad", ""), start, end))
        else:
            found.append(Token("-" if match.lastgroup == "minus" else written, start, end))
    return tuple(found)


def _number(written: str, decimal: str) -> str:
    """Return a numeral without its groups and with "." as decimal sign, as far as its form shows them."""
    bare = _GROUPED.sub("", written)
    group = "," if decimal == "." else "."
    parts = bare.split(group)
    if len(parts) > 1 and 1 <= len(parts[0]) <= 3 and all(len(part.split(decimal)[0]) == 3 for part in parts[1:]):
        bare = "".join(parts)
    return bare.replace(",", ".")


def folded(found: tuple[Token, ...]) -> tuple[str, ...]:
    """Return the texts of tokens, ignoring case."""
    return tuple(token.text.casefold() for token in found)
