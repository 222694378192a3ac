"""Rules an answer is put through before anybody sees it: small, each for one thing, in a fixed order."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Rule = Callable[[str], tuple[str, str]]
"""Takes a stretch of text, returns it cleaned and what was done, "" when nothing."""

_TAG = re.compile(
    r"</?(?:script|style|iframe|object|embed|form|input|img|svg|link|meta|base|video|audio|a|div|span|p|br|b|i"
    r"|u|table|tr|td|button|html|body|head)\b[^<>]*>",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"<!--[\s\S]*?(?:-->|$)")
_ACTIVE = re.compile(r"(?i)\b(?:javascript|vbscript|data):(?=\S)")
# An image is fetched by the reader's browser without a click: its address can carry anything out.
_IMAGE = re.compile(r"!\[([^\]\n]*)\]\([^)\n]*\)")
_SECRETS = (
    re.compile(r"\b(?:sk|pk|rk)-(?:proj-|ant-|live-|test-)?[A-Za-z0-9_-]{16,}"),
    re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    re.compile(r"\bgh[pousr]_[A-Za-z0-9]{30,}\b"),
    re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}"),
    re.compile(r"\bAIza[0-9A-Za-z_-]{30,}"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{8,}"),
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"),
)
_WHOLE = re.compile(r"<{1,3}[^<>\n]*>{1,3}|<!--[\s\S]*?-->|!\[[^\]\n]*\]\([^)\n]*\)|-----BEGIN[\s\S]*?KEY-----\s*$")
_WORD = re.compile(r"\w+")
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\ufeff\u200b\u2060")
_DELIMITER = re.compile(r"<{2,}\s*(?:END\s+)?(?:SOURCES|MEMORY)\b[^>\n]*>{0,3}")


def control_characters(text: str) -> tuple[str, str]:
    """Remove control characters, bidirectional overrides and zero-width spaces."""
    kept = "".join(
        char
        for char in text
        if char in "\n\t"
        or not (unicodedata.category(char) in {"Cc", "Cs"} or char in _BIDI or 0xE0000 <= ord(char) <= 0xE007F)
    )
    return kept, "" if kept == text else "control characters were removed"


def raw_html(text: str) -> tuple[str, str]:
    """Remove HTML tags and comments, images and active addresses; ordinary links and "a < b" stay."""
    cleaned = _TAG.sub("", _COMMENT.sub("", text))
    cleaned = _IMAGE.sub(lambda match: match[1], cleaned)
    cleaned = _ACTIVE.sub("", cleaned)
    return cleaned, "" if cleaned == text else "HTML was removed"


def secrets(text: str) -> tuple[str, str]:
    """Replace what has the form of a key or token."""
    cleaned = text
    for pattern in _SECRETS:
        cleaned = pattern.sub("[redacted]", cleaned)
    return cleaned, "" if cleaned == text else "something in the form of a secret was removed"


def delimiters(text: str) -> tuple[str, str]:
    """Remove the delimiter lines of the prompt."""
    cleaned = _DELIMITER.sub("", text)
    return cleaned, "" if cleaned == text else "a delimiter of the prompt was removed"


class PromptLeak:
    """Withholds runs of so many words copied from the instructions in the system prompt."""

    def __init__(self, instructions: str, shortest: int = 12) -> None:
        self._shortest = shortest
        self._words = [match.lower() for match in _WORD.findall(instructions)]
        self._places: dict[str, list[int]] = {}
        for place, word in enumerate(self._words):
            self._places.setdefault(word, []).append(place)

    def __call__(self, text: str) -> tuple[str, str]:
        """Apply the rule."""
        matches = list(_WORD.finditer(text))
        plain = [match.group().lower() for match in matches]
        pieces: list[str] = []
        position = i = 0
        while i < len(plain):
            length = self._run(plain, i)
            if length < self._shortest:
                i += 1
                continue
            pieces.append(text[position : matches[i].start()] + "[…]")
            position = matches[i + length - 1].end()
            i += length
        if not pieces:
            return text, ""
        return "".join(pieces) + text[position:], "instructions to the model were withheld"

    def hold_from(self, text: str) -> int:
        """Return where a run begins that reaches the text's end and might still grow; else the text's length."""
        matches = list(_WORD.finditer(text))
        plain = [match.group().lower() for match in matches]
        # The last word may still grow, so it is not compared unless something stands after it.
        known = len(plain) - (1 if matches and matches[-1].end() == len(text) else 0)
        for i in range(known):
            if self._run(plain[:known], i) == known - i:
                return matches[i].start()
        return len(text)

    def _run(self, plain: Sequence[str], start: int) -> int:
        """Return the length of the longest run of the instructions from a word on."""
        best = 0
        for place in self._places.get(plain[start], ()):
            length = 1
            while (
                start + length < len(plain)
                and place + length < len(self._words)
                and plain[start + length] == self._words[place + length]
            ):
                length += 1
            best = max(best, length)
        return best


def instructions_in(system: str, quotable: Sequence[str]) -> str:
    """Return a system prompt without its sources and without the sentences that an answer may quote from it."""
    text = re.sub(r"\n<<<SOURCES (\d+)>>>\n[\s\S]*?\n<<<END SOURCES \1>>>", "\n", system)
    text = re.sub(r"\n<<<MEMORY (\d+)>>>\n[\s\S]*?\n<<<END MEMORY \1>>>", "\n", text)
    for sentence in quotable:
        text = text.replace(sentence, "\n")
    return text


@dataclass(slots=True)
class Policy:
    """Applies rules to a stream, holding back what a rule might still have to change: an open tag, a half key.

    What is held back never exceeds `_LIMIT` characters, so a stray "<" delays little.
    """

    rules: Sequence[Rule]
    warnings: list[str]
    leak: PromptLeak | None = None
    _held: str = ""

    _LIMIT = 400

    def feed(self, text: str) -> str:
        """Return the words that may be shown."""
        self._held += text
        cut = self._safe_end()
        ready, self._held = self._held[:cut], self._held[cut:]
        return self._apply(ready)

    def finish(self) -> str:
        """Return the rest."""
        ready, self._held = self._held, ""
        return self._apply(ready)

    def _apply(self, text: str) -> str:
        for rule in (*self.rules, *((self.leak,) if self.leak else ())):
            text, done = rule(text)
            if done and done not in self.warnings:
                self.warnings.append(done)
        return text

    def _safe_end(self) -> int:
        """Where the settled part ends: before the last word, an unclosed tag, image or key block."""
        text = self._held
        end = max(text.rfind(" "), text.rfind("\n"), text.rfind("\t")) + 1
        for opener, closer in (("<!--", "-->"), ("-----BEGIN", "KEY-----"), ("<", ">"), ("![", ")")):
            last = text.rfind(opener)
            if last >= 0 and text.find(closer, last + len(opener)) < 0:
                following = text[last + 1 : last + 2]
                if opener != "<" or not following or following.isalpha() or following in "/<!":
                    end = min(end, len(text[: last + 1].rstrip("<")) if opener == "<" else last)
        # A cut inside something that a rule takes out as a whole would leave its halves.
        for match in _WHOLE.finditer(text):
            if match.start() < end < match.end():
                end = match.start()
        if self.leak is not None:
            end = min(end, self.leak.hold_from(text))
        return end if len(text) - end <= self._LIMIT else len(text)
