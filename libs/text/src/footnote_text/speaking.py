"""In which locale a message is answered."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from footnote_text import language, locales, signals
from footnote_text.locales import Locale

_EXPECTED = ("en", "fr")  # as for every short question; another language is taken where the words say so


def is_greeting(message: str) -> bool:
    """Whether a message is a greeting or thanks of some locale and nothing else."""
    return _greeted(message) is not None


def locale_of(message: str, *asked: str) -> Locale:
    """Return the locale of the first name asked for that has one, else the message's, else the default.

    Greetings and thanks are known as whole messages: two words say too little of their language.
    """
    named = next((found for name in asked if (found := locales.known(name)) is not None), None)
    return named or _greeted(message) or locales.choose(language.detect(message, _EXPECTED))


def is_thanks(message: str) -> bool:
    """Whether there are words of thanks in a message, in any locale."""
    return any(signals.has(message, locales.choose(code).signals.thanks) for code in locales.codes())


_LONGEST = 60


def _greeted(message: str) -> Locale | None:
    if len(message) > _LONGEST:
        return None
    code = _greetings().get(signals.plain(message))
    return locales.choose(code) if code is not None else None


@cache
def _greetings() -> Mapping[str, str]:
    """Return the locale of each greeting and thanks; what several say is the first one's."""
    found: dict[str, str] = {}
    for code in locales.codes():
        own = locales.choose(code).signals
        for phrase in (*own.greetings, *own.thanks):
            found.setdefault(signals.plain(phrase), code)
    return found
