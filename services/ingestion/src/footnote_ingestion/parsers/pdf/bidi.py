"""Reading order of a line with Hebrew or Arabic, computed from its visual order.

The rules are Unicode's bidirectional algorithm (UAX 9) in reverse. Where two reading orders look the same, the likelier
one is taken: a number beside a Latin word belongs to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from unicodedata import bidirectional

_LETTERS = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")
_OPENING, _CLOSING = "([{«‹", ")]}»›"
# Signs that end a word or sentence, in right-to-left and in left-to-right text.
_SIGN_BEFORE, _SIGN_AFTER = re.compile(r"(?<!\S)[.,:;!?](?=\S)"), re.compile(r"(?<=\S)[.,:;!?](?!\S)")
_PAIRS = dict(zip(_OPENING + _CLOSING, _OPENING * 2, strict=True))
_ENDS = frozenset(",.:;!?،؛؟")
# Kinds of units, after UAX 9: letters of either direction, digits, separators and parts of numbers, others.
_RIGHT, _LEFT, _DIGIT, _JOINS, _PLUS, _OF_NUMBER, _OTHER = "R", "L", "N", "CS", "ES", "ET", "O"
_STRONG = frozenset((_RIGHT, _LEFT))


@dataclass(frozen=True, slots=True)
class _Run:
    """Units from `start` to before `end` that keep their visual order and are all of one `kind`."""

    kind: str
    start: int
    end: int


def has_letters(text: str) -> bool:
    """Return whether a text holds letters that are written from right to left."""
    return _LETTERS.search(text) is not None


def logical(units: Sequence[str], backwards: bool) -> tuple[str, bool]:
    """Return units in reading order, and whether that is right to left; they are given in visual order, from the left.

    A unit is a character or a word; `backwards` says whether the surrounding text is read from the right.
    """
    kinds = [_kind(unit) for unit in units]
    runs = _numbers_joined(kinds, any(bidirectional(char) == "AL" for unit in units for char in unit))
    backwards = _is_backwards(units, kinds, backwards)
    return _with_brackets_turned(_order(units, runs, backwards).strip()), backwards


def lean(text: str) -> int:
    """Return how many more words of a text are right-to-left than left-to-right; a mixed word is right-to-left."""
    count = 0
    for word in text.split():
        ways = {bidirectional(char) for char in word}
        count += 1 if "R" in ways or "AL" in ways else -("L" in ways)
    return count


def _kind(unit: str) -> str:
    """Return a unit's kind by its first letter, else by its first digit, else by its first character."""
    if unit.isascii() and unit.isalpha():
        return _LEFT
    found = _OTHER
    for char in unit:
        way = bidirectional(char)
        if way in ("R", "AL"):
            return _RIGHT
        if way == "L":
            return _LEFT
        if way in ("EN", "AN"):
            found = _DIGIT
        elif found == _OTHER and way in (_JOINS, _PLUS, _OF_NUMBER):
            found = way
    return found


def _numbers_joined(kinds: Sequence[str], arabic: bool) -> list[_Run]:
    """Return the units as runs: a number with its signs is one run, every other unit is a run by itself.

    Beside Arabic letters, a hyphen separates numbers, and a percent sign before a number is read after it.
    """
    runs: list[_Run] = []
    at, count = 0, len(kinds)
    while at < count:
        start = at
        if kinds[at] == _OF_NUMBER and not arabic and at + 1 < count and kinds[at + 1] == _DIGIT:
            at += 1
        if kinds[at] != _DIGIT:
            runs.append(_Run(kinds[at] if kinds[at] in _STRONG else _OTHER, at, at + 1))
            at += 1
            continue
        joins = (_JOINS,) if arabic else (_JOINS, _PLUS)
        while at < count and (
            kinds[at] == _DIGIT or (kinds[at] in joins and at + 1 < count and kinds[at + 1] == _DIGIT)
        ):
            at += 1
        while at < count and kinds[at] == _OF_NUMBER:
            at += 1
        runs.append(_Run(_DIGIT, start, at))
    return runs


def _is_backwards(units: Sequence[str], kinds: Sequence[str], around: bool) -> bool:
    """Return whether a line is read from the right, by the letters at its ends, else by its signs or its context."""
    strong = [kind for kind in kinds if kind in _STRONG]
    if not strong:
        return False
    if strong[0] == strong[-1] == _RIGHT:
        return True
    seen = "".join(units)
    signs = len(_SIGN_BEFORE.findall(seen)) - len(_SIGN_AFTER.findall(seen))
    if strong[0] == strong[-1]:
        return lean(seen) + signs > 0
    return signs > 0 or (around and not signs)


def _order(units: Sequence[str], runs: Sequence[_Run], backwards: bool) -> str:
    made: list[_Run] = []
    if backwards:
        for part, forwards in reversed(list(_stretches(units, runs))):
            made += part if forwards else part[::-1]
    else:
        start = 0
        for first, last in _stretches_of_right(runs):
            made += [*runs[start:first], *runs[first:last][::-1]]
            start = last
        made += runs[start:]
    return "".join(unit for run in made for unit in units[run.start : run.end])


def _stretches(units: Sequence[str], runs: Sequence[_Run]) -> Iterator[tuple[Sequence[_Run], bool]]:
    """Yield the runs in visual order, grouped into stretches that are read from the left and the rest between them."""
    start = at = 0
    while at < len(runs):
        if runs[at].kind not in (_LEFT, _DIGIT):
            at += 1
            continue
        end, stopped = _end_of_left(units, runs, at)
        if end > at:
            first, end = _with_brackets(units, runs, start, at, end)
            yield runs[start:first], False
            yield runs[first:end], True
            start = end
            at = end
        else:
            at = stopped
    yield runs[start:], False


def _end_of_left(units: Sequence[str], runs: Sequence[_Run], start: int) -> tuple[int, int]:
    """Return the end of a stretch that begins with a Latin word or number; its start if it contains no Latin word.

    The second value is where the search stopped: no such stretch begins before it.
    """
    end, seen = start, False
    at = start
    while at < len(runs) and runs[at].kind != _RIGHT:
        if runs[at].kind != _OTHER:
            between = "".join(units[run.start] for run in runs[end:at])
            of_number = _DIGIT in (runs[at].kind, runs[end - 1].kind)
            if at > start and of_number and between[:1] == " " and between[-1] in _ENDS:
                break  # the sign follows the number when read from the right
            end = at + 1
            seen = seen or runs[at].kind == _LEFT
        at += 1
    return end if seen else start, at


def _with_brackets(units: Sequence[str], runs: Sequence[_Run], least: int, start: int, end: int) -> tuple[int, int]:
    """Return a stretch extended by a bracket beside it whose partner is inside; their direction is not known yet."""
    text = "".join(unit for run in runs[start:end] for unit in units[run.start : run.end])
    for pair in zip(_OPENING, _CLOSING, strict=True):
        if sum(map(text.count, pair)) % 2:
            if end < len(runs) and units[runs[end].start] in pair:
                return start, end + 1
            if start > least and units[runs[start - 1].start] in pair:
                return start - 1, end
    return start, end


def _stretches_of_right(runs: Sequence[_Run]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of right-to-left stretches in a left-to-right line."""
    first = last = -1
    for at, run in enumerate(runs):
        if run.kind == _RIGHT:
            first, last = (at if first < 0 else first), at
        elif run.kind == _LEFT and first >= 0:
            yield first, last + 1
            first = -1
    if first >= 0:
        yield first, last + 1


def _with_brackets_turned(text: str) -> str:
    """Return a text whose brackets open before words and close after them.

    Some fonts name the bracket that is drawn, others the one that was written, and PDFium mirrors some of them.
    """
    opened = dict.fromkeys(_OPENING, 0)
    made: list[str] = []
    for at, char in enumerate(text):
        if char in _PAIRS:
            opening = _PAIRS[char]
            bare_before = not at or text[at - 1].isspace()
            bare_after = (
                at + 1 == len(text) or text[at + 1].isspace() or text[at + 1] in _ENDS or text[at + 1] in _PAIRS
            )
            opens = bare_before if bare_before != bare_after else not opened[opening]
            opened[opening] += 1 if opens else -min(opened[opening], 1)
            char = opening if opens else _CLOSING[_OPENING.index(opening)]
        made.append(char)
    return "".join(made)
