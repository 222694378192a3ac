"""The signs and word lists that all parts of the Chinese judgement share."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from importlib import resources

HAN = "\u4e00-\u9fff"
YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
TURN = re.compile(r"第[一二三四五六七八九十百\d]+[届任次位季部]")
_MODEL_GAP = re.compile(r"(?<=[a-z])[\s\-\u2010-\u2015]+(?=\d)")


@cache
def listed(key: str) -> tuple[str, ...]:
    """Return the lines of a key of the word list."""
    text = (resources.files(__package__) / "words.txt").read_text(encoding="utf-8")
    return tuple(line.partition(":")[2].strip() for line in text.splitlines() if line.startswith(f"{key}:"))


def plain(text: str) -> str:
    """Return a text as names are compared: one width, small letters, "MIX 2" and "mix-2" written "mix2"."""
    return _MODEL_GAP.sub("", unicodedata.normalize("NFKC", text).lower())


def bare(text: str) -> str:
    """Return a text as titles are compared: plain, without spaces and punctuation."""
    return re.sub(r"\W+", "", plain(text))


def pairs(text: str) -> frozenset[str]:
    """Return every two neighbouring characters, or a single one."""
    return frozenset(text[i : i + 2] for i in range(len(text) - 1)) or frozenset([text])
