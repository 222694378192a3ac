"""What a conversation is about, by rules of grammar; a follow-up is filled in by it.

A language model does this better, and is asked where one answers. These rules know word classes by their look and by
closed lists alone (`phrases.py`, `closed_words.py`). A message that asks for something of its own and leans on what was
said gets the names before it, in brackets. One without a verb that names another thing, another time or another
circumstance gives way to the question before it, asked of that. What they cannot tell they leave as it was asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from footnote_text.language import detect
from footnote_text.leaning import leaning, parted
from footnote_text.lexical import fold
from footnote_text.pointing import POINTING

from footnote_augmentation import closed_words as closed
from footnote_augmentation.phrases import NOUNS_IN_CAPITALS, Sort, Token, asking, beginning, content, tokens
from footnote_augmentation.plan import should_use_rag
from footnote_augmentation.swapping import swapped

_MESSAGES, _CHARACTERS = 8, 600
_READ = 4000  # characters by which the language is told
_MOST = 12  # words that are carried on
_BACK = 6  # words that may or may not be meant
_FRAGMENT = 6  # words of meaning that a message without a verb has at most
_WORD = re.compile(r"[^\W_]+(?:[-.][^\W_]+)*")
_SHORT = 2  # words of meaning of a message that hardly has a subject of its own


@dataclass(frozen=True, slots=True)
class Subject:
    """The words that say what a conversation is about, names first of all, and its last question in full.

    `before` are the names that were spoken of before a question that names nothing.
    """

    about: tuple[str, ...] = ()
    full: str = ""
    before: tuple[str, ...] = ()


def in_full(message: str, said: Sequence[str]) -> str:
    """Return a message with what it leans on filled in; `said` are the user's messages before it, oldest first.

    What it lacks stands behind it in brackets (`footnote_text.leaning`). One that only names another subject gives way
    to the question before it, asked of that one.
    """
    spoken = [*filter(should_use_rag, (one[:_CHARACTERS] for one in said[-_MESSAGES:])), message]
    # A short message tells little of its language; the conversation tells more.
    language = detect("\n".join(spoken)[-_READ:], ("en", "fr"))
    subject = Subject()
    for one in spoken:
        subject = _next(subject, one, language)
    return subject.full


def _next(subject: Subject, message: str, language: str) -> Subject:
    """Return the subject after a message."""
    words, opened, corrects = _news(tokens(message[: 4 * _CHARACTERS], language), language)
    if not subject.full or not content(words):
        return subject if subject.full and (opened or corrects) else _begun(subject, message, words, language)
    if _is_fragment(words, language, opened, corrects):
        other = swapped(subject.full, words, (*subject.about, *subject.before), language, corrects=corrects)
        if other is not None:
            return Subject(other.about[:_MOST], other.text)
        return _kept(subject, message, words, whole=_circumstantial(words, language))
    if opened or corrects or _leans(words, language):
        return _kept(subject, message, words)
    return _begun(subject, message, words, language)


def _news(words: list[Token], language: str) -> tuple[list[Token], bool, bool]:
    """Return a message's words without what links it or corrects by it, and whether it does either."""
    # "è" is a verb, "e" links.
    opening = closed.OPENING.match(" ".join(word.folded if len(word.text) > 1 else word.text.lower() for word in words))
    link = len(opening.group().split()) if opening else 0
    said = {word.folded for word in words}
    # "Not this but that" corrects too; "What does this mean?" does not.
    turns = bool(words) and words[0].folded in closed.DENYING and bool(said & closed.CONTRASTING)
    corrects = (turns or bool(said & closed.CORRECTING)) and not said & asking(language)
    kept = words[link:]
    if corrects:
        kept = _corrected([word for word in kept if word.folded not in closed.CORRECTING])
    return kept, link > 0, corrects


def _corrected(words: list[Token]) -> list[Token]:
    """Return what is meant: "not this one but that", "that one, not this", "not this one, I meant that"."""
    denied = next((at for at, word in enumerate(words) if word.folded in closed.DENYING), None)
    if denied is None:
        return words
    turn = next((at for at, word in enumerate(words) if at > denied and word.folded in closed.CONTRASTING), None)
    if turn is not None:
        return words[turn + 1 :]
    meant = [word for word in words if word.clause != words[denied].clause]
    return meant if content(meant) else words[denied + 1 :]


def _is_fragment(words: Sequence[Token], language: str, opened: bool, corrects: bool) -> bool:
    """Whether a message has no verb, as far as shows: nothing in it asks, points or begins a question."""
    meant = content(words)
    if len(meant) > _FRAGMENT or words[0].folded in beginning(language):
        return False
    articles = closed.ARTICLES.get(language, frozenset())
    standing = closed.STANDING.get(language, frozenset()) if opened or corrects else frozenset()
    speaking = asking(language) | (POINTING.get(language, frozenset()) - articles - standing)
    if any(word.folded in speaking for word in words if word.sort is Sort.SMALL):
        return False
    if language in NOUNS_IN_CAPITALS and any(word.sort is Sort.PLAIN and not word.capital for word in words):
        return False
    if opened or corrects:
        return True
    return len(meant) <= _SHORT and all(word.sort is not Sort.PLAIN for word in meant)


def _circumstantial(words: Sequence[Token], language: str) -> bool:
    """Whether the first word of meaning has a preposition before it: it is asked for in place of the same of before."""
    small = closed.PREPOSITIONS.get(language, {}).keys() | closed.POSSESSING.get(language, frozenset())
    first = next(at for at, word in enumerate(words) if word.sort is not Sort.SMALL)
    return any(word.folded in small for word in words[:first])


def _leans(words: Sequence[Token], language: str) -> bool:
    names = [word for word in words if word.sort is Sort.NAME and language not in NOUNS_IN_CAPITALS]
    if any(word.text.isalpha() for word in names):
        return False
    pointing = POINTING.get(language, frozenset())
    articles = closed.ARTICLES.get(language, frozenset())
    if any(word.folded in pointing - articles for word in words):
        return True
    return not names and len(content(words)) <= _SHORT


def _begun(subject: Subject, message: str, words: Sequence[Token], language: str) -> Subject:
    """Return the subject that a complete message begins; without a name of its own it may be of the one before."""
    about = _entity(words) or tuple(word.text for word in content(words) if word.sort is Sort.PLAIN)
    before = () if _names_a_thing(words, subject, language) else (*subject.about, *subject.before)
    before = tuple(word for word in dict.fromkeys(before) if word not in about)[:_BACK]
    return Subject(about[:_MOST], leaning(message, (), before), before)


def _names_a_thing(words: Sequence[Token], subject: Subject, language: str) -> bool:
    """Whether a message names what it is about: a code or a number names but a part of something.

    Where all nouns have capitals, one is a name for certain if it was in what the conversation is about.
    """
    names = [word for word in words if word.sort is Sort.NAME and word.text.isalpha()]
    if language not in NOUNS_IN_CAPITALS:
        return bool(names)
    known = {fold(word) for word in (*subject.about, *subject.before)}
    return any(word.folded in known for word in names)


def _entity(words: Sequence[Token]) -> tuple[str, ...]:
    """Return the names among words, each with the word of meaning that stands right before or behind it."""
    kept: list[str] = []
    for at, word in enumerate(words):
        after = words[at + 1] if at + 1 < len(words) else None
        beside = (at > 0 and word.close and words[at - 1].sort is Sort.NAME) or (
            after is not None and after.close and after.sort is Sort.NAME
        )
        if word.sort is Sort.NAME or (word.sort is Sort.PLAIN and beside):
            kept.append(word.text)
    return tuple(dict.fromkeys(kept))


def _kept(subject: Subject, message: str, words: Sequence[Token], *, whole: bool = False) -> Subject:
    """Return the subject after a message that asks something else of it, or with `whole` the same of something else."""
    asked = str(replace(parted(subject.full), before=""))
    carried = [word.group() for word in _WORD.finditer(asked)] if whole else subject.about
    own = {word.folded for word in words}
    added, before = (
        [word for word in dict.fromkeys(group) if fold(word) not in own][:_MOST] for group in (carried, subject.before)
    )
    # From its first word on that neither links nor corrects, with the sign that opens a question.
    opens = "¿" if "¿" in message[: words[0].start] else ""
    full = leaning(opens + message[words[0].start :], added, [word for word in before if word not in added])
    return Subject(subject.about, full, subject.before)
