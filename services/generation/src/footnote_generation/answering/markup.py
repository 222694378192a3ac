"""Finds markup in Markdown that a browser would act on: raw HTML, images, links to forbidden kinds of address.

`Guard` disarms it by inserting spaces where it would begin ("< script>", "! [alt](…)", "[x] (file:…)"). No Markdown
dialect or HTML parser then takes it for markup, no word is lost, and repeating it changes nothing. Code is left
unchanged. The guard works on a stream, decides by the text up to a fixed end, and holds back only what is undecided.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import regex  # type: ignore[import-untyped]  # it ships no types

from footnote_generation.answering import addresses
from footnote_generation.answering.blocks import PREFIX_LIMIT, Blocks, Line

LINK = "a link to a forbidden kind of address was undone"
MARKUP = "what could be read as HTML or an image was set apart by spaces"

_SPECIAL = re.compile(r"[\n\\`<!\]]")
_RUN_LIMIT = 200
_BACKTICKS = re.compile(rf"`{{1,{_RUN_LIMIT}}}")
_RISKY = re.compile(r"<[A-Za-z/!?]|!\[|\]\(")
_ANGLE = re.compile(r"<([^\s<>]{0,512})")
_NUMBERED = regex.compile(r"\[\d{1,4}+\]:")
_DEFINITION = re.compile(r"\A[ \t]*(?:[^\s]+[ \t]*(?:[\"'(].*)?)?\Z")
_PLAIN_TARGET = re.compile(r"\([^\s()<>\[\]\"'`\\]{0,512}\)")
_PLAIN_LABEL = re.compile(r"\[[^\[\]`\\\n]{0,200}\]")
_CODE_LIMIT = 1000
_LABEL_LIMIT = 300


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces the text from start to end, offsets into the whole input, by `text`."""

    start: int
    end: int
    text: str


@dataclass(slots=True)
class Scanner:
    """Scans a text outside of its code and stops at possible markup.

    Subclasses decide what to do there: `_angle`, `_bang` and `_bracket` return an edit, an offset to continue at, or
    None when more text is needed.
    """

    warnings: list[str]
    _buffer: str = ""
    _start: int = 0
    _position: int = 0
    _blocks: Blocks = field(default_factory=Blocks)
    _line: Line | None = None
    _unsure: bool = False
    """Whether the pairing of backticks is uncertain until the paragraph ends: then nothing is code."""
    _label_due: bool = False
    _linked: bool = False
    """Whether a link with backticks in its address or label may have begun."""

    def _scan(self, text: str, final: bool) -> Iterator[Edit]:
        """Take more text; yield its edits in order. Text before `_position` is settled afterwards."""
        self._buffer = self._buffer[self._position :] + text
        self._start += self._position
        self._position = 0
        while self._position < len(self._buffer):
            if self._line is None and not self._begin_line(final):
                return
            if self._line is None:
                continue
            if self._line.code:
                end = self._buffer.find("\n", self._position)
                self._position = len(self._buffer) if end < 0 else end + 1
                self._line = self._line if end < 0 else None
                continue
            edits = self._next(final)
            if edits is None:
                return
            yield from edits

    def _begin_line(self, final: bool) -> bool:
        """Read the beginning of a line; False if it has not arrived yet."""
        end = self._buffer.find("\n", self._position)
        line = self._buffer[self._position : len(self._buffer) if end < 0 else end]
        head = line[: PREFIX_LIMIT + 1]
        if len(line) > PREFIX_LIMIT and not self._blocks.decidable(head):
            self._blocks.lost = True
        elif end < 0 and not final and not self._blocks.decidable(head):
            return False
        self._line = self._blocks.read(line)
        if self._line.fresh:
            self._unsure = self._linked = False
        if not self._line.code:
            self._position += self._line.start
            self._label_due = True
        return True

    def _next(self, final: bool) -> list[Edit] | None:
        """Handle the next item in a line of text; None when more text is needed."""
        if self._label_due:
            edits = self._label(final)
            if edits is None:
                return None
            self._label_due = False
            if edits:
                return edits
        found = _SPECIAL.search(self._buffer, self._position)
        if found is None:
            self._position = len(self._buffer)
            return []
        self._position = found.start()
        char = found.group()
        if char == "\n":
            self._position += 1
            self._line = None
            return []
        if char == "\\":
            return self._backslash(final)
        if char == "`":
            return self._code(final)
        if char == "<":
            return self._angle(final)
        return self._bang(final) if char == "!" else self._bracket(final)

    def _missing(self, count: int, final: bool) -> bool:
        """Return whether characters after the next one are needed but have not arrived."""
        return not final and self._position + count >= len(self._buffer)

    def _backslash(self, final: bool) -> list[Edit] | None:
        if self._missing(1, final):
            return None
        # Only these two count as escaped: in some dialects a backslash does not disarm a tag.
        self._position += 2 if self._buffer[self._position + 1 : self._position + 2] in {"\\", "`"} else 1
        return []

    def _code(self, final: bool) -> list[Edit] | None:
        """Skip code between backticks if it ends on its line; if that is uncertain, continue as in text."""
        begin = self._position
        text = self._buffer
        run = _BACKTICKS.match(text, begin)
        after = run.end() if run else begin + 1
        if after == len(text) and not final and after - begin < _RUN_LIMIT:
            return None
        self._unsure = self._unsure or self._linked or after - begin == _RUN_LIMIT
        if self._unsure:
            self._position = after
            return []
        newline = text.find("\n", after, after + _CODE_LIMIT)
        stop = newline if newline >= 0 else min(len(text), after + _CODE_LIMIT)
        ended = newline >= 0 or final or stop == after + _CODE_LIMIT
        for closing in _BACKTICKS.finditer(text, after, stop):
            if closing.end() == stop and not ended:
                return None
            if closing.end() - closing.start() == after - begin:
                return self._inside(after, closing.start(), closing.end())
        if not ended:
            return None
        self._unsure = True
        self._position = after
        return []

    def _inside(self, start: int, end: int, after: int) -> list[Edit]:
        code = self._buffer[start:end]
        if "|" in code and _RISKY.search(code):
            # In a table row the bar would end the cell, and the code with it.
            self._unsure = True
            self._position = start
            return []
        self._position = after
        return self._labels_in_code(start, end)

    def _labels_in_code(self, start: int, end: int) -> list[Edit]:
        """Code in the label of a link definition does not count: "[`]: javascript:… '`'"."""
        return []

    def _label(self, final: bool) -> list[Edit] | None:
        """Handle a number in brackets at the beginning of a line; [] if nothing is to be done."""
        return []

    def _angle(self, final: bool) -> list[Edit] | None:
        raise AssertionError("subclasses say")

    _bang = _bracket = _angle


@dataclass(slots=True)
class Guard(Scanner):
    """Inserts the spaces that keep text from being markup. Being insertions, they only move places in the text."""

    def feed(self, text: str, final: bool = False) -> tuple[list[Edit], int]:
        """Take more text; return the spaces to insert, and the offset up to which the text is settled."""
        edits = list(self._scan(text, final))
        return edits, self._start + self._position

    def _insert(self, at: int, warning: str) -> list[Edit]:
        if warning not in self.warnings:
            self.warnings.append(warning)
        return [Edit(self._start + at, self._start + at, " ")]

    def _angle(self, final: bool) -> list[Edit] | None:
        at = self._position
        if self._missing(1, final):
            return None
        following = self._buffer[at + 1 : at + 2]
        if not (following in {"/", "!", "?"} or (following.isascii() and following.isalpha())):
            self._position += 1
            return []
        found = _ANGLE.match(self._buffer, at)
        inner = found[1] if found else ""
        end = at + 1 + len(inner)
        if end == len(self._buffer) and len(inner) < addresses.LONGEST and not final:
            return None
        if self._buffer[end : end + 1] == ">" and addresses.is_autolink(inner):
            self._position = end + 1
            return []
        self._position += 1
        return self._insert(at + 1, MARKUP)

    def _bang(self, final: bool) -> list[Edit] | None:
        if self._missing(1, final):
            return None
        self._position += 1
        return self._insert(self._position, MARKUP) if self._buffer[self._position : self._position + 1] == "[" else []

    def _bracket(self, final: bool) -> list[Edit] | None:
        if self._missing(1, final):
            return None
        at = self._position + 1
        following = self._buffer[at : at + 1]
        if following in {"(", ":"}:
            forbidden = addresses.read(self._buffer, at + 1, final, definition=following == ":")
            if forbidden is None:
                return None
            if forbidden:
                self._position = at
                return self._insert(at, LINK)
        if following in {"(", "["}:
            plain = (_PLAIN_TARGET if following == "(" else _PLAIN_LABEL).match(self._buffer, at)
            if plain is None and following == "[" and not final and self._label_open(at):
                return None
            if plain is None:
                # A link's address or label takes precedence over code: a backtick in it begins none.
                self._linked = True
        self._position = at
        return []

    def _label_open(self, at: int) -> bool:
        """Return whether a label that begins here may still end."""
        begun = self._buffer[at : at + _LABEL_LIMIT]
        return len(begun) < _LABEL_LIMIT and "]" not in begun and "\n" not in begun

    def _label(self, final: bool) -> list[Edit] | None:
        # "[1]: https://…" alone on a line would vanish, and make links of all the answer's footnotes.
        found = _NUMBERED.match(self._buffer, self._position, partial=not final)
        if found is None:
            return []
        if found.partial:
            return None
        at = found.end() - 1
        end = self._buffer.find("\n", at + 1, at + 1 + _LABEL_LIMIT)
        if end < 0:
            if len(self._buffer) < at + 1 + _LABEL_LIMIT and not final:
                return None
            end = len(self._buffer)
        if end - at > _LABEL_LIMIT or not _DEFINITION.match(self._buffer[at + 1 : end]):
            return []
        self._position = at
        return self._insert(at, LINK)

    def _labels_in_code(self, start: int, end: int) -> list[Edit]:
        edits: list[Edit] = []
        at = self._buffer.find("]:", start, end)
        while at >= 0:
            if addresses.read(self._buffer, at + 2, True, definition=True):
                edits += self._insert(at + 1, LINK)
            at = self._buffer.find("]:", at + 2, end)
        return edits


def spaced(text: str, places: Sequence[int]) -> str:
    """Return a text with a space inserted at each of these offsets, given in order."""
    bounds = [0, *places, len(text)]
    return " ".join(text[left:right] for left, right in pairwise(bounds))


def guarded(text: str, warnings: list[str]) -> str:
    """Return a whole text without anything that could be read as dangerous markup."""
    edits, _ = Guard(warnings).feed(text, final=True)
    return spaced(text, [edit.start for edit in edits])
