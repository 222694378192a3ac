"""Chooses the default embedder of new collections, and explains the choice in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from footnote_providers import builtin
from footnote_providers.e5 import files
from footnote_providers.e5.provider import MODEL
from footnote_providers.settings import AUTO, DefaultSettings

E5 = "e5"
BUILTIN = builtin.BuiltinEmbeddings.id
_WORDS = "New collections are searched with the built-in vectors, which know words and not meaning"


@dataclass(frozen=True, slots=True)
class Choice:
    """An embedder's id, and a sentence about the choice, without a full stop."""

    provider: str
    words: str


def choose(defaults: DefaultSettings, may_use: Callable[[str], bool] = lambda _: True) -> Choice:
    """Return the default of new collections; `may_use` returns whether the operator's policy allows an id."""
    if defaults.provider != AUTO:
        if defaults.provider == BUILTIN:
            return Choice(BUILTIN, f"{_WORDS}, as FOOTNOTE_EMBEDDING_PROVIDER says")
        words = f"New collections are embedded by {defaults.provider}, as FOOTNOTE_EMBEDDING_PROVIDER says"
        return Choice(defaults.provider, words)
    if defaults.model or defaults.dimensions:
        return Choice(BUILTIN, f"{_WORDS}: a model or its dimensions are set and no provider")
    if not files.installed():
        return Choice(BUILTIN, f"{_WORDS}: pip install 'footnote[e5]' brings a model that does")
    if not may_use(E5):
        return Choice(BUILTIN, f"{_WORDS}: the operator's policy does not allow e5")
    return Choice(E5, f"New collections are searched by meaning in about 100 languages: {MODEL}, on this machine")
