"""Finds code lines in streamed Markdown by following CommonMark's block structure line by line.

Only what decides about code is followed: quotes, list items, fences, indented code, and the ends of paragraphs. If the
structure becomes unclear, the rest counts as text, which is always safe: text is cleaned, code is not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

_FENCE = re.compile(r"(`{3,}+|~{3,}+)(.*)")
_BREAK = re.compile(r"\A(?:(?:\*[ \t]*+){3,}+|(?:-[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)\Z")
_UNDERLINE = re.compile(r"\A(?:=++|-++)[ \t]*+\Z")
_HEADING = re.compile(r"#{1,6}(?=[ \t]|\Z)")
_MARKER = re.compile(r"(?:[-+*]|(\d{1,9})[.)])(?=[ \t]|\Z)")
_STRUCTURE = "*-_=#+ \t>0123456789.)"
_TAB = 4
_DEEPEST = 24
PREFIX_LIMIT = 600
"""Characters at the start of a line to wait for, before its structure counts as unclear."""


class _Leaf(Enum):
    """The block inside quotes and list items to which the last line was added."""

    NONE = 0
    PARAGRAPH = 1
    FENCE = 2
    INDENTED = 3


@dataclass(frozen=True, slots=True)
class Line:
    """How to read a line: as code, or as text from an offset on; `fresh` text continues no earlier paragraph."""

    code: bool
    start: int = 0
    fresh: bool = True


@dataclass(frozen=True, slots=True)
class _Container:
    """A quote, or a list item whose content begins at a column; `empty` until it has content after its marker."""

    offset: int = -1
    empty: bool = False

    @property
    def quote(self) -> bool:
        return self.offset < 0


@dataclass(slots=True)
class _Cursor:
    """A place in a line: index, column, and the column where the innermost container's content begins."""

    line: str
    index: int = 0
    column: int = 0
    base: int = 0

    def skip(self) -> None:
        while self.index < len(self.line) and self.line[self.index] in " \t":
            self.column += 1 if self.line[self.index] == " " else _TAB - self.column % _TAB
            self.index += 1

    @property
    def blank(self) -> bool:
        return self.index >= len(self.line)

    @property
    def indent(self) -> int:
        return self.column - self.base

    def take(self, count: int) -> None:
        self.index += count
        self.column += count

    def take_quote(self) -> None:
        """Skip a quote's marker and the one space that belongs to it."""
        self.take(1)
        self.base = self.column + (not self.blank and self.line[self.index] in " \t")


@dataclass(slots=True)
class Blocks:
    """Follows the structure of a text; `lost`, permanently, once it is unclear."""

    lost: bool = False
    _containers: list[_Container] = field(default_factory=list)
    _leaf: _Leaf = _Leaf.NONE
    _fence: str = ""
    _after_blank: bool = True
    _notes: bool = False

    def decidable(self, begun: str) -> bool:
        """Return whether the beginning of a line has everything `read` needs, whatever follows."""
        if self.lost:
            return True
        rest = begun.lstrip(" \t>") if self._leaf is _Leaf.FENCE else begun.lstrip(_STRUCTURE)
        if not rest or rest[0] not in "`~":
            return bool(rest)
        run = len(rest) - len(rest.lstrip(rest[0]))
        return self._leaf is not _Leaf.FENCE and run < 3 and run < len(rest)

    def read(self, line: str) -> Line:
        """Take the next line without its line break, or its decidable beginning."""
        if self.lost:
            return Line(False, fresh=False)
        cursor = _Cursor(line)
        matched = self._continue(cursor)
        whole = matched == len(self._containers)
        cursor.skip()
        if self._leaf is _Leaf.FENCE:
            if whole:
                self._close_fence(cursor)
                return Line(True)
            self._leaf = _Leaf.NONE
        if cursor.blank:
            return self._blank(matched)
        return self._open(cursor, matched, whole)

    def _continue(self, cursor: _Cursor) -> int:
        """Skip the markers of the open containers that the line continues; return their number."""
        matched = 0
        for container in self._containers:
            cursor.skip()
            if container.quote:
                if cursor.blank or cursor.indent >= _TAB or cursor.line[cursor.index] != ">":
                    break
                cursor.take_quote()
            elif not cursor.blank and cursor.column < container.offset:
                break
            else:
                cursor.base = container.offset
            matched += 1
        return matched

    def _close_fence(self, cursor: _Cursor) -> None:
        rest = cursor.line[cursor.index :].rstrip(" \t")
        if cursor.indent < _TAB and len(rest) >= len(self._fence) and rest == self._fence[0] * len(rest):
            self._leaf = _Leaf.NONE
            self._after_blank = False

    def _blank(self, matched: int) -> Line:
        del self._containers[matched:]
        if self._containers and self._containers[-1].empty:
            self._containers.pop()  # an item may begin with only one blank line
        if self._leaf is _Leaf.PARAGRAPH:
            self._leaf = _Leaf.NONE
        self._after_blank = True
        return Line(False)

    def _open(self, cursor: _Cursor, matched: int, whole: bool) -> Line:
        """Open the blocks that begin on a non-blank line."""
        paragraph = self._leaf is _Leaf.PARAGRAPH
        kept = [_Container(item.offset) if not item.quote else item for item in self._containers[:matched]]
        opened = False
        after_blank, self._after_blank = self._after_blank, False
        while True:
            cursor.skip()
            if cursor.blank:
                return self._settle(kept, _Leaf.NONE, cursor)
            rest = cursor.line[cursor.index :]
            if cursor.indent >= _TAB:
                if paragraph and not opened:
                    return Line(False, cursor.index, fresh=False)
                known = not opened and (after_blank or self._leaf is _Leaf.INDENTED) and not self._notes and whole
                self._settle(kept, _Leaf.INDENTED, cursor)
                return Line(known, cursor.index)
            if rest[0] == ">":
                cursor.take_quote()
                kept.append(_Container())
            elif self._begins_leaf(rest, underline=paragraph and whole and not opened):
                return self._leaf_line(rest, kept, cursor)
            elif marker := self._marker(rest, paragraph and whole and not opened):
                self._item(marker, kept, cursor)
            elif paragraph and not opened:
                # The same paragraph continues, possibly lazily, without its containers' markers.
                return Line(False, cursor.index, fresh=False)
            else:
                self._notes = self._notes or rest.startswith("[^")
                return self._settle(kept, _Leaf.PARAGRAPH, cursor)
            opened = True
            if len(kept) > _DEEPEST:
                self.lost = True
                return Line(False, fresh=False)

    @staticmethod
    def _begins_leaf(rest: str, underline: bool) -> bool:
        fence = _FENCE.match(rest)
        if fence:
            return fence[1][0] == "~" or "`" not in fence[2]
        return bool(_HEADING.match(rest) or _BREAK.match(rest) or (underline and _UNDERLINE.match(rest)))

    def _leaf_line(self, rest: str, kept: list[_Container], cursor: _Cursor) -> Line:
        fence = _FENCE.match(rest)
        if fence is None:
            return self._settle(kept, _Leaf.NONE, cursor)
        if "|" in fence[2]:
            # In dialects where tables take precedence this is a table header, not a fence.
            self.lost = True
            return Line(False, fresh=False)
        self._fence = fence[1]
        self._settle(kept, _Leaf.FENCE, cursor)
        return Line(True)

    @staticmethod
    def _marker(rest: str, interrupts: bool) -> re.Match[str] | None:
        marker = _MARKER.match(rest)
        if marker and interrupts and (not rest[marker.end() :].strip() or marker[1] not in {None, "1"}):
            return None  # neither an empty item nor one with another number interrupts a paragraph
        return marker

    @staticmethod
    def _item(marker: re.Match[str], kept: list[_Container], cursor: _Cursor) -> None:
        cursor.take(marker.end())
        end = cursor.column
        cursor.skip()
        room = cursor.column - end
        offset = end + room if not cursor.blank and 1 <= room <= _TAB else end + 1
        kept.append(_Container(offset, empty=cursor.blank))
        cursor.base = offset

    def _settle(self, kept: list[_Container], leaf: _Leaf, cursor: _Cursor) -> Line:
        self._containers = kept
        self._leaf = leaf
        return Line(False, cursor.index)
