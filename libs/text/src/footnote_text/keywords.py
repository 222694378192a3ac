"""Keyword extraction: the words and repeated phrases with the highest weight, by counts of search terms."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from footnote_text.lexical import terms

_SHORTEST = 3
_PHRASE_SHARE = 0.5
"""The minimum share of its rarer word's occurrences that a phrase needs to replace both words."""
_LONGEST_RUN = 4
_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]{2,}|[\u30a1-\u30fa\u30fc]{2,}")
"""Runs of Han characters or katakana: such texts have no spaces, and words have two to four characters."""
_SPLIT = re.compile(r"[.!?;:,()\[\]{}\"“”«»|/\n\r\t]+")


@dataclass
class _Candidate:
    first: int
    count: int = 0
    written: Counter[str] = field(default_factory=Counter)

    def add(self, written: str) -> None:
        self.count += 1
        self.written[written] += 1

    def spelling(self) -> str:
        """Return the most frequent spelling; of equally frequent ones the first."""
        return self.written.most_common(1)[0][0]


def keywords(text: str, language: str = "", limit: int = 10) -> list[str]:
    """Return up to `limit` words and two-word phrases with the highest weight, in descending order.

    A word's weight is its stem's number of occurrences times the square root of its length, because short words are
    common ones. A phrase of two neighbouring words replaces its words when they mostly occur together. In scripts
    without spaces, only Han characters and katakana are read, and only repetitions count. `language` is an ISO 639-1
    code that selects stemmer and stop words.
    """
    words, phrases = _count(text, language)
    words |= _unspaced(text)
    merged = {
        pair: phrase
        for pair, phrase in phrases.items()
        if phrase.count > 1 and phrase.count >= _PHRASE_SHARE * min(words[pair[0]].count, words[pair[1]].count)
    }
    taken = {term for pair in merged for term in pair}
    rest = {(term,): word for term, word in words.items() if term not in taken}
    candidates: list[tuple[tuple[str, ...], _Candidate]] = [*merged.items(), *rest.items()]
    ranked = sorted(candidates, key=lambda one: (-_weight(*one), one[1].first))
    chosen: dict[str, None] = {}
    used: set[str] = set()
    for stems, candidate in ranked:
        if len(chosen) == limit:
            break
        if not used.issuperset(stems):
            used.update(stems)
            chosen[candidate.spelling()] = None
    return list(chosen)


def _count(text: str, language: str) -> tuple[dict[str, _Candidate], dict[tuple[str, str], _Candidate]]:
    words: dict[str, _Candidate] = {}
    phrases: dict[tuple[str, str], _Candidate] = {}
    for clause in _SPLIT.split(text):
        row = [(_term(word, language), word) for word in clause.split()]
        for term, word in row:
            if term:
                words.setdefault(term, _Candidate(len(words))).add(word)
        for (left, first), (right, second) in pairwise(row):
            if left and right and left != right:
                phrases.setdefault((left, right), _Candidate(len(words))).add(f"{first} {second}")
    return words, phrases


def _unspaced(text: str) -> dict[str, _Candidate]:
    """Return repeated substrings of Han or katakana runs, without parts of a longer repetition."""
    found: dict[str, _Candidate] = {}
    for run in _RUN.findall(text):
        for length in range(2, min(len(run), _LONGEST_RUN) + 1):
            for start in range(len(run) - length + 1):
                part = run[start : start + length]
                found.setdefault(part, _Candidate(len(found))).add(part)
    longer = Counter[str]()
    for part, candidate in found.items():
        for shorter in (part[1:], part[:-1]):
            longer[shorter] = max(longer[shorter], candidate.count)
    return {part: one for part, one in found.items() if one.count > max(1, longer[part])}


def _term(word: str, language: str) -> str:
    """Return the stem of a word that may be a keyword, else ""."""
    found = terms(word, language) if len(word) >= _SHORTEST and any(map(str.isalpha, word)) else []
    return found[0] if len(found) == 1 and len(found[0]) >= _SHORTEST and not found[0][0].isdigit() else ""


def _weight(stems: tuple[str, ...], candidate: _Candidate) -> float:
    return float(candidate.count * sum(map(len, stems)) ** 0.5)
