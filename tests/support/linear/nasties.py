"""Inputs that patterns are known to be slow on, each in any length."""

# ruff: noqa: E501  (tables)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

_PUMPS = (
    "a", "A", "1", " ", "\t", "\n", "\r\n", ".", ",", "-", "–", "_", "'", "’", '"', "“", "(", ")", "[", "]", "{", "<", ">",
    "!", "?", "*", "#", "|", "/", "\\", ":", ";", "=", "&", "%", "$", "€", "~", "`", "+", "@", "^", "\0", "\ufffd",
    "ab", "aA", "a1", "a ", "a.", "a-", "A.", "l'a'b'", "a’", "1,", "1.", "1 ", "1-", "1,1.", "1.000,", ". ", " .", "? ", "..",
    "- ", " -", "–1", "$ ", "$1", "1%", " 1", " $", "1/", "1:", "(1", "[1", "[1]", "[[", "[a](", "![", "![a](", "](", "<a", "<a ",
    "</", "<!--", "-->", "<a href=", "&#", "&a;", "a=", 'a="', "|a", "| ", "|-", "```", "**a", "* ", "1. ", "\n ", " \n", "\n\n",
    "\n-", "a\n", "a b ", "the ", "not ", "of the ", "and ", "what is ", "answer ", "answer unit ", "please ", "ignore all ",
    "a@", "a@b.", "http://", "http://a.", "www.", "a/b", "é", "e\u0301", "\u0301", "ß", "İ", "é ", "я", "अ", "ก", "中", "中文",
    "中。", "。", "、", "《", "》", "《中》", "中1", "1中", "年", "2020年", "第一", "·", "中·", "の", "カ", "한", "١", "½", "٪",
    "👩\u200d", "👩\u200d👧", "🇫🇷", "\u200b", "\u202e", "\u00a0", "\u2028", "\ud800", "\x1b[", "\x13", "a" * 31 + " ", "ab" * 40 + " ",
    "11 ", "111.", "1 000 ", "M. ", "Dr. ", "e.g. ", "A. B. ", "US$", "-1", "1e", "0x", "1st ", "one ", "vingt ", "zwei", "%s", "{}",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Nasty:
    """Something repeated, between something before and something after."""

    pump: str
    head: str = ""
    tail: str = ""

    def __call__(self, size: int) -> str:
        """Return it with about `size` characters."""
        return self.head + self.pump * max(1, size // len(self.pump)) + self.tail

    @property
    def name(self) -> str:
        """How the table calls it."""
        return f"{self.head!a} + n × {self.pump!a} + {self.tail!a}"


Make = Callable[[int], str]
NASTIES = tuple(Nasty(pump, "", "!") for pump in dict.fromkeys(_PUMPS))
ALPHABET = "".join(dict.fromkeys("".join(_PUMPS)))
