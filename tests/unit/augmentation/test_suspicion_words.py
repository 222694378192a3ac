"""The words that are looked for before a sign's pattern are in everything that the pattern can match."""

from __future__ import annotations

import random
import re._constants as ops  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import unicodedata
from typing import Any

import pytest
from footnote.types.v1.reasons_pb2 import SuspicionReason
from footnote_augmentation.suspicion import _SIGNS, lowered

ROUNDS = 3000


def made(tree: Any, rng: random.Random) -> str:
    """Return something that a pattern matches, as far as its looks around allow."""
    out = ""
    for op, value in tree:
        if op in (ops.LITERAL,):
            out += chr(value)
        elif op is ops.NOT_LITERAL or op is ops.ANY:
            out += "x"
        elif op is ops.IN:
            out += _one_of(value, rng)
        elif op is ops.BRANCH:
            out += made(rng.choice(value[1]), rng)
        elif op is ops.SUBPATTERN:
            out += made(value[3], rng)
        elif op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
            least, most, inner = value
            out += "".join(made(inner, rng) for _ in range(rng.choice([least, min(int(most), least + 1)])))
        elif op is ops.ATOMIC_GROUP:
            out += made(value, rng)
        else:
            assert op in (ops.AT, ops.ASSERT, ops.ASSERT_NOT), op
    return out


def _one_of(items: Any, rng: random.Random) -> str:
    if items[0][0] is ops.NEGATE:
        return " "
    op, value = rng.choice(items)
    if op is ops.LITERAL:
        return chr(value)
    if op is ops.RANGE:
        return chr(rng.randint(*value))
    return {ops.CATEGORY_SPACE: " ", ops.CATEGORY_DIGIT: "7", ops.CATEGORY_WORD: "w"}[value]


@pytest.mark.parametrize("sign", _SIGNS, ids=[SuspicionReason.Name(sign[1]) for sign in _SIGNS])
def test_nothing_that_matches_lacks_the_words(sign: Any) -> None:
    _, _, words, pattern = sign
    rng, found = random.Random(7), 0
    tree = parser.parse(pattern.pattern, pattern.flags)
    for _ in range(ROUNDS):
        text = made(tree, rng)
        for form in (text, text.upper(), text.replace("i", "İ"), text.replace("i", "ı"), text.title()):
            plain = form if form.isascii() else unicodedata.normalize("NFKC", form)
            if pattern.search(plain):
                found += 1
                assert any(word in lowered(plain) for word in words), plain
    assert found > ROUNDS
