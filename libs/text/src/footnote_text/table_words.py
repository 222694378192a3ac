"""Words by which a question asks for a computation over tables: a total, an average, the largest, a comparison."""

from __future__ import annotations

import re
from functools import lru_cache

from footnote_text import locales
from footnote_text.lexical import fold, is_unspaced

_FORMS = (
    "total", "average", "count", "highest", "lowest", "per", "above", "below", "at_least", "at_most", "comparison",
    "distinct", "share",
)  # fmt: skip
_WORD = re.compile(r"[^\W_]+")
_MOST = 5


def table_words(question: str) -> list[str]:
    """Return the first words of a question that ask for a computation, in any locale; most questions have none."""
    folded = fold(question)
    words = dict.fromkeys(_WORD.findall(folded))
    return [phrase for phrase in _phrases() if _has(phrase, folded, words)][:_MOST]


def _has(phrase: str, folded: str, words: dict[str, None]) -> bool:
    if is_unspaced(phrase[0]):
        return phrase in folded
    return all(
        any(word.startswith(part[:-1]) for word in words) if part.endswith("*") else part in words
        for part in phrase.split()
    )


@lru_cache(maxsize=1)
def _phrases() -> tuple[str, ...]:
    tables = [locales.choose(code).tables for code in locales.codes()]
    return tuple(dict.fromkeys(fold(phrase) for one in tables for form in _FORMS for phrase in getattr(one, form)))
