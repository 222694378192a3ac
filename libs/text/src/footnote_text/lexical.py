"""Language-aware search terms, produced the same way for documents and queries.

The terms are stored as text separated by spaces, so that the engine's analyzer only has to split at spaces.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache
from itertools import chain, repeat
from operator import add

import Stemmer
from footnote_kit.memoise import memo_dict

from footnote_text.digits import latin_digits
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
# Signs that are in no term when they stand before or after a word.
_SIGNS = "!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~’“”„«»…–—"
_UNSPACED_CHAR = re.compile(f"[{UNSPACED}]")
_TATWEEL = "\u0640"
# Accents that no letter includes, vowel signs of Hebrew and Arabic, and the stroke that lengthens an Arabic word.
_OPTIONAL = "".join(chr(code) for code in range(0x300, 0x700) if unicodedata.category(chr(code)) == "Mn") + _TATWEEL
_OPTIONAL_MARKS = re.compile(f"[{_OPTIONAL}]++")
_APOSTROPHE = re.compile("['’ʼ]")
_ELIDED_WORDS = """l d j m t s n c qu jusqu lorsqu puisqu quoiqu presqu quelqu entr un dell all nell sull dall coll
quest quell"""
_ELIDED = frozenset(_ELIDED_WORDS.split())
_LETTERS_DIGITS = re.compile(r"(?<=[^\W\d_]{2})(?=\d{3})")
_LONE = {"ø": "o", "đ": "d", "ð": "d", "ł": "l", "ı": "i", "œ": "oe", "æ": "ae", "þ": "th", "ħ": "h"}


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
    """Unify compatibility forms, fold case and remove accents and vowel signs: "Ｃａｆé" and "CAFE" give "cafe"."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    folded = _OPTIONAL_MARKS.sub("", folded)
    return "".join(char if char.isascii() else _fold_char(char) for char in folded)


class _Stemmers(threading.local):
    """Stemmers by language, of one thread: they keep state and are not safe to share."""

    def __init__(self) -> None:
        self.by_language: dict[str, Stemmer.Stemmer] = {}


_stemmers = _Stemmers()


def _stem(word: str, language: str) -> str:
    stemmer = _stemmers.by_language.get(language)
    if stemmer is None:
        if language not in _STEMMERS:
            return word
        stemmer = _stemmers.by_language[language] = Stemmer.Stemmer(_STEMMERS[language], 0)
    return str(stemmer.stemWord(word))


@lru_cache(maxsize=16)
def _stop_words(language: str) -> frozenset[str]:
    words = STOP_WORDS.get(language, frozenset())
    return words | frozenset(fold(word) for word in words)


@lru_cache(maxsize=20_000)
def _word_terms(word: str, language: str) -> tuple[str, ...]:
    """Return the terms of one compatibility-normalised and case-folded word."""
    stop_words = _stop_words(language)
    if word.isalpha() and "ʼ" not in word:
        return () if word in stop_words else tuple(_piece_terms(word, language))
    return tuple(term for one in _pieces(word) if one not in stop_words for term in _piece_terms(one, language))


def _pieces(word: str) -> list[str]:
    """Return the parts of a word with apostrophes or underscores, without elided articles and a possessive "s"."""
    parts = [part for part in _APOSTROPHE.split(word) if part]
    if len(parts) > 1:
        if parts[0] in _ELIDED:
            parts = parts[1:]
        if len(parts) > 1 and parts[-1] == "s":
            parts = parts[:-1]
    return [piece for part in parts for piece in part.replace("_", " ").split()]


def _piece_terms(piece: str, language: str) -> list[str]:
    plain = fold(piece[:_MAX_WORD])
    if not plain.isalpha() and any(char.isdigit() for char in plain):
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
    normal = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold().replace(_TATWEEL, "")
    # No term crosses white space, and most stretches between white space are already cached.
    return list(chain.from_iterable(map(_terms_of_stretches.__getitem__, zip(normal.split(), repeat(language)))))


def _stretch_terms(stretch: str, language: str) -> tuple[str, ...]:
    """Return the terms of normalised text without white space."""
    word = stretch.strip(_SIGNS)
    if word.isalpha() and (word.isascii() or not _UNSPACED_CHAR.search(word)):
        return _word_terms(word, language)  # most stretches
    if not word.isascii():
        stretch = latin_digits(_OPTIONAL_MARKS.sub("", stretch))
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
            result.extend(map(add, value, value[1:]))
    return tuple(result)


def _is_short(stretch: tuple[str, str]) -> bool:
    return len(stretch[0]) <= _MAX_KEPT


@memo_dict(50_000, _is_short)
def _terms_of_stretches(stretch: tuple[str, str]) -> tuple[str, ...]:
    return _stretch_terms(*stretch)


def lexical_text(text: str, language: str = "") -> str:
    """Join the terms of a text with spaces, for the BM25 column and for queries of it."""
    return " ".join(terms(text, language))


def is_unspaced(char: str) -> bool:
    """Return whether a character belongs to a script without spaces between words."""
    return _UNSPACED_CHAR.match(char) is not None


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text, separated by white space."""
    return frozenset(text.split())
