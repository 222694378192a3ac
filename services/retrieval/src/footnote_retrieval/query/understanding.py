"""Query analysis: language, quoted phrases, search terms, and the strategy for AUTO."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from footnote.types.v1.collection_pb2 import SearchStrategy
from footnote.types.v1.reasons_pb2 import (
    SEARCH_STRATEGY_REASON_CONFIGURED,
    SEARCH_STRATEGY_REASON_KEYWORDS,
    SEARCH_STRATEGY_REASON_LONG_QUESTION,
    SEARCH_STRATEGY_REASON_NOTHING_SPECIAL,
    SEARCH_STRATEGY_REASON_QUOTED_TERMS,
    SEARCH_STRATEGY_REASON_VECTOR_AND_WORDS,
    SEARCH_STRATEGY_REASON_VECTOR_ONLY,
    SearchStrategyChoice,
)
from footnote_store.filters import conjunction
from footnote_text import language as languages
from footnote_text.abbreviations import spelled_out
from footnote_text.lexical import fold, is_unspaced, terms
from footnote_text.stopwords import STOP_WORDS

from footnote_retrieval.ports import SEMANTIC_WEIGHT

_QUOTED = re.compile(r"\"([^\"\n]{2,200}+)\"|“([^”\n]{2,200}+)”|«\s?([^»\n]{2,200}+)»|„([^“”\n]{2,200}+)[“”]")
_WORD = re.compile(r"\w+(?:[-'’.]\w+)*")
_ASKING = """what who whom whose which when where why how is are does do did can quel quelle quels quelles qui quoi que
quand où pourquoi comment combien est wer was wie wo wann warum welche quién qué cuál cómo cuándo dónde chi cosa quale
come quando dove quem qual como onde wat welke waar wanneer hoe"""
_QUESTION_WORDS = frozenset(fold(_ASKING).split())
_KEYWORDS = 2
_OTHER_LANGUAGES = 2


@dataclass(frozen=True, slots=True)
class Query:
    """An analysed query."""

    text: str
    language: str
    phrases: tuple[str, ...]
    words: int

    @property
    def is_question(self) -> bool:
        """Whether it is a question rather than keywords."""
        first = fold(self.text).split()[:1]
        return "?" in self.text or "？" in self.text or (bool(first) and first[0] in _QUESTION_WORDS)


def understand(text: str, language: str = "", expected: Sequence[str] = ()) -> Query:
    """Find language and quoted phrases; `expected` are the collections' languages, most frequent first."""
    found = language.lower()[:2] or languages.detect(text, expected) or (expected[0] if expected else "")
    phrases = quoted(text)
    # Scripts without spaces have no countable words; their bigrams show how long a question is.
    words = len(terms(text, "")) if any(map(is_unspaced, text)) else len(_WORD.findall(text))
    return Query(text, found, phrases, words)


def quoted(text: str) -> tuple[str, ...]:
    """Return the quoted texts, in order."""
    found = (next(group for group in match.groups() if group).strip() for match in _QUOTED.finditer(text))
    return tuple(phrase for phrase in found if phrase)


def lexical_query(query: Query, expected: Sequence[str] = ()) -> str:
    """Return the search terms, in the query's language and in the collections' other languages.

    Abbreviations are expanded beside themselves. A stop word of the query's language is left out of the other
    languages' terms.
    """
    found = terms(query.text, query.language)
    known = set(found)

    def add(more: Sequence[str]) -> None:
        fresh = [term for term in more if term not in known]
        found.extend(fresh)
        known.update(fresh)

    for spelled in spelled_out(query.text, query.language):
        add(terms(spelled, query.language))
    others = [code for code in expected if code != query.language][:_OTHER_LANGUAGES]
    if others:
        stop = STOP_WORDS.get(query.language, frozenset())
        content = " ".join(word for word in query.text.split() if fold(word.strip('?!.,;:«»"')) not in stop)
        for code in others:
            add(terms(content, code))
    return " ".join(found)


def holding_phrases(query: Query) -> str:
    """Return a filter that requires each phrase as a run of whole search terms, so that inflection does not matter.

    No search term holds a quote, a wildcard of `like` or its escape.
    """
    runs = [" ".join(terms(phrase, query.language)) for phrase in query.phrases]
    return conjunction([_holding(run) for run in runs if run])


def _holding(run: str) -> str:
    """Return a filter for a run of terms alone, first, last, and inside."""
    places = (f'== "{run}"', f'like "{run} %"', f'like "% {run}"', f'like "% {run} %"')
    return " or ".join(f"lexical_text {place}" for place in places)


def choose(
    query: Query, wanted: SearchStrategy.ValueType, dense_weight: float, long_words: int
) -> tuple[SearchStrategy.ValueType, SearchStrategyChoice]:
    """Return the strategy, never AUTO, with the reason. `dense_weight` is the provider's recommendation."""
    if wanted not in {SearchStrategy.SEARCH_STRATEGY_UNSPECIFIED, SearchStrategy.SEARCH_STRATEGY_AUTO}:
        return wanted, SearchStrategyChoice(reason=SEARCH_STRATEGY_REASON_CONFIGURED)
    if query.phrases:
        quoted = SearchStrategyChoice(reason=SEARCH_STRATEGY_REASON_QUOTED_TERMS)
        return SearchStrategy.SEARCH_STRATEGY_FULLTEXT, quoted
    if query.words <= _KEYWORDS and not query.is_question and terms(query.text, query.language):
        return SearchStrategy.SEARCH_STRATEGY_FULLTEXT, SearchStrategyChoice(reason=SEARCH_STRATEGY_REASON_KEYWORDS)
    if query.words >= long_words and dense_weight >= SEMANTIC_WEIGHT:
        long = SearchStrategyChoice(reason=SEARCH_STRATEGY_REASON_LONG_QUESTION, query_words=query.words)
        return SearchStrategy.SEARCH_STRATEGY_VECTOR, long
    return SearchStrategy.SEARCH_STRATEGY_HYBRID, SearchStrategyChoice(reason=SEARCH_STRATEGY_REASON_NOTHING_SPECIAL)


def choose_with_vector(
    query: Query, wanted: SearchStrategy.ValueType
) -> tuple[SearchStrategy.ValueType, SearchStrategyChoice]:
    """Return the strategy for a search by the caller's own vector, never AUTO or FULLTEXT, with the reason."""
    if not query.text.strip():
        return SearchStrategy.SEARCH_STRATEGY_VECTOR, SearchStrategyChoice(reason=SEARCH_STRATEGY_REASON_VECTOR_ONLY)
    if wanted == SearchStrategy.SEARCH_STRATEGY_VECTOR:
        return wanted, SearchStrategyChoice(reason=SEARCH_STRATEGY_REASON_CONFIGURED)
    return SearchStrategy.SEARCH_STRATEGY_HYBRID, SearchStrategyChoice(reason=SEARCH_STRATEGY_REASON_VECTOR_AND_WORDS)
