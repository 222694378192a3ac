"""Recognises sentences that state nothing: not found, a pleasantry, a refusal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from footnote_kit.memoise import memoised
from footnote_text import locales
from footnote_text.lexical import fold, is_unspaced


@cache
def not_found_sentences() -> tuple[str, ...]:
    """Return the not-found sentence of every locale."""
    return tuple(locales.choose(code).not_found for code in locales.codes())


_NOT_FOUND = re.compile(
    r"""(?x)^(?:(?:unfortunately|sorry|i\ am\ sorry|i\ m\ sorry|desole|malheureusement
      |je\ suis\ desolee?)\ (?:but\ |mais\ )?)?(?:
      i\ (?:could\ not|couldn\ t|did\ not|didn\ t|can\ not|cannot|was\ unable\ to|am\ unable\ to|have\ not
        |do\ not|don\ t)\ (?:find|found|locate|see|have)\b.{0,60}\b(?:information|answer|mention|data|details
        |anything|sources?|documents?|context)
    | i\ (?:found|have)\ no\ (?:relevant\ )?(?:information|data|answer)
    | (?:the|these|your|provided|given)\ (?:provided\ |given\ )?(?:sources?|documents?|context|texts?
      |information|passages?)\ (?:provided\ )?(?:
      (?:do(?:es)?\ not|don\ t|doesn\ t|did\ not)
        \ (?:(?:directly|explicitly|specifically|clearly|appear\ to|seem\ to)\ )?
        (?:contain|mention|say|state|give|provide|include|specify|indicate|answer|address|discuss|cover|describe
        |explain|list|name|tell|refer|report|define|detail|clarify|(?:have|hold)\ (?:\w+\ )?(?:information|mention
        |details?|data|answers?|anything)|(?:allow|permit|enable)\ (?:me|us|an\ answer))
      | contains?\ no | (?:has|have|gives?)\ no\ (?:\w+\ )?(?:information|mention|details?|data|answers?))\b
    | (?:this|the)\ (?:information|answer)\ is\ not\ (?:in|available|found|contained|provided|mentioned
      |given|present)\b(?!\ to\b)
    | there\ is\ no\ (?:relevant\ )?(?:information|mention|data|answer)(?:$|\ (?:on|about|of|for|in|regarding
      |concerning|that|which|to|as|available|here)\b)
    | no\ (?:relevant\ )?information\ (?:about|on|(?:was|is)\ (?:found|available|given|provided)(?!\ to\b))\b
    | je\ n\ ai\ (?:pas|rien|aucune)\ (?:pu\ )?(?:trouv|d\ information|d\ donnee|information|de\ donnee|donnee)
    | je\ ne\ (?:trouve|dispose|vois|peux)\ (?:pas|aucune|rien)
    | (?:les|ces|vos)\ (?:sources|documents|textes|extraits)\ (?:fournies?\ |fournis\ )?(?:ne|n)\ (?:
      contiennent|mentionnent|precisent|indiquent|disent|parlent|donnent|fournissent|repondent|abordent|comportent
      |evoquent|traitent|incluent|decrivent|expliquent|apportent|font\ (?:pas|aucune)\ (?:mention|reference)
      |(?:me\ )?permettent\ pas\ de\ (?:repondre|determiner|savoir|dire))\b
    | (?:cette|l)\ information\ (?:n\ est\ pas\ (?:dans|disponible|presente|fournie|mentionnee|precisee|indiquee|donnee)
      (?!\ a\b)|ne\ (?:figure|se\ trouve|apparait)\ pas)\b
    | aucune\ (?:information|donnee|source|mention)(?:$|\ (?:sur|concernant|relative|de|dans|ne|disponible
      |n\ (?:est|a\ ete)\ (?:disponible|trouvee|fournie|donnee|mentionnee)(?!\ a\b))\b)
    | (?:il\ n\ y\ a|il\ n\ existe)\ (?:pas\ d|aucune)\ (?:information|donnee|mention|reponse|source)
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


_NO_WORD = re.compile(r"[^\w]+")


@memoised(2**19)
def _plain(text: str) -> str:
    """Return a text's words; cached, since half a dozen checks ask for each sentence of an answer."""
    return " ".join(_NO_WORD.sub(" ", fold(text)).split())


def is_given(text: str, given: Sequence[str] = ()) -> bool:
    """Return whether a sentence is one of the given ones, or the not-found sentence of a locale."""
    plain = _plain(text)
    return any(_plain(sentence) == plain for sentence in (*given, *not_found_sentences()))


def is_not_found(text: str) -> bool:
    """Return whether a sentence begins by saying that nothing was found."""
    return is_given(text) or bool(_NOT_FOUND.match(_plain(text)))


_PARTS = re.compile(r"[;:；：–—]")
_SMALL_PARTS = re.compile(r"[,;:，；：、–—.!?。！？]|\b(?=(?i:but|however|although|though|whereas|because(?! of))\b)")
_DIGITS = re.compile(r"\d+")
_FEWEST_WORDS, _FEWEST_LETTERS = 4, 6
"""The minimum of a clause: words, or letters in a script without spaces."""


def new_number(text: str, question: str) -> bool:
    """Return whether a sentence has a number that its question has not: it says more than that something is missing."""
    return not set(_DIGITS.findall(text)) <= set(_DIGITS.findall(question))


def says_more(text: str, question: str, *, strictly: bool, cited: bool = False) -> bool:
    """Return whether a sentence that begins as "not found" goes on to state something.

    It does with a new number, or with a clause after a colon, semicolon or dash; `strictly`, also after a comma, where
    many languages only say what was sought. A clause that says the same, or why it declines, is no more, unless the
    sentence is `cited`: what it cites is said by a source. A number tells nothing without a known question.
    """
    if question and new_number(text, question):
        return True
    parts = (_SMALL_PARTS if strictly or cited else _PARTS).split(text)
    first = next((at for at, part in enumerate(parts) if _adds_nothing(part) or _is_clause(part)), len(parts))
    return any(cited or not _adds_nothing(part) for part in parts[first + 1 :] if _is_clause(part))


_REASON = re.compile(r"(?:because|since|car|parce qu[e ]?|puisqu[e ]?)\b ?")
_OF_REQUEST = re.compile(r"(?:it|this|that|cela|elle|il) (?:could|would|might|may|pourrait|serait|risquerait)\b")


def _adds_nothing(clause: str) -> bool:
    """Return whether a clause declines or finds nothing, after a word such as "so" too, or says what a request does."""
    plain = _plain(clause)
    if reason := _REASON.match(plain):
        plain = plain[reason.end() :]
        if _OF_REQUEST.match(plain):
            return True
    return any(
        is_not_found(one) or is_refusal(one) or declines(one, sorry=False) for one in (plain, plain.partition(" ")[2])
    )


def _is_clause(text: str) -> bool:
    words = _plain(text).split()
    if words and is_unspaced(words[0][0]):
        return sum(map(len, words)) >= _FEWEST_LETTERS
    return len(words) >= _FEWEST_WORDS


@cache
def _finder_sentences() -> tuple[re.Pattern[str], ...]:
    """Return the built-in answerer's sentences before and after passages, in every locale."""
    said = [sentence for code in locales.codes() for sentence in locales.choose(code).finder.model_dump().values()]
    return tuple(re.compile(_blanks(_plain(sentence.format(count=0, place=_PLACE, part=_PLACE)))) for sentence in said)


_PLACE = "placeofit"


def _blanks(plain: str) -> str:
    """Return the pattern of a sentence with any number and place in it."""
    return plain.replace("0", r"\d+").replace(_PLACE, ".+")


def is_finder_notice(text: str) -> bool:
    """Return whether a sentence is the built-in answerer's own notice, which states nothing about a source."""
    plain = _plain(text)
    return any(one.fullmatch(plain) for one in _finder_sentences())


def is_pleasantry(text: str) -> bool:
    """Return whether a sentence is a greeting, an offer of help or a lead-in."""
    plain = _plain(text)
    return bool(_PLEASANTRY.match(plain)) or (len(plain) <= _MOST_GREETING and _begins(plain, _greetings()))


_MOST_GREETING = 40
_MOST_REFUSAL = 400


def is_source_list(text: str) -> bool:
    """Return whether a line only heads a list of sources, in any locale: "Sources:", "Quellen"."""
    return _plain(text) in _of_locales("source_lists")


def declines(text: str, *, sorry: bool = True) -> bool:
    """Return whether a sentence says that the question is not answered, in any locale; `sorry`, or only regrets it."""
    plain = _plain(text)
    phrases = _of_locales("refusals") | _of_locales("apologies") if sorry else _of_locales("refusals")
    return len(plain) <= _MOST_REFUSAL and _begins(plain, phrases)


def _begins(plain: str, phrases: frozenset[str]) -> bool:
    return any(
        plain.startswith(phrase) and (is_unspaced(phrase[-1]) or plain[len(phrase) : len(phrase) + 1] in {"", " "})
        for phrase in phrases
    )


@cache
def _of_locales(name: str) -> frozenset[str]:
    """Return one closed list of phrases over all locales."""
    return frozenset(_plain(one) for code in locales.codes() for one in getattr(locales.choose(code).checks, name))


@cache
def _greetings() -> frozenset[str]:
    signals = [locales.choose(code).signals for code in locales.codes()]
    return frozenset(_plain(one) for each in signals for one in (*each.greetings, *each.thanks))


_REFUSAL = re.compile(
    r"^(?:(?:i am sorry|i m sorry|sorry|desolee?|je suis desolee?) (?:but |mais )?)?(?:i (?:can not|cannot"
    r"|can t|am unable to|won t|will not) (?:help|assist|comply|answer|provide|do|discuss|fulfill?|continue)"
    r"|je ne (?:peux|puis) pas (?:vous |t )?(?:aider|repondre|fournir|donner|faire))\b"
)


def is_refusal(text: str) -> bool:
    """Return whether an answer declines the question."""
    return bool(_REFUSAL.match(_plain(text)))


def gives_up(text: str) -> bool:
    """Return whether a text begins by saying that nothing was found, or by declining."""
    return is_not_found(text) or is_refusal(text) or declines(text)
