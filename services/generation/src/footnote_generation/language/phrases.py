"""Sentences the service itself says, by locale, and the recognition of sentences that state nothing."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from footnote_text.lexical import fold


@dataclass(frozen=True, slots=True)
class Phrases:
    """The sentences of one locale; fields are named after the keys of its file."""

    not_found: str
    greeting: str
    thanks: str
    unavailable: str
    title: str


@cache
def names() -> tuple[str, ...]:
    """Return the locales there are."""
    folder = resources.files(__package__) / "locales"
    return tuple(sorted(item.name.removesuffix(".toml") for item in folder.iterdir() if item.name.endswith(".toml")))


def load(locale: str) -> Phrases:
    """Return the phrases of a locale ("fr", "fr-CA"), English for one that has none."""
    code = locale[:2].lower()
    return _load(code if code in names() else "en")


@cache
def _load(code: str) -> Phrases:
    return Phrases(**tomllib.loads((resources.files(__package__) / "locales" / f"{code}.toml").read_text("utf-8")))


@cache
def not_found_sentences() -> tuple[str, ...]:
    """Return the not-found sentence of every locale."""
    return tuple(load(name).not_found for name in names())


_NOT_FOUND = re.compile(
    r"""(?x)^(?:(?:unfortunately|sorry|i\ am\ sorry|i\ m\ sorry|desole|malheureusement
      |je\ suis\ desolee?)\ (?:but\ |mais\ )?)?(?:
      i\ (?:could\ not|couldn\ t|did\ not|didn\ t|can\ not|cannot|was\ unable\ to|am\ unable\ to|have\ not
        |do\ not|don\ t)\ (?:find|found|locate|see|have)\b.{0,60}\b(?:information|answer|mention|data|details
        |anything|sources?|documents?|context)
    | i\ (?:found|have)\ no\ (?:relevant\ )?(?:information|data|answer)
    | (?:the|these|your|provided|given)\ (?:provided\ |given\ )?(?:sources?|documents?|context|texts?
      |information|passages?)\ (?:provided\ )?(?:do(?:es)?\ not|don\ t|doesn\ t|did\ not|contains?\ no|has\ no
      |have\ no|gives?\ no)\b
    | (?:this|the)\ (?:information|answer)\ is\ not\ (?:in|available|found|contained|provided|mentioned
      |given|present)\b
    | there\ is\ no\ (?:relevant\ )?(?:information|mention|data|answer)\b
    | no\ (?:relevant\ )?information\ (?:was|is|about|on)\b
    | je\ n\ ai\ (?:pas|rien|aucune)\ (?:pu\ )?(?:trouv|d\ information|d\ donnee|information|de\ donnee|donnee)
    | je\ ne\ (?:trouve|dispose|vois|peux)\ (?:pas|aucune|rien)
    | (?:les|ces|vos)\ (?:sources|documents|textes|extraits)\ (?:fournies?\ |fournis\ )?(?:ne|n)\b
    | (?:cette|l)\ information\ (?:n\ est|ne)\b
    | aucune\ (?:information|donnee|source|mention)
    | (?:il\ n\ y\ a|il\ n\ existe)\ (?:pas|aucune)\b
    )"""
)
_PLEASANTRY = re.compile(
    r"""(?x)^(?:
      (?:hello|hi|bonjour|bonsoir|salut|thanks?|thank\ you|merci|you\ re\ welcome|de\ rien
        |je\ vous\ en\ prie|sure|certainly|of\ course|bien\ sur|certainement|voici|d\ accord|great\ question
        |bonne\ question)\b(?:\ \w+){0,6}$
    | (?:here\ (?:is|are)|below\ (?:is|are)|voici|ci\ dessous)\b(?:\ \w+){0,12}$
    | (?:let\ me\ know|feel\ free|i\ hope\ this|n\ hesitez\ pas|j\ espere\ que|dites\ moi|please\ (?:let|ask
      |check|refer|consult)|is\ there\ anything|souhaitez\ vous|would\ you\ like|ask\ me|posez\ moi)\b
    | (?:based\ on|according\ to|from|d\ apres|selon|sur\ la\ base\ de)\ (?:the|your|these|les|vos
      |des)\ (?:provided\ |given\ )?(?:sources|documents|information|textes|context)(?:\ (?:provided|fournie?s))?$
    | (?:in\ (?:summary|short|conclusion)|en\ (?:resume|bref|conclusion))$
    )"""
)


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[^\w]+", " ", fold(text)).split())


def is_not_found(text: str, given: Sequence[str] = ()) -> bool:
    """Whether a sentence says that nothing was found: one of the given sentences, or wording of that kind."""
    plain = _plain(text)
    return any(_plain(sentence) == plain for sentence in (*given, *not_found_sentences())) or bool(
        _NOT_FOUND.match(plain)
    )


def is_pleasantry(text: str) -> bool:
    """Whether a sentence is a greeting, an offer of help or a lead-in."""
    return bool(_PLEASANTRY.match(_plain(text)))


_REFUSAL = re.compile(
    r"^(?:(?:i am sorry|i m sorry|sorry|desolee?|je suis desolee?) (?:but |mais )?)?(?:i (?:can not|cannot"
    r"|can t|am unable to|won t|will not) (?:help|assist|comply|answer|provide|do|discuss|fulfill?|continue)"
    r"|je ne (?:peux|puis) pas (?:vous |t )?(?:aider|repondre|fournir|donner|faire))\b"
)


def is_refusal(text: str) -> bool:
    """Whether an answer declines the question."""
    return bool(_REFUSAL.match(_plain(text)))
