"""Inputs made from a pattern's own parse tree: what each of its repeats takes, again and again, and then not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from support.linear.nasties import Nasty

_CANDIDATES = "a1 .-,A'(中\n_!é$|<\u0301\0z"
_REPEATS = {sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT}
_CATEGORIES: dict[Any, tuple[str, bool]] = {
    sre.CATEGORY_DIGIT: ("1", False), sre.CATEGORY_NOT_DIGIT: ("1", True), sre.CATEGORY_SPACE: (" ", False),
    sre.CATEGORY_NOT_SPACE: (" ", True), sre.CATEGORY_WORD: ("a", False), sre.CATEGORY_NOT_WORD: ("a", True),
}  # fmt: skip


def _in_category(char: str, category: Any) -> bool:
    sort, negated = _CATEGORIES[category]
    found = {"1": char.isdecimal(), " ": char.isspace(), "a": char.isalnum() or char == "_"}[sort]
    return found != negated


def _in_set(char: str, items: Sequence[tuple[Any, Any]]) -> bool:
    negated = found = False
    for op, value in items:
        if op is sre.NEGATE:
            negated = True
        elif op is sre.LITERAL:
            found |= ord(char) == value
        elif op is sre.RANGE:
            found |= value[0] <= ord(char) <= value[1]
        elif op is sre.CATEGORY:
            found |= _in_category(char, value)
    return found != negated


def _set_samples(items: Sequence[tuple[Any, Any]]) -> list[str]:
    own = [chr(value) for op, value in items if op is sre.LITERAL]
    own += [chr(value[0]) for op, value in items if op is sre.RANGE]
    return [char for char in dict.fromkeys([*_CANDIDATES, *own]) if _in_set(char, items)][:6] or ["a"]


def _samples(tree: Any) -> list[str]:
    """Return a few strings that a sequence (nearly) matches: the first choice everywhere, the second, and so on."""
    options = [_node_samples(node) for node in tree]
    return list(dict.fromkeys("".join(option[turn % len(option)] for option in options) for turn in range(6)))


def _node_samples(node: tuple[Any, Any]) -> list[str]:
    op, value = node
    if op is sre.LITERAL:
        return [chr(value)]
    if op is sre.NOT_LITERAL:
        return [char for char in _CANDIDATES if ord(char) != value][:3]
    if op is sre.ANY:
        return ["a", " ", "1"]
    if op is sre.IN:
        return _set_samples(value)
    if op is sre.BRANCH:
        return list(dict.fromkeys(sample for branch in value[1] for sample in _samples(branch)[:1]))[:12]
    if op is sre.SUBPATTERN:
        return _samples(value[3])
    if op is sre.ATOMIC_GROUP:
        return _samples(value)
    if op in _REPEATS:
        least = min(value[0], 3)
        return [sample * max(least, 1) for sample in _samples(value[2])] + ([""] if value[0] == 0 else [])
    if op is sre.ASSERT and value[0] < 0:
        return _samples(value[1])
    return [""]  # places, look-arounds, references


def _repeats(tree: Any, head: str) -> Iterator[tuple[str, str, str]]:
    """Yield what comes before a repeat, what it repeats, and what comes after it in its sequence."""
    nodes = list(tree)
    before = head
    for at, node in enumerate(nodes):
        op, value = node
        after = "".join(_node_samples(later)[0] for later in nodes[at + 1 : at + 3])
        if op in _REPEATS and value[1] > 3:
            for body in _samples(value[2])[:6]:
                if body:
                    yield before, body, after
        for child in _children(op, value):
            yield from _repeats(child, before)
        before += _node_samples(node)[0]


def _choices(tree: Any) -> Iterator[str]:
    """Yield what a sequence matches with each alternative of its branches and each optional part, one at a time."""
    nodes = [_node_samples(node)[0] for node in tree]
    for at, (op, value) in enumerate(tree):
        own: Iterator[str] = iter(())
        if op is sre.BRANCH:
            own = (choice for branch in value[1] for choice in (*_samples(branch)[:1], *_choices(branch)))
        elif op is sre.SUBPATTERN:
            own = _choices(value[3])
        elif op is sre.ATOMIC_GROUP:
            own = _choices(value)
        elif op in _REPEATS:
            own = (choice for choice in (*_samples(value[2])[:1], *_choices(value[2])))
        for choice in own:
            yield "".join([*nodes[:at], choice, *nodes[at + 1 :]])


def _repeated_choices(tree: Any) -> Iterator[str]:
    """Yield the choices of what is repeated many times: two that take the same text make a repeat exponential."""
    for op, value in tree:
        if op in _REPEATS and value[1] > 3:
            yield from _choices(value[2])
        for child in _children(op, value):
            yield from _repeated_choices(child)


def _children(op: Any, value: Any) -> list[Any]:
    if op in _REPEATS:
        return [value[2]]
    if op is sre.SUBPATTERN:
        return [value[3]]
    if op is sre.ATOMIC_GROUP:
        return [value]
    if op is sre.BRANCH:
        return list(value[1])
    return [value[1]] if op in (sre.ASSERT, sre.ASSERT_NOT) else []


def _all(pattern: re.Pattern[Any]) -> Iterator[Nasty]:
    source = pattern.pattern
    tree = parser.parse(source, pattern.flags & ~re.DEBUG)
    tails = list(dict.fromkeys(["", "\0", "a ", *_excluded(tree)]))[:6]
    for whole in _samples(tree):
        if whole:
            yield from (Nasty(whole, "", tail) for tail in tails)
    for head, body, after in _repeats(tree, ""):
        for tail in tails:
            yield Nasty(body, head, tail)
        if head:
            yield Nasty(head + body)
            yield Nasty(head)
        if after:
            yield Nasty(body + after, head, "\0")
            yield Nasty(body, head, after)


def _excluded(tree: Any) -> Iterator[str]:
    """Yield the characters that sets of a pattern exclude: what ends its repeats."""
    for op, value in tree:
        if op is sre.NOT_LITERAL:
            yield chr(value)
        elif op is sre.IN and value[0][0] is sre.NEGATE:
            yield from (chr(code) for kind, code in value if kind is sre.LITERAL)
        elif op in _REPEATS:
            yield from _excluded(value[2])
        elif op is sre.SUBPATTERN:
            yield from _excluded(value[3])
        elif op is sre.ATOMIC_GROUP:
            yield from _excluded(value)
        elif op is sre.BRANCH:
            for branch in value[1]:
                yield from _excluded(branch)


def derived(pattern: Any, most: int = 150) -> list[Nasty]:
    """Return inputs for a pattern of `re`; none for those of `regex`, whose trees are not ours to read."""
    if not isinstance(pattern, re.Pattern):
        return []
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    choices = dict.fromkeys(choice for choice in islice(_repeated_choices(tree), 4 * most) if choice)
    return [*islice(dict.fromkeys(_all(pattern)), most), *(Nasty(choice, "", "\0") for choice in choices)]
