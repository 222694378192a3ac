"""Chooses the locale in which to answer a message."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from footnote_text import intents, language, locales
from footnote_text.locales import Locale

_LETTER, _LATIN = re.compile(r"[^\W\d_]"), re.compile("[A-Za-z]")
_LONGEST = 60
_EXPECTED = ("en", "fr")  # as for every short question; another language is chosen when the words show it


def is_greeting(message: str) -> bool:
    """Return whether a message is only a greeting or thanks, in any locale."""
    return _greeted(message) is not None


def locale_of(message: str, *asked: str) -> Locale:
    """Return the locale of the first known name in `asked`, else the message's, else the default.

    Greetings and thanks are matched as whole messages, because two words reveal too little of their language.
    """
    named = next((found for name in asked if (found := locales.known(name)) is not None), None)
    return named or _greeted(message) or locales.choose(_language(message))


def _language(message: str) -> str:
    """Return the language of a message; where its words alone do not show one, by its question word or its letters."""
    found = language.detect(message, _EXPECTED)
    if (found and found not in _EXPECTED) or len(message) > _LONGEST or language.detect(message):
        return found
    asking = [code for code in locales.codes() if intents.has(message, locales.choose(code).signals.asking)]
    if len(asking) == 1:
        return asking[0]
    return language.likeliest(message) if _LETTER.search(message) and not _LATIN.search(message) else found


def is_thanks(message: str) -> bool:
    """Return whether a message contains words of thanks, in any locale."""
    return any(intents.has(message, locales.choose(code).signals.thanks) for code in locales.codes())


def _greeted(message: str) -> Locale | None:
    if len(message) > _LONGEST:
        return None
    code = _greetings().get(intents.plain(message))
    return locales.choose(code) if code is not None else None


@cache
def _greetings() -> Mapping[str, str]:
    """Return the locale of each greeting and thanks; the first locale wins a phrase shared by several."""
    found: dict[str, str] = {}
    for code in locales.codes():
        own = locales.choose(code).signals
        for phrase in (*own.greetings, *own.thanks):
            found.setdefault(intents.plain(phrase), code)
    return found
