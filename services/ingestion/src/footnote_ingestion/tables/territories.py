"""Countries and regions by the names of Unicode's CLDR: a table has "Germany", a question "Deutschland"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from babel import Locale, UnknownLocaleError
from footnote_text import locales

from footnote_ingestion.tables import forms

_LONGEST = 6
"""The most words of a name."""


def named(asked: Sequence[str], at: int, language: str) -> tuple[str, int]:
    """Return the territory that the longest name beginning at a place is, and its end; "" for none."""
    names = _names(language)
    for end in range(min(at + _LONGEST, len(asked)), at, -1):
        if (code := names.get(tuple(asked[at:end]))) is not None:
            return code, end
    return "", at


@lru_cache(maxsize=4096)
def territory_of(text: str) -> str:
    """Return the territory that a text names in any locale, "" for none, or for several."""
    found = {code for one in locales.codes() if (code := _names(one).get(forms.tokens(text)))}
    return found.pop() if len(found) == 1 else ""


@lru_cache(maxsize=64)
def _names(language: str) -> Mapping[tuple[str, ...], str]:
    try:
        territories = Locale.parse(language).territories
    except (UnknownLocaleError, ValueError):
        return {}
    # Codes in figures are of continents and groups of countries.
    return {forms.tokens(name): code for code, name in territories.items() if code.isalpha()}
