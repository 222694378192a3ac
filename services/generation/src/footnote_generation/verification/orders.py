"""Orders and means without a modal word: "Clean the filter", "the filter va pulito", "ist zu melden", "refundable"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from footnote_generation.language import verbs
from footnote_generation.language.grammar import Grammar
from footnote_generation.language.reading import Item, Reading
from footnote_generation.verification.facts import Alignment
from footnote_generation.verification.places import Place

_DETERMINERS = {
    "en": frozenset(["the", "a", "an", "your", "this", "these", "any", "all", "each"]),
    "fr": frozenset(["le", "la", "les", "l", "un", "une", "votre", "vos", "ce", "cette", "ces", "toute", "tous"]),
    "nl": frozenset(["de", "het", "een", "uw", "deze", "dit", "geen"]),
}
"""Words before a noun: what begins a sentence before them is a verb, where no verb leaves out its subject."""
_ASKED = {"fr": re.compile(r"\w{2,}ez"), "en": re.compile(r"\w{2,}"), "nl": re.compile(r"\w{2,}")}
_ENDINGS = {
    "es": ((re.compile(r"\w+ar(?:se|l[oa]s?)?"), ("e", "en")), (re.compile(r"\w+[ei]r(?:se|l[oa]s?)?"), ("a", "an"))),
    "pt": ((re.compile(r"\w+ar"), ("e", "em")), (re.compile(r"\w+[ei]r"), ("a", "am"))),
    "it": ((re.compile(r"\w+ar(?:e|si|lo|la|li)"), ("i", "ate")), (re.compile(r"\w+[ei]r(?:e|si|lo|la)"), ("a",))),
}  # fmt: skip
"""Infinitives and the endings by which one asks for it: those by which the other conjugation tells."""
_PARTICIPLE = re.compile(r"\w+(?:[aiu]t|tt|rt|st|ss|s|nt)[oaie]")
_INFINITIVE = re.compile(r"[a-zß]{2,}(?:e[nrl]|n)n?")
_ABLE = {
    "en": ("able", "ible"), "fr": ("able", "ables", "ible", "ibles"), "es": ("able", "ables", "ible", "ibles"),
    "pt": ("avel", "aveis", "ivel", "iveis"), "it": ("abile", "abili", "ibile", "ibili"),
    "de": ("bar", "bare", "baren", "barer", "bares"), "nl": ("baar", "bare"),
}  # fmt: skip
"""Endings of what can be done: "refundable" is "can be refunded"."""


def ordered(alignment: Alignment, claim: Reading, place: Place, grammar: Grammar) -> set[int]:
    """Return the clauses of a place that give an order to do what a statement speaks of."""
    items = place.items()
    stated: dict[int, list[str]] = {}
    for link in alignment.links:
        for index in link.at:
            stated.setdefault(index, []).append(link.item.plain)
    return {
        items[index].segment
        for index in _verbs(place.reading, grammar, stated)
        if index in stated or items[index].stem in grammar.light
    } | told(reading=place.reading, grammar=grammar)


def told(*, reading: Reading, grammar: Grammar) -> set[int]:
    """Return the clauses that say what is to be done by their build: "va pulito", "sind zu melden"."""
    items = reading.items
    found: set[int] = set()
    for index, item in enumerate(items):
        after = items[index + 1] if index + 1 < len(items) else None
        if verbs.holds_to(item.plain, grammar.code) and _is_to(index, items):
            found.add(item.segment)
        if after is None or after.segment != item.segment:
            continue
        if grammar.code == "it" and item.plain in {"va", "vanno", "andra", "andranno"}:
            if _PARTICIPLE.fullmatch(after.plain):
                found.add(item.segment)
        elif grammar.code in {"de", "nl"} and item.plain in {"zu", "te"}:
            verb = after.text == after.text.lower() and _INFINITIVE.fullmatch(after.plain)
            if verb and after.quantity < 0 and _is_to(index, items):
                found.add(item.segment)
    return found


def _is_to(index: int, items: tuple[Item, ...]) -> bool:
    return any(
        other.plain in {"ist", "sind", "hat", "haben", "is", "zijn", "dient", "dienen"}
        for other in items[:index]
        if other.segment == items[index].segment
    )


def _verbs(reading: Reading, grammar: Grammar, stated: dict[int, list[str]]) -> Iterator[int]:
    """Yield the words that begin a clause of a sentence and ask to do something."""
    items, code = reading.items, grammar.code
    for index, item in enumerate(items):
        first = index == 0 or items[index - 1].segment != item.segment
        denied = {sign.item for sign in reading.signs if sign.sort in {"negation", "always"}}
        if not first and not all(at in denied or items[at].plain in _ASIDE for at in _opening(index, items)):
            continue
        following = items[index + 1] if index + 1 < len(items) else None
        if code in _ASKED and (item.content or item.stem in grammar.light) and item.quantity < 0 and not item.name:
            determined = following is not None and following.plain in _DETERMINERS[code]
            if _ASKED[code].fullmatch(item.plain) and (determined or (not first and code == "en")):
                yield index
        elif code == "de" and following is not None and following.text == "Sie":
            yield index
        elif code in _ENDINGS:
            for infinitive, endings in _ENDINGS[code]:
                same = [word for word in stated.get(index, ()) if infinitive.fullmatch(word)]
                if same and (item.plain.endswith(endings) or infinitive.fullmatch(item.plain)):
                    yield index


_ASIDE = frozenset({"do", "don", "please", "s'il", "bitte", "no", "non", "nao", "ne", "n", "always", "never"})


def _opening(index: int, items: tuple[Item, ...]) -> range:
    first = index
    while first > 0 and items[first - 1].segment == items[index].segment:
        first -= 1
    return range(first, index)


def able(alignment: Alignment, place: Place, grammar: Grammar) -> set[int]:
    """Return the clauses that say by an ending what a statement says by a verb: "refundable" for "can be refunded"."""
    endings = _ABLE.get(grammar.code, ())
    items = place.items()
    return {
        items[index].segment
        for link in alignment.links
        for index in link.at
        if endings and items[index].plain.endswith(endings) and not link.item.plain.endswith(endings)
    }
