"""Anaphoric words of eight languages, folded: a closed class, as listed in grammars."""

from __future__ import annotations

from footnote_text.lexical import fold, word_set

ANAPHORIC: dict[str, frozenset[str]] = {
    "en": word_set("it its they them their he him his she her there that one ones"),
    "fr": word_set("il elle ils elles lui sa son ses leur leurs celle celui ceux celles la y en"),
    "de": word_set("er sie es ihm ihn ihr ihre ihren ihrer ihrem ihres sein seine seinen seiner seinem dort dafur "
                   "davon damit dazu daran dabei darin"),
    "es": word_set("el ella ellos ellas su sus lo alli"),
    "it": word_set("lui lei loro suo sua suoi sue ne ci"),
    "pt": word_set("ele ela eles elas seu sua seus suas la nele nela"),
    "nl": word_set("hij zij ze het zijn haar hun er daar ervan ermee"),
    "ru": word_set("он она оно они его ее их ему ей им нем ней там"),
}  # fmt: skip
"""Third-person pronouns, possessives, and demonstrative adverbs."""
_LIKE_ARTICLES = word_set("la el lo het en y")


def begins_anaphorically(text: str, language: str) -> bool:
    """Return whether a sentence begins with a pronoun that refers to the previous sentence."""
    first = text[:40].split(maxsplit=1)[:1]
    return bool(first) and fold(first[0]) in ANAPHORIC.get(language, frozenset()) - _LIKE_ARTICLES
