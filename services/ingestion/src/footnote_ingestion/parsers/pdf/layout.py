"""Groups lines of pages into paragraphs, headings, list items and rows.

Lines are joined at unintended breaks. A break is intended if the line had room for the next line's first word.
Hyphenated words are joined. Running heads and page numbers follow the text as blocks that are not searched. Headings
are found by the outline, else by type size or weight.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from footnote.types.v1.document_pb2 import WarningKind
from footnote.types.v1.locator_pb2 import Anchor, PageLocator
from footnote_text.scripts import joins_without_space

from footnote_ingestion.parsers.base import FURNITURE, LIST_ITEM, PARAGRAPH, TABLE_ROW, BlockWriter, anchor
from footnote_ingestion.parsers.clean import inline, mend, words_of
from footnote_ingestion.parsers.failures import CONTENT_LEFT_OUT, MOST_PLACES, PAGE_FURNITURE, UNREADABLE_TEXT
from footnote_ingestion.parsers.ocr import Area, Recognised
from footnote_ingestion.parsers.ocr import write as write_recognised
from footnote_ingestion.parsers.pdf.grids import Grid
from footnote_ingestion.parsers.pdf.headings import HeadingFinder, Outline
from footnote_ingestion.parsers.pdf.lines import Line
from footnote_ingestion.parsers.pdf.margins import running_lines
from footnote_ingestion.parsers.pdf.page_annotations import Mark
from footnote_ingestion.parsers.pdf.page_annotations import write as write_marks
from footnote_ingestion.parsers.pdf.tables import TableWriter

__all__ = ["Outline", "Page", "write_pages"]

_ITEM = re.compile(r"(?:[•●▪◦‣∙■□▶➢✓–—*]|[-]|\(?\d{1,2}[.)]|\([a-z]{1,3}\)|[a-z]\))\s+\S")
_TERMINAL = re.compile(r"[.!?:;。！？：；][\"'”’)\]»]*$")
_NUMERIC = re.compile(r"(?<![$€£¥(])[$€£¥(]*+[-–—+]?\d[\d.,:/]*+[)%]*+(?:\^\d{1,3})?|[-–—$€£¥%]|\(\d|\)")
# Maximum number of short lines, such as labels of rows, that may be between a table's rows without ending it.
_MOST_BETWEEN, _SHORT = 2, 90
_LONGEST_WORD = 60
_TWO_FIGURES = re.compile(r"\A[^\d–—-]*+[\d–—-]\S*+\s[^\d–—-]*+[\d–—-]")
_SIGNS = frozenset("$€£¥%()")


@dataclass(slots=True)
class Page:
    """The lines of one page; `area` is its visible part, in points, without extent if unknown."""

    number: int
    label: str
    area: Area
    lines: list[Line]
    tables: list[Grid] = field(default_factory=list)
    recognised: Recognised | None = None
    hidden: list[Line] = field(default_factory=list)
    """Hidden lines; they are not among `lines`."""
    pictures: list[Area] = field(default_factory=list)
    """Places of pictures without a line on them."""
    turn: int = 0
    """By how many degrees clockwise the lines are turned; their tables' cells and all other places are not."""


@dataclass(slots=True)
class _Group:
    """The lines of one block."""

    lines: list[Line] = field(default_factory=list)
    level: int = 0


def write_pages(
    pages: Sequence[Page],
    outline: Sequence[Outline],
    out: BlockWriter,
    unreadable: Set[int] = frozenset(),
    beside: Sequence[Mark] = (),
) -> None:
    """Write the blocks of a whole document, then the content `beside` its text.

    The lines whose ids are `unreadable` are kept and not searched.
    """
    furniture = running_lines(pages) - unreadable
    apart = furniture | unreadable
    lines = [line for page in pages for line in page.lines if id(line) not in apart]
    tables: dict[int, list[Grid]] = {}  # tables beside one another may share lines
    for grid in (grid for page in pages for grid in page.tables):
        for one in grid.lines:
            tables.setdefault(one, []).append(grid)
    text = [line for line in lines if id(line) not in tables]
    headings = HeadingFinder(text or lines, outline)
    labels = {page.number: page.label for page in pages}
    vocabulary: set[str] = set()
    if any(line.hyphen for line in lines):
        vocabulary = words_of("\n".join(line.text for line in lines))
    prose = _Prose(out, labels, vocabulary)
    writer = TableWriter(out, labels)
    written: set[int] = set()
    run: list[Line] = []
    pitch = _usual_pitch(lines)
    for page in pages:
        for line in page.lines:
            if id(line) in apart:
                continue
            found = [grid for grid in tables.get(id(line), ()) if id(grid) not in written]
            if id(line) not in tables:
                run.append(line)
            elif found:
                prose.write(_groups(run, headings, pitch, vocabulary))
                run = []
            for grid in found:
                written.add(id(grid))
                writer.write(grid, apart)
        if page.recognised is not None:
            prose.write(_groups(run, headings, pitch, vocabulary))
            run = []
            write_recognised(page.recognised, out, page.label)
    prose.write(_groups(run, headings, pitch, vocabulary))
    write_marks(beside, out)
    words = "{count} running lines and page numbers are kept apart and not searched"
    _write_apart([(page, page.lines) for page in pages], furniture, out, PAGE_FURNITURE, words)
    words = "{count} lines do not say which letters they show; they are kept apart and not searched"
    _write_apart([(page, page.lines) for page in pages], unreadable, out, UNREADABLE_TEXT, words)
    words = "{count} pieces of text cannot be seen on their pages; they are kept apart and not searched"
    hidden = {id(line) for page in pages for line in page.hidden}
    _write_apart([(page, page.hidden) for page in pages], hidden, out, CONTENT_LEFT_OUT, words)


class _Prose:
    """Writes groups of lines; rows of figures outside tables are kept together as one group."""

    def __init__(self, out: BlockWriter, labels: dict[int, str], vocabulary: set[str]) -> None:
        self._out = out
        self._labels = labels
        self._vocabulary = vocabulary

    def write(self, groups: Sequence[_Group]) -> None:
        """Write the groups between two tables."""
        out, labels = self._out, self._labels
        table = between = 0
        for group in groups:
            text, anchors = _join(group.lines, self._vocabulary, labels)
            first, last = group.lines[0].page, group.lines[-1].page
            place = PageLocator(page=first, last_page=last, label=labels.get(first, ""))
            if group.level:
                out.heading(text, group.level, place, anchors)
            elif len(group.lines) == 1 and _is_row(text):
                table = table or out.new_table()
                between = 0
                out.add(TABLE_ROW, text, place, anchors=anchors, table=table)
                continue
            else:
                out.add(LIST_ITEM if _ITEM.match(text) else PARAGRAPH, text, place, anchors=anchors)
                between += 1
            if group.level or between > _MOST_BETWEEN or len(text) > _SHORT:
                table = 0


def _write_apart(
    pages: Sequence[tuple[Page, Sequence[Line]]],
    apart: Set[int],
    out: BlockWriter,
    kind: WarningKind.ValueType,
    words: str,
) -> None:
    """Write lines that are not searched at the end, one block per page: they are in no chunk and interrupt none."""
    if not apart:
        return
    out.reset_headings()
    places = []
    for page, lines in pages:
        if texts := [inline(line.text) for line in lines if id(line) in apart]:
            place = PageLocator(page=page.number, last_page=page.number, label=page.label)
            places.append(place)
            out.add(FURNITURE, "\n".join(filter(None, texts)), place)
    out.warn(kind, words, len(apart), places[:MOST_PLACES])


def _groups(lines: Sequence[Line], headings: HeadingFinder, pitch: float, vocabulary: Set[str]) -> list[_Group]:
    groups: list[_Group] = []
    current = _Group()
    cut: _Group | None = None
    for line in lines:
        level = headings.level(line)
        if current.level and level != current.level and headings.goes_on(current.lines[-1], line):
            level = current.level
        if current.lines and level == current.level and _continues(current, line, pitch):
            current.lines.append(line)
        elif cut is not None and level == cut.level and _ends_word(cut.lines[-1], line, vocabulary):
            cut.lines.append(line)
            current, cut = cut, None
        else:
            if current.lines and current.lines[-1].hyphen:
                cut = current
            current = _Group([line], level)
            groups.append(current)
    return groups


def _ends_word(last: Line, line: Line, vocabulary: Set[str]) -> bool:
    """Return whether a line ends a word of the document that is cut at the end of `last`, here or on the next page."""
    if line.page - last.page > 1 or not line.text[:1].islower() or not _in_same_type(last, line):
        return False
    begun, rest = inline(last.text[-_LONGEST_WORD:]), inline(line.text[:_LONGEST_WORD])
    begun, rest = begun.rpartition(" ")[2], rest.partition(" ")[0]
    return not words_of(begun + rest).isdisjoint(vocabulary)


def _in_same_type(last: Line, line: Line) -> bool:
    return abs(last.size - line.size) <= 0.12 * max(last.size, line.size)


def _usual_pitch(lines: Sequence[Line]) -> float:
    """Return the usual distance between the tops of two lines, in type sizes."""
    found = [
        (above.top - below.top) / above.size
        for above, below in pairwise(lines)
        if above.page == below.page and above.size > 0 and 0.8 < (above.top - below.top) / above.size < 2.5
    ]
    return median(found) if found else 1.3


def _continues(group: _Group, line: Line, pitch: float) -> bool:
    """Return whether `line` continues the block of `group`."""
    last = group.lines[-1]
    drop = last.top - line.top
    below = line.page == last.page and 0 < drop <= max(last.size, line.size) * max(pitch * 1.3, 1.25)
    # Small type that is not below or begins with a figure is a note at the foot of the page, or a label beside.
    if last.hyphen and (line.text[:1].islower() or _in_same_type(last, line) or (below and line.text[:1].isalpha())):
        return True
    if last.size == 0 or line.size == 0:  # no geometry: only what the text says
        return line.page == last.page and not _TERMINAL.search(last.text) and not _ITEM.match(line.text)
    same_line = last.page == line.page and abs(last.top - line.top) < 0.5 * max(last.size, line.size)
    if same_line:
        onwards = line.right <= last.right if line.backwards else line.left >= last.left
        return onwards or not _TERMINAL.search(last.text)
    if _ITEM.match(line.text) or not _in_same_type(last, line):
        return False
    if line.page != last.page or drop < 0 or drop > 20 * last.size:  # another page or column
        return not group.level and not _TERMINAL.search(last.text) and line.text[:1].islower() and len(last.text) > 20
    if drop > last.size * max(pitch * 1.3, 1.25):
        return False
    if group.level:
        return True
    if last.bold != line.bold and len(group.lines) == 1 and len(last.text) < 80:
        return False
    if _broken_on_purpose(group, last, line) or _is_row(line.text):
        return False
    return len(group.lines) > 1 or not _is_row(last.text)


def _broken_on_purpose(group: _Group, last: Line, line: Line) -> bool:
    """Return whether the break is intended: by an indented first line, or room for the next word."""
    indent = last.right - line.right if line.backwards else line.left - last.left
    if indent > 0.9 * line.size and len(group.lines) > 1:
        return True
    # Not lines of another column on the page before, which end elsewhere.
    near = [
        one
        for one in (line, *group.lines[-3:])
        if one.page == line.page or (one.left < line.right and line.left < one.right)
    ]
    width = (line.right - line.left) / max(len(line.text), 1)
    word = line.text.split(" ", 1)[0]
    room = last.left - min(one.left for one in near) if line.backwards else max(one.right for one in near) - last.right
    needed = (len(word) + 1) * width + 0.6 * line.size
    return room > needed * (1.0 if _TERMINAL.search(last.text) else 1.6)


def _is_row(text: str) -> bool:
    """Return whether a line looks like a row of a table: it ends in figures, or half of it is figures."""
    if _TWO_FIGURES.search(text) is None:
        return False
    words = text.split()
    if not 2 <= len(words) <= 60:
        return False
    figures = [_NUMERIC.fullmatch(word) is not None for word in words]
    count = sum(1 for word, is_figure in zip(words, figures, strict=True) if is_figure and word not in _SIGNS)
    if count < 2:
        return False
    trailing = 0
    for word, is_figure in zip(reversed(words), reversed(figures), strict=True):
        if not is_figure:
            break
        trailing += word not in _SIGNS
    return trailing >= 2 or sum(figures) >= 0.5 * len(words)


def _join(lines: Sequence[Line], vocabulary: set[str], labels: dict[int, str]) -> tuple[str, list[Anchor]]:
    """Return the text of a block, and where each page begins in it if there are several."""
    text = ""
    starts: list[tuple[int, int]] = []
    hyphen = False
    for line in lines:
        part = inline(line.text)
        if not part:
            continue
        if hyphen:
            text = mend(text, part, vocabulary)
        elif text:
            text += " " + part if not joins_without_space(text[-1], part[0]) else part
        else:
            text = part
        start = len(text) - len(part)
        if not starts or starts[-1][1] != line.page:
            starts.append((start, line.page))
        hyphen = line.hyphen
    if hyphen:
        text += "-"
    if len(starts) < 2:
        return text, []
    ends = [start for start, _ in starts[1:]] + [len(text)]
    return text, [
        anchor(start, end, PageLocator(page=page, last_page=page, label=labels.get(page, "")))
        for (start, page), end in zip(starts, ends, strict=True)
    ]
