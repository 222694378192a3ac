"""Statements that stand in a source word for word."""

from __future__ import annotations

import re
from collections.abc import Sequence

from footnote_kit.memoise import kept

from footnote_generation.language import lexicon

_WORD = re.compile(r"\w+")
_LEADS = frozenset(tuple(lead.split()) for lead in lexicon.LEADS.split("|"))
_MOST_LEAD = max(len(lead) for lead in _LEADS)
_HEDGED = 40


def find(statement: str, text: str, spans: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Return where a statement stands word for word as whole sentences of a text, a leading "However," aside.

    Part of a sentence is not enough: what stands before it may deny it. A statement that ends in "…" may end early.
    """
    words = [word.lower() for word in _WORD.findall(statement)]
    found = _words(text)
    if not 2 <= len(words) <= len(found) or len("".join(words)) < 4:
        return None
    cut_short = statement.rstrip().endswith("…") and len(words) > 2
    edges = _edges(text, tuple(spans))
    sought, size = "\n".join(["", *words, ""]), len(words)
    source = "\n".join(["", *(word for word, _, _ in found), ""])
    at, index, counted = source.find(sought), 0, 0
    while at >= 0:
        index, counted = index + source.count("\n", counted, at), at
        last = index + size - 1
        begins = index in edges or any(
            index - lead in edges and tuple(word for word, _, _ in found[index - lead : index]) in _LEADS
            for lead in range(1, min(_MOST_LEAD, index) + 1)
        )
        if begins and (cut_short or last + 1 in edges or last + 1 == len(found)):
            return _span(found[index][1], found[last][2], spans)
        at = source.find(sought, at + 1)
    return None


@kept(2**20, lambda words: 200 * len(words))
def _words(text: str) -> tuple[tuple[str, int, int], ...]:
    return tuple((match[0].lower(), *match.span()) for match in _WORD.finditer(text))


@kept(2**20, lambda edges: 200 * len(edges))
def _edges(text: str, spans: tuple[tuple[int, int], ...]) -> frozenset[int]:
    """Return which words begin a sentence, the marks of a list before it ("1.", "a)") aside."""
    found = _words(text)
    edges: set[int] = set()
    at = 0
    for start, end in spans:
        while at < len(found) and found[at][1] < start:
            at += 1
        if at < len(found) and found[at][1] < end:
            edges.add(at)
            while at + 1 < len(found) and found[at][0].isdigit() and len(found[at][0]) <= 3:
                at += 1
                edges.add(at)
    return frozenset(edges)


def _span(start: int, end: int, spans: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the stretch from a word to another, with the full stop of its last sentence."""
    for first, last in spans:
        if first <= start < last:
            start = first
        if first < end <= last:
            return start, last
    return start, end
