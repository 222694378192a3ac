"""Recognises a question about a named file as a whole: "What is in policy.txt?", "Summarise policy.txt"."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from footnote_text import intents
from footnote_text.lexical import fold

from footnote_retrieval.query.files import NamedFile, words_of_name

_LONGEST = 300  # characters; a longer question says what it seeks


def asks_for_whole(query: str, named: Sequence[NamedFile]) -> bool:
    """Return whether a question names files and nothing to look for in them.

    Besides the names it has only what `intents.seeks_nothing` allows. A name alone is such a question.
    """
    if not named or len(query) > _LONGEST:
        return False
    text = fold(query)
    for file in named:
        text = text.replace(fold(file.filename), " ")
    names = set(chain.from_iterable(words_of_name(file.filename) for file in named))
    rest = " ".join(word for word in intents.plain(text).split() if word not in names)
    return intents.seeks_nothing(rest)
