"""Other forms in which a question may say a sentence's words, by closed rules of grammar."""

from __future__ import annotations

import re
from functools import lru_cache

from footnote_text.lexical import fold, terms, word_set

from footnote_generation.language.words import Analysed

# The prefixes that part from their verb, as grammars list them (Duden, "Die Grammatik": Partikelverben; Algemene
# Nederlandse Spraakkunst: scheidbare werkwoorden). What else may stand in front, as in "kennenlernen", is left out.
_PREFIXES = {
    "de": word_set("""ab an auf aus bei dar ein empor entgegen fest fort frei her heran heraus herein hin hinaus hinein
        los mit nach nieder vor voran voraus vorbei weg weiter wieder zu zurück zusammen"""),
    "nl": word_set("""aan af achter bij binnen door in mee na neer om onder op over terug toe uit voor voort weg"""),
}
_VOWELS = "aiouy"
_CLAUSE_ENDS = ".,:;!?)…"
_LONGEST = 40


def others(analysed: Analysed, language: str) -> frozenset[str]:
    """Return stems that a sentence does not hold as written, and a question about it may.

    German and Dutch part some verbs: "Bringen Sie … mit" is "mitbringen", as is "mitzubringen". Weak participles
    are of their verb ("geleitet" of "leitet"); German plurals on -s after a vowel ("Handys") keep the letter in their
    stem, while their singulars have none.
    """
    prefixes = _PREFIXES.get(language)
    if prefixes is None:
        return frozenset()
    found: set[str] = set()
    clause: list[str] = []
    for word in analysed.words:
        after = analysed.text[word.end : word.end + 1]
        lower = word.text.lower()
        if lower in prefixes and after in _CLAUSE_ENDS + "\n":  # "" at the end of the text
            found.update(fold(lower) + stem for stem in clause)
            clause = []
        clause.extend(word.stems)
        if after and after in _CLAUSE_ENDS + "\n":
            clause = []
        if language == "de":
            found.update(_rejoined(lower))
            found.update(_finite(lower))
            found.update(_number(stem) for stem in word.stems if stem.rstrip("s")[-1:] in tuple(_VOWELS))
    return frozenset(found)


def _number(stem: str) -> str:
    return stem[:-1] if stem.endswith("s") else f"{stem}s"


_PARTICIPLE = re.compile(rf"ge([a-zäöüß]{{3,{_LONGEST}}}t)")


@lru_cache(maxsize=5_000)
def _finite(word: str) -> tuple[str, ...]:
    """Return the stems of a weak participle's verb: "geleitet" of "leitet"."""
    match = _PARTICIPLE.fullmatch(word)
    return tuple(terms(match[1], "de")) if match else ()


_WITH_ZU = re.compile(rf"({'|'.join(sorted(_PREFIXES['de'], key=len, reverse=True))})zu([a-zäöüß]{{3,{_LONGEST}}}en)")


@lru_cache(maxsize=5_000)
def _rejoined(word: str) -> tuple[str, ...]:
    match = _WITH_ZU.fullmatch(word)
    return tuple(terms(match[1] + match[2], "de")) if match else ()
