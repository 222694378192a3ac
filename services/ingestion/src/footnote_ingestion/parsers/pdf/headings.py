"""Finds the headings among the lines of a PDF, and their levels; recognises captions of tables and figures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from footnote_ingestion.parsers.pdf.lines import Line

_CAPTION = re.compile(
    r"(?:(?P<table>(?i:tables?|tabelle|tableau|tabla|tabella|tabela|tab)\.?\s|表)"
    r"|(?:(?i:figures?|abbildung|figura|fig|abb)\.?\s|图))\s*+"
    r"(?:[A-Z]{0,2}[.-]?\d{1,3}(?:[.-]\d{1,3}){0,4}[a-z]?+|[IVX]{1,6}|[A-Z])(?![^\W\d_])"
    r"(?P<ended>\s?[.:|–—])?"
)


def is_caption(text: str) -> bool:
    """Return whether a line begins like a caption, with a kind and a number; so may a sentence about the figure."""
    return _CAPTION.match(text) is not None


def is_of_table(text: str) -> bool:
    """Return whether a line begins as the caption of a table does."""
    found = _CAPTION.match(text)
    return found is not None and found["table"] is not None


def is_set_apart(text: str) -> bool:
    """Return whether a sign separates a caption's number from its words, unlike in a sentence: "Table 3: Costs"."""
    found = _CAPTION.match(text)
    return found is not None and found["ended"] is not None


_FOLD = re.compile(r"[\W_]+")
_NUMBERED = re.compile(
    r"(?:(\d{1,2}(?:\.\d{1,2}){0,20})\.?|[A-Z]\.?|(?:chapter|section|part|appendix|annex|article|item)\s++\w++)\s++\S",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"(?<![$€£(\d.,])[$€£(]*+[.,]*+\d[\d.,]*+[)%]*+(?:\^\d{1,3})?")
_DASHES = "—–-"
_CURRENCIES = "$€£"
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_LARGER = 1.12
_MOST = 160
# A bold line wider than this, relative to its letters, is the header of a table's columns.
_CAPITAL, _SMALL_LETTER, _SPACE, _SPREAD = 0.7, 0.5, 0.3, 1.5
_BULLET = re.compile(r"[•●▪◦‣∙■□▶➢✓–—*-]\s")
_MARKED_NAMES = re.compile(r"[^\W\d_]\s?[\d*†‡§](?!\w)")


@dataclass(frozen=True, slots=True)
class Outline:
    """A bookmark: title, depth from 1, page from 1 (0 if unknown)."""

    title: str
    level: int
    page: int


class HeadingFinder:
    """Determines each line's heading level: by the outline if it names the line, else by larger or bold type.

    The outline adds headings and sets the level of others in the same type; it removes none.
    """

    def __init__(self, lines: Sequence[Line], outline: Sequence[Outline]) -> None:
        sizes: Counter[float] = Counter()
        bold = total = 0
        for line in lines:
            length = len(line.text)
            sizes[_step(line.size)] += length
            total += length
            bold += length if line.bold else 0
        self._body = sizes.most_common(1)[0][0] if sizes else 0.0
        self._bold_tells = bold < 0.3 * max(total, 1)
        larger = sorted((size for size in sizes if size > self._body * _LARGER), reverse=True)
        self._levels = {size: min(rank, 5) for rank, size in enumerate(larger[:12], 1)}
        self._deepest = min(len(larger), 4) + 1
        self._outline: dict[tuple[int, str], int] = {}
        for mark in outline:
            if mark.page and (key := _fold(mark.title)):
                self._outline.setdefault((mark.page, key), mark.level)
        by_type: dict[tuple[float, bool, int], Counter[int]] = {}
        for line in lines if self._outline else ():
            if level := self._marked(line):
                by_type.setdefault(self._type(line), Counter())[min(level, 6)] += 1
        self._by_type = {one: levels.most_common(1)[0][0] for one, levels in by_type.items()}
        self._authors = _authors(lines)

    def level(self, line: Line) -> int:
        """Heading level 1..6 of a line, 0 if it is no heading."""
        marked = self._marked(line)
        if marked:
            return min(marked, 6)
        if (
            line.size == 0
            or line.rotated
            or len(line.text) > _MOST
            or not _LETTERS.search(line.text)
            or id(line) in self._authors
            or is_set_apart(line.text)
        ):
            return 0
        size = _step(line.size)
        if size > self._body * _LARGER:
            if line.text.endswith((".", ",", ";")) and len(line.text) > 60:
                return 0
            return self._alike(line) or self._levels.get(size, 5)
        if not (self._bold_tells and line.bold and size >= self._body * 0.95) or len(line.text) > 90 or line.hyphen:
            return 0
        if _ends_in_figures(line.text) or (line.text.endswith((".", ",", ";", ":")) and not _NUMBERED.match(line.text)):
            return 0
        if line.text[0].islower() or _BULLET.match(line.text) or _is_spread(line):
            return 0
        return self._alike(line) or self._by_number(line.text)

    def goes_on(self, last: Line, line: Line) -> bool:
        """Return whether a line continues the heading that `last` belongs to."""
        return (
            last.page == line.page
            and last.bold == line.bold
            and (line.bold or line.size > self._body * _LARGER)
            and abs(last.size - line.size) < 0.3
            and 0.8 * line.size < last.top - line.top < 1.6 * line.size
            and not _NUMBERED.match(line.text)
            and last.right - last.left > 0.7 * (line.right - line.left)
            and not self._marked(line)
        )

    def _alike(self, line: Line) -> int:
        """Return the level that the outline gives to headings in the same type with a number of the same depth."""
        return self._by_type.get(self._type(line), 0)

    def _type(self, line: Line) -> tuple[float, bool, int]:
        match = _NUMBERED.match(line.text)
        return _step(line.size), line.bold, match[1].count(".") if match and match[1] else 0

    def _by_number(self, text: str) -> int:
        match = _NUMBERED.match(text)
        depth = match[1].count(".") if match and match[1] else 0
        return min(self._deepest + depth, 6)

    def _marked(self, line: Line) -> int:
        return self._outline.get((line.page, _fold(line.text)), 0) if self._outline else 0


def _authors(lines: Sequence[Line]) -> set[int]:
    """Return the ids of the lines between a paper's title and its text that name its authors.

    Their names are followed by marks of affiliations, or an address is among them.
    """
    first = [line for line in lines if line.page == lines[0].page and not line.rotated][:40] if lines else []
    if not first:
        return set()
    largest = max(line.size for line in first)
    below = [at for at, line in enumerate(first) if line.size > largest - 0.3]
    block = first[below[-1] + 1 :]
    signed = {id(line) for line in block if line.bold and len(_MARKED_NAMES.findall(line.text)) >= 2}
    address = max((at for at, line in enumerate(block) if "@" in line.text), default=-1)
    # Running text above an address: the address is in a footnote or a column, and says nothing of the lines above.
    if address < 0 or any(len(line.text) > 60 and "@" not in line.text and not line.bold for line in block[:address]):
        return signed
    return signed | {id(line) for line in block[:address]}


def _is_spread(line: Line) -> bool:
    """Return whether a line has gaps as wide as those between a table's columns."""
    if sum(map(len, words := line.text.split())) < 2 * len(words):
        return False  # letter-spaced
    capitals = sum(char.isupper() or char.isdigit() for char in line.text)
    spaces = line.text.count(" ")
    letters = len(line.text) - capitals - spaces
    usual = line.size * (_CAPITAL * capitals + _SMALL_LETTER * letters + _SPACE * spaces)
    return spaces > 0 and line.right - line.left > _SPREAD * usual


def _ends_in_figures(text: str) -> bool:
    """Return whether a text ends with two figures or dashes, as a sum in bold type does: "Revenues 66,608 62,286"."""
    words = text.split()
    # The text before the first white space is the name of the figures.
    first = 0 if text[:1].isspace() else 1
    found = 0
    while len(words) > first and found < 2:
        word = words.pop()
        if word[-1] in _DASHES and (len(word) == 1 or (len(word) == 2 and word[0] in _CURRENCIES)):
            if len(word) == 1 and len(words) > first and words[-1] in tuple(_CURRENCIES):
                words.pop()
        elif not _FIGURE.fullmatch(word):
            return False
        found += 1
    return found == 2


def _step(size: float) -> float:
    return round(size * 2) / 2


def _fold(text: str) -> str:
    return _FOLD.sub("", text).casefold()
