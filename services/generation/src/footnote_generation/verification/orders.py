"""Orders and means without a modal word: "Clean the filter", "the filter va pulito", "ist zu melden", "refundable"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from footnote_generation.language import verbs
from footnote_generation.language.grammar import Grammar
from footnote_generation.language.reading import Reading
from footnote_generation.verification.facts import Alignment
from footnote_generation.verification.places import Place

_DETERMINERS = {
    "en": frozenset(["the", "a", "an", "your", "this", "these", "any", "all", "each"]),
    "fr": frozenset(["le", "la", "les", "l", "un", "une", "votre", "vos", "ce", "cette", "ces", "toute", "tous"]),
    "nl": frozenset(["de", "het", "een", "uw", "deze", "dit", "geen"]),
}
"""Words before a noun: what begins a sentence before them is a verb, where no verb leaves out its subject."""
# Of words: what begins in the middle of one is never looked for, which would be to begin at each of its letters.
_ASKED = {"fr": re.compile(r"(?<!\w)\w{2,}ez"), "en": re.compile(r"(?<!\w)\w{2,}"), "nl": re.compile(r"(?<!\w)\w{2,}")}
_ENDINGS = {
    code: tuple((re.compile(rf"(?<!\w)\w+{infinitive}"), endings) for infinitive, endings in both)
    for code, both in {
        "es": ((r"ar(?:se|l[oa]s?)?", ("e", "en")), (r"[ei]r(?:se|l[oa]s?)?", ("a", "an"))),
        "pt": (("ar", ("e", "em")), ("[ei]r", ("a", "am"))),
        "it": (("ar(?:e|si|lo|la|li)", ("i", "ate")), ("[ei]r(?:e|si|lo|la)", ("a",))),
    }.items()
}
"""Infinitives and the endings by which one asks for it: those by which the other conjugation tells."""
_PARTICIPLE = re.compile(r"(?<!\w)\w+(?:[aiu]t|tt|rt|st|ss|s|nt)[oaie]")
_INFINITIVE = re.compile(r"(?<![a-zß])[a-zß]{2,}(?:e[nrl]|n)n?")
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
    bound = {item.segment: item.start for item in reversed(items) if item.plain in _IS_TO}
    for index, item in enumerate(items):
        is_to = bound.get(item.segment, item.start) < item.start
        after = items[index + 1] if index + 1 < len(items) else None
        if verbs.holds_to(item.plain, grammar.code) and is_to:
            found.add(item.segment)
        if after is None or after.segment != item.segment:
            continue
        if grammar.code == "it" and item.plain in {"va", "vanno", "andra", "andranno"}:
            if _PARTICIPLE.fullmatch(after.plain):
                found.add(item.segment)
        elif grammar.code in {"de", "nl"} and item.plain in {"zu", "te"}:
            verb = after.text == after.text.lower() and _INFINITIVE.fullmatch(after.plain)
            if verb and after.quantity < 0 and is_to:
                found.add(item.segment)
    return found


def _verbs(reading: Reading, grammar: Grammar, stated: dict[int, list[str]]) -> Iterator[int]:
    """Yield the words that begin a clause of a sentence and ask to do something."""
    items, code = reading.items, grammar.code
    denied = {sign.item for sign in reading.signs if sign.sort in {"negation", "always"}}
    first = begun = True
    for index, item in enumerate(items):
        if index == 0 or items[index - 1].segment != item.segment:
            first = begun = True
        elif begun:  # what was before only says "do not" or "please"
            before = index - 1
            first, begun = False, before in denied or items[before].plain in _ASIDE
        if not begun:
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


_IS_TO = frozenset(["ist", "sind", "hat", "haben", "is", "zijn", "dient", "dienen"])
_ASIDE = frozenset({"do", "don", "please", "s'il", "bitte", "no", "non", "nao", "ne", "n", "always", "never"})


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
