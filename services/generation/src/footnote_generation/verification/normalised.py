"""Texts as comparable tokens, without typographic differences.

White space, quotation marks, dashes, commas, hyphens at line ends, character width, digits' script and grouping are
ignored.
Words, their order, digits, a minus directly before a number and signs count: "<", "€", "%"; of pictures only those that
deny or point up or down: "✗", "▲". A box to tick, "[ ]", counts as "☐", and a ticked one before a text not at all.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Set
from functools import lru_cache
from typing import NamedTuple

from footnote_kit.memoise import memoised
from footnote_text.digits import latin_digits
from footnote_text.lexical import is_unspaced

# Marks belong to the letter before them: decomposed accents, the vowels of Indic scripts. Variation selectors do not.
_MARKS = "".join(
    chr(code)
    for code in (*range(0x300, 0xFE00), *range(0xFE10, 0xFE30))
    if unicodedata.category(chr(code)) in {"Mn", "Mc"}
)
_LETTERS = rf"[^\W\d_]++(?:[{_MARKS}]++[^\W\d_]*+)*+"
_BLANK = r"[ \u00a0\u202f\u2009]"
_TOKEN = re.compile(
    rf"""(?x)
      (?P<open_box>\[[ ]\]) | (?P<ticked_box>(?m:^)\[[xX]\](?=[ \t]++\S))
    | (?P<number>\d{{1,3}}(?:{_BLANK}\d{{3}})+(?![\d])(?:[.,]\d+)?|\d+(?:[.,:'’]\d+)*|(?<![\w.,)])\.\d+)
    | (?P<word>{_LETTERS}(?:['’]\s?{_LETTERS}|-\n\s*[a-zß-ÿ{_MARKS}]+)*)
    | (?P<minus>
        (?:(?<![^\s([{{（「“„"'«‚:：=<>≤≥≈~|*_/$£¥₹])|(?<=\d[eE]))[-−－–](?=(?:(?P<money>[^\w\s]){_BLANK}?)?\.?\d)
        # "BBB-", but neither "A-levels" nor a word that goes on in the next line
      | (?<=[A-Z])[-‐‑−–](?![\w-]|\s*\n)
        # "(1,250)" of accounts, not "(2024)" or "(5 €)"
      | [(（](?=\d{{1,3}}(?:[.,'’ \u00a0\u202f\u2009]\d{{3}})+(?:[.,]\d+)?[)）]))
    | (?P<sign>[^\w\s])"""
)
_SIGNS = frozenset("%％‰°&§@^~/")
"""Those that count although Unicode does not call them mathematical or money."""
_TYPOGRAPHY = frozenset("|｜−∙⋅～™℠")
"""Symbols that are only another writing of a dash, a dot or the border of a cell, or a mark of rights."""
_DENYING = ({"BALLOT"}, {"MULTIPLICATION"}, {"CROSS", "MARK"}, {"NO"}, {"THUMBS", "DOWN"}, {"WHITE", "SQUARE"})
_POINTING = (
    {"UP", "TRIANGLE"},
    {"DOWN", "TRIANGLE"},
    {"UPWARDS", "ARROW"},
    {"DOWNWARDS", "ARROW"},
    {"NORTH", "ARROW"},
    {"SOUTH", "ARROW"},
)
"""Words in Unicode's names of pictures that deny or leave open, ✗ ❌ ⛔ ☐ □, or that point up or down."""
BULLETS = "◦→⇒\u25a0\u25a3-\u25b1\u25b6-\u25bb\u25c0-\u25ff\u2794\u2798-\u27be"
"""Shapes and arrows that begin a list item, as characters of a pattern; not "□" and "▲", which say something."""
_SAME = str.maketrans("−⁄∕", "-//")
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
    text = latin_digits(text)
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        kind = match.lastgroup
        written = unicodedata.normalize("NFKC", match[0])
        if kind == "open_box":
            found.append(Token("☐", start, end))
        elif kind == "number":
            found.append(Token(_number(written, decimal), start, end))
            if len(found) > 1 and _is_money(found[-2].text) and found[-2].end + 1 >= start:
                found[-2:] = [found[-1], found[-2]]  # "€45" is "45 €"
        elif kind == "word" and is_unspaced(written[0]):
            for one in _CHARACTER.finditer(text, start, end):
                found.append(Token(unicodedata.normalize("NFKC", one[0]), one.start(), one.end()))
        elif kind == "word":
            found.append(Token(_HYPHEN.sub("", written).replace("’", "'").replace("\u00ad", ""), start, end))
        elif kind == "minus":
            if match["money"] is None or _is_money(match["money"]):
                found.append(Token("-", start, end))
        elif _counts(text, start):
            for piece in _PIECE.findall(written.translate(_SAME)):  # "㎡", "℃", "㌔"
                found += [Token(part, start, end) for part in (piece if is_unspaced(piece[0]) else [piece])]
    return tuple(found)


_CHARACTER = re.compile(rf"(?s:.)[{_MARKS}\uff9e\uff9f]*")
_PIECE = re.compile(r"\w+|[^\w\s]")


def _is_money(sign: str) -> bool:
    return len(sign) == 1 and unicodedata.category(sign) == "Sc"


def _counts(text: str, at: int) -> bool:
    """Return whether a sign of a text says something: "✗" does, "✓" and a quotation mark do not."""
    sign = text[at]
    if sign == "!":
        return text[at + 1 : at + 2] == "="
    if sign in "′″‴":
        return text[at - 1 : at].isdigit()  # feet and inches, minutes and seconds
    if sign in _TYPOGRAPHY:
        return False
    category = unicodedata.category(sign)
    return sign in _SIGNS or category in {"Sm", "Sc"} or (category == "So" and _says(sign))


@lru_cache(maxsize=1024)
def _says(picture: str) -> bool:
    """Return whether a picture is letters ("㎎"), denies or points up or down; "✅", "👉" and "★" only decorate."""
    if unicodedata.normalize("NFKC", picture) != picture:
        return True
    return _is_named(picture, *_DENYING, *_POINTING)


def denies(picture: str) -> bool:
    """Return whether a character is a picture that denies or leaves open: "❌", "☐"."""
    return unicodedata.category(picture) == "So" and _is_named(picture, *_DENYING)


def _is_named(picture: str, *names: Set[str]) -> bool:
    words = set(unicodedata.name(picture, "").replace("-", " ").split())
    return "CHECK" not in words and any(some <= words for some in names)


def _number(written: str, decimal: str) -> str:
    """Return a numeral without its groups and with "." as decimal sign, as far as its form shows them."""
    if written.startswith("."):
        return f"0{written}"
    bare = _GROUPED.sub("", written)
    group = "," if decimal == "." else "."
    parts = bare.split(group)
    if len(parts) > 1 and 1 <= len(parts[0]) <= 3 and all(len(part.split(decimal)[0]) == 3 for part in parts[1:]):
        bare = "".join(parts)
    return bare.replace(",", ".")


def folded(found: tuple[Token, ...]) -> tuple[str, ...]:
    """Return the texts of tokens, ignoring case."""
    return tuple(token.text.casefold() for token in found)
