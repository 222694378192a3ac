"""Repeats a question about another thing, time or circumstance, by putting a fragment's words in their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from footnote_text.lexical import fold
from footnote_text.question_context import QuestionInContext, parted

from footnote_augmentation import closed_words as closed
from footnote_augmentation.phrases import NOUNS_IN_CAPITALS, Sort, Token, content, tokens

_HEAD = 4  # minimum letters of a compound's head


@dataclass(frozen=True, slots=True)
class Substitution:
    """A question with some words replaced, and its new subject."""

    text: str
    about: tuple[str, ...]


def swapped(
    question: str, words: Sequence[Token], about: Sequence[str], language: str, *, corrects: bool
) -> Substitution | None:
    """Return the question about what a fragment names; None if the fragment names nothing that fits."""
    old = tokens(question, language)
    times = [word for word in words if word.sort is Sort.TIME]
    things = [word for word in content(words) if word.sort is not Sort.TIME]
    edits: dict[int, str] = {}
    added: list[str] = []
    if times:
        places = [at for at, word in enumerate(old) if word.sort is Sort.TIME]
        edits = dict.fromkeys(places, "")
        if places:
            edits[places[0]] = " ".join([word.text for word in times])
        else:
            added = [word.text for word in times]
    gone: list[str] = []
    if things:
        found = _things(old, words, things, about, language, corrects)
        if found is None:
            return None
        places, new = found
        gone = [old[at].folded for at in places]
        edits |= dict.fromkeys(places, "")
        if places:
            edits[places[0]] = " ".join(new)
        else:
            added += new
        about = _renamed(about, gone, new)
    return Substitution(_edited(question, old, edits, added), tuple(about))


def _things(
    old: Sequence[Token], words: Sequence[Token], things: Sequence[Token], about: Sequence[str], language: str,
    corrects: bool,
) -> tuple[list[int], list[str]] | None:  # fmt: skip
    """Return which words of a question are replaced, and by which; no places if the new words are added."""
    for rule in (_beside_shared, _compound):
        if (found := rule(old, things, language)) is not None:
            return found
    names = _named(words, things, language, corrects)
    if names and all(word.sort is Sort.NAME or word in _beside(words, names) for word in things):
        places = _after_same_preposition(old, words, things, language, names_only=True) or _slot(old, names, about)
        return places, [word.text for word in things]
    if names:
        return None
    places = _after_same_preposition(old, words, things, language)
    return (places, [word.text for word in things]) if places else None


def _beside_shared(old: Sequence[Token], things: Sequence[Token], language: str) -> tuple[list[int], list[str]] | None:
    """Return the words beside a shared noun: "tariff A" and "tariff B", "north hall" and "south hall".

    As many words are replaced as there are new ones.
    """
    for at, thing in enumerate(things):
        for place, word in enumerate(old):
            if word.sort is Sort.SMALL or not word.stems & thing.stems:
                continue
            after, before = things[at + 1 :], things[:at]
            if after and (room := _run(old, place, 1, len(after))):
                return room, [one.text for one in after]
            if before and (room := _run(old, place, -1, len(before))):
                return room, [one.text for one in before]
    return None


def _run(old: Sequence[Token], place: int, step: int, most: int) -> list[int]:
    """Return the places of content words that adjoin a word on one side; function words are skipped only after it."""
    found: list[int] = []
    at = place + step
    passed = 0
    while 0 <= at < len(old) and len(found) < most and passed <= 2:
        if old[at].sort is Sort.SMALL:
            if found or step < 0:
                break
            passed += 1
        elif old[at].sort is Sort.TIME:
            break
        else:
            found.append(at)
        at += step
    return sorted(found)


def _compound(old: Sequence[Token], things: Sequence[Token], language: str) -> tuple[list[int], list[str]] | None:
    """Return a German noun, with its adjoining words, that is the head of the other's compound or as long."""
    if language not in NOUNS_IN_CAPITALS:
        return None
    for thing in things:
        for place, word in enumerate(old):
            if word.sort is Sort.SMALL or not word.capital or not _same_head(word.folded, thing.folded):
                continue
            places = [place]
            if place + 1 < len(old) and old[place + 1].close and old[place + 1].sort is Sort.NAME:
                places.append(place + 1)
            return places, [one.text for one in things]
    return None


def _same_head(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= _HEAD and long.endswith(short)


def _named(words: Sequence[Token], things: Sequence[Token], language: str, corrects: bool) -> list[Token]:
    """Return the names in a fragment; where all nouns are capitalised, only those without an article."""
    if language not in NOUNS_IN_CAPITALS:
        return [word for word in things if word.sort is Sort.NAME]
    if not corrects:
        return [word for word in things if word.sort is Sort.NAME and not word.text.isalpha()]
    articles = closed.ARTICLES[language]
    led = {word.start for before, word in pairwise(words) if before.folded in articles}
    return [word for word in things if word.sort is Sort.NAME and word.start not in led]


def _beside(words: Sequence[Token], names: Sequence[Token]) -> list[Token]:
    """Return the content words that adjoin a name."""
    return [
        one
        for left, right in pairwise(words)
        if right.close and (left in names or right in names)
        for one in (left, right)
    ]


def _slot(old: Sequence[Token], names: Sequence[Token], about: Sequence[str]) -> list[int]:
    """Return where a question has its name: a run of words of the same form, the subject's words first."""
    known = {fold(word) for word in about}
    rows: list[list[int]] = []
    for at, word in enumerate(old):
        if word.sort is not Sort.NAME:
            continue
        if rows and rows[-1][-1] == at - 1 and word.close:
            rows[-1].append(at)
        else:
            rows.append([at])
    spelt = any(word.text.isalpha() for word in names)

    def fits(row: list[int]) -> tuple[bool, bool]:
        return any(old[at].text.isalpha() for at in row) == spelt, any(old[at].folded in known for at in row)

    row = max(rows, key=fits, default=[])
    # "Room 12", and then "14": only the number is replaced.
    return row if spelt else [at for at in row if not old[at].text.isalpha()]


def _after_same_preposition(
    old: Sequence[Token], words: Sequence[Token], things: Sequence[Token], language: str, *, names_only: bool = False
) -> list[int]:
    """Return the words of a question after the preposition that precedes the fragment's first word."""
    forms = closed.PREPOSITIONS.get(language, {})
    first = next(at for at, word in enumerate(words) if word is things[0])
    own = next((forms[word.folded] for word in words[:first] if word.folded in forms), None)
    if own is None:
        return []
    for at, word in enumerate(old):
        if forms.get(word.folded) != own:
            continue
        run: list[int] = []
        for place in range(at + 1, len(old)):
            if old[place].sort is Sort.SMALL and not run:
                continue
            if old[place].sort in {Sort.SMALL, Sort.TIME} or (run and not old[place].close):
                break
            run.append(place)
            if len(run) == len(things):
                break
        if run and (not names_only or any(old[place].sort is Sort.NAME for place in run)):
            return run
    return []


def _renamed(about: Sequence[str], gone: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    """Return a question's subject with the replaced words exchanged, if it contained one of them."""
    kept = [word for word in about if fold(word) not in gone]
    return tuple(dict.fromkeys([*kept, *new])) if len(kept) < len(about) or not gone else tuple(about)


def _edited(question: str, old: Sequence[Token], edits: dict[int, str], added: Sequence[str]) -> str:
    parts: list[str] = []
    at = 0
    for place in sorted(edits):
        start = old[place].start
        # A removed word takes the space before it along.
        between = question[at:start]
        parts.append(between + edits[place] if edits[place] else between.rstrip())
        at = old[place].end
    text = "".join([*parts, question[at:]]).strip()
    found = parted(text)
    background = question.rfind("[") if parted(question).before else len(question)
    if any(old[place].start > background for place in edits):
        # A user who names another thing in its place means that one.
        found = QuestionInContext(found.question, " ".join(part for part in (found.subject, found.before) if part))
    return str(replace(found, subject=" ".join([*found.subject.split(), *added])))
