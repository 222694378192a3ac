"""Sources cut into the sentences and table rows that an answer can be made of, and what each stands under."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from footnote.types.v1.answer_pb2 import Source
from footnote_kit.memoise import memoised
from footnote_text import intents, locales, sentences, tables
from footnote_text.lexical import fold

from footnote_generation.extractive import forms
from footnote_generation.language import lexicon, text_language
from footnote_generation.language.words import Analysed, analyse, bytes_of


class CellSpan(NamedTuple):
    """The place of a cell's text in its source, and the header of its column."""

    header: str
    start: int
    end: int


class TableRow(NamedTuple):
    """A row on a line of its source; rows of one table share its number."""

    table: int
    cells: tuple[CellSpan, ...]

    @property
    def start(self) -> int:
        """Where its first cell begins."""
        return self.cells[0].start

    @property
    def end(self) -> int:
        """Where its last cell ends."""
        return self.cells[-1].end


def rows_of(source: tables.Passage) -> tuple[TableRow, ...]:
    """Return the rows of a source's tables; none if no table was kept with it."""
    return tuple(
        TableRow(row.table.number, tuple(CellSpan(" › ".join(one.headers), one.start, one.end) for one in row.cells))
        for row in tables.rows(source)
    )


_MAX_SENTENCES = 120
_KEPT = 12 * 2**20  # bytes
_UNIT = 1500  # bytes of a unit besides its words


@dataclass(frozen=True, slots=True)
class Unit:
    """One sentence or row of a source: its place, its words, and those of its headings and neighbours.

    `groups` are the groups of synonyms that its stems are in, `order` where each stem comes first in a word, counted in
    words, and `around` all stems of its source, headings included.
    """

    source: int
    rank: int
    place: int
    start: int
    end: int
    text: str
    analysed: Analysed
    context: frozenset[str]
    before: frozenset[str]
    after: frozenset[str]
    groups: frozenset[int]
    order: Mapping[str, Sequence[int]]
    around: frozenset[str]
    language: str
    is_row: bool
    cells: tuple[CellSpan, ...]
    """Of a row, its cells, counted from the unit's start."""
    same_line: bool
    """Whether the next sentence goes on in the same line."""
    stands_above: bool
    """Whether it is a line of its own above others that no mark of a sentence or list ends or begins."""

    @property
    def is_heading(self) -> bool:
        """Whether it states nothing itself: a line of its own above others, or words of its headings."""
        return self.stands_above or (not self.same_line and not self.is_row and self.analysed.stems <= self.context)


# A short line before one that begins anew: a heading. Wrapped lines are longer, or the next goes on in lower case.
_HEADING = re.compile(r"^(?=\S)[^\n]{0,59}[^\s.!?。！？:;,]\n(?=[^\W\d_a-zà-ÿ])", re.MULTILINE)
_BREAK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*•|#]|\d+[.)]\s))")


_Stems: TypeAlias = frozenset[str]
_Piece: TypeAlias = tuple[
    int, int, int, str, Analysed, _Stems, _Stems, _Stems, frozenset[int], Mapping[str, Sequence[int]], _Stems, str,
    bool, tuple[CellSpan, ...], bool, bool,
]  # fmt: skip
"""A unit without the number and the rank of its source."""


def units(sources: Sequence[Source], language: str) -> list[Unit]:
    """Every usable sentence of the sources, in their order."""
    result: list[Unit] = []
    for rank, source in enumerate(sources):
        headings = " . ".join([source.title, source.filename, *source.locator.heading_path])
        rows = rows_of(source)
        pieces = _pieces(source.text, headings, rows, _block_starts(source), language)
        result.extend(Unit(source.number, rank, *piece) for piece in pieces)
    return result


def _block_starts(source: Source) -> tuple[int, ...]:
    """Return where blocks of the document certainly begin: a line with a place of its own, as in text files.

    What a colon introduces stays with its introduction.
    """
    text = source.text
    starts = {one.span.start for one in source.anchors if not one.HasField("cell")}
    begins = (at for at in starts if 0 < at < len(text) and text[at - 1] == "\n")
    return tuple(sorted(at for at in begins if not text[max(0, at - 8) : at].rstrip().endswith((":", "："))))


def _bytes(pieces: tuple[_Piece, ...]) -> int:
    return sum(_UNIT + bytes_of(analysed) for _, _, _, _, analysed, *_ in pieces)


@memoised(_KEPT, _bytes)
def _pieces(
    text: str, headings: str, rows: tuple[TableRow, ...], starts: tuple[int, ...], language: str
) -> tuple[_Piece, ...]:
    """Return what a passage is made of, for questions in a language: the same ones serve question after question."""
    own = text_language.of_source(text, language) or language
    context = analyse(headings, own).stems
    lines = {span: row for row in rows if (span := line_of(text, row))}
    spans = _with_rows(text, list(lines), starts)[:_MAX_SENTENCES]
    spans = [span for span in spans if not is_order(text[span[0] : span[1]], own, language)]
    analysed = [_with_other_forms(text[start:end], own) for start, end in spans]
    around = context.union(*(one.stems for one in analysed))
    return tuple(
        (
            place,
            start,
            end,
            text[start:end],
            analysed[place],
            context,
            analysed[place - 1].stems if place else frozenset(),
            analysed[place + 1].stems if place + 1 < len(spans) else frozenset(),
            frozenset(group for stem in analysed[place].stems for group in lexicon.groups(stem)),
            _order(analysed[place]),
            around,
            own,
            (start, end) in lines,
            _counted_from(start, lines.get((start, end))),
            place + 1 < len(spans) and "\n" not in text[end : spans[place + 1][0]],
            (start, end) not in lines and _stands_above(text, start, end),
        )
        for place, (start, end) in enumerate(spans)
    )


# Characters of scripts without spaces belong to the words beside a mark: "QL-800的".
_SPACED = r"[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
_MARK = re.compile(rf"{_SPACED}++(?:[.,](?=\d){_SPACED}++)*+")
_THOUSANDS = re.compile(r"[.,](?=\d{3}(?!\d))")


def marks(text: str) -> frozenset[str]:
    """Return the folded tokens of a text that have a digit: they distinguish things, years and versions."""
    return frozenset(_THOUSANDS.sub("", fold(one)) for one in _MARK.findall(text) if any(map(str.isdigit, one)))


_LONGEST_HEADING = 60  # characters, as of `_HEADING`
_ENDS = tuple(".!?:;,。！？：；，…")
_MARKS = ("-", "*", "•", "–", "|")


def _stands_above(text: str, start: int, end: int) -> bool:
    """Whether a stretch is a short line of its own with lines below it, and no sentence, item or lead to a list."""
    line = text[start:end].strip()
    if "\n" in line or len(line) > _LONGEST_HEADING or line.endswith(_ENDS) or line.startswith(_MARKS):
        return False
    begins, ends = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    return ends >= 0 and not text[begins:start].strip() and not text[end:ends].strip()


def _order(analysed: Analysed) -> Mapping[str, Sequence[int]]:
    found: dict[str, list[int]] = {}
    for at, stem in enumerate(stem for word in analysed.words for stem in word.stems[:1]):
        found.setdefault(stem, []).append(at)
    return found


def _with_other_forms(text: str, language: str) -> Analysed:
    found = analyse(text, language)
    more = forms.others(found, language)
    return replace(found, stems=found.stems | more) if more else found


def is_order(text: str, *spoken: str) -> bool:
    """Whether a sentence is said to the machine that reads it: no answer to a reader, whatever it claims."""
    return any(
        intents.is_order(text, locale)
        for locale in map(locales.known, dict.fromkeys((*spoken, locales.DEFAULT)))
        if locale is not None
    )


def line_of(text: str, row: TableRow) -> tuple[int, int]:
    """Return where the line stands that a row is."""
    end = text.find("\n", row.end)
    return text.rfind("\n", 0, row.start) + 1, len(text) if end < 0 else end


def _counted_from(start: int, row: TableRow | None) -> tuple[CellSpan, ...]:
    if row is None:
        return ()
    return tuple(CellSpan(cell.header, cell.start - start, cell.end - start) for cell in row.cells)


def _with_rows(text: str, rows: Sequence[tuple[int, int]], starts: Sequence[int]) -> list[tuple[int, int]]:
    """Return the rows, and the sentences of what stands between them."""
    found: list[tuple[int, int]] = []
    at = 0
    for start, end in [*rows, (len(text), len(text))]:
        if text[at:start].strip():
            cuts = [one - at for one in starts if at < one < start]
            found.extend((at + first, at + last) for first, last in _spans(text[at:start], cuts))
        found.append((start, end))
        at = end
    return found[:-1]


def _spans(text: str, starts: Sequence[int]) -> list[tuple[int, int]]:
    """Return the sentences; none goes beyond the start of a block.

    Other lines are kept whole only where they look like list items, rows or headings, since PDFs wrap lines.
    """
    found: list[tuple[int, int]] = []
    cuts = {match.end() for pattern in (_HEADING, _BREAK) for match in pattern.finditer(text)}
    for begin, stop in pairwise(sorted(cuts.union(starts, (0, len(text))))):
        found.extend((begin + start, begin + end) for start, end in sentences.split(text[begin:stop]))
    return [(start, end) for start, end in found if any(char.isalnum() for char in text[start:end])]


_LONGEST_LEAD = 120  # characters
_LONGEST = 600  # characters that are compared in meaning


class Above:
    """What each of the sentences and rows found stands under; `sources` are theirs, by number."""

    def __init__(self, found: Sequence[Unit], sources: Mapping[int, Source]) -> None:
        self._sources = sources
        self._lines = _heading_lines(found)

    def text(self, unit: Unit) -> str:
        """Return all of it as one text."""
        source = self._sources[unit.source]
        columns = dict.fromkeys(cell.header for cell in unit.cells if cell.header)
        titles = [source.title, source.filename, source.locator.sheet.sheet, *self._headings(unit)]
        return " . ".join([*titles, *columns])

    def behind(self, unit: Unit) -> str:
        """Return a sentence or row behind its title and headings, as it is compared in meaning."""
        source = self._sources[unit.source]
        titles = [source.title, source.locator.sheet.sheet, *self._headings(unit)]
        lead = " ".join(dict.fromkeys(one for one in titles if one))
        return f"{lead[:_LONGEST_LEAD]}: {unit.text}"[:_LONGEST]

    def _headings(self, unit: Unit) -> list[str]:
        source = self._sources[unit.source]
        inner = [
            one.locator.heading_path[-1]
            for one in source.anchors
            if one.locator.heading_path and one.span.start < unit.end and one.span.end > unit.start
        ]
        return [*source.locator.heading_path, *inner, self._lines.get((unit.source, unit.place), "")]


def _heading_lines(found: Sequence[Unit]) -> dict[tuple[int, int], str]:
    """Return the nearest heading line above each sentence of a passage."""
    above: dict[tuple[int, int], str] = {}
    last: dict[int, str] = {}
    for unit in found:
        if unit.stands_above:
            last[unit.source] = unit.text
        elif unit.source in last:
            above[unit.source, unit.place] = last[unit.source]
    return above
