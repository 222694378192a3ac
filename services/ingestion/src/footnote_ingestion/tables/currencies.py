"""Currencies that a question names, by a sign or a word, and whether a column is counted in one of them."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from functools import lru_cache

from babel import Locale, UnknownLocaleError

from footnote_ingestion.parsers.numbers import CODES
from footnote_ingestion.tables.forms import alike, tokens


class Money:
    """The signs of currencies in a question, and what its words name."""

    def __init__(self, question: str, asked: Sequence[str], language: str) -> None:
        self._signs = {char for char in question if unicodedata.category(char) == "Sc"}
        self._asked, self._language = asked, language
        self._named: set[int] = set()

    def words(self, codes: Collection[str]) -> set[int]:
        """Return the places of words that name one of some currencies."""
        names = {part for code in codes for part in (code.casefold(), *_names(code, self._language))}
        self._named = {at for at, word in enumerate(self._asked) if any(alike(word, part) for part in names)}
        return self._named

    def is_in(self, code: str) -> bool:
        """Return whether a column in a currency, "" for none known, may be what the question's signs and words mean."""
        names = (code.casefold(), *_names(code, self._language))
        if any(not any(alike(self._asked[at], part) for part in names) for at in self._named):
            return False
        # The symbol of CLDR begins with letters where several currencies have a sign: "CA$".
        return not code or all(_symbol(code).endswith(sign) for sign in self._signs)


@lru_cache(maxsize=1024)
def names_currency(word: str, language: str) -> bool:
    """Return whether a folded word is a currency's code, or one of its name in a language."""
    return any(word == code.casefold() or any(alike(word, one) for one in _names(code, language)) for code in CODES)


@lru_cache(maxsize=256)
def _names(code: str, language: str) -> tuple[str, ...]:
    try:
        return tokens(str(Locale.parse(language).currencies.get(code, "")))
    except (UnknownLocaleError, ValueError):
        return ()


@lru_cache(maxsize=64)
def sets_apart_by_space(language: str) -> bool:
    """Return whether a language writes thousands as "12 500", by CLDR."""
    try:
        return str(Locale.parse(language).number_symbols["latn"]["group"]).isspace()
    except (UnknownLocaleError, ValueError):
        return False


@lru_cache(maxsize=256)
def _symbol(code: str) -> str:
    return str(Locale("en").currency_symbols.get(code, code))
