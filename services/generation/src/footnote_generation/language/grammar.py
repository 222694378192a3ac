"""What is known of a language's closed classes of words, one file a language in the folder `grammars`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from footnote_text.lexical import fold, terms
from footnote_text.stopwords import STOP_WORDS

from footnote_generation.language import lexicon

NEGATED = {
    "permission": "prohibition",
    "prohibition": "permission",
    "obligation": "prohibition",
    "requirement": "exemption",
    "exemption": "requirement",
}
"""What a class of modal words says where its clause is denied: "not allowed" forbids, "not required" leaves free."""
_SHORTEST = 2  # letters before an ending
MODAL = frozenset({*NEGATED, "advice", "uncertain"})


@dataclass(frozen=True, slots=True)
class Phrase:
    """Some words in a row ("*" for up to four of any) and the class they belong to; `compare` for bounds of numbers."""

    words: tuple[str, ...]
    sort: str
    compare: bool


@dataclass(frozen=True, slots=True)
class Grammar:
    """The closed classes of a language: words folded, content words as stems."""

    code: str
    phrases: Mapping[str, tuple[Phrase, ...]]
    function: frozenset[str]
    coordinators: frozenset[str]
    relatives: frozenset[str]
    prepositions: frozenset[str]
    passive: frozenset[str]
    copulas: frozenset[str]
    past: frozenset[str]
    present: frozenset[str]
    pronouns: frozenset[str]
    light: frozenset[str]
    synonyms: Mapping[str, frozenset[int]]
    polar: Mapping[str, tuple[tuple[int, int], ...]]
    relations: Mapping[str, tuple[int, int]]
    exclusive: Mapping[str, tuple[int, int]]
    irregular: Mapping[str, str]
    plurals: tuple[str, ...]
    numbers: Mapping[str, str]
    units: Mapping[str, str]
    named: Mapping[str, frozenset[str]]
    talk: Mapping[str, tuple[str, ...]]
    unspaced: bool
    particles: frozenset[str]
    """Letters that only shape the word before or after them, where words are not spaced."""

    def groups(self, stem: str) -> frozenset[int]:
        """Return the groups of synonyms that a stem is in."""
        return self.synonyms.get(stem, frozenset()) or lexicon.groups(stem) if self.code in _SHARED else self._own(stem)

    def _own(self, stem: str) -> frozenset[int]:
        return self.synonyms.get(stem, frozenset())


_SHARED = frozenset({"en", "fr"})  # their synonyms and irregular forms stand in the files of `data`


@cache
def codes() -> tuple[str, ...]:
    """Return the languages that have a file."""
    folder = resources.files(__package__) / "grammars"
    return tuple(sorted(item.name.removesuffix(".toml") for item in folder.iterdir() if item.name.endswith(".toml")))


@cache
def load(code: str) -> Grammar | None:
    """Return the grammar of a language, None for one without a file."""
    if code not in codes():
        return None
    data = tomllib.loads((resources.files(__package__) / "grammars" / f"{code}.toml").read_text("utf-8"))
    clauses = {name: _folded(words) for name, words in data["clauses"].items()}
    irregular = _irregular(data["words"]["irregular"])
    plurals = tuple(data["words"].get("plurals", "").split())
    if code in _SHARED:
        irregular = {**lexicon.irregular(), **irregular}
    stop = frozenset(fold(word) for word in STOP_WORDS.get(code, frozenset()))
    function = stop | clauses["filler"] | clauses["pronouns"] | clauses["prepositions"] | clauses["relatives"]
    function |= clauses["coordinators"] | clauses["copulas"] | _folded(data["numbers"]["ones"])

    def stems(words: str) -> frozenset[str]:
        return frozenset(stem_of(word, code, irregular, plurals) for word in words.replace("|", " ").split())

    return Grammar(
        code=code,
        phrases=_phrases(data),
        function=function,
        coordinators=clauses["coordinators"],
        relatives=clauses["relatives"],
        prepositions=clauses["prepositions"],
        passive=clauses["passive"],
        copulas=clauses["copulas"],
        past=clauses["past"],
        present=clauses["present"],
        pronouns=clauses["pronouns"],
        light=stems(data["words"]["light"]) | (lexicon.light_stems() if code in _SHARED else frozenset()),
        synonyms=_numbered(stems(line) for line in data["words"]["synonyms"]),
        polar=_pairs([(stems(left), stems(right)) for left, right in data["words"]["opposites"]]),
        relations={
            word: (number, sign)
            for number, pair in enumerate(data["words"]["relations"])
            for sign, words in zip((1, -1), pair, strict=True)
            for word in _folded(words)
        },
        exclusive={
            stem: (number, place)
            for number, line in enumerate(data["words"]["exclusive"])
            for place, member in enumerate(line.split())
            for stem in stems(member)
        },
        irregular=irregular,
        plurals=plurals,
        numbers=data["numbers"],
        units=data.get("units", {}),
        named={dimension: stems(words) for dimension, words in data["named"].items()},
        talk={name: tuple(phrases) for name, phrases in data["talk"].items()},
        unspaced=code == "zh",
        particles=frozenset(data["words"].get("particles", "").split()),
    )


def stem_of(word: str, code: str, irregular: Mapping[str, str], plurals: Iterable[str]) -> str:
    """Return what the forms of a word have in common, itself folded for a function word."""
    plain = fold(word)
    base = irregular.get(plain) or _singular(plain, plurals)
    found = terms(base, code)
    return found[0] if len(found) == 1 else fold(base)


@lru_cache(maxsize=10_000)
def stem(word: str, code: str) -> str:
    """Return the stem of a word of a language that has a file."""
    grammar = load(code)
    return stem_of(word, code, grammar.irregular, grammar.plurals) if grammar else stem_of(word, code, {}, ())


def _singular(plain: str, plurals: Iterable[str]) -> str:
    """Return a word with the ending of its singular, by the first pair like "oes=ao" that fits; short ones as is."""
    for pair in plurals:
        many, one = pair.split("=")
        if plain.endswith(many) and len(plain) >= len(many) + _SHORTEST:
            return plain[: -len(many)] + one
    return plain


def _folded(words: str) -> frozenset[str]:
    return frozenset(fold(word) for word in words.split())


def _irregular(lines: str) -> dict[str, str]:
    forms: dict[str, str] = {}
    for line in lines.splitlines():
        if line.strip():
            base, *others = line.split()
            for form in others:
                forms.setdefault(fold(form), base)
    return forms


def _numbered(sets: Iterable[frozenset[str]]) -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for number, members in enumerate(sets):
        for member in members:
            found.setdefault(member, set()).add(number)
    return {member: frozenset(numbers) for member, numbers in found.items()}


def _pairs(pairs: list[tuple[frozenset[str], frozenset[str]]]) -> dict[str, tuple[tuple[int, int], ...]]:
    signs: dict[str, set[tuple[int, int]]] = {}
    for number, (left, right) in enumerate(pairs):
        for words, sign in ((left, 1), (right, -1)):
            for word in words:
                signs.setdefault(word, set()).add((number, sign))
    # A stem on both sides of a pair says nothing about it.
    return {
        word: tuple(sorted(pair for pair in found if (pair[0], -pair[1]) not in found)) for word, found in signs.items()
    }


def _phrases(data: Mapping[str, Any]) -> dict[str, tuple[Phrase, ...]]:
    found: dict[str, list[Phrase]] = {}
    for table, compare in (("operators", False), ("compare", True)):
        for sort, phrases in data[table].items():
            for text in phrases:
                words = tuple(fold(text).split())
                found.setdefault(words[0], []).append(Phrase(words, sort, compare))
    return {
        first: tuple(sorted(phrases, key=lambda item: (-len(item.words), -sum(map(len, item.words)))))
        for first, phrases in found.items()
    }
