"""The statements in an answer's layout: table cells, list items, clauses between footnotes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from footnote_text.lexical import is_unspaced

from footnote_generation.language.places import Place
from footnote_generation.verification.lead_ins import begins_one


@dataclass(frozen=True, slots=True)
class PlacedMarker:
    """A citation marker in the finished text; `words` means it is part of the sentence, not a bracket after it.

    `place` is the stated place in the source, None if it names only the source.
    """

    start: int
    end: int
    number: int
    words: bool = False
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Sentence:
    """A statement of the answer without the markers around it, and its own markers.

    `text` is without its markers and named places; for a cell, with its headers.
    """

    start: int
    end: int
    text: str
    markers: tuple[PlacedMarker, ...]
    heading: bool = False
    """Whether it is only a heading or code, and states nothing."""
    entry: bool = False
    """Whether it looks like an entry of a source list: a line with its marker first and no full stop."""
    listed: bool = False
    """Whether a line above heads a source list."""
    lead: str = ""
    """The line that introduces its list."""
    mark: str = ""
    """The number of its list item, or "-" for a dash before a digit."""
    spoken: bool = False
    """Whether it is a sentence of a longer quotation in its line."""


_Bound = tuple[int, int]
_Piece = tuple[int, int, Sequence[PlacedMarker]]
_RULE = re.compile(r"(?<![ \t])[ \t]*+\|?[ \t]*+:?-{2,}:?[ \t]*+(?:\|[ \t]*+:?-{2,}:?[ \t]*+)*+\|?[ \t]*+")
_PARTED = re.compile(r"(?<!\s)\s*+[,;:，；：、—–]")
_FEWEST_WORDS, _FEWEST_LETTERS = 4, 6
"""The minimum of a clause without a number: words, or letters in a script without spaces."""
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(slots=True)
class Context:
    """What earlier lines add to a line: the header of a table, the introduction of a list."""

    header: list[str] = field(default_factory=list)
    introduction: str = ""
    listed: bool = False
    """Whether the lines are entries of a source list."""
    _in_table: bool = False

    def row(self, text: str, first: int, last: int) -> list[_Bound] | None:
        """Return the stripped cells of a table line, None if it is none.

        The header row and the line below it have no cells that state anything.
        """
        line = text[first:last]
        if "|" not in line:
            self._in_table = False
            return None
        cells = _cells(text, first, last)
        if _RULE.fullmatch(line):
            return []
        end = text.find("\n", last + 1)
        if not self._in_table and _RULE.fullmatch(text, last + 1, end if end >= 0 else len(text)):
            self._in_table, self.header = True, [_plain(text[start:stop]) for start, stop in cells]
            return []
        return cells if self._in_table else None

    def line(self, plain: str, listed: bool) -> None:
        """Take a line that is no row: all items of a list share the introduction before the first."""
        if not listed:
            self.introduction = plain if plain.endswith((":", "：")) else ""


def context_begin(text: str, begin: int, most: int) -> int:
    """Return the start of the earlier line, at most `most` lines back, whose table or list may reach a line's start."""
    at = begin
    for _ in range(most):
        if at == 0:
            break
        end, at = at - 1, text.rfind("\n", 0, at - 1) + 1
        line = text[at:end].lstrip()
        if line[:1].isalpha() and "|" not in line:
            break
    return at


def _cells(text: str, first: int, last: int) -> list[_Bound]:
    line = text[first:last]
    edges = [first + at for at, char in enumerate(line) if char == "|" and line[at - 1 : at] != "\\"]
    starts = [first, *(edge + 1 for edge in edges)]
    ends = [*edges, last]
    found: list[_Bound] = []
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        inner = text[start:end]
        if number in (0, len(starts) - 1) and not inner.strip():
            continue  # before the first bar and after the last
        found.append((start + len(inner) - len(inner.lstrip()), end - (len(inner) - len(inner.rstrip())) or end))
    return found


def of_row(
    text: str, cells: Sequence[_Bound], header: Sequence[str], markers: Sequence[PlacedMarker]
) -> Iterator[Sentence]:
    """Yield the stating cells of a row, each with the names of its row and column.

    A cell without footnotes gets those of the next cell with some: "| 36 months | 18 months [1] |".
    """
    own = [[marker for marker in markers if start <= marker.start < end] for start, end in cells]
    named = _plain(_bare(text, cells[0], own[0])) if cells else ""
    waiting: tuple[PlacedMarker, ...] = ()
    found: list[Sentence] = []
    for number in range(len(cells) - 1, -1, -1):
        start, end = cells[number]
        waiting = tuple(own[number]) or waiting
        value = _bare(text, (start, end), own[number])
        if not any(char.isalnum() for char in value) or (number == 0 and len(cells) > 1):
            continue
        while own[number] and (stop := own[number][-1]).end >= end and stop.start > start:
            end = len(text[: stop.start].rstrip())
            own[number].pop()
        column = header[number] if number < len(header) else ""
        said = [part for part in (named if number else "", column) if part]
        found.append(
            Sentence(start, end, ": ".join([", ".join(said), _plain(value)] if said else [_plain(value)]), waiting)
        )
    yield from reversed(found)


def _bare(text: str, bound: _Bound, markers: Sequence[PlacedMarker]) -> str:
    kept, at = "", bound[0]
    for marker in markers:
        if not marker.words:
            kept, at = kept + text[at : marker.start], marker.end
    return kept + text[at : bound[1]]


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[*_`|]+|<br\s*/?>", " ", text).split())


def clauses(text: str, start: int, end: int, markers: Sequence[PlacedMarker]) -> list[_Piece]:
    """Split a sentence at footnotes where a clause ends: a comma or similar sign follows, then words of a clause.

    "A costs 5 euros [1], while B costs 7 [2]." is two statements, "A [1] and B [2] are red." is one.
    """
    groups = _groups([marker for marker in markers if not marker.words and start <= marker.start < end])
    pieces: list[_Piece] = []
    at, taken = start, 0
    held: list[PlacedMarker] = []
    for group in groups:
        held += group
        after = _PARTED.match(text, group[-1].end, end)
        if after and _is_clause(text[at : group[0].start]) and _is_clause(_bare(text, (after.end(), end), markers)):
            pieces.append((at, len(text[: group[0].start].rstrip()), held))
            at, held = after.end(), []
            taken += 1
    if not pieces:
        return [(start, end, markers)]
    while at < end and text[at].isspace():
        at += 1
    known = {id(marker) for _, _, some in pieces for marker in some}
    rest = [marker for marker in markers if id(marker) not in known]
    if rest:
        return [*pieces, (at, end, rest)]
    # Text after the last footnote has none.
    return [*pieces, (at, end, ())]


def _groups(markers: Sequence[PlacedMarker]) -> list[list[PlacedMarker]]:
    """Return groups of adjacent markers: "[1][2]"."""
    found: list[list[PlacedMarker]] = []
    for marker in markers:
        if found and marker.start - found[-1][-1].end <= 1:
            found[-1].append(marker)
        else:
            found.append([marker])
    return found


def _is_clause(text: str) -> bool:
    """Return whether a stretch is long enough for a statement, and not an open lead-in: "According to the terms"."""
    words = _WORD.findall(text)
    if not words or begins_one(text):
        return False
    if is_unspaced(words[0][0]):
        return sum(map(len, words)) >= _FEWEST_LETTERS
    return len(words) >= _FEWEST_WORDS or (len(words) >= 2 and any(char.isdigit() for char in text))
