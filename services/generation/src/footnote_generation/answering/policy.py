"""Small rules that clean an answer before it is shown: each has one purpose, and their order is fixed."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from footnote_kit.redact import redact

from footnote_generation.answering.markup import guarded
from footnote_generation.answering.stripping import Stripper

Rule = Callable[[str], tuple[str, str]]
"""Takes a stretch of text, returns it cleaned and what was done, "" if nothing."""

_SECRETS = (
    re.compile(r"\b(?:sk|pk|rk)-(?:proj-|ant-|live-|test-)?[A-Za-z0-9_-]{16,}"),
    re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    re.compile(r"\bgh[pousr]_[A-Za-z0-9]{30,}\b"),
    re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}"),
    re.compile(r"\bAIza[0-9A-Za-z_-]{30,}"),
    # Searched from the start of a run of its characters, so that a run is not read again for each "eyJ" in it.
    re.compile(r"(?<![\w-])(?=[\w-]*\beyJ[\w-]{10})[\w-]++\.eyJ[\w-]{10,}+\.[\w-]{8,}+", re.ASCII),
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"),
)
_ROUNDS = 4
_SHORTEST_LEAK = 12
"""Words in a row that count as copied from the system prompt."""
_WORD = re.compile(r"\w+")
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\ufeff\u200b\u2060")
_DELIMITER = re.compile(r"(?<!<)<{2,}+[ \t]{0,8}(?:END[ \t]{1,8})?(?:SOURCES|MEMORY)\b[^<>\n]{0,200}>{0,3}")
_DELIMITER_BEGUN = re.compile(r"(?<!<)<{2,}+[^<>\n]{0,240}\Z")
_KEY_BEGIN = "-----BEGIN"
_KEY_END = re.compile(r"-----END[A-Z ]*KEY-----")
_QUOTED = re.compile(r'"[^"\n]*+"|“[^“”\n]*+”|„[^„“”\n]*+[“”]|«[^«»\n]*+»|「[^「」\n]*+」')
_PART_BEGIN = re.compile(r"\n<<<((?:SOURCES|MEMORY) \d+)>>>\n")
_PART_END = re.compile(r"\n<<<END ((?:SOURCES|MEMORY) \d+)>>>")


def control_characters(text: str) -> tuple[str, str]:
    """Remove control characters, bidirectional overrides and zero-width spaces."""
    kept = "".join(
        char
        for char in text
        if char in "\n\t"
        or not (unicodedata.category(char) in {"Cc", "Cs"} or char in _BIDI or 0xE0000 <= ord(char) <= 0xE007F)
    )
    return kept, "" if kept == text else "control characters were removed"


def secrets(text: str) -> tuple[str, str]:
    """Replace this deployment's own secrets and anything in the form of a key or token."""
    cleaned = redact(text)
    for pattern in _SECRETS:
        cleaned = pattern.sub("[redacted]", cleaned)
    return cleaned, "" if cleaned == text else "something in the form of a secret was removed"


def delimiters(text: str) -> tuple[str, str]:
    """Remove the prompt's delimiter lines, including those that form when others are removed."""
    cleaned, found = _DELIMITER.subn("", text)
    for _ in range(_ROUNDS):
        if not found:
            break
        cleaned, found = _DELIMITER.subn("", cleaned)
    cleaned = _DELIMITER.sub("[…]", cleaned)
    return cleaned, "" if cleaned == text else "a delimiter of the prompt was removed"


class PromptLeak:
    """Withholds long runs of words copied from the system prompt's instructions."""

    def __init__(self, instructions: str) -> None:
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
            if length < _SHORTEST_LEAK:
                i += 1
                continue
            pieces.append(text[position : matches[i].start()] + "[…]")
            position = matches[i + length - 1].end()
            i += length
        if not pieces:
            return text, ""
        return "".join(pieces) + text[position:], "instructions to the model were withheld"

    def hold_from(self, text: str) -> int:
        """Return where a run begins that reaches the text's end and may still grow; else the text's length."""
        matches = list(_WORD.finditer(text))
        plain = [match.group().lower() for match in matches]
        # The last word may still grow, so it is compared only when more text follows.
        known = len(plain) - (1 if matches and matches[-1].end() == len(text) else 0)
        del plain[known:]
        for i in range(known):
            if self._run(plain, i) == known - i:
                return matches[i].start()
        return len(text)

    def _run(self, plain: Sequence[str], start: int) -> int:
        """Return the length of the longest run of instructions that begins at a word."""
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
    """Return a system prompt without its sources and without what an answer may quote from it.

    That is the `quotable` texts, and what it has in quotation marks: words that it wants to be said. A text too short
    to count as copied stays: cut out wherever it stands, a word or a letter would break all other instructions up.
    """
    text = _without_parts(system)
    for sentence in quotable:
        if len(_WORD.findall(sentence)) >= _SHORTEST_LEAK:
            text = text.replace(sentence, "\n")
    return _QUOTED.sub("\n", text)


def _without_parts(system: str) -> str:
    """Return a prompt without the text between the delimiters of its sources and memory."""
    ends: dict[str, deque[re.Match[str]]] = defaultdict(deque)
    for end in _PART_END.finditer(system):
        ends[end[1]].append(end)
    pieces, position = [], 0
    for begin in _PART_BEGIN.finditer(system):
        if begin.start() < position:
            continue
        of_this = ends[begin[1]]
        while of_this and of_this[0].start() < begin.end() - 1:  # the line break after one may begin the next
            of_this.popleft()
        if of_this:
            pieces.append(system[position : begin.start()] + "\n")
            position = of_this.popleft().end()
    return "".join(pieces) + system[position:]


def _key_begun(text: str) -> int:
    """Return where an unfinished private key begins, -1 if there is none."""
    last = 0
    for end in _KEY_END.finditer(text):
        last = end.start()
    return text.find(_KEY_BEGIN, last)


@dataclass(slots=True)
class Policy:
    """Passes a stream through all rules, holding back text that one of them may still change: half a tag or key.

    The held-back text is bounded, so a stray "<" delays little. `markup.Guard` ensures that no markup is left: it sees
    the text last, when nothing can join any more.
    """

    warnings: list[str]
    leak: PromptLeak | None = None
    _stripper: Stripper = field(init=False)
    _held: str = ""

    _LIMIT = 400
    _KEY_LIMIT = 8192

    def __post_init__(self) -> None:
        self._stripper = Stripper(self.warnings)

    def feed(self, text: str) -> str:
        """Return the words that may be shown."""
        self._held += self._stripper.feed(self._apply(text, control_characters))
        cut = self._safe_end()
        ready, self._held = self._held[:cut], self._held[cut:]
        return self._apply(ready, delimiters, secrets, *((self.leak,) if self.leak else ()))

    def finish(self) -> str:
        """Return the rest."""
        ready, self._held = self._held + self._stripper.finish(), ""
        return self._apply(ready, delimiters, secrets, *((self.leak,) if self.leak else ()))

    def _apply(self, text: str, *rules: Rule) -> str:
        for rule in rules:
            text, done = rule(text)
            if done and done not in self.warnings:
                self.warnings.append(done)
        return text

    def _safe_end(self) -> int:
        """Return where the settled part ends: before the last word and any unfinished delimiter or key block."""
        text = self._held
        key = _key_begun(text)
        if key >= 0 and len(text) - key <= self._KEY_LIMIT:
            return key
        end = max(text.rfind(" "), text.rfind("\n"), text.rfind("\t")) + 1
        if delimiter := _DELIMITER_BEGUN.search(text, max(0, len(text) - self._LIMIT)):
            end = min(end, delimiter.start())
        # A cut inside something that a rule removes as a whole would leave its halves.
        for pattern in (_DELIMITER, _SECRETS[-1]):
            for match in pattern.finditer(text):
                if match.start() < end < match.end():
                    end = match.start()
        if self.leak is not None:
            end = min(end, self.leak.hold_from(text))
        return end if len(text) - end <= self._LIMIT else len(text)


def clean(text: str) -> tuple[str, list[str]]:
    """Return a whole text after all rules, and what they did; repeating it changes nothing."""
    warnings: list[str] = []
    policy = Policy(warnings)
    return guarded(policy.feed(text) + policy.finish(), warnings), warnings
