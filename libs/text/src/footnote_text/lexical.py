"""Language-aware search terms, produced the same way for documents and queries.

The terms are stored as text separated by spaces, so that the engine's analyzer only has to split at spaces.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache
from itertools import chain, repeat

import Stemmer

from footnote_text.scripts import UNSPACED
from footnote_text.stopwords import STOP_WORDS

_STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "es": "spanish", "et": "estonian", "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali",
    "nl": "dutch", "no": "norwegian", "nb": "norwegian", "nn": "norwegian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip

_MAX_TERM = 64
_MAX_GROUPS = 20
_MAX_KEPT = 32
# Characters of a word that are read; only the first 64 of its stem are kept anyway.
_MAX_WORD = 256

# Scripts written without spaces between words become bigrams.
_TOKEN = re.compile(
    rf"(?P<unspaced>[{UNSPACED}]++)"
    # 1,577.0 or 3,5: one number. Bounded, because otherwise "1,1,1,…a" would be read to its end from each digit.
    rf"|(?P<number>\d++(?:[.,]\d++){{1,{_MAX_GROUPS}}}+(?![\d.,]{{0,{_MAX_TERM}}}+[^\W\d]))"
    r"|(?P<acronym>(?:[^\W\d_]\.){2,}(?:[^\W\d_](?!\w))?)"
    # Marks of the Indic scripts belong to the word although \w excludes them; the danda is punctuation.
    rf"|(?P<word>(?:(?![{UNSPACED}])[\w\u0900-\u0963\u0966-\u0dff])++"
    rf"(?:['’ʼ](?:(?![{UNSPACED}])\w)++)*+)"
)
_UNSPACED_CHAR = re.compile(f"[{UNSPACED}]")
_APOSTROPHE = re.compile("['’ʼ]")
_ELIDED_WORDS = """l d j m t s n c qu jusqu lorsqu puisqu quoiqu presqu quelqu entr un dell all nell sull dall coll
quest quell"""
_ELIDED = frozenset(_ELIDED_WORDS.split())
_LETTERS_DIGITS = re.compile(r"(?<=[^\W\d_]{2})(?=\d{3})")
_LONE = {"ø": "o", "đ": "d", "ð": "d", "ł": "l", "ı": "i", "œ": "oe", "æ": "ae", "þ": "th", "ħ": "h"}
_local = threading.local()


@lru_cache(maxsize=4096)
def _fold_char(char: str) -> str:
    """Return a lower-case character without its accent; it stays where marks form other letters, as in kana."""
    if char in _LONE:
        return _LONE[char]
    decomposed = unicodedata.normalize("NFD", char)
    base = decomposed[0]
    if base != char and unicodedata.name(base, "").startswith(("LATIN", "GREEK", "CYRILLIC")):
        return base
    return char


def fold(text: str) -> str:
    """Unify compatibility forms, fold case and remove accents: "Ｃａｆé" and "CAFE" both give "cafe"."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return "".join(char if char.isascii() else _fold_char(char) for char in folded)


def _stem(word: str, language: str) -> str:
    name = _STEMMERS.get(language)
    if name is None:
        return word
    # Stemmer objects keep state and are not safe to share between threads.
    stemmers: dict[str, Stemmer.Stemmer] = _local.__dict__.setdefault("stemmers", {})
    if name not in stemmers:
        stemmers[name] = Stemmer.Stemmer(name, 0)
    return str(stemmers[name].stemWord(word))


@lru_cache(maxsize=16)
def _stop_words(language: str) -> frozenset[str]:
    words = STOP_WORDS.get(language, frozenset())
    return words | frozenset(fold(word) for word in words)


@lru_cache(maxsize=20_000)
def _word_terms(word: str, language: str) -> tuple[str, ...]:
    """Return the terms of one compatibility-normalised and case-folded word."""
    parts = [part for part in _APOSTROPHE.split(word) if part]
    if len(parts) > 1:
        if parts[0] in _ELIDED:
            parts = parts[1:]
        if len(parts) > 1 and parts[-1] == "s":
            parts = parts[:-1]
    terms: list[str] = []
    for part in parts:
        for piece in part.replace("_", " ").split():
            if piece in _stop_words(language):
                continue
            terms.extend(_piece_terms(piece, language))
    return tuple(terms)


def _piece_terms(piece: str, language: str) -> list[str]:
    plain = fold(piece[:_MAX_WORD])
    if any(char.isdigit() for char in plain):
        # "fy2019" must also be found as "2019".
        halves = _LETTERS_DIGITS.split(plain)
        return [plain[:_MAX_TERM]] + ([half[:_MAX_TERM] for half in halves] if len(halves) > 1 else [])
    return [fold(_stem(plain, language))[:_MAX_TERM]]


def _number_term(text: str) -> str:
    groups = re.split("[.,]", text)
    if "," in text and all(len(group) == 3 for group in groups[1:]) and "." not in text:
        return "".join(groups)  # 1,577,000
    if "," in text and "." in text:
        last = max(text.rfind(","), text.rfind("."))
        return re.sub("[.,]", "", text[:last]) + "." + text[last + 1 :]
    if text.count(".") > 1 or text.count(",") > 1:
        return text.replace(",", ".")
    return text.replace(",", ".")


def terms(text: str, language: str = "") -> list[str]:
    """Return the search terms of a text in order: folded, elisions split, stop words dropped, stemmed; CJK bigrams.

    `language` is an ISO 639-1 code; with an unknown or empty one, words are folded only. Works for any input string.
    """
    language = language.lower()[:2]
    normal = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
    # No term crosses white space, and most stretches between white space are already cached.
    stretches = normal.split()
    if max(map(len, stretches), default=0) <= _MAX_KEPT:
        return list(chain.from_iterable(map(_kept_terms, stretches, repeat(language))))
    result: list[str] = []
    for stretch in stretches:
        result += _kept_terms(stretch, language) if len(stretch) <= _MAX_KEPT else _stretch_terms(stretch, language)
    return result


@lru_cache(maxsize=50_000)
def _kept_terms(stretch: str, language: str) -> tuple[str, ...]:
    return tuple(_stretch_terms(stretch, language))


def _stretch_terms(stretch: str, language: str) -> list[str]:
    """Return the terms of normalised text without white space."""
    result: list[str] = []
    for match in _TOKEN.finditer(stretch):
        kind = match.lastgroup
        value = match.group()
        if kind == "word":
            result.extend(_word_terms(value, language))
        elif kind == "number":
            result.append(_number_term(value)[:_MAX_TERM])
        elif kind == "acronym":
            result.append(fold(value.replace(".", ""))[:_MAX_TERM])
        elif len(value) == 1:
            result.append(value)
        else:
            result.extend(value[i : i + 2] for i in range(len(value) - 1))
    return result


def lexical_text(text: str, language: str = "") -> str:
    """Join the terms of a text with spaces, for the BM25 column and for queries of it."""
    return " ".join(terms(text, language))


def is_unspaced(char: str) -> bool:
    """Return whether a character belongs to a script without spaces between words."""
    return _UNSPACED_CHAR.match(char) is not None
