"""Plain text: paragraphs separated by blank lines, with line numbers."""

from __future__ import annotations

import re
from itertools import accumulate
from pathlib import Path

from footnote.types.v1.locator_pb2 import Anchor, LineLocator
from footnote_text.lexical import is_unspaced

from footnote_ingestion.parsers.base import LIST_ITEM, PARAGRAPH, BlockWriter, Limits, Properties, anchor
from footnote_ingestion.parsers.clean import counted_lines, inline, mend, words_of
from footnote_ingestion.parsers.texts.encoding import decode

_ITEM = re.compile(r"(?<!\s)\s*+(?:[-*•‣◦]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s++\S")
_UNDERLINE = re.compile(r"(?<!\s)\s*+(={3,}+|-{3,}+|~{3,}+)\s*+")
_CUT = re.compile(r"[^\W\d_][-\u2010]\n")
_CUT_WORD = re.compile(r"[^\W\d_][-\u2010]")
_MARKS = tuple(".!?…:;,-。！？：；，、\"'”’»)")
_LONG_LINE = 120
_MAX_PARAGRAPH = 4_000


class TextParser:
    """Reads text files in any common encoding."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Accept any text."""

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Write paragraphs; their lines are joined unless each is long enough to be a paragraph of its own."""
        write_text(decode(path.read_bytes(), out), out)
        return Properties()


def write_text(text: str, out: BlockWriter, *, with_lines: bool = True) -> None:
    """Write `text` as paragraphs, with line numbers from 1 unless the source has no meaningful ones."""
    lines = counted_lines(text)
    vocabulary = words_of(text) if _CUT.search(text) else set()
    start = 0
    while start < len(lines):
        if not lines[start].strip():
            start += 1
            continue
        if start + 1 < len(lines) and _is_underlined(lines[start], lines[start + 1]):
            level = 1 if "=" in lines[start + 1] else 2
            out.heading(inline(lines[start]), level, lines_at(start, start + 2) if with_lines else None)
            start += 2
            continue
        end = _paragraph_end(lines, start)
        for _ in range(_titles(lines[start:end])):
            _paragraph(lines, start, start + 1, with_lines, out, vocabulary)
            start += 1
        _paragraph(lines, start, end, with_lines, out, vocabulary)
        start = end


def _is_underlined(line: str, below: str) -> bool:
    rule = _UNDERLINE.fullmatch(below)
    return bool(rule) and abs(len(line.strip()) - len(below.strip())) <= 3 and len(line.strip()) <= 100


def _paragraph_end(lines: list[str], start: int) -> int:
    """Return the index after the last line of the paragraph that starts at `start`."""
    size, end = 0, start
    while end < len(lines) and lines[end].strip():
        line = lines[end]
        if end > start and (
            _ITEM.match(line)
            or len(lines[end - 1]) > _LONG_LINE
            or size + len(line) > _MAX_PARAGRAPH
            or (end + 1 < len(lines) and _is_underlined(line, lines[end + 1]))
        ):
            break
        size += len(line)
        end += 1
    return end


def _titles(lines: list[str]) -> int:
    """Return how many lines at the start of a paragraph are titles; one at least is not."""
    longest = [*accumulate((len(line.strip()) for line in reversed(lines)), max)][::-1]
    titles = 0
    while titles + 1 < len(lines) and _is_title(lines[titles].strip(), lines[titles + 1].strip(), longest[titles]):
        titles += 1
    return titles


def _is_title(line: str, below: str, longest: int) -> bool:
    """Return whether a line of a paragraph is a title: it ended before it was full, and begins no sentence.

    A wrapped line ends where the next word no longer fits, and the `longest` line from it on shows what fits.
    """
    word = 2 if is_unspaced(below[0]) else 1 + len(below.split(maxsplit=1)[0])
    return len(line) + word <= longest and not line.endswith(_MARKS) and not below[0].islower()


def _paragraph(
    lines: list[str], start: int, end: int, with_lines: bool, out: BlockWriter, vocabulary: set[str]
) -> None:
    text = ""
    anchors: list[Anchor] = []
    for number in range(start, end):
        part = inline(lines[number])
        if not part:
            continue
        if part[0].islower() and _CUT_WORD.fullmatch(text[-2:]):
            text = mend(text[:-1], part, vocabulary)
        else:
            text = f"{text} {part}" if text else part
        anchors.append(anchor(len(text) - len(part), len(text), lines_at(number, number + 1)))
    kind = LIST_ITEM if _ITEM.match(lines[start]) else PARAGRAPH
    place = lines_at(start, end) if with_lines else None
    out.add(kind, text, place, anchors=anchors if with_lines and len(anchors) > 1 else ())


def lines_at(start: int, end: int) -> LineLocator:
    """Return the locator of `lines[start:end]`."""
    return LineLocator(first_line=start + 1, last_line=end)
