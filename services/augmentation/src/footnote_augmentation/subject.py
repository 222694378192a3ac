"""What a conversation is about, by rules: names, and what is asked of them; a follow-up is filled in by it.

A language model does this better, and is asked where one answers. These rules know word classes by their look alone: a
name is written with a capital inside a sentence, or with digits; in German, where all nouns are, a noun is taken for
another of the same kind where it shares a word or the head of a compound with the names before ("Museum Nord",
"Hafenmuseum"). What they cannot tell they leave as it was asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from footnote_text.language import detect
from footnote_text.lexical import fold, terms
from footnote_text.wordlists import word_set

_MESSAGES, _CHARACTERS = 8, 600
_READ = 4000  # characters by which the language is told
_MOST = 8  # words that are carried on
_HEAD = 4  # letters that a compound's head has at least
_WORD = re.compile(r"[^\W_]+(?:[-.][^\W_]+)*")
_NOUNS_IN_CAPITALS = frozenset({"de"})
# How somebody is corrected, in a language each; folded.
_CORRECTING = word_set(
    "meant mean actually rather sorry pardon voulais parlais plutot desole meinte meine gemeint sondern entschuldigung "
    "perdon queria decir referia refiero intendevo dicevo scusa scusi volevo dire quis falava desculpa bedoelde bedoel "
    "имел имела виду имею извините простите"
)
_POINTING: dict[str, frozenset[str]] = {
    "en": word_set("it its they them their he him his she her there that one ones"),
    "fr": word_set("il elle ils elles lui sa son ses leur leurs celle celui ceux celles la y en"),
    "de": word_set("er sie es ihm ihn ihr ihre ihren ihrer sein seine seinen dort dafur davon damit dazu"),
    "es": word_set("el ella ellos ellas su sus lo alli"),
    "it": word_set("lui lei loro suo sua suoi sue ne ci"),
    "pt": word_set("ele ela eles elas seu sua seus suas la nele nela"),
    "nl": word_set("hij zij ze het zijn haar hun er daar ervan ermee"),
    "ru": word_set("он она оно они его ее их ему ей им нем ней там"),
}
_OPENING = re.compile(
    r"^(?:and|but|what about|how about|et|mais|und|aber|y|pero|e|ed|ma|mas|en|maar|а|и|но|no|non|nein|nee|нет)\b"
)


@dataclass(frozen=True, slots=True)
class Subject:
    """Names, and the words that say what is asked of them."""

    names: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()


def in_full(message: str, said: Sequence[str]) -> str:
    """Return a message with what it leans on filled in; `said` are the user's messages before it, oldest first.

    What it lacks stands behind it in brackets. One that only names another subject gives way to the question before it,
    asked of that one.
    """
    spoken = [*(one[:_CHARACTERS] for one in said[-_MESSAGES:]), message]
    # A short message tells little of its language; the conversation tells more.
    language = detect("\n".join(spoken)[-_READ:], ("en", "fr"))
    subject, full = Subject(), ""
    for one in spoken:
        subject, full = _next(subject, full, one, language)
    return full


def _next(before: Subject, previous: str, message: str, language: str) -> tuple[Subject, str]:
    """Return the subject after a message, and the message in full."""
    now, leans = _after(before, message[: 4 * _CHARACTERS], language)
    if not leans:
        return now, message
    if before.names and set(now.names) != set(before.names) and now.asked == before.asked:
        return now, _asked_of(previous, before.names, now.names)
    own = _stems(_WORD.findall(message), language)
    carried = [word for word in (*now.names, *now.asked) if not own & _stems([word], language)]
    return now, f"{message} ({' '.join(carried[:_MOST])})" if carried else message


def _asked_of(question: str, old: Sequence[str], new: Sequence[str]) -> str:
    """Return a question with other names in the place of the old ones."""
    words, done, at = [], False, 0
    for found in _WORD.finditer(question):
        if found.group() in old:
            words += [question[at : found.start()], "" if done else " ".join(new)]
            done, at = True, found.end()
    full = "".join([*words, question[at:]])
    return full if done else f"{question} ({' '.join(new)})"


def _after(before: Subject, message: str, language: str) -> tuple[Subject, bool]:
    """Return the subject after a message, and whether the message leans on the one before."""
    names, asked = _parts(message, language, before)
    known = _stems((*before.names, *before.asked), language)
    news = [word for word in asked if not _stems([word], language) & known]
    if not _leans(message, language, names, news):
        return Subject(tuple(names), tuple(asked)), False
    if names and not news:
        return Subject(tuple(names), before.asked), True
    if news and not names:
        return Subject(before.names, tuple(asked)), True
    if names:
        return Subject(tuple(names), tuple(asked)), True
    return before, True


def _leans(message: str, language: str, names: Sequence[str], news: Sequence[str]) -> bool:
    plain = " ".join(re.sub(r"\W+", " ", fold(message)).split())
    if _OPENING.match(plain) or _CORRECTING & set(plain.split()):
        return True
    if _POINTING.get(language, frozenset()) & set(plain.split()) and not names:
        return True
    return not names and len(news) <= 2


def _parts(message: str, language: str, before: Subject) -> tuple[list[str], list[str]]:
    names: list[str] = []
    asked: list[str] = []
    first = True
    for found in _WORD.finditer(message):
        word, begins = found.group(), first
        first = False
        if fold(word) in _CORRECTING or not terms(word, language):
            continue
        named = any(char.isdigit() for char in word) or (word[0].isupper() and not begins)
        if named and language in _NOUNS_IN_CAPITALS and before.names:
            named = _same_kind(message, before.names)
        (names if named else asked).append(word)
    return names, asked


def _same_kind(message: str, names: Sequence[str]) -> bool:
    """Tell whether a message names something of the kind of these names: they share a word, or a compound's head."""
    nouns = [fold(word) for word in _WORD.findall(message) if word[0].isupper()]
    return any(
        noun == name or (len(name) >= _HEAD and noun.endswith(name))
        for noun in nouns
        for name in (fold(name) for name in names)
    )


def _stems(words: Sequence[str], language: str) -> set[str]:
    return {stem for word in words for stem in terms(word, language)}
