"""Counts tokens: exactly if the cl100k_base vocabulary is available, else by an estimate that errs upwards."""

from __future__ import annotations

import hashlib
import math
import os
import re
import string
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from footnote_kit.memoise import memo_dict

if TYPE_CHECKING:
    from tiktoken import Encoding

_ENCODING = "cl100k_base"
# tiktoken stores the vocabulary under the SHA-1 of its address, and would download a missing or damaged file.
# Checking first means that this module never waits for a network.
_CACHE_KEY = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"

_PIECE = re.compile(r"\S{1,400}\s*|\s+")
_PIECE_CHARS = 20_000
_ESTIMATE = re.compile(
    r"(?P<lower>[A-Z]?[a-z]+)|(?P<upper>[A-Z]+)|(?P<digits>\d+)|(?P<newlines>[\r\n]+)|(?P<space>[ \t]+)"
    r"|(?P<ascii>[!-/:-@\[-`{-~]+)|(?P<latin>[\u00a0-\u024f]+)|(?P<script>(?:(?!\d)[\u0370-\u06ff])+)"
    r"|(?P<dense>[\u3000-\u9fff\uac00-\ud7a3]+)|(?P<other>[\s\S])"
)
# Characters of ASCII that cost the same, so that few different stretches remain.
_ALIKE = bytes.maketrans(
    f"{string.ascii_lowercase}{string.ascii_uppercase}{string.digits}{string.punctuation}\r".encode(),
    b"a" * 26 + b"A" * 26 + b"0" * 10 + b"." * 32 + b"\n",
)
# The cost of a blank depends on the text after it, so it belongs to that stretch.
_STRETCH = re.compile(r"[ \t]*[^ \t]+|[ \t]+")
_MAX_KEPT = 32
_UNITS = 20


def _cache_file() -> Path | None:
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            folder = os.environ[variable]
            return Path(folder) / _CACHE_KEY if folder else None
    return Path(tempfile.gettempdir()) / "data-gym-cache" / _CACHE_KEY


@lru_cache(maxsize=1)
def _encoding() -> Encoding | None:
    path = _cache_file()
    try:
        if path is None or hashlib.sha256(path.read_bytes()).hexdigest() != _SHA256:
            return None
    except OSError:
        return None
    import tiktoken

    return tiktoken.get_encoding(_ENCODING)


def tokenizer_name() -> str:
    """Return the counting method: "cl100k_base" or "estimate"."""
    return _ENCODING if _encoding() is not None else "estimate"


def estimate(text: str) -> int:
    """Count tokens without a vocabulary; in practice never below the true cl100k_base count."""
    text = text.encode(errors="surrogatepass").translate(_ALIKE).decode(errors="surrogatepass")
    # No token of the estimate crosses blanks, and most stretches between them are already cached.
    if "  " in text or "\t" in text:
        total = sum(map(_costs.__getitem__, _STRETCH.findall(text)))
    else:
        first, *others = text.split(" ")
        total = _costs[first] + sum(map(_costs_after_space.__getitem__, others))
    return -(-total // _UNITS)


def _cost(stretch: str) -> int:
    """Return a stretch's cost in fractions of a token that keep the sum exact."""
    total = 0
    for match in _ESTIMATE.finditer(stretch):
        kind = match.lastgroup
        length = match.end() - match.start()
        if kind == "lower" and length <= 4 and match.start() and stretch[match.start() - 1].isdigit():
            total += _UNITS * length  # letters between digits, as in a checksum, are not words
        elif kind == "lower":
            total += _UNITS if length <= 4 else _UNITS + (length - 1) * (_UNITS // 5 if length <= 12 else _UNITS // 4)
        elif kind in ("upper", "newlines"):
            total += _UNITS * math.ceil(length / 2)
        elif kind == "digits":
            total += _UNITS * math.ceil(length / 3)
        elif kind == "space":
            total += 0 if length == 1 else _UNITS * math.ceil(length / 8)
            # A word includes the white space before it in its token, a sign only a space, a number none. At the end
            # any text may follow: a text must not cost more than the parts that it is cut into.
            after = stretch[match.end() : match.end() + 1]
            if not after or after.isdigit() or (stretch[match.end() - 1] == "\t" and not after.isalpha()):
                total += _UNITS
        elif kind == "ascii":
            total += _UNITS * length
        elif kind == "latin":
            total += _UNITS * 17 // 10 * length
        elif kind == "script":
            total += _UNITS * 11 // 10 * length
        elif kind == "dense":
            total += _UNITS * 2 * length
        else:
            total += _UNITS * len(match.group().encode(errors="replace"))
    return total


def _is_short(stretch: str) -> bool:
    return len(stretch) <= _MAX_KEPT


_costs = memo_dict(20_000, _is_short)(_cost)


@memo_dict(20_000, _is_short)
def _costs_after_space(word: str) -> int:
    return _cost(f" {word}")


def count(text: str) -> int:
    """Count cl100k_base tokens, or `estimate` them if the vocabulary is unavailable; safe for any string."""
    if not text:
        return 0
    encoding = _encoding()
    if encoding is None:
        return estimate(text)
    if len(text) <= _PIECE_CHARS and (len(text) < 400 or not re.search(r"\S{400}", text)):
        return len(encoding.encode_ordinary(text))
    # The encoder takes quadratic time on very long unbroken runs, so they are cut; that can only add tokens.
    total = 0
    buffer: list[str] = []
    size = 0
    for match in _PIECE.finditer(text):
        piece = match.group()[:_PIECE_CHARS]
        buffer.append(piece)
        size += len(piece)
        if size >= _PIECE_CHARS or len(piece.rstrip()) == 400:
            total += len(encoding.encode_ordinary("".join(buffer)))
            buffer, size = [], 0
    return total + len(encoding.encode_ordinary("".join(buffer)))


def truncate_to(text: str, budget: int) -> str:
    """Return the longest prefix that costs at most `budget` tokens, cut at a word boundary if one is near."""
    if budget <= 0:
        return ""
    return text if len(text) <= 32 * budget and count(text) <= budget else _search(text, budget)


def _search(text: str, budget: int) -> str:
    # A token is at most a few dozen characters of running text; this bound keeps the counting short.
    low, high = 0, min(len(text), budget * 32)
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[:middle]) <= budget:
            low = middle
        else:
            high = middle - 1
    cut = text[:low]
    if low < len(text) and not text[low].isspace():
        space = max(cut.rfind(" "), cut.rfind("\n"))
        if space > low - 40 and space > 0:
            cut = cut[:space]
    cut = cut.rstrip()
    while cut and count(cut) > budget:  # tokens can merge differently at the new end
        cut = cut[:-1]
    return cut
