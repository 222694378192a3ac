"""From lines on pages to paragraphs, headings, list items and rows.

Lines are joined where the writer did not mean to break them: a line that had room left for the next one's first word
was ended on purpose. Words cut at a line's end are made whole, running heads and page numbers are dropped after their
first appearance, headings are told by the outline, else by type size or weight.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from footnote.types.v1.locator_pb2 import Anchor, PageLocator
from footnote_text.scripts import joins_without_space

from footnote_ingestion.parsers.base import LIST_ITEM, PARAGRAPH, TABLE_ROW, BlockWriter, anchor
from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.pdf.headings import HeadingFinder, Outline
from footnote_ingestion.parsers.pdf.lines import Line
from footnote_ingestion.parsers.pdf.margins import without_running_lines

__all__ = ["Outline", "Page", "write_pages"]

_ITEM = re.compile(r"(?:[•●▪◦‣∙■□▶➢✓–—*]|[-]|\(?\d{1,2}[.)]|\([a-z]{1,3}\)|[a-z]\))\s+\S")
_TERMINAL = re.compile(r"[.!?:;。！？：；][\"'”’)\]»]*$")
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_NUMERIC = re.compile(r"(?<![$€£¥(])[$€£¥(]*+[-–—+]?\d[\d.,:/]*+[)%]*+|[-–—$€£¥%]|\(\d|\)")
# A row's label without figures may stand between the rows of a table: so many short lines do not end it.
_MOST_BETWEEN, _SHORT = 2, 90
_TWO_FIGURES = re.compile(r"\A[^\d–—-]*+[\d–—-]\S*+\s[^\d–—-]*+[\d–—-]")
_SIGNS = frozenset("$€£¥%()")
_LAST_FRAGMENT = re.compile(r"(?<![^\W\d_])[^\W\d_]++$")
_FIRST_FRAGMENT = re.compile(r"[^\W\d_]+")


@dataclass(slots=True)
class Page:
    """The lines of one page; `height` in points, 0 when unknown."""

    number: int
    label: str
    height: float
    lines: list[Line]


@dataclass(slots=True)
class _Group:
    """Lines that make one block."""

    lines: list[Line] = field(default_factory=list)
    level: int = 0


def write_pages(pages: Sequence[Page], outline: Sequence[Outline], out: BlockWriter) -> None:
    """Write the blocks of a whole document."""
    kept = without_running_lines(pages)
    lines = [line for page in kept for line in page]
    headings = HeadingFinder(lines, outline)
    labels = {page.number: page.label for page in pages}
    vocabulary: set[str] = set()
    if any(line.hyphen for line in lines):
        vocabulary.update(_WORD.findall("\n".join(line.text for line in lines).lower()))
    table = between = 0
    for group in _groups(lines, headings):
        text, anchors = _join(group.lines, vocabulary, labels)
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


def _groups(lines: Sequence[Line], headings: HeadingFinder) -> list[_Group]:
    pitch = _usual_pitch(lines)
    groups: list[_Group] = []
    current = _Group()
    for line in lines:
        level = headings.level(line)
        if current.lines and level == current.level and _continues(current, line, pitch):
            current.lines.append(line)
        else:
            current = _Group([line], level)
            groups.append(current)
    return groups


def _usual_pitch(lines: Sequence[Line]) -> float:
    """Return the usual distance of two lines' tops, in type sizes."""
    found = [
        (above.top - below.top) / above.size
        for above, below in pairwise(lines)
        if above.page == below.page and above.size > 0 and 0.8 < (above.top - below.top) / above.size < 2.5
    ]
    return median(found) if found else 1.3


def _continues(group: _Group, line: Line, pitch: float) -> bool:
    """Tell whether `line` goes on with the block that `group` has begun."""
    last = group.lines[-1]
    if last.hyphen:
        return True
    if last.size == 0 or line.size == 0:  # no geometry: only what the text says
        return line.page == last.page and not _TERMINAL.search(last.text) and not _ITEM.match(line.text)
    same_line = last.page == line.page and abs(last.top - line.top) < 0.5 * max(last.size, line.size)
    if same_line:
        return line.left >= last.left or not _TERMINAL.search(last.text)
    if _ITEM.match(line.text) or abs(last.size - line.size) > 0.12 * max(last.size, line.size):
        return False
    drop = last.top - line.top
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
    """Return a first-line indent, or room left for the next word."""
    if line.left > last.left + 0.9 * line.size and len(group.lines) > 1:
        return True
    right = max(line.right, *(one.right for one in group.lines[-3:]))
    width = (line.right - line.left) / max(len(line.text), 1)
    word = line.text.split(" ", 1)[0]
    room = right - last.right
    needed = (len(word) + 1) * width + 0.6 * line.size
    return room > needed * (1.0 if _TERMINAL.search(last.text) else 1.6)


def _is_row(text: str) -> bool:
    """Tell whether a line looks like a row of a table: it ends in figures, or half of it is figures."""
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
    """Return the text of a block, and where each page begins in it when it is on more than one."""
    text = ""
    starts: list[tuple[int, int]] = []
    hyphen = False
    for line in lines:
        part = inline(line.text)
        if not part:
            continue
        if hyphen:
            text = _mend(text, part, vocabulary)
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


def _mend(text: str, part: str, vocabulary: set[str]) -> str:
    """Join a word cut at the line's end; the hyphen stays when the document writes the word with it elsewhere."""
    before, after = _LAST_FRAGMENT.search(text), _FIRST_FRAGMENT.match(part)
    if before is None or after is None:
        return f"{text}-{part}"
    whole = (before[0] + after[0]).lower()
    hyphenated = f"{before[0]}-{after[0]}".lower()
    keep = hyphenated in vocabulary and whole not in vocabulary
    if not keep and whole not in vocabulary:  # "CO-" + "Author", "Transformer-" + "XL": capitals are not cut in two
        keep = after[0][0].isupper() and not before[0].isupper()
    return f"{text}-{part}" if keep else text + part
