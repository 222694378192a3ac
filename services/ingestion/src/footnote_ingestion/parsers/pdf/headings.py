"""Which lines of a PDF are headings, and how deep."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from footnote_ingestion.parsers.pdf.lines import Line

_FOLD = re.compile(r"[\W_]+")
_NUMBERED = re.compile(
    r"(?:(\d{1,2}(?:\.\d{1,2}){0,20})\.?|[A-Z]\.?|(?:chapter|section|part|appendix|annex|article|item)\s++\w++)\s++\S",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"(?<![$€£(\d.,])[$€£(]*+[.,]*+\d[\d.,]*+[)%]*+")
_DASHES = "—–-"
_CURRENCIES = "$€£"
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_LARGER = 1.12
_MOST = 160


@dataclass(frozen=True, slots=True)
class Outline:
    """A bookmark: title, depth from 1, page from 1 (0 when unknown)."""

    title: str
    level: int
    page: int


class HeadingFinder:
    """Tells each line's heading level: by the outline where it names the line, else by larger type or bold type."""

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
        found = sum(1 for line in lines if self._marked(line))
        self._trust_outline = len(self._outline) >= 3 and found >= 0.6 * len(self._outline)

    def level(self, line: Line) -> int:
        """Heading level 1..6 of a line, 0 when it is none."""
        marked = self._marked(line)
        if marked:
            return min(marked, 6)
        if (
            self._trust_outline
            or line.size == 0
            or line.rotated
            or len(line.text) > _MOST
            or not _LETTERS.search(line.text)
        ):
            return 0
        size = _step(line.size)
        if size > self._body * _LARGER:
            return 0 if line.text.endswith((".", ",", ";")) and len(line.text) > 60 else self._levels.get(size, 5)
        if not (self._bold_tells and line.bold and size >= self._body * 0.95) or len(line.text) > 90 or line.hyphen:
            return 0
        if _ends_in_figures(line.text) or (line.text.endswith((".", ",", ";", ":")) and not _NUMBERED.match(line.text)):
            return 0
        return self._by_number(line.text)

    def _by_number(self, text: str) -> int:
        match = _NUMBERED.match(text)
        depth = match[1].count(".") if match and match[1] else 0
        return min(self._deepest + depth, 6)

    def _marked(self, line: Line) -> int:
        return self._outline.get((line.page, _fold(line.text)), 0) if self._outline else 0


def _ends_in_figures(text: str) -> bool:
    """Tell whether a text ends with two figures or dashes, as a sum in bold type does: "Revenues 66,608 62,286"."""
    words = text.split()
    # What stands before the first white space is what the figures are about.
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
