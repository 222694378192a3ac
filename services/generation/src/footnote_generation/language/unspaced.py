"""Words of a language that puts no spaces between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from footnote_generation.language.grammar import Grammar, load
from footnote_generation.language.quantities import Quantity

_HAN = re.compile(r"[\u3400-\u9fff]+")


@cache
def _lexicon(language: str) -> tuple[re.Pattern[str], frozenset[str]]:
    """Return the pattern of the words known of a language without spaces, and which of them carry no meaning."""
    grammar = load(language)
    if grammar is None:
        raise LookupError(language)
    function = {word for word in grammar.function if _HAN.match(word)}
    signs = {first for first, phrases in grammar.phrases.items() for phrase in phrases if len(phrase.words) == 1}
    known = function | signs | set(grammar.synonyms) | set(grammar.polar) | set(grammar.exclusive) | set(grammar.light)
    known = known.union(*grammar.named.values())
    ordered = sorted((word for word in known if _HAN.match(word)), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, ordered))), frozenset(function)


def cut(text: str, grammar: Grammar, found: Sequence[Quantity]) -> list[tuple[int, int]]:
    """Cut text without spaces at the words known, at quantities and at anything else that is no such letter."""
    known, _ = _lexicon(grammar.code)
    spans: list[tuple[int, int]] = []
    at = 0
    edges = [(item.start, item.end) for item in found] + [(len(text), len(text))]
    for start, end in edges:
        for match in re.finditer(r"[^\W_]+", text[at:start]):
            first, last = at + match.start(), at + match.end()
            if not _HAN.match(match[0]):
                spans.append((first, last))
                continue
            rest = first
            for word in known.finditer(text, first, last):
                if word.start() > rest:
                    spans.append((rest, word.start()))
                spans.append(word.span())
                rest = word.end()
            if rest < last:
                spans.append((rest, last))
        if end > start:
            spans.append((start, end))
        at = end
    return spans
