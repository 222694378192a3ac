"""Tracks a conversation's subject by grammar rules, and completes follow-ups with it.

A language model does this better, and is used where one is available. These rules know word classes by form and from
closed lists only (`phrases.py`, `closed_words.py`). A message that asks something of its own but depends on earlier
ones gets the earlier names in brackets. A message without a verb that names another thing, time or circumstance is
replaced by the previous question about it. When the rules cannot decide, they leave the message as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from footnote_text.language import detect
from footnote_text.lexical import fold
from footnote_text.question_context import parted, with_context
from footnote_text.sentences import ANAPHORIC

from footnote_augmentation import closed_words as closed
from footnote_augmentation.phrases import NOUNS_IN_CAPITALS, Sort, Token, asking, beginning, content, tokens
from footnote_augmentation.plan import should_use_rag
from footnote_augmentation.substitution import swapped

_MESSAGES, _CHARACTERS = 8, 600
_READ = 4000  # characters used for language detection
_MOST = 12  # words that are carried over
_BACK = 6  # words that may or may not be meant
_FRAGMENT = 6  # maximum content words of a message without a verb
_WORD = re.compile(r"[^\W_]+(?:[-.][^\W_]+)*")
_SHORT = 2  # maximum content words of a message with hardly a subject of its own


@dataclass(frozen=True, slots=True)
class Subject:
    """The words for a conversation's subject, names first, and its last complete question.

    `before` are the names mentioned before a question that names nothing.
    """

    about: tuple[str, ...] = ()
    full: str = ""
    before: tuple[str, ...] = ()


def in_full(message: str, said: Sequence[str]) -> str:
    """Return a message completed with what it depends on; `said` are the user's earlier messages, oldest first.

    The additions follow it in brackets (`footnote_text.question_context`). A message that only names another subject is
    replaced by the previous question about that subject.
    """
    spoken = [*filter(should_use_rag, (one[:_CHARACTERS] for one in said[-_MESSAGES:])), message]
    # A short message gives little evidence of its language; the conversation gives more.
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
        return _continued(subject, message, words, whole=_circumstantial(words, language))
    if opened or corrects or _leans(words, language):
        return _continued(subject, message, words)
    return _begun(subject, message, words, language)


def _news(words: list[Token], language: str) -> tuple[list[Token], bool, bool]:
    """Return a message's words without linking or correcting ones, and whether it links or corrects."""
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
    """Return the corrected meaning: "not this one but that", "that one, not this", "not this one, I meant that"."""
    denied = next((at for at, word in enumerate(words) if word.folded in closed.DENYING), None)
    if denied is None:
        return words
    turn = next((at for at, word in enumerate(words) if at > denied and word.folded in closed.CONTRASTING), None)
    if turn is not None:
        return words[turn + 1 :]
    meant = [word for word in words if word.clause != words[denied].clause]
    return meant if content(meant) else words[denied + 1 :]


def _is_fragment(words: Sequence[Token], language: str, opened: bool, corrects: bool) -> bool:
    """Return whether a message seems to have no verb: it has no question word, pronoun or opening of a question."""
    meant = content(words)
    if len(meant) > _FRAGMENT or words[0].folded in beginning(language):
        return False
    articles = closed.ARTICLES.get(language, frozenset())
    standing = closed.STANDING.get(language, frozenset()) if opened or corrects else frozenset()
    speaking = asking(language) | (ANAPHORIC.get(language, frozenset()) - articles - standing)
    if any(word.folded in speaking for word in words if word.sort is Sort.SMALL):
        return False
    if language in NOUNS_IN_CAPITALS and any(word.sort is Sort.PLAIN and not word.capital for word in words):
        return False
    if opened or corrects:
        return True
    return len(meant) <= _SHORT and all(word.sort is not Sort.PLAIN for word in meant)


def _circumstantial(words: Sequence[Token], language: str) -> bool:
    """Return whether a preposition precedes the first content word: it then replaces the same phrase of before."""
    small = closed.PREPOSITIONS.get(language, {}).keys() | closed.POSSESSING.get(language, frozenset())
    first = next(at for at, word in enumerate(words) if word.sort is not Sort.SMALL)
    return any(word.folded in small for word in words[:first])


def _leans(words: Sequence[Token], language: str) -> bool:
    names = [word for word in words if word.sort is Sort.NAME and language not in NOUNS_IN_CAPITALS]
    if any(word.text.isalpha() for word in names):
        return False
    pointing = ANAPHORIC.get(language, frozenset())
    articles = closed.ARTICLES.get(language, frozenset())
    if any(word.folded in pointing - articles for word in words):
        return True
    return not names and len(content(words)) <= _SHORT


def _begun(subject: Subject, message: str, words: Sequence[Token], language: str) -> Subject:
    """Return the subject that a complete message begins; without its own name it may keep the previous one."""
    about = _entity(words) or tuple(word.text for word in content(words) if word.sort is Sort.PLAIN)
    before = () if _names_a_thing(words, subject, language) else (*subject.about, *subject.before)
    before = tuple(word for word in dict.fromkeys(before) if word not in about)[:_BACK]
    return Subject(about[:_MOST], with_context(message, (), before), before)


def _names_a_thing(words: Sequence[Token], subject: Subject, language: str) -> bool:
    """Return whether a message names its subject: a code or a number names only a part of something.

    Where all nouns are capitalised, a word is certainly a name only if it was in the conversation's subject.
    """
    names = [word for word in words if word.sort is Sort.NAME and word.text.isalpha()]
    if language not in NOUNS_IN_CAPITALS:
        return bool(names)
    known = {fold(word) for word in (*subject.about, *subject.before)}
    return any(word.folded in known for word in names)


def _entity(words: Sequence[Token]) -> tuple[str, ...]:
    """Return the names among words, each with its adjoining content word."""
    kept: list[str] = []
    for at, word in enumerate(words):
        after = words[at + 1] if at + 1 < len(words) else None
        beside = (at > 0 and word.close and words[at - 1].sort is Sort.NAME) or (
            after is not None and after.close and after.sort is Sort.NAME
        )
        if word.sort is Sort.NAME or (word.sort is Sort.PLAIN and beside):
            kept.append(word.text)
    return tuple(dict.fromkeys(kept))


def _continued(subject: Subject, message: str, words: Sequence[Token], *, whole: bool = False) -> Subject:
    """Return the subject after a message that asks something else of it, or with `whole` the same of something else."""
    asked = str(replace(parted(subject.full), before=""))
    carried = [word.group() for word in _WORD.finditer(asked)] if whole else subject.about
    own = {word.folded for word in words}
    added, before = (
        [word for word in dict.fromkeys(group) if fold(word) not in own][:_MOST] for group in (carried, subject.before)
    )
    # From the first word that neither links nor corrects, including an opening question mark.
    opens = "¿" if "¿" in message[: words[0].start] else ""
    full = with_context(opens + message[words[0].start :], added, [word for word in before if word not in added])
    return Subject(subject.about, full, subject.before)
