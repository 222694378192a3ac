"""A question that asks two things, cut into questions of their own: "How long … and how much …?", "Compare A and B"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from footnote_text import intents, locales, question_context
from footnote_text import language as languages
from footnote_text.intents import Intent
from footnote_text.lexical import fold, is_unspaced

from footnote_generation.extractive.passages import marks
from footnote_generation.extractive.question import ASKING_CHINESE, Question, read
from footnote_generation.language.words import Word

_MOST = 3
_LEAST_WORDS = 2  # words of meaning below which a half leans on the other
_WORD = re.compile(r"[^\W\d_]+")
_CLAUSE = re.compile(r"[，,；;]")


def of(text: str) -> list[tuple[str, str]]:
    """Return each thing that a question asks or compares, in its words, with the question that is put for it."""
    return compared(text) or parted(text)


def parted(text: str) -> list[tuple[str, str]]:
    """Return each thing that a question asks, in its words, with the question that is put for it."""
    said = question_context.parted(text)
    code = languages.detect(said.question, ("en", "fr")) or "en"
    locale = locales.known(code)
    if locale is None or read(text).wish in {Intent.COMPARISON, Intent.SUMMARY}:
        return [(text, text)]
    cuts = _cuts(said.question, locale.signals.asking)
    if not cuts or len(cuts) >= _MOST:
        return [(text, text)]
    halves = [said.question[a:b].strip(" ,，") for a, b in zip([0, *cuts], [*cuts, len(said.question)], strict=True)]
    questions = [read(half) for half in halves]
    if not all(one.about for one in questions):
        return [(text, text)]
    return [(half, _with_topic(half, one, questions[0] if at else None, said.subject)) for at, (half, one) in
            enumerate(zip(halves, questions, strict=True))]  # fmt: skip


def _cuts(text: str, phrases: tuple[str, ...]) -> list[int]:
    """Return where a second question begins: at a question word after a comma or after one word that joins.

    What stands before must ask too: "According to the lease, what …" asks one thing.
    """
    words = list(_WORD.finditer(text))
    asking = frozenset(fold(word[0]) for word in words if intents.is_one(word[0], phrases))
    asks = [at for at, word in enumerate(words) if fold(word[0]) in asking]
    found = []
    for at in asks[1:]:
        before, earlier = words[at - 1], words[at - 2]
        if _CLAUSE.search(text[before.end() : words[at].start()]):
            found.append(words[at].start())
        elif _is_small(before, asking) and not text[before.end() : words[at].start()].strip():
            # "y a qué velocidad": a preposition stands between what joins and the question word.
            pair = _is_small(earlier, asking) and not text[earlier.end() : before.start()].strip()
            found.append((earlier if pair else before).start())
    if not words or not is_unspaced(text[words[0].start()]):
        return found
    clauses = [match.end() for match in _CLAUSE.finditer(text)][:_MOST]
    return [at for at in clauses if ASKING_CHINESE.search(text[:at]) and ASKING_CHINESE.search(text[at:])]


def _is_small(word: re.Match[str], asking: frozenset[str]) -> bool:
    return word[0].islower() and len(word[0]) <= 3 and fold(word[0]) not in asking


def _with_topic(half: str, question: Question, first: Question | None, subject: str) -> str:
    """Return a half with what the first is asked of, where it names nothing itself."""
    if first is None:
        return question_context.with_context(half, [subject] if subject else [])
    own = {stem for word in question.about for stem in word.stems}
    named = any(_names(word) for word in question.about)
    lent = [
        word.text
        for word in first.about
        if not own.intersection(word.stems) and ((_names(word) and not named) or len(question.about) < _LEAST_WORDS)
    ]
    return question_context.with_context(half, [*([subject] if subject else []), *dict.fromkeys(lent)])


def _names(word: Word) -> bool:
    return word.name or any(char.isdigit() for char in word.text)


def compared(question_text: str) -> list[tuple[str, str]]:
    """Return each compared thing with the question about it alone, if digits distinguish the things.

    "Linde 3" and "Linde 3S", "QL-500" and "QL-630": what says one of them must not say the other. Other things are
    searched side by side (`whole_passages`), and none are returned.
    """
    question = read(question_text)
    things = list(dict.fromkeys(one for one in _TOKEN.findall(question.text) if marks(one)))
    if question.wish is not Intent.COMPARISON or not 1 < len(things) <= _MOST:
        return []
    text = question.text
    return [(_named(thing, text), _without(text, [other for other in things if other != thing])) for thing in things]


def _named(thing: str, text: str) -> str:
    """Return a thing with the word before it where it begins with a digit: "Linde 3"."""
    before = re.search(rf"([^\W\d_]{{1,40}} ){re.escape(thing)}(?![A-Za-z0-9-])", text) if thing[:1].isdigit() else None
    return f"{before[1]}{thing}" if before else thing


_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*|[^\W_A-Za-z0-9]+")


def _without(text: str, others: Sequence[str]) -> str:
    for other in others:
        text = re.sub(rf"(?<![A-Za-z0-9-]){re.escape(other)}(?![A-Za-z0-9-])", " ", text)
    return " ".join(text.split())
