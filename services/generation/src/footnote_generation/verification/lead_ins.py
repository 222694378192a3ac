"""Phrases that may precede a quotation without changing it: "According to the manual,", "However,", by locale."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from footnote.types.v1.answer_pb2 import Source
from footnote_text import locales
from footnote_text.lexical import fold, is_unspaced
from footnote_text.stopwords import STOP_WORDS
from footnote_text.turning import LIMITING

from footnote_generation.language.cldr import writing
from footnote_generation.verification.normalised import Token, folded, tokens

_LONGEST = 8
"""Maximum words of a source's name in a lead-in; letters in scripts without spaces."""
_MOST = 3  # consecutive lead-ins: "However, according to the manual,"
_GAP = "{source}"


@cache
def _frames() -> dict[str, tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]]:
    """Return the text before and after a source's name in every locale's lead-ins, by the first token.

    Those that begin with the name itself are under "".
    """
    found: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {}
    for code in locales.codes():
        for lead in locales.choose(code).checks.leads:
            before, _, after = lead.partition(_GAP)
            pair = folded(tokens(before)), folded(tokens(after))
            found.setdefault(pair[0][0] if pair[0] else "", []).append(pair)
    return {first: tuple(dict.fromkeys(pairs)) for first, pairs in found.items()}


@cache
def _connectives() -> frozenset[tuple[str, ...]]:
    return frozenset(
        folded(tokens(phrase)) for code in locales.codes() for phrase in locales.choose(code).checks.connectives
    )


@cache
def _documents() -> frozenset[str]:
    return frozenset(fold(word) for code in locales.codes() for word in locales.choose(code).checks.documents)


@cache
def glues() -> Mapping[str, frozenset[str]]:
    """Return the words allowed between the headers and the value of a cell, by locale."""
    return {code: frozenset(word.casefold() for word in locales.choose(code).checks.glue) for code in locales.codes()}


def is_glue(word: str) -> bool:
    """Return whether a folded word is among these of some locale."""
    return any(word in words for words in glues().values())


@cache
def says_something(language: str) -> frozenset[str]:
    """Return the common words of a language that are none of these in it: "no" in English, but not in Portuguese."""
    return _common(language) - glues().get(language, frozenset())


@cache
def bounds(language: str) -> Mapping[tuple[str, ...], int]:
    """Return the phrases, folded, by which a line may limit or date what follows it, and the words after each.

    A time has a word after it: at the end of a clause "vor" is part of a German verb.
    """
    found: dict[tuple[str, ...], int] = {}
    if language in locales.codes():
        known = locales.choose(language)
        # "Nach" in German presents too: "nach der Anleitung gilt".
        idle = {fold(word) for text in (*known.checks.glue, *known.checks.leads) for word in folded(tokens(text))}
        times = (*known.tables.before, *known.tables.after, *known.tables.until)
        for after, phrases in ((0, (*known.tables.at_least, *known.tables.at_most)), (1, times)):
            split = (tuple(map(fold, folded(tokens(phrase)))) for phrase in phrases)
            found.update((phrase, after) for phrase in split if not idle.issuperset(phrase))
    return found


@cache
def limiting(language: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words that deny or restrict, folded, and those with all common words of a language.

    Those of other languages are among them, unless they are common words or months of this one: "im Mai".
    """
    usual = {fold(word) for word in (*_common(language), *glues().get(language, ()), *writing(language).months)}
    own = set(LIMITING.get(language, "").split())
    limits = own.union(*(words.split() for words in LIMITING.values()))
    found = frozenset(fold(word) for word in limits if word in own or fold(word) not in usual)
    return found, found | usual


@cache
def _common(language: str) -> frozenset[str]:
    return frozenset(map(str.casefold, STOP_WORDS.get(language, ())))


def linked(said: frozenset[str], language: str) -> tuple[frozenset[str], bool]:
    """Return the words allowed in one locale, that of most words `said`; whether it is not the source's language.

    It is another only where one of them is no word of the source's language at all: "the" in "The Prijs of X".
    """
    own = glues().get(language, frozenset())
    foreign = max((words for code, words in glues().items() if code != language), key=lambda one: len(one & said))
    if len(foreign & said) > len(own & said) and foreign & said - own - _common(language):
        return foreign, True
    links = said - says_something(language)
    return max((own, *glues().values()), key=lambda one: len(one & links)), False


def begins_one(text: str) -> bool:
    """Return whether a text is only the beginning of a lead-in: "According to the warranty terms"."""
    found = folded(tokens(text[:200]))
    return bool(found) and any(
        before and found[: len(before)] == before and not after for before, after in _frames().get(found[0], ())
    )


_MOST_PLACE = 3
"""Maximum words after a source's name that name a place in it: "page 3"."""


def is_name(text: str, source: Source) -> bool:
    """Return whether a text is only an address, or a source's name or its beginning, with a short place after it."""
    said = folded(tokens(text))
    if "://" in text and len(text.split()) == 1:
        return True
    for name in filter(None, (source.label, source.filename, source.title)):
        known = folded(tokens(name))
        if said == known[: len(said)] or (said[: len(known)] == known and len(said) - len(known) <= _MOST_PLACE):
            return True
    return False


def names_of(*texts: str) -> frozenset[str]:
    """Return the words that name a source: those of its title, file name and headings; runs without spaces whole."""
    return frozenset(fold(word) for text in texts for word in re.findall(r"[^\W\d_]+|\d+", text))


def without(stated: Sequence[Token], text: str, names: frozenset[str]) -> Iterator[Sequence[Token]]:
    """Yield a statement's tokens without its possible lead-ins; `text` is the statement as written."""
    rest = stated
    for _ in range(_MOST if stated else 0):
        size = max(_connective(rest), default=0) or _lead(rest, text, names)
        if not size or size >= len(rest):
            return
        rest = rest[size:]
        yield rest


def _connective(stated: Sequence[Token]) -> list[int]:
    plain = tuple(token.text.casefold() for token in stated[:_LONGEST])
    return [size for size in range(1, min(5, len(plain))) if plain[:size] in _connectives()]


def _lead(stated: Sequence[Token], text: str, names: frozenset[str]) -> int:
    """Return the number of tokens of a lead-in, 0 for none."""
    plain = tuple(token.text.casefold() for token in stated[: 3 * _LONGEST])
    frames = _frames()
    best = 0
    for before, after in (*frames.get(plain[0], ()), *frames.get("", ())):
        if plain[: len(before)] != before:
            continue
        begin = len(before)
        rest = stated[begin : begin + 1]
        if before and not after and rest and text[stated[begin - 1].end : rest[0].start].strip()[:1] in {",", "，"}:
            best = max(best, begin)  # a footnote took the source's place: "According to [1], …"
        for end in range(begin + 1, min(begin + _LONGEST, len(plain) - len(after) - 1) + 1):
            if plain[end : end + len(after)] != after:
                continue
            size = end + len(after)
            # Without a verb after it a name leads in only with a comma or colon: "The manual: close the valve."
            parted = after or text[stated[size - 1].end : stated[size].start].strip()[:1] in set(":：,，、") - {""}
            if parted and size < len(stated) and _is_source(plain[begin:end], names):
                best = max(best, size)
                break
    return best


def _is_source(words: Sequence[str], names: frozenset[str]) -> bool:
    known = _documents()
    if is_unspaced(words[0][0]):
        if not all(is_unspaced(word[0]) for word in words):
            return False
        name = fold("".join(words))
        return any(name == one or (len(name) > 1 and name in one) for one in (*known, *names))
    plain = [fold(part) for word in words for part in word.split("'") if part]
    return all(_named(word, known, names) for word in plain) and any(len(word) > 3 for word in plain)


def _named(word: str, known: frozenset[str], names: frozenset[str]) -> bool:
    if word in known or word in names:
        return True
    # Endings: "regulaminu" of "Regulamin".
    size = max(4, (2 * len(word)) // 3)
    return len(word) > 4 and any(one[:size] == word[:size] and abs(len(one) - len(word)) < 4 for one in names)
