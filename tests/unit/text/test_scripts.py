import re
import sys
import unicodedata
from functools import cache

import pytest
from footnote_text import scripts
from footnote_text.scripts import joins_without_space


@cache
def named_characters() -> dict[str, str]:
    """Return every character that has a name; when a test asks, since each worker that collects would make them."""
    every = map(chr, range(sys.maxunicode + 1))
    return {char: name for char in every if (name := unicodedata.name(char, ""))}


@pytest.mark.parametrize(
    ("script", "prefixes"),
    [
        ("HAN", "CJK UNIFIED IDEOGRAPH|CJK COMPATIBILITY IDEOGRAPH"),
        ("HAN_RARE", "CJK UNIFIED IDEOGRAPH|CJK COMPATIBILITY IDEOGRAPH|IDEOGRAPHIC"),
        ("KANA", "HIRAGANA|KATAKANA|COMBINING KATAKANA"),
        ("HANGUL", "HANGUL SYLLABLE"),
        ("HANGUL_LETTERS", "HANGUL"),
        ("THAI", "THAI"),
        ("LAO", "LAO"),
        ("MYANMAR", "MYANMAR"),
        ("KHMER", "KHMER"),
        ("GREEK", "GREEK|COPTIC"),
        ("ARMENIAN", "ARMENIAN"),
        ("HEBREW", "HEBREW"),
        ("TAMIL", "TAMIL"),
        ("GEORGIAN", "GEORGIAN|MODIFIER LETTER GEORGIAN"),
    ],
)
def test_the_letters_of_a_script_are_named_after_it(script: str, prefixes: str) -> None:
    inside = re.compile(f"[{getattr(scripts, script)}]")
    names = [name for char, name in named_characters().items() if inside.match(char) and char.isalpha()]
    assert names
    assert [name for name in names if not name.startswith(tuple(prefixes.split("|")))] == []


@pytest.mark.parametrize(
    "begins", ["CJK UNIFIED IDEOGRAPH", "HIRAGANA LETTER", "HANGUL SYLLABLE", "THAI", "LAO", "KHMER LETTER"]
)
def test_all_that_is_written_without_spaces_is_known(begins: str) -> None:
    unspaced = re.compile(f"[{scripts.UNSPACED}]")
    named = [
        char
        for char, name in named_characters().items()
        if (name.startswith(begins) and ord(char) < 0x1B000) or char in "々〇𠮷"
    ]
    assert len(named) > 30
    assert [char for char in named if not unspaced.match(char)] == []


@pytest.mark.parametrize("char", [*"aé1 -.,λпש", "\u3000", "。", "、"])
def test_what_is_written_with_spaces_is_not_of_them(char: str) -> None:
    assert not re.match(f"[{scripts.UNSPACED}]", char)


@pytest.mark.parametrize(
    ("before", "after", "joined"),
    [
        ("中", "国", True), ("の", "日", True), ("カ", "タ", True), ("々", "は", True), ("㎡", "の", True),
        ("\uf9d1", "国", True),
        ("国", "a", False), ("a", "国", False), ("한", "국", False), ("a", "b", False), ("。", "中", False),
    ],
)  # fmt: skip
def test_lines_of_chinese_and_japanese_are_joined_without_a_space(before: str, after: str, joined: bool) -> None:
    assert joins_without_space(before, after) is joined
