"""German and Dutch verbs in their parts: "meldet an", "anzumelden" and "angemeldet" are one verb."""

from __future__ import annotations

import re
from collections.abc import Mapping

from footnote_kit.memoise import kept

from footnote_generation.language.grammar import Grammar, load, stem
from footnote_generation.language.reading import Item, read

_PARTICLES = {
    "de": "zuruck zusammen heraus herein hinaus hinein hinzu voraus weiter wieder nieder bereit teil statt fest fort "
    "weg los her hin ein aus auf an ab um zu mit nach vor bei dar durch uber unter entgegen",
    "nl": "terug samen vooruit verder neer deel plaats vast voort mee weg los uit aan af op om toe mede na voor bij "
    "door over onder tegen in binnen klaar open dicht stil",
}
_ALTERNATIVES = {code: "|".join(sorted(words.split(), key=len, reverse=True)) for code, words in _PARTICLES.items()}
_SEPARATE = {code: frozenset(words.split()) for code, words in _PARTICLES.items()}
_DONE = {
    code: re.compile(rf"(?P<particle>{_ALTERNATIVES[code]})?(?P<ge>ge|{to})(?P<rest>[a-zß]{{3,}})")
    for code, to in (("de", "zu"), ("nl", "te"))
}
"""A participle, or an infinitive with "zu" between its parts."""
_WHOLE = {code: re.compile(rf"(?P<particle>{words})(?P<rest>[a-zß]{{3,}})") for code, words in _ALTERNATIVES.items()}
_ENDINGS = {
    "de": re.compile(r"(?<=[a-zß]{3})(?:eten|ete|ten|te|est|et|st|en|t|e|n)$"),
    "nl": re.compile(r"(?<=[a-z]{3})(?:ten|den|te|de|en|t|d)$"),
}


def holds_to(word: str, language: str) -> bool:
    """Whether a word is an infinitive with "zu" between its parts: "anzumelden"."""
    found = _DONE[language].fullmatch(word) if language in _DONE else None
    return found is not None and bool(found["particle"]) and found["ge"] != "ge" and found["rest"].endswith("n")


@kept(2**20, lambda found: 600 * len(found))
def forms(text: str, language: str) -> Mapping[int, tuple[frozenset[str], int]]:
    """Return by the start of each verb-like word what it may be a form of, and the start of its particle or -1."""
    grammar = load(language)
    if grammar is None or language not in _PARTICLES:
        return {}
    items = read(text, language).items
    last = {item.segment: item for item in items}
    found: dict[int, tuple[frozenset[str], int]] = {}
    for item in items:
        if not item.content or not item.text.islower():
            continue
        names = _bases(item, grammar)
        end = last[item.segment]
        particle = end.start if end.start > item.start and end.plain in _SEPARATE[language] else -1
        if particle >= 0:
            names = frozenset(end.plain + name for name in _simple(item.plain, grammar))
        found[item.start] = (names, particle)
    return found


def _bases(item: Item, grammar: Grammar) -> frozenset[str]:
    code = grammar.code
    names = set(_simple(item.plain, grammar))
    done = _DONE[code].fullmatch(item.plain)
    if done is not None and (done["particle"] or done["ge"] == "ge"):
        strong = grammar.irregular.get("ge" + done["rest"]) if done["ge"] == "ge" else None
        rests = {stem(strong, code)} if strong else set(_simple(done["rest"], grammar))
        names |= {(done["particle"] or "") + rest for rest in rests}
    whole = _WHOLE[code].fullmatch(item.plain)
    if whole is not None:
        names |= {whole["particle"] + name for name in _simple(whole["rest"], grammar)}
    return frozenset(names)


def _simple(word: str, grammar: Grammar) -> tuple[str, ...]:
    """Return the stem of a word that is no compound: by the table of irregular ones, or without its ending."""
    base = grammar.irregular.get(word)
    if base is not None:
        return (stem(base, grammar.code),)
    bare = _ENDINGS[grammar.code].sub("", word)
    # Dutch writes a long vowel twice where a syllable ends in a consonant, and a short one before two: "richtte".
    return (bare, stem(word, grammar.code)) if len(bare) >= 3 else (word,)
